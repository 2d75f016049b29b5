//! Gates for people: what waits, all that is needed to judge it, and what was said.

use punchlist_core::Time;
use punchlist_core::gate::form;
use punchlist_core::mission::answer::{self, Answer};
use serde_json::Value;

use super::checklist::criterion;
use super::columns::hanging;
use super::{ago, issues, list, permissions, text};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, clean, line, width};

/// Gates of any state, the oldest first.
pub(crate) fn listed(answer: &Value, now: Time) -> String {
    let gates = list(answer, "gates");
    let reviews = list(answer, "reviews");
    if gates.is_empty() && reviews.is_empty() {
        return "Nothing waits for you.\n".to_owned();
    }
    let blocks: Vec<String> = gates.iter().map(|gate| one(gate, now)).collect();
    let mut shown = blocks.join("\n");
    if gates.iter().any(|gate| gate["state"] == "open") {
        shown.push_str(&format!("\n{DIM}To answer one: punch inbox answer GATE{DIM:#}\n"));
    }
    if !reviews.is_empty() {
        let gap = if gates.is_empty() { "" } else { "\n" };
        shown.push_str(&format!("{gap}{BOLD}Waiting for review{BOLD:#}\n"));
        shown.extend(reviews.iter().map(|item| review(item, now)));
        let how = "To judge one: punch inbox answer TODO --resume, or --refuse --response WHY";
        shown.push_str(&format!("{DIM}{how}{DIM:#}\n"));
    }
    if let Some(cursor) = answer["nextCursor"].as_str() {
        shown.push_str(&format!("{DIM}… more: the same with --cursor {cursor}{DIM:#}\n"));
    }
    shown
}

/// What its maker says is done, and what shows it.
fn review(item: &Value, now: Time) -> String {
    let claim = &item["claim"];
    let evidence: Vec<String> = list(claim, "evidence").iter().map(words).collect();
    let on = if evidence.is_empty() { "no evidence".to_owned() } else { evidence.join(", ") };
    let (by, at) = (text(claim, "by"), ago(&claim["at"], now));
    let title = clean(item["title"].as_str().unwrap_or_default());
    let of = format!("{} {}", text(item, "list"), text(item, "of"));
    let told = format!("{title} ({of}), claimed by {by} {at}: {on}");
    hanging("  ", "    ", &told, width()) + &format!("    {DIM}{}{DIM:#}\n", text(item, "todoId"))
}

/// One gate: who asks, since when, about what, and the question.
pub(crate) fn one(gate: &Value, now: Time) -> String {
    let kind = kind(gate);
    let issue = gate["number"].as_i64().map(|number| format!(" on issue #{number}"));
    let issue = issue.or_else(|| {
        let (mission, pillar) = (gate["mission"].as_str()?, gate["pillar"].as_str()?);
        Some(format!(" in {} / {}", line(mission), line(pillar)))
    });
    let (by, at) = (text(gate, "askedBy"), ago(&gate["createdAt"], now));
    let rest = format!("{}, asked by {by} {at}", issue.unwrap_or_default());
    let heading = hanging("", "", &format!("{kind}{rest}"), width());
    let mut shown = match heading.strip_prefix(&kind) {
        Some(rest) => format!("{BOLD}{kind}{BOLD:#}{rest}"),
        None => heading,
    };
    if gate["kind"] == "permission" {
        shown.push_str(&permissions::question(gate));
    } else {
        let said = clean(gate["text"].as_str().unwrap_or_default());
        shown.push_str(&hanging("  ", "  ", &said, width()));
    }
    let is_escalation = gate["kind"] == "escalation";
    if is_escalation && gate["state"] == "open" {
        let how = format!("answer with {}", answer::SPELLING);
        shown.push_str(&hanging("  ", "  ", &how, width()));
    }
    let options = list(gate, "options").iter().filter(|_| !is_escalation);
    for (n, option) in options.enumerate() {
        let lead = format!("  {}. ", n + 1);
        shown.push_str(&hanging(&lead, &lead, &words(option), width()));
    }
    for (name, field) in form::fields(&gate["schema"]).into_iter().flatten() {
        let lead = format!("  {}: ", line(name));
        shown.push_str(&hanging(&lead, &lead, &asked_for(&gate["schema"], name, field), width()));
    }
    for item in list(gate, "criteria") {
        shown.push_str(&criterion(item, "  ", now));
    }
    let children: String = list(gate, "openChildren").iter().map(issues::child).collect();
    if !children.is_empty() {
        shown.push_str(&format!("  still open below it:\n{children}"));
    }
    shown.push_str(&answer_of(gate, now));
    shown
}

/// What kind of pause it is, as people say it.
fn kind(gate: &Value) -> String {
    match (gate["kind"].as_str(), gate["purpose"].as_str()) {
        (_, Some("sign_off")) => "Sign-off".to_owned(),
        (Some("checkpoint"), _) => "Pause".to_owned(),
        (Some("ask"), _) => "Question".to_owned(),
        (Some("form"), _) => "Form".to_owned(),
        (Some("permission"), _) => "Permission".to_owned(),
        (Some("escalation"), _) => "Escalation".to_owned(),
        (other, _) => line(other.unwrap_or("gate")),
    }
}

/// What a field of a form takes: `eu or us, required`.
pub(crate) fn asked_for(schema: &Value, name: &str, field: &Value) -> String {
    let choices: Vec<String> = list(field, "enum").iter().map(words).collect();
    let mut parts = vec![match field["type"].as_str() {
        _ if !choices.is_empty() => choices.join(" or "),
        Some("boolean") => "yes or no".to_owned(),
        Some("integer") => "a whole number".to_owned(),
        Some("number") => "a number".to_owned(),
        _ => "text".to_owned(),
    }];
    let mut bound = |word: &str, shown: &str| {
        if !field[word].is_null() {
            parts.push(format!("{shown} {}", words(&field[word])));
        }
    };
    bound("minimum", "at least");
    bound("maximum", "at most");
    bound("default", "unless said");
    if form::is_required(schema, name) {
        parts.push("required".to_owned());
    }
    let what = field["description"].as_str().or_else(|| field["title"].as_str());
    let what = what.map_or(String::new(), |what| format!("{} (", line(what)));
    let end = if what.is_empty() { "" } else { ")" };
    format!("{what}{}{end}", parts.join(", "))
}

/// What it is called by, and what was answered, if anything was.
fn answer_of(gate: &Value, now: Time) -> String {
    let mut shown = String::new();
    if gate["state"] != "open" {
        let by = gate["answeredBy"].as_str().map(|by| format!(" by {}", line(by)));
        let at = ago(&gate["answeredAt"], now);
        let said = match &gate["response"] {
            Value::Null => String::new(),
            response => format!(": {}", words(response)),
        };
        let text = format!("{}{} {at}{said}", text(gate, "state"), by.unwrap_or_default());
        shown.push_str(&hanging("  ", "  ", text.trim_end(), width()));
    }
    shown.push_str(&format!("  {CYAN}gate {}{CYAN:#}\n", text(gate, "id")));
    shown
}

/// What an answer did.
pub(super) fn answered(answer: &Value) -> String {
    let gate = &answer["gate"];
    match gate["kind"].as_str() {
        Some("escalation") => return settled(gate),
        Some("permission") => return permissions::answered(gate),
        _ => {}
    }
    let what = kind(gate).to_lowercase();
    let issue = gate["number"].as_i64().map(|number| format!(" on issue #{number}"));
    let issue = issue.unwrap_or_default();
    let by = text(gate, "askedBy");
    let mut shown = match gate["state"].as_str() {
        Some("resumed") => {
            format!("{GREEN}Resumed{GREEN:#} the {what}{issue}; {by} may go on.\n")
        }
        _ => format!("{RED}Refused{RED:#} the {what}{issue}; {by} is told.\n"),
    };
    let open = list(gate, "criteria").iter().filter(|item| item["status"] == "pending");
    for item in open {
        let lead = "  to be met: ";
        shown.push_str(&hanging(lead, lead, &text(item, "content"), width()));
    }
    shown
}

/// What an answer did to an overdue item.
fn settled(gate: &Value) -> String {
    let said = gate["response"].as_str().and_then(answer::parse).map(|(said, _)| said);
    let about = text(gate, "text");
    let done = match (gate["state"].as_str(), said) {
        (Some("resumed"), Some(Answer::Extend(to))) => {
            format!("{GREEN}Extended{GREEN:#} to {to}.")
        }
        (Some("resumed"), _) => format!("{RED}Cancelled{RED:#}."),
        _ => "The todo stays as it is.".to_owned(),
    };
    format!("{done}\n{}", hanging("  ", "  ", &about, width()))
}

/// What asking answers, for whoever asks.
pub(super) fn asked(answer: &Value) -> String {
    let (id, state) = (text(answer, "gateId"), text(answer, "state"));
    match (state.as_ref(), &answer["response"]) {
        ("open", _) => format!("Waits for the operator: gate {id}\n"),
        (state, Value::Null) => format!("The operator has answered: {state}\n"),
        (state, response) => format!("The operator has answered: {state}: {}\n", words(response)),
    }
}

/// A JSON value as a person would write it.
pub(crate) fn words(value: &Value) -> String {
    match value {
        Value::String(text) => line(text),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Object(fields) => {
            let parts: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}: {}", line(name), words(value)))
                .collect();
            parts.join(", ")
        }
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
