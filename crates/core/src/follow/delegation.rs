//! Consequences of work that is delegated, comes back, fails or is cancelled.

use super::Then;
use crate::authority::{Action, Subject, may_ever_on};
use crate::command::{ClaimTodo, CompleteTodo, HoldTodo, UnholdTodo};
use crate::conversation::{MessageKind, Speaker};
use crate::delegation::{CancelDelegation, Delegate, DelegationState, Mode, Review};
use crate::driver::Trigger;
use crate::run::Completion;
use crate::text::{Body, Title};
use crate::todo::HoldKind;
use crate::{Actor, Delegation, ListKind, Refusal, Run, Todo, TodoId};

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
        then.extend(claimed(delegation, on.by));
    }
    then.extend(held(delegation));
    then.extend(completed(delegation, on));
    then.extend(resumed(delegation));
    then
}

/// An item done in a chat is claimed in the reporter's name, for its reviewer. A failure settles
/// nothing (F-8).
fn claimed(delegation: &Delegation, by: &Actor) -> Option<Then> {
    let todo_id = delegation.todo_id.filter(|_| delegation.state == DelegationState::Returned)?;
    let actor = Actor { principal: by.principal.clone(), ..Actor::system() };
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
