//! Permissions for people: what an agent wants to call, and what it may call without asking.

use punchlist_core::Time;
use punchlist_core::gate::GateState;
use punchlist_ops::operations::permission_ask::{self, Verdict};
use punchlist_ops::operations::permission_list::{self, PermissionView};
use punchlist_ops::views::GateView;
use serde_json::Value;

use super::columns::hanging;
use super::{ago, short};
use crate::output::{CYAN, DIM, GREEN, RED, line, width};

/// The question: which agent wants to call which tool, with which input, and how the tool is
/// defined.
pub(super) fn question(gate: &GateView) -> String {
    let (agent, tool) = (line(&gate.agent), tool(gate));
    let mut shown = hanging("  ", "  ", &format!("{agent} wants to call {tool}"), width());
    if let Some(input) = gate.input.as_ref().filter(|input| !input.is_null()) {
        let input = line(&input.to_string());
        shown.push_str(&hanging("  with ", "  with ", &input, width()));
    }
    let is = gate.definition.as_ref().map(definition).unwrap_or_default();
    if !is.is_empty() {
        shown.push_str(&hanging("  runs ", "  runs ", &is, width()));
    }
    if gate.state == GateState::Open {
        let how = "answer with --allow once, --allow always or --refuse";
        shown.push_str(&hanging("  ", "  ", how, width()));
    }
    shown
}

fn tool(gate: &GateView) -> String {
    line(gate.tool.as_deref().unwrap_or_default())
}

/// A definition in one line: the command as words, then the other fields.
fn definition(definition: &Value) -> String {
    let Some(fields) = definition.as_object() else { return String::new() };
    let words = definition["command"].as_array().into_iter().flatten().filter_map(Value::as_str);
    // Quoted as for a shell, to show where a word ends; the command runs without a shell.
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
pub(super) fn answered(gate: &GateView) -> String {
    let (agent, tool) = (line(&gate.agent), tool(gate));
    let allow = gate.response.as_ref().and_then(|response| response["allow"].as_str());
    match (gate.state, allow) {
        (GateState::Resumed, Some("always")) => {
            let id = short(&gate.id);
            format!(
                "{GREEN}Allowed{GREEN:#}: {agent} may call {tool} from now on \
                 {DIM}(to take it back: punch permission revoke {id}){DIM:#}\n"
            )
        }
        (GateState::Resumed, _) => {
            format!("{GREEN}Allowed{GREEN:#}: {agent} may call {tool} this once.\n")
        }
        _ => format!("{RED}Denied{RED:#}: {agent} may not call {tool}.\n"),
    }
}

/// The answer to the asker.
pub(super) fn asked(output: &permission_ask::Output) -> String {
    let gate = short(&output.gate_id);
    match output.permission {
        Verdict::Allowed if output.standing => format!("Allowed always ({gate})\n"),
        Verdict::Allowed => format!("Allowed ({gate})\n"),
        Verdict::Denied => format!("Denied by the operator ({gate})\n"),
        Verdict::Open => format!("Waiting for the operator's answer ({gate})\n"),
    }
}

pub(super) fn listed(output: &permission_list::Output, now: Time) -> String {
    if output.permissions.is_empty() {
        return "Nothing is permitted always.\n".to_owned();
    }
    let shown: String = output.permissions.iter().map(|one| permission(one, now)).collect();
    shown + &super::more(output.next_cursor.as_ref())
}

fn permission(one: &PermissionView, now: Time) -> String {
    let (agent, tool) = (line(&one.agent), line(&one.tool));
    let by = line(one.granted_by.as_deref().unwrap_or_default());
    let said = format!("{agent} may call {tool}, permitted by {by} {}", ago(one.granted_at, now));
    let mut shown = hanging("", "", &said, width());
    let is = definition(&one.definition);
    if !is.is_empty() {
        shown.push_str(&hanging("  runs ", "  runs ", &is, width()));
    }
    shown.push_str(&format!("  {CYAN}permission {}{CYAN:#}\n", short(&one.id)));
    shown
}

pub(super) fn revoked(one: &PermissionView) -> String {
    let (agent, tool) = (line(&one.agent), line(&one.tool));
    format!("{RED}Taken back{RED:#}: you are asked again before {agent} calls {tool}.\n")
}
