//! Consequences of work that is delegated, comes back, fails or is cancelled.

use super::{Settled, Then};
use crate::authority::{Action, Subject, may_ever_on};
use crate::command::{ClaimTodo, CompleteTodo, HoldTodo, StartTodo, UnholdTodo};
use crate::conversation::{MessageKind, Speaker};
use crate::delegation::{CancelDelegation, Delegate, DelegationState, Mode, Review};
use crate::driver::Trigger;
use crate::run::Completion;
use crate::text::{Body, Title};
use crate::todo::HoldKind;
use crate::{
    Actor, AgentPath, Decision, Delegation, Event, List, ListKind, Refusal, Role, Run, Snapshot,
    Status, Todo, TodoId,
};

/// How much of an error is quoted in the reason of a hold, in characters.
const REASON_MAX: usize = 300;

/// Does the caller delegate within its own session? Sessions belong to root: a lead or an owner
/// that names one would give work to somebody else's agent.
pub fn in_own_session(actor: &Actor, names_one: bool) -> Result<bool, Refusal> {
    match (may_ever_on(actor.role, Subject::Session, Action::View), names_one) {
        (true, _) => Ok(true),
        (false, true) => Err(Refusal::MayNotDelegate { role: actor.role }),
        (false, false) => Ok(false),
    }
}

/// Work was delegated: the order is posted in the chat where the agent works (M-49).
#[must_use]
pub fn handed_on(delegation: &Delegation) -> Option<Then> {
    let (speaker, kind) = (Speaker::Assistant, MessageKind::Text);
    let text = delegation.mission.clone();
    delegation.conversation_id.map(|chat| Then::Post { chat, speaker, kind, text })
}

/// An item is delegated again: a hold from its failed delegation is lifted.
#[must_use]
pub fn tried_again(item: &Todo) -> Option<Then> {
    let is_failed = item.hold.as_deref().is_some_and(|hold| hold.kind == HoldKind::Failed);
    is_failed.then(|| Then::change(Actor::system(), item.id, UnholdTodo { todo_id: item.id }))
}

/// A pending item of a turn that is delegated is in progress (Q-T1). Nothing happens if another item
/// of the turn is.
#[must_use]
pub fn begun(list: &Snapshot, todo_id: TodoId, by: &Actor) -> Option<Then> {
    let is_turn = list.list.kind() == ListKind::Turn;
    list.todo(todo_id).filter(|item| is_turn && item.status == Status::Pending)?;
    let under_way = |todo: &Todo| todo.status == Status::InProgress;
    if list.todos.values().any(under_way) {
        return None;
    }
    let actor = Actor { principal: by.principal.clone(), ..Actor::system() };
    Some(Then::change(actor, todo_id, StartTodo { todo_id, reason: None }))
}

/// Why work on a task is cancelled that was assigned to another agent.
pub const REPLACED: &str = "the task was assigned to another agent";

/// Plan tasks were assigned: agents that work on them for somebody else are stopped (Q-O3).
#[must_use]
pub fn reassigned(list: &List, decided: &Decision, actor: &Actor) -> Vec<Then> {
    if list.kind() != ListKind::Plan {
        return Vec::new();
    }
    let assigned = decided.events.iter().filter_map(|event| match event {
        Event::TodoAssigned(e) => e.assignee.clone().map(|assignee| (e.todo_id, assignee)),
        _ => None,
    });
    let by = &actor.principal;
    let then = |(todo_id, assignee)| Then::StopReplaced { todo_id, assignee, by: by.clone() };
    assigned.map(then).collect()
}

/// Does this delegation of a task end, because the task was assigned to another agent? Not if the
/// assignment is to its own agent or to the one that delegated, or was made by its worker.
#[must_use]
pub fn is_replaced(
    delegation: &Delegation,
    holder: Option<&str>,
    (assignee, by): (&AgentPath, &str),
) -> bool {
    let is_same = *assignee == delegation.agent
        || *assignee == delegation.parent_agent
        || assignee.as_str() == delegation.kind;
    !delegation.state.is_over() && !is_same && holder != Some(by)
}

/// Items were settled, or a plan was archived: agents that work on them are stopped (F-2).
#[must_use]
pub fn settled(list: &List, decided: &Decision, actor: &Actor) -> Vec<Then> {
    let (mut completed, mut cancelled, mut is_archived) = (Vec::new(), Vec::new(), false);
    for event in &decided.events {
        match event {
            Event::TodoCompleted(e) => completed.push(e.todo_id),
            Event::TodoCancelled(e) => cancelled.push(e.todo_id),
            // What leaves the list of a session unfinished continues in the checklist of an issue.
            Event::TodoRemoved(e) if list.kind() == ListKind::Session => {
                cancelled.retain(|id| *id != e.todo_id);
            }
            Event::ListArchived(_) => is_archived = true,
            _ => {}
        }
    }
    let items =
        |items: Vec<TodoId>, reason| (!items.is_empty()).then_some((Settled::Items(items), reason));
    let stopped = [
        items(completed, "the todo was completed"),
        items(cancelled, "the todo was cancelled"),
        is_archived.then_some((Settled::List, "the plan was archived")),
    ];
    let then = |(settled, reason)| {
        let by = Box::new(actor.clone());
        Then::StopWork { list: list.id, settled, reason, by }
    };
    stopped.into_iter().flatten().map(then).collect()
}

/// Does a delegation end because of what was settled? `line`: its item, and those above it. A worker
/// that settles its own item goes on to its report.
#[must_use]
pub fn is_moot(
    delegation: &Delegation,
    holder: Option<&str>,
    line: &[TodoId],
    (settled, by): (&Settled, &Actor),
) -> bool {
    let concerns = match settled {
        Settled::Items(items) => line.iter().any(|id| items.contains(id)),
        Settled::List => true,
    };
    let works_on_it = holder == Some(by.principal.as_str()) || by.agent == delegation.agent;
    let is_its_own = works_on_it && by.principal != delegation.delegated_by;
    !delegation.state.is_over() && concerns && !is_its_own
}

/// The facts besides the delegation that was reported on.
#[derive(Clone, Copy, Debug)]
pub struct Reported<'a> {
    pub by: &'a Actor,
    /// The title of its item.
    pub title: Option<&'a str>,
    /// The run that delegated it.
    pub run: Option<&'a Run>,
    /// The kind of list its item is on.
    pub list: Option<ListKind>,
}

/// A report came in, or the last worker died.
#[must_use]
pub fn reported(delegation: &Delegation, on: &Reported<'_>) -> Vec<Then> {
    let mut then = Vec::new();
    if let Some(chat) = delegation.conversation_id {
        // A report or an error is posted in the chat where the work was delegated (M-60, M-62).
        let (speaker, kind) = (Speaker::Assistant, MessageKind::Report);
        then.push(Then::Post { chat, speaker, kind, text: delegation.report_text(on.title) });
        // The lead reads it there (M-61), unless its call waits for the result.
        if delegation.mode == Mode::Async && delegation.state.is_over() {
            then.push(Then::CallUpon(chat));
        }
    }
    then.extend(claimed(delegation, on));
    then.extend(held(delegation));
    then.extend(completed(delegation, on));
    then.extend(resumed(delegation));
    then
}

/// An item of a pillar or a plan that is done is claimed in the reporter's name, for its reviewer. On
/// other lists the agent that delegated says what is done: it completes the item, or claims it
/// itself. A failure settles nothing (F-8).
fn claimed(delegation: &Delegation, on: &Reported<'_>) -> Option<Then> {
    let todo_id = delegation.todo_id.filter(|_| delegation.state == DelegationState::Returned)?;
    let may_claim = match on.list? {
        ListKind::Pillar => Actor::system(),
        // Root delegated the task, and root may claim it for anybody.
        ListKind::Plan => Actor::new(Role::Root, delegation.parent_agent.clone()),
        ListKind::Turn | ListKind::Session | ListKind::Issue => return None,
    };
    let actor = Actor { principal: on.by.principal.clone(), ..may_claim };
    let (outcome, evidence) = (delegation.result.clone(), Vec::new());
    Some(Then::change(actor, todo_id, ClaimTodo { todo_id, outcome, evidence, clock: None }))
}

/// An item whose delegation finally failed is held with the reason (S-25): nobody works on it any
/// more. The failure never settles it (F-8).
fn held(delegation: &Delegation) -> Option<Then> {
    let todo_id = delegation.todo_id.filter(|_| delegation.state == DelegationState::Failed)?;
    let error = delegation.error.as_deref().unwrap_or_default();
    let error: String = error.chars().take(REASON_MAX).collect();
    let reason = Body::new(&format!("{} failed: {error}", delegation.kind)).ok()?;
    let hold = HoldTodo { todo_id, kind: HoldKind::Failed, reason, until: None };
    Some(Then::change(Actor::system(), todo_id, hold))
}

/// Completes an item of a turn's plan, if the run is configured so that reports do (F-7).
fn completed(delegation: &Delegation, on: &Reported<'_>) -> Option<Then> {
    let todo_id = completes(delegation)?;
    let run = on.run.filter(|run| run.settings.completion == Completion::Verified)?;
    if on.list != Some(ListKind::Turn) {
        return None;
    }
    let (outcome, evidence) = (delegation.result.clone(), Vec::new());
    let complete = CompleteTodo { todo_id, outcome, evidence, metrics_impacted: Vec::new() };
    Some(Then::change(run.actor(), todo_id, complete))
}

/// The item that a report may complete. The caller loads the run and the list only if there is one.
#[must_use]
pub fn completes(delegation: &Delegation) -> Option<TodoId> {
    let is_asked = delegation.state == DelegationState::Returned && delegation.run_id.is_some();
    delegation.todo_id.filter(|_| is_asked)
}

/// The delegating run is resumed with the result. A synchronous call already returns the result, so
/// no message is needed.
fn resumed(delegation: &Delegation) -> Option<Then> {
    let run = delegation.run_id.filter(|_| delegation.state.is_over())?;
    let news = (delegation.mode == Mode::Async).then(|| delegation.news());
    Some(Then::Wake { run, by: Trigger::DelegationReturned, news })
}

/// Is a proposal adopted without a decision (K-51)?
#[must_use]
pub fn adopts_at_once(delegation: &Delegation) -> bool {
    delegation.proposal.is_some()
        && delegation.review == Review::Auto
        && delegation.issue_id.is_some()
}

/// The command that cancels work by policy, in the name of the delegating agent. None if the work is
/// over.
#[must_use]
pub fn call_off(delegation: &Delegation, reason: &str) -> Option<(Actor, CancelDelegation)> {
    if delegation.state.is_over() {
        return None;
    }
    let actor = Actor { agent: delegation.parent_agent.clone(), ..Actor::system() };
    Some((actor, CancelDelegation { reason: Body::new(reason).ok() }))
}

/// Work was cancelled: its run ends, and the run that waits for it is resumed.
#[must_use]
pub fn called_off(delegation: &Delegation, run: Option<&Run>) -> Vec<Then> {
    let ended = run.filter(|run| !run.is_over()).map(|run| Then::EndRun {
        actor: Box::new(Actor { agent: run.agent.clone(), ..Actor::system() }),
        run: run.id,
        reason: "the work was called off",
    });
    ended.into_iter().chain(resumed(delegation)).collect()
}

/// Returned work goes back to the agent that did it in a run of ours, with the feedback (M-51). An
/// agent with workers of its own delegates again itself. `last`: the last delegation of the item;
/// `is_ours`: the work was done in a run.
#[must_use]
pub fn hand_back(
    last: Option<&Delegation>,
    is_ours: bool,
    todo_id: TodoId,
    feedback: &str,
) -> Option<Delegate> {
    let done = last.filter(|last| is_ours && last.state == DelegationState::Returned)?;
    Some(Delegate {
        kind: Title::new(&done.kind).ok()?,
        mission: Body::new(feedback).ok()?,
        rationale: None,
        mode: Mode::Async,
        review: done.review,
        todo_id: Some(todo_id),
        conversation_id: done.conversation_id,
        run_id: None,
    })
}
