//! `todo_show`: one item in full, with its history.

use punchlist_core::authority::{Action, Denial, Verdict, authority, owns};
use punchlist_core::conversation::Message;
use punchlist_core::evidence::Evidence;
use punchlist_core::{
    AgentPath, Delegation, Event, ListId, ListKind, Refusal, Scope, Snapshot, Time, TodoId,
};
use punchlist_store::rows::delegations::WantedDelegations;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Reference;
use crate::views::todo::LeaseView;
use crate::views::{DelegationView, MessageView, TodoView};

/// How many delegations and messages are shown, newest first.
const DELEGATIONS: i64 = 50;
const MESSAGES: i64 = 1_000;

/// Show a todo in full: its state, notes, delegations, and the messages while it was worked on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number if it has one.
    pub todo_id: Reference,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub todo: TodoView,
    pub list: ListView,
    /// Its status, then overdue, claimed, deferred, or the reason of its hold.
    pub badges: Vec<String>,
    /// Days until its deadline; negative: days overdue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days_left: Option<i64>,
    /// Who works on it, until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseView>,
    pub notes: Vec<NoteView>,
    /// Who claimed, returned and settled it, oldest first. Starts and ends are included for todos of
    /// missions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judgements: Vec<JudgementView>,
    pub delegations: Vec<DelegationView>,
    /// Results that came after the item went to another agent: kept, but not counted.
    pub late_reports: Vec<LateReport>,
    /// Messages in its chat while it was worked on, oldest first.
    pub messages: Vec<MessageView>,
}

/// The list of an item.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListView {
    pub kind: ListKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mission: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pillar: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// A result that came too late.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LateReport {
    pub by: String,
    /// What was done, as reported.
    pub outcome: String,
    pub at: Time,
}

/// A note on an item.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct NoteView {
    pub author: String,
    pub text: String,
    pub at: Time,
}

/// Somebody started, claimed, returned or settled an item.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgementView {
    pub kind: JudgementKind,
    pub by: String,
    pub at: Time,
    /// The outcome, the feedback or the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

/// What somebody did about the end of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgementKind {
    Started,
    Claimed,
    Returned,
    Completed,
    Cancelled,
}

#[derive(Debug)]
pub struct TodoShow;

impl Define for TodoShow {
    const NAME: &'static str = "todo_show";
    const ACCESS: Access = Access::Todo(Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { profiles: &[], command: &["todo", "show"], positional: &["todoId"] };
    const EXAMPLE: &'static str = r#"{"todoId":"t2"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let (list, id) = call.find_todo(&input.todo_id)?;
        let unknown = || {
            let (todo_id, list) = (input.todo_id.to_string(), None);
            Error::from(Refusal::UnknownTodo { todo_id, list })
        };
        let (mut todo, lease) = call.tx().todo_and_lease(list.id, id)?.ok_or_else(unknown)?;
        todo.lift_hold(call.envelope().now);
        let actor = &call.envelope().actor;
        let mut shown = Snapshot::empty(list.clone());
        shown.todos.insert(id, todo.clone());
        let owned = owns(actor, &shown, Some(&todo));
        let (role, action, todo_kind) = (actor.role, Action::View, todo.kind);
        if let Verdict::Deny(denial) = authority(role, list.kind(), todo_kind, action, owned) {
            let list = list.kind();
            return Err(Refusal::NotPermitted { role, action, list, todo_kind, denial }.into());
        }
        let (project, now) = (list.project_id, call.envelope().now);
        let mission = match &list.scope {
            Scope::Pillar { mission, .. } => call.tx().mission(project, mission, Lock::No)?,
            _ => None,
        };
        let zone = mission.as_ref().map_or("UTC", |mission| mission.timezone());
        let standing = todo.standing(zone, now);
        let wanted = WantedDelegations { todo: Some(id), ..WantedDelegations::default() };
        let found = call.tx().delegations(project, &wanted, DELEGATIONS)?;
        let delegations: Vec<Delegation> = found.into_iter().map(|(d, _)| d).collect();
        let messages = said(call, &delegations)?;
        let notes = call.tx().notes(id)?.into_iter();
        let judgements = judgements(call, list.id, id)?;
        let late_reports = late_reports(call, list.id, id, &delegations)?;
        let (mission, pillar) = match &list.scope {
            Scope::Pillar { mission, pillar } => (Some(mission.clone()), Some(pillar.clone())),
            _ => (None, None),
        };
        let (branch, plan_file) = match &list.scope {
            Scope::Plan { branch, plan_file } => (Some(branch.clone()), Some(plan_file.clone())),
            _ => (None, None),
        };
        Ok(Output {
            todo: TodoView::from(&todo),
            list: ListView { kind: list.kind(), mission, pillar, plan_file, branch },
            badges: standing.badges,
            days_left: standing.days_left,
            lease: lease.and_then(LeaseView::of),
            notes: notes.map(|n| NoteView { author: n.author, text: n.text, at: n.at }).collect(),
            judgements,
            delegations: delegations.into_iter().map(DelegationView::from).collect(),
            late_reports,
            messages: messages.into_iter().map(MessageView::from).collect(),
        })
    }
}

/// Who claimed an item, and who answered.
fn judgements(
    call: &mut Call<'_, '_>,
    list: ListId,
    id: TodoId,
) -> Result<Vec<JudgementView>, Error> {
    let mut judgements = Vec::new();
    for recorded in call.tx().judgements_of(list, id)? {
        let Some(event) = recorded.event()? else { continue };
        let mut by = recorded.actor;
        let (kind, todo, said, evidence) = match event {
            Event::TodoStarted(e) => (JudgementKind::Started, e.todo_id, e.reason, Vec::new()),
            Event::TodoClaimed(e) => {
                // The report of a delegation is a claim of its agent, even if another recorded it.
                by = e.claim.by;
                (JudgementKind::Claimed, e.todo_id, e.claim.outcome, e.claim.evidence)
            }
            Event::ClaimReturned(e) => {
                (JudgementKind::Returned, e.todo_id, Some(e.feedback), Vec::new())
            }
            Event::TodoCompleted(e) => (JudgementKind::Completed, e.todo_id, e.outcome, Vec::new()),
            Event::TodoCancelled(e) => (JudgementKind::Cancelled, e.todo_id, e.outcome, Vec::new()),
            _ => continue,
        };
        if todo == id {
            let at = recorded.at;
            judgements.push(JudgementView { kind, by, at, said, evidence });
        }
    }
    Ok(judgements)
}

/// The results that were refused because the caller no longer held the item, which it once did, or the
/// work on it was over (Q-O3). Oldest first.
fn late_reports(
    call: &mut Call<'_, '_>,
    list: ListId,
    id: TodoId,
    delegations: &[Delegation],
) -> Result<Vec<LateReport>, Error> {
    let mut late = Vec::new();
    for recorded in call.tx().refusals_on(&list.to_string())? {
        let Some(Event::CommandRefused(refused)) = recorded.event()? else { continue };
        let not_yours = match &refused.refusal {
            Refusal::StaleEpoch { .. } | Refusal::AlreadyTaken { .. } => true,
            Refusal::NotPermitted { denial, .. } => *denial == Denial::NotYours,
            _ => false,
        };
        let Some(outcome) = refused.said.filter(|_| refused.todo_id == id && not_yours) else {
            continue;
        };
        late.push(LateReport { by: recorded.actor, outcome, at: recorded.at });
    }
    if !late.is_empty() {
        let had = had_it(call, list, id)?;
        // A report of an agent that never had the item is an attempt, not a late result.
        late.retain(|report| had.iter().any(|had| had.is(&report.by)));
    }
    for delegation in delegations {
        let mut had = Vec::new();
        for recorded in call.tx().refusals_on(&delegation.id.to_string())? {
            let refused = match recorded.event()? {
                Some(Event::DelegationStarted(started)) => {
                    had.push(started.by);
                    continue;
                }
                Some(Event::DelegationRefused(refused)) => refused,
                _ => continue,
            };
            let Some(outcome) = refused.said.filter(|_| had.contains(&recorded.actor)) else {
                continue;
            };
            late.push(LateReport { by: recorded.actor, outcome, at: recorded.at });
        }
    }
    late.sort_by_key(|report| report.at);
    Ok(late)
}

/// Who had an item: its holder by principal, or the agent that it was assigned to.
enum Had {
    Holder(String),
    Assignee(AgentPath),
}

impl Had {
    fn is(&self, principal: &str) -> bool {
        match self {
            Self::Holder(holder) => holder == principal,
            Self::Assignee(agent) => {
                principal.split_once(':').is_some_and(|(_, own)| own == agent.as_str())
            }
        }
    }
}

fn had_it(call: &mut Call<'_, '_>, list: ListId, id: TodoId) -> Result<Vec<Had>, Error> {
    let mut had = Vec::new();
    for recorded in call.tx().assignments_on(list)? {
        match recorded.event()? {
            Some(Event::TodoTaken(taken)) if taken.todo_id == id => {
                had.extend(taken.lease.holder.map(Had::Holder));
                had.extend(taken.assignee.map(Had::Assignee));
            }
            Some(Event::TodoAssigned(assigned)) if assigned.todo_id == id => {
                had.extend(assigned.assignee.map(Had::Assignee));
            }
            _ => {}
        }
    }
    Ok(had)
}

/// The messages while an item was worked on: from its workers, and from people and reports in that
/// time.
fn said(call: &mut Call<'_, '_>, delegations: &[Delegation]) -> Result<Vec<Message>, Error> {
    let mut messages = Vec::new();
    for delegation in delegations {
        let run = call.tx().run_of_delegation(delegation.id)?;
        let own_chat = run.as_ref().map(|run| run.conversation_id);
        let Some(chat) = delegation.conversation_id.or(own_chat) else { continue };
        let run = run.map(|run| run.id);
        let ended = delegation.finished_at;
        let meanwhile = |message: &Message| {
            message.created_at >= delegation.created_at
                && ended.is_none_or(|ended| message.created_at <= ended)
        };
        let of_it = |message: &Message| match message.run_id {
            Some(by) => Some(by) == run,
            None => meanwhile(message),
        };
        let newest = call.tx().newest_messages(chat, MESSAGES)?;
        messages.extend(newest.into_iter().filter(of_it));
    }
    let mut seen = std::collections::HashSet::new();
    messages.retain(|message| seen.insert(message.id));
    Ok(messages)
}
