//! `issue_show`: one issue with everything that belongs to it.

use std::borrow::Cow;

use punchlist_core::authority::{Action, Subject};
use punchlist_core::gate::{GateKind, GateState, Purpose};
use punchlist_core::issue::checklist::{Notes, markdown};
use punchlist_core::issue::{UpdateKind, progress};
use punchlist_core::select::ordered;
use punchlist_core::{Gate, Issue, Place, Time, Todo, TodoKind};
use punchlist_store::rows::gates::WantedGates;
use punchlist_store::rows::links::Seen;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::views::issue::worker;
use crate::views::{IssueRef, IssueView, ItemView, SessionView};

/// Show one issue: its text, its criteria and steps, and everything linked to it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub issue: IssueView,
    pub criteria: Vec<ItemView>,
    pub steps: Vec<ItemView>,
    /// Linked issues, seen from this one.
    pub links: Vec<LinkView>,
    /// Comments and important decisions, oldest first.
    pub updates: Vec<UpdateView>,
    /// Granted sign-offs, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sign_offs: Vec<SignOffView>,
    /// The sessions that have worked on it.
    pub sessions: Vec<SessionView>,
    /// Open child issues.
    pub open_children: Vec<IssueRef>,
    /// Criteria and steps as markdown.
    pub checklist: String,
    /// Progress, in one line.
    pub progress: String,
}

/// A link, seen from one of its issues.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkView {
    /// The kind, read from this issue.
    pub kind: String,
    pub number: i64,
    pub title: String,
    /// "out": the link starts at this issue; "in": at the other.
    pub direction: Cow<'static, str>,
}

impl From<Seen> for LinkView {
    fn from(seen: Seen) -> Self {
        let kind = if seen.outgoing { seen.kind.name() } else { seen.kind.inverse() };
        let direction = if seen.outgoing { "out" } else { "in" };
        Self {
            kind: kind.to_owned(),
            number: seen.number,
            title: seen.title,
            direction: direction.into(),
        }
    }
}

/// A granted sign-off.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignOffView {
    pub gate_id: String,
    pub by: Option<String>,
    pub at: Option<Time>,
    /// The question.
    pub text: String,
    /// The answer.
    pub response: Option<serde_json::Value>,
}

/// How many sign-offs are shown at most.
const SIGN_OFFS_MAX: i64 = 100;

/// The granted sign-offs of an issue, from their gates.
fn sign_offs(call: &mut Call<'_, '_>, issue: &Issue) -> Result<Vec<SignOffView>, Error> {
    let wanted = WantedGates {
        state: Some(GateState::Resumed),
        kind: Some(GateKind::Checkpoint),
        issue: Some(issue.id),
        ..WantedGates::default()
    };
    let gates = call.tx().gates(issue.project_id, &wanted, SIGN_OFFS_MAX)?.into_iter();
    let granted = gates.filter(|gate| gate.purpose == Some(Purpose::SignOff));
    let view = |gate: Gate| SignOffView {
        gate_id: gate.id.to_string(),
        by: gate.answered_by,
        at: gate.answered_at,
        text: gate.text,
        response: gate.response,
    };
    Ok(granted.map(view).collect())
}

/// An entry of the issue's history.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateView {
    pub id: String,
    pub kind: UpdateKind,
    pub author: String,
    pub text: String,
    pub created_at: Time,
}

#[derive(Debug)]
pub struct IssueShow;

impl Define for IssueShow {
    const NAME: &'static str = "issue_show";
    const ACCESS: Access = Access::On(Subject::Issue, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[Profile::Inbox],
        command: &["issue", "show"],
        positional: &["number"],
    };
    const EXAMPLE: &'static str = r#"{"number":1}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        show(call, input.number)
    }
}

/// An issue with everything that belongs to it.
pub(crate) fn show(call: &mut Call<'_, '_>, number: i64) -> Result<Output, Error> {
    let issue = call.issue(number, Lock::No)?;
    let snapshot = call.checklist(&issue)?;
    let notes = match &snapshot {
        Some(snapshot) => call.notes(snapshot)?,
        None => Notes::new(),
    };
    let todos: Vec<&Todo> = snapshot.as_ref().map(ordered).unwrap_or_default();
    let (criteria, steps): (Vec<&Todo>, Vec<&Todo>) =
        todos.into_iter().partition(|todo| todo.kind == TodoKind::Criterion);
    let item = |todo: &Todo| ItemView::of(todo, &notes);
    let updates = call.tx().updates(issue.id)?;
    let updates = updates.into_iter().map(|update| UpdateView {
        id: update.id.to_string(),
        kind: update.kind,
        author: update.author,
        text: update.text,
        created_at: update.created_at,
    });
    let mut sessions = Vec::new();
    for session in call.tx().sessions_of(issue.id)? {
        sessions.push(SessionView::of(call, session)?);
    }
    let (sign_offs, worker) = (sign_offs(call, &issue)?, worker(call, &issue)?);
    let mut links = call.tx().links_of(issue.id)?;
    let mut open_children = call.open_children(&issue)?;
    // Hide links to issues that the caller's token does not reach, because they show a title.
    links.retain(|link| call.reach(&Place::issue(link.number)).is_ok());
    open_children.retain(|link| call.reach(&Place::issue(link.number)).is_ok());
    let links = links.into_iter().map(LinkView::from).collect();
    let open_children = open_children.into_iter().map(IssueRef::from).collect();
    Ok(Output {
        criteria: criteria.into_iter().map(item).collect(),
        steps: steps.into_iter().map(item).collect(),
        links,
        updates: updates.collect(),
        sign_offs,
        sessions,
        open_children,
        checklist: snapshot.as_ref().map(|list| markdown(list, &notes)).unwrap_or_default(),
        progress: snapshot.as_ref().map(progress::line).unwrap_or_default(),
        issue: IssueView { worker, ..issue.into() },
    })
}
