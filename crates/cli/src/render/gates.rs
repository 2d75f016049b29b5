//! Gates for people: what waits, the facts for a decision, and the answer.

use punchlist_core::Time;
use punchlist_core::gate::form::{Bounds, Field, FieldKind, Form};
use punchlist_core::gate::{GateKind, GateState, Purpose};
use punchlist_core::mission::answer::{self, Answer};
use punchlist_ops::operations::gate_list::{Output, ReviewView};
use punchlist_ops::views::issue::ItemStatus;
use punchlist_ops::views::{AskedView, GateView};
use serde_json::Value;

use super::checklist::criterion;
use super::columns::hanging;
use super::{ago, issues, permissions, short};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, clean, line, width};

/// Gates of any state, the oldest first.
pub(super) fn listed(output: &Output, now: Time) -> String {
    let (gates, reviews) = (&output.gates, &output.reviews);
    if gates.is_empty() && reviews.is_empty() {
        return "Nothing is waiting for you.\n".to_owned();
    }
    let blocks: Vec<String> = gates.iter().map(|gate| one(gate, now)).collect();
    let mut shown = blocks.join("\n");
    if !reviews.is_empty() {
        let gap = if gates.is_empty() { "" } else { "\n" };
        shown.push_str(&format!("{gap}{BOLD}Waiting for review{BOLD:#}\n"));
        shown.extend(reviews.iter().map(|item| review(item, now)));
        let how = "To judge one: punch inbox answer ID --resume, or --refuse --response WHY";
        shown.push_str(&format!("{DIM}{how}{DIM:#}\n"));
    }
    shown + &super::more(output.next_cursor.as_ref())
}

/// A claimed item, with its evidence.
fn review(item: &ReviewView, now: Time) -> String {
    let claim = &item.claim;
    let evidence: Vec<String> = claim.evidence.iter().map(|one| line(&one.to_string())).collect();
    let on = if evidence.is_empty() { "no evidence".to_owned() } else { evidence.join(", ") };
    let (by, at) = (line(&claim.by), ago(claim.at, now));
    let of = format!("{} {}", item.list, line(&item.of));
    let told = format!("{} ({of}), claimed by {by} {at}: {on}", clean(&item.title));
    let id = short(&item.todo_id);
    hanging(&format!("  {id}  "), &format!("  {BOLD}{id}{BOLD:#}  "), &told, width())
}

/// One gate: who asks, since when, about what, and the question.
pub(crate) fn one(gate: &GateView, now: Time) -> String {
    let mut shown = card(gate, now);
    if gate.state == GateState::Open {
        let id = short(&gate.id);
        shown.push_str(&format!("  {CYAN}punch inbox answer {id}{CYAN:#}\n"));
    }
    shown
}

/// The same, without the command that answers it.
pub(crate) fn card(gate: &GateView, now: Time) -> String {
    let kind = kind(gate);
    let issue = gate.number.map(|number| format!(" on issue #{number}"));
    let issue = issue.or_else(|| {
        let (mission, pillar) = (gate.mission.as_deref()?, gate.pillar.as_deref()?);
        Some(format!(" in {} / {}", line(mission), line(pillar)))
    });
    let (by, at) = (line(&gate.asked_by), ago(gate.created_at, now));
    let rest = format!("{}, asked by {by} {at}", issue.unwrap_or_default());
    let heading = hanging("", "", &format!("{kind}{rest}"), width());
    let mut shown = match heading.strip_prefix(kind) {
        Some(rest) => format!("{BOLD}{kind}{BOLD:#}{rest}"),
        None => heading,
    };
    if gate.kind == GateKind::Permission {
        shown.push_str(&permissions::question(gate));
    } else {
        shown.push_str(&hanging("  ", "  ", &clean(&gate.text), width()));
    }
    let is_escalation = gate.kind == GateKind::Escalation;
    if is_escalation && gate.state == GateState::Open {
        shown.push_str(&hanging("  ", "  ", "answer with --extend DATE or --cancel", width()));
    }
    for (n, option) in options(gate).iter().filter(|_| !is_escalation).enumerate() {
        let lead = format!("  {}. ", n + 1);
        shown.push_str(&hanging(&lead, &lead, &line(option), width()));
    }
    if let Some(about) = gate.schema.as_ref().and_then(Form::description) {
        shown.push_str(&hanging("  ", "  ", &clean(about), width()));
    }
    for field in gate.schema.iter().flat_map(Form::fields) {
        let lead = format!("  {}: ", line(field.name));
        shown.push_str(&hanging(&lead, &lead, &asked_for(&field), width()));
    }
    for item in &gate.criteria {
        shown.push_str(&criterion(item, "  ", now));
    }
    let children: String = gate.open_children.iter().map(issues::child).collect();
    if !children.is_empty() {
        shown.push_str(&format!("  still open below it:\n{children}"));
    }
    shown.push_str(&answer_of(gate, now));
    shown
}

/// The answers a question offers.
pub(crate) fn options(gate: &GateView) -> &[String] {
    gate.options.as_deref().unwrap_or_default()
}

/// The kind of a gate, in words.
const fn kind(gate: &GateView) -> &'static str {
    match (gate.kind, gate.purpose) {
        (_, Some(Purpose::SignOff)) => "Sign-off",
        (GateKind::Checkpoint, _) => "Pause",
        (GateKind::Ask, _) => "Question",
        (GateKind::Form, _) => "Form",
        (GateKind::Permission, _) => "Permission",
        (GateKind::Escalation, _) => "Escalation",
    }
}

/// The allowed values of a form's field: `eu or us, required`.
pub(crate) fn asked_for(field: &Field<'_>) -> String {
    let choices: Vec<String> = field.choices.iter().map(|choice| words(choice.value)).collect();
    let (kind, bounds) = match field.kind {
        // How long a text may be is said only when it is too short or too long.
        FieldKind::Text(_) => ("text", Bounds::default()),
        FieldKind::Number(bounds) => ("a number", bounds),
        FieldKind::Integer(bounds) => ("a whole number", bounds),
        FieldKind::Boolean => ("yes or no", Bounds::default()),
    };
    let mut parts = vec![match choices.is_empty() {
        true => kind.to_owned(),
        false => choices.join(" or "),
    }];
    parts.extend(bounds.least.map(|least| format!("at least {least}")));
    parts.extend(bounds.most.map(|most| format!("at most {most}")));
    parts.extend(field.default.map(|default| format!("unless said {}", words(default))));
    if field.is_required {
        parts.push("required".to_owned());
    }
    let what = field.description.or(field.title);
    let what = what.map_or(String::new(), |what| format!("{} (", line(what)));
    let end = if what.is_empty() { "" } else { ")" };
    format!("{what}{}{end}", parts.join(", "))
}

/// The answer, if there is one.
fn answer_of(gate: &GateView, now: Time) -> String {
    let mut shown = String::new();
    if gate.state != GateState::Open {
        let by = gate.answered_by.as_deref().map(|by| format!(" by {}", line(by)));
        let at = ago(gate.answered_at, now);
        let said = gate.response.as_ref().map(|response| format!(": {}", words(response)));
        let (by, said) = (by.unwrap_or_default(), said.unwrap_or_default());
        let state = match (gate.state, gate.purpose) {
            (GateState::Resumed, Some(Purpose::SignOff)) => "signed off",
            (GateState::Resumed, _) => "answered",
            (state, _) => state.name(),
        };
        let text = format!("{state}{by} {at}{said}");
        shown.push_str(&hanging("  ", "  ", text.trim_end(), width()));
    }
    shown
}

/// What an answer did.
pub(crate) fn answered(gate: &GateView) -> String {
    match gate.kind {
        GateKind::Escalation => return settled(gate),
        GateKind::Permission => return permissions::answered(gate),
        _ => {}
    }
    let what = kind(gate).to_lowercase();
    let issue = gate.number.map(|number| format!(" on issue #{number}")).unwrap_or_default();
    let by = line(&gate.asked_by);
    let is_sign_off = gate.purpose == Some(Purpose::SignOff);
    let mut shown = match gate.state {
        GateState::Resumed if is_sign_off => {
            let issue = gate.number.map(|number| format!(" issue #{number}")).unwrap_or_default();
            format!("{GREEN}Signed off{GREEN:#}{issue}; {by} can close it.\n")
        }
        GateState::Resumed => {
            format!("{GREEN}Answered{GREEN:#} the {what}{issue}; {by} continues.\n")
        }
        _ => format!("{RED}Refused{RED:#} the {what}{issue}; {by} gets your answer.\n"),
    };
    for item in gate.criteria.iter().filter(|item| item.status == ItemStatus::Pending) {
        let lead = "  to be met: ";
        shown.push_str(&hanging(lead, lead, &line(&item.content), width()));
    }
    shown
}

/// What an answer did to an overdue item.
fn settled(gate: &GateView) -> String {
    let said = gate.response.as_ref().and_then(Value::as_str);
    let said = said.and_then(answer::parse).map(|(said, _)| said);
    let done = match (gate.state, said) {
        (GateState::Resumed, Some(Answer::Extend(to))) => {
            format!("{GREEN}Extended{GREEN:#} to {to}.")
        }
        (GateState::Resumed, _) => format!("{RED}Cancelled{RED:#}."),
        _ => "The todo stays as it is.".to_owned(),
    };
    format!("{done} {DIM}{}{DIM:#}\n", line(&gate.text))
}

/// The answer to the asker.
pub(super) fn asked(output: &AskedView) -> String {
    let id = short(&output.gate_id);
    let said = match &output.response {
        None | Some(Value::Null) => String::new(),
        Some(response) => format!(": {}", words(response)),
    };
    match output.state {
        GateState::Open => format!("Waiting for the operator's answer ({id})\n"),
        GateState::Resumed if said.is_empty() => "The operator has answered: continue\n".to_owned(),
        GateState::Resumed => format!("The operator has answered{said}\n"),
        state => format!("The operator has answered: {}{said}\n", state.name()),
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
