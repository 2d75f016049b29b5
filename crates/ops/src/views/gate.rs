//! A gate as callers see it, with everything a person needs to decide.

use punchlist_core::gate::form::Form;
use punchlist_core::gate::{GateKind, GateState, Purpose};
use punchlist_core::select::ordered;
use punchlist_core::{Gate, IssueStatus, Time, TodoKind};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::issue::{IssueRef, ItemView};
use crate::Error;
use crate::call::Call;

/// A pause for a person.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateView {
    pub id: String,
    pub kind: GateKind,
    /// For a checkpoint: a pause or a sign-off.
    pub purpose: Option<Purpose>,
    pub state: GateState,
    /// The session that waits.
    pub session: Option<String>,
    /// The number of its issue.
    pub number: Option<i64>,
    /// The title of its issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_title: Option<String>,
    /// The reason, the question, the title or the tool.
    pub text: String,
    /// The options of a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// The fields of a form.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub schema: Option<Form>,
    /// For a permission: the tool, its input, and its definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
    /// For an escalation: the mission and the pillar of the todo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mission: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pillar: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo_id: Option<String>,
    /// The run that asked, and continues with the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    pub asked_by: String,
    pub agent: String,
    pub created_at: Time,
    /// For a sign-off: the revision of the issue shown here; give it as `expectedRevision`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// For a sign-off: how the issue may end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<IssueStatus>,
    pub response: Option<Value>,
    pub answered_by: Option<String>,
    pub answered_at: Option<Time>,
    /// For a sign-off: the criteria with their claims and evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<ItemView>,
    /// For a sign-off: open child issues; they do not block sign-off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_children: Vec<IssueRef>,
}

/// The answer to a question to the operator.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskedView {
    pub gate_id: String,
    /// Open: nobody has answered yet. Ask again in the same words for the answer.
    pub state: GateState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
}

impl From<Gate> for AskedView {
    fn from(gate: Gate) -> Self {
        Self { gate_id: gate.id.to_string(), state: gate.state, response: gate.response }
    }
}

impl GateView {
    pub(crate) fn of(call: &mut Call<'_, '_>, gate: Gate) -> Result<Self, Error> {
        let issue = match gate.issue_id {
            Some(id) => call.tx().issue_by_id(id, Lock::No)?,
            None => None,
        };
        let (mut criteria, mut open_children) = (Vec::new(), Vec::new());
        if let Some(issue) = issue.as_ref().filter(|_| gate.purpose == Some(Purpose::SignOff)) {
            if let Some(checklist) = call.checklist(issue)? {
                let notes = call.notes(&checklist)?;
                let todos = ordered(&checklist);
                let of_kind = todos.into_iter().filter(|todo| todo.kind == TodoKind::Criterion);
                criteria = of_kind.map(|todo| ItemView::of(todo, &notes)).collect();
            }
            open_children = call.open_children(issue)?.into_iter().map(IssueRef::from).collect();
        }
        let (form, wanted) = (gate.details.form(), gate.details.wanted_call());
        let (overdue, options) = (gate.details.overdue(), gate.details.options());
        Ok(Self {
            id: gate.id.to_string(),
            kind: gate.kind(),
            purpose: gate.purpose,
            state: gate.state,
            session: gate.session_id.map(|id| id.to_string()),
            number: issue.as_ref().map(|issue| issue.number),
            issue_title: issue.as_ref().map(|issue| issue.title.clone()),
            revision: issue
                .map(|issue| issue.revision)
                .filter(|_| gate.purpose == Some(Purpose::SignOff)),
            end: gate.end,
            options: (!options.is_empty()).then(|| options.to_vec()),
            schema: form.cloned(),
            tool: wanted.map(|_| gate.text.clone()),
            input: wanted.map(|call| call.input.clone()),
            definition: wanted.map(|call| call.definition.clone()),
            mission: overdue.map(|item| item.mission.clone()),
            pillar: overdue.map(|item| item.pillar.clone()),
            todo_id: gate.todo_id.map(|id| id.to_string()),
            run_id: gate.run_id.map(|id| id.to_string()),
            text: gate.text,
            asked_by: gate.asked_by,
            agent: gate.agent.to_string(),
            created_at: gate.created_at,
            response: gate.response,
            answered_by: gate.answered_by,
            answered_at: gate.answered_at,
            criteria,
            open_children,
        })
    }
}
