//! Consequences of the answer to a gate: for the checklist, other gates, an overdue item, and
//! waiting runs.

use serde_json::Value;

use super::Then;
use crate::command::{CancelTodo, RefuseSignOff, ReviseTodo, SignOff};
use crate::driver::Trigger;
use crate::gate::{AnswerGate, Gate, GateDecision, GateKind, GateState};
use crate::issue::address::{Precision, find_criterion};
use crate::mission::answer::{self, Answer};
use crate::text::Body;
use crate::{Command, GateId, Refusal, Snapshot, TodoId};

/// The run that asked is resumed with the answer. A question of a session stops every run in it, so
/// all of them are resumed.
#[must_use]
pub fn answered(gate: &Gate) -> Vec<Then> {
    let by = Trigger::GateAnswered;
    let run = gate.run_id.map(|run| Then::Wake { run, by, news: gate.news() });
    let session = gate.session_id.map(|session| Then::WakeSession { session, by });
    run.into_iter().chain(session).collect()
}

/// What a sign-off does to the criteria. `reopen`: the texts of those to reopen; `None` means all
/// claimed ones.
pub fn judgement(
    answer: &AnswerGate,
    checklist: &Snapshot,
    reopen: Option<&[String]>,
) -> Result<Command, Refusal> {
    match answer.decision {
        GateDecision::Resume => Ok(SignOff { accept_unclaimed: answer.accept_unclaimed }.into()),
        GateDecision::Refuse => {
            let find = |text: &String| find_criterion(checklist, text, Precision::Brief);
            let named = reopen.map(|texts| texts.iter().map(find).collect::<Result<_, _>>());
            let todo_ids = named.transpose()?;
            Ok(RefuseSignOff { todo_ids, feedback: feedback(answer.response.as_ref()) }.into())
        }
    }
}

/// The operator's response as text for the notes.
fn feedback(response: Option<&Value>) -> Body {
    let said = match response {
        Some(Value::String(text)) => Body::new(text).ok(),
        Some(Value::Null) | None => None,
        // An answer in fields is turned into text for people.
        Some(Value::Object(fields)) => {
            let word = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let said: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}: {}", word(value))).collect();
            Body::new(&said.join("; ")).ok()
        }
        Some(other) => Body::new(&other.to_string()).ok(),
    };
    said.or_else(|| Body::new("sign-off refused").ok())
        .unwrap_or_else(|| unreachable!("a constant text is a text"))
}

/// What an answer to an escalation does to its item. An answer that neither extends nor cancels is
/// refused. Refusing the question leaves the item as it is.
pub fn overdue(gate: &Gate, answer: &AnswerGate) -> Result<Option<(TodoId, Command)>, Refusal> {
    let (GateKind::Escalation, GateDecision::Resume, Some(todo_id)) =
        (gate.kind(), answer.decision, gate.todo_id)
    else {
        return Ok(None);
    };
    let text = match &answer.response {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(fields)) => match fields.get("extend") {
            Some(Value::String(date)) => format!("extend to {date}"),
            _ if fields.contains_key("cancel") => "cancel".to_owned(),
            _ => String::new(),
        },
        _ => String::new(),
    };
    let Some((said, _)) = answer::parse(&text) else {
        return Err(Refusal::UnknownAnswer { expected: answer::SPELLING.to_owned() });
    };
    let reason = Some(format!("answered: {}", text.trim()));
    let command: Command = match said {
        Answer::Cancel => CancelTodo { todo_id, outcome: reason }.into(),
        Answer::Extend(deadline) => {
            let (title, priority, position) = (None, None, None);
            let deadline = Some(deadline);
            ReviseTodo { todo_id, title, priority, position, deadline, reason }.into()
        }
    };
    Ok(Some((todo_id, command)))
}

/// A permission that is given always also answers the open questions about the same call.
/// `others`: the gates about this agent and this tool.
#[must_use]
pub fn answers_too(gate: &Gate, others: &[Gate]) -> Vec<GateId> {
    if !gate.is_standing_permission() {
        return Vec::new();
    }
    let waits = |other: &&Gate| {
        other.id != gate.id && other.state == GateState::Open && other.asks_for_the_same(gate)
    };
    others.iter().filter(waits).map(|other| other.id).collect()
}
