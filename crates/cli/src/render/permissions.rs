//! Permissions for people: what an agent wants to call, and what it may call without asking.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::hanging;
use super::{ago, list, text};
use crate::output::{CYAN, DIM, GREEN, RED, line, width};

/// What is asked: who wants to call what, with which input, and what that is.
pub(super) fn question(gate: &Value) -> String {
    let (agent, tool) = (text(gate, "agent"), text(gate, "tool"));
    let mut shown = hanging("  ", "  ", &format!("{agent} wants to call {tool}"), width());
    if !gate["input"].is_null() {
        let input = line(&gate["input"].to_string());
        shown.push_str(&hanging("  with ", "  with ", &input, width()));
    }
    let is = definition(&gate["definition"]);
    if !is.is_empty() {
        shown.push_str(&hanging("  runs ", "  runs ", &is, width()));
    }
    if gate["state"] == "open" {
        let how = "answer with --allow once, --allow always or --refuse";
        shown.push_str(&hanging("  ", "  ", how, width()));
    }
    shown
}

/// A definition in one line: the command as words, and whatever else there is.
fn definition(definition: &Value) -> String {
    let Some(fields) = definition.as_object() else { return String::new() };
    let words = list(definition, "command").iter().filter_map(Value::as_str);
    // Quoted as for a shell, which never sees them: where a word ends matters.
    let command = words.map(quoted).collect::<Vec<_>>().join(" ");
    let others = fields.iter().filter(|(name, _)| *name != "command");
    let others = others.map(|(name, value)| format!("{name} {value}"));
    let parts: Vec<String> =
        std::iter::once(command).filter(|c| !c.is_empty()).chain(others).collect();
    line(&parts.join(", "))
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What an answer did.
pub(super) fn answered(gate: &Value) -> String {
    let (agent, tool) = (text(gate, "agent"), text(gate, "tool"));
    match (gate["state"].as_str(), gate["response"]["allow"].as_str()) {
        (Some("resumed"), Some("always")) => {
            let id = text(gate, "id");
            format!(
                "{GREEN}Allowed{GREEN:#}: {agent} may call {tool} from now on.\n\
                 {DIM}To take it back: punch permission revoke {id}{DIM:#}\n"
            )
        }
        (Some("resumed"), _) => {
            format!("{GREEN}Allowed{GREEN:#}: {agent} may call {tool} this once.\n")
        }
        _ => format!("{RED}Denied{RED:#}: {agent} is told that it may not call {tool}.\n"),
    }
}

/// What asking answers, for whoever asks.
pub(super) fn asked(answer: &Value) -> String {
    let gate = text(answer, "gateId");
    match answer["permission"].as_str() {
        Some("allowed") if answer["standing"] == true => {
            format!("Allowed always, by gate {gate}\n")
        }
        Some("allowed") => format!("Allowed by gate {gate}\n"),
        Some("denied") => format!("Denied by the operator, gate {gate}\n"),
        _ => format!("Waits for the operator: gate {gate}\n"),
    }
}

pub(super) fn listed(answer: &Value, now: Time) -> String {
    let permissions = list(answer, "permissions");
    if permissions.is_empty() {
        return "Nothing is permitted always.\n".to_owned();
    }
    let mut shown: String = permissions.iter().map(|one| permission(one, now)).collect();
    if let Some(cursor) = answer["nextCursor"].as_str() {
        shown.push_str(&format!("{DIM}… more: the same with --cursor {cursor}{DIM:#}\n"));
    }
    shown
}

fn permission(one: &Value, now: Time) -> String {
    let (agent, tool, by) = (text(one, "agent"), text(one, "tool"), text(one, "grantedBy"));
    let at = ago(&one["grantedAt"], now);
    let said = format!("{agent} may call {tool}, permitted by {by} {at}");
    let mut shown = hanging("", "", &said, width());
    let is = definition(&one["definition"]);
    if !is.is_empty() {
        shown.push_str(&hanging("  runs ", "  runs ", &is, width()));
    }
    shown.push_str(&format!("  {CYAN}permission {}{CYAN:#}\n", text(one, "id")));
    shown
}

pub(super) fn revoked(answer: &Value) -> String {
    let one = &answer["permission"];
    let (agent, tool) = (text(one, "agent"), text(one, "tool"));
    format!("{RED}Taken back{RED:#}: you are asked again before {agent} calls {tool}.\n")
}
