//! What a gate asks, by its kind: what its person needs to answer it.
//!
//! Stored as a kind and a JSON object, which is what gates of all versions have.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::GateKind;
use super::form::Form;
use crate::TodoId;
use crate::deadline::Deadline;

/// What a gate asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "details", rename_all = "snake_case")]
pub enum Details {
    /// The text says all; the criteria are the issue's.
    Checkpoint {},
    Ask(Question),
    Form(Form),
    Permission(WantedCall),
    Escalation(Overdue),
}

/// Of a question: the answers to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Empty: any text is an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// Of a permission: the call of an external tool. The gate's text is the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedCall {
    /// The run and the call in it. They identify the question when it is asked again.
    pub run: String,
    pub call: String,
    /// The input as shown to the person, and the digest of the whole input.
    pub input: Value,
    pub digest: String,
    /// The definition of the tool, in the words of its configuration.
    pub definition: Value,
}

/// Of an escalation: the item that is late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overdue {
    pub mission: String,
    pub pillar: String,
    pub todo_id: TodoId,
    pub deadline: Option<Deadline>,
    /// The answers that are understood, as examples.
    pub options: Vec<String>,
}

impl Details {
    /// Reads the two columns of a stored gate.
    pub fn read(kind: GateKind, details: &str) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            GateKind::Checkpoint => Self::Checkpoint {},
            GateKind::Ask => Self::Ask(serde_json::from_str(details)?),
            GateKind::Form => Self::Form(serde_json::from_str(details)?),
            GateKind::Permission => Self::Permission(serde_json::from_str(details)?),
            GateKind::Escalation => Self::Escalation(serde_json::from_str(details)?),
        })
    }

    /// The JSON object that is stored beside the kind.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Checkpoint {} => Ok("{}".to_owned()),
            Self::Ask(question) => serde_json::to_string(question),
            Self::Form(form) => serde_json::to_string(form),
            Self::Permission(call) => serde_json::to_string(call),
            Self::Escalation(overdue) => serde_json::to_string(overdue),
        }
    }

    #[must_use]
    pub const fn kind(&self) -> GateKind {
        match self {
            Self::Checkpoint {} => GateKind::Checkpoint,
            Self::Ask(_) => GateKind::Ask,
            Self::Form(_) => GateKind::Form,
            Self::Permission(_) => GateKind::Permission,
            Self::Escalation(_) => GateKind::Escalation,
        }
    }

    /// The answers that are offered; for a form, a permission and a checkpoint they follow from
    /// the kind.
    #[must_use]
    pub fn options(&self) -> &[String] {
        match self {
            Self::Ask(Question { options }) | Self::Escalation(Overdue { options, .. }) => options,
            Self::Checkpoint {} | Self::Form(_) | Self::Permission(_) => &[],
        }
    }

    #[must_use]
    pub const fn form(&self) -> Option<&Form> {
        match self {
            Self::Form(form) => Some(form),
            _ => None,
        }
    }

    #[must_use]
    pub const fn wanted_call(&self) -> Option<&WantedCall> {
        match self {
            Self::Permission(call) => Some(call),
            _ => None,
        }
    }

    #[must_use]
    pub const fn overdue(&self) -> Option<&Overdue> {
        match self {
            Self::Escalation(overdue) => Some(overdue),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Gate;
    use serde_json::json;

    /// The columns `kind` and `details` as versions before `Details` wrote them.
    const STORED: [(&str, &str); 8] = [
        ("checkpoint", "{}"),
        ("ask", "{}"),
        ("ask", r#"{"options":["8080","8443"]}"#),
        (
            "form",
            concat!(
                r#"{"type":"object","required":["region"],"#,
                r#""properties":{"region":{"type":"string","enum":["eu","us"]},"canary":{"type":"boolean"}}}"#
            ),
        ),
        // The asker's own order of the keys.
        ("form", r#"{"properties":{"n":{"maximum":9.5,"type":"number"}},"title":"n"}"#),
        (
            "permission",
            concat!(
                r#"{"run":"01JCQ0000000000000000000AB","call":"c1","input":{"b":1,"a":"…"}"#,
                r#","digest":"9f86","definition":{"command":["deploy"],"folder":"/srv"}}"#
            ),
        ),
        (
            "escalation",
            concat!(
                r#"{"mission":"m","pillar":"p","todoId":"01JCQ0000000000000000000AC","deadline":"2026-11-15""#,
                r#","options":["extend to YYYY-MM-DD","cancel"]}"#
            ),
        ),
        (
            "escalation",
            concat!(
                r#"{"mission":"m","pillar":"p","todoId":"01JCQ0000000000000000000AC","deadline":null"#,
                r#","options":["extend to YYYY-MM-DD","cancel"]}"#
            ),
        ),
    ];

    /// Details of a kind, as they are stored.
    pub(crate) fn stored(kind: &str) -> Value {
        let (_, details) = STORED.into_iter().find(|(of, _)| *of == kind).unwrap();
        serde_json::from_str(details).unwrap()
    }

    #[test]
    fn old_rows_are_read_and_written_byte_for_byte() {
        for (kind, stored) in STORED {
            let details = Details::read(GateKind::parse(kind).unwrap(), stored).unwrap();
            assert_eq!(details.kind().name(), kind);
            assert_eq!(details.to_json().unwrap(), stored);
        }
    }

    #[test]
    fn old_events_are_read_and_written_value_for_value() {
        for (kind, stored) in STORED {
            let details: Value = serde_json::from_str(stored).unwrap();
            let event = json!({
                "id": "01JCQ0000000000000000000AB", "projectId": "01JCQ0000000000000000000AA",
                "kind": kind, "purpose": null, "state": "open", "sessionId": null,
                "issueId": null, "text": "t", "details": details, "askedBy": "root:primary",
                "agent": "primary", "createdAt": "2026-11-15T09:00:00.000000Z", "revision": null,
                "response": null, "answeredBy": null, "answeredAt": null, "collectedAt": null,
            });
            let gate: Gate = serde_json::from_value(event.clone()).unwrap();
            assert_eq!(gate.kind().name(), kind);
            assert_eq!(serde_json::to_value(&gate).unwrap(), event);
        }
    }
}
