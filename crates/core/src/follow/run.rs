//! Consequences of the driver's verdict and of failing tools: for the lists, the chat and the next
//! run.

use super::Then;
use crate::authority::{Action, may_ever};
use crate::command::{HoldTodo, StartTodo};
use crate::conversation::{Channel, Conversation};
use crate::driver::{self, Trigger, Verdict, Ways, Work};
use crate::text::Body;
use crate::todo::HoldKind;
use crate::{ListKind, Role, Run, Scope, Session, Snapshot, Status, Todo, TodoId};

/// How much of an error is quoted in the reason of a hold, in characters.
const REASON_MAX: usize = 300;

/// The live lists of a run, the most urgent first: the list of its turn, of the session's
/// issue, of the session, and of its plan. A worker has none (T-21).
#[must_use]
pub fn scopes(run: &Run, session: Option<&Session>) -> Vec<Scope> {
    if !may_ever(run.role, ListKind::Turn, Action::View) {
        return Vec::new();
    }
    let (conversation_id, turn_id) = (run.conversation_id.to_string(), run.turn_id.clone());
    let mut scopes = vec![Scope::Turn { conversation_id, turn_id }];
    if let Some(session) = session {
        let issue = session.bound_issue.map(|id| Scope::Issue { issue_id: id.to_string() });
        scopes.extend(issue);
        scopes.push(Scope::Session { session_id: session.id.to_string() });
    }
    scopes.extend(run.plan.clone());
    scopes
}

/// The driver starts the next item itself (Q-T1), in lists with one item in progress at a time.
#[must_use]
pub fn hand_out(work: &Work, lists: &[Snapshot], todo_id: TodoId) -> Option<StartTodo> {
    let next = work.next.as_ref().filter(|next| {
        next.id == todo_id
            && next.status == Status::Pending
            && matches!(next.list, ListKind::Turn | ListKind::Session)
    })?;
    let under_way = lists
        .iter()
        .filter(|list| list.todos.contains_key(&next.id))
        .any(|list| list.todos.values().any(|todo| todo.status == Status::InProgress));
    (!under_way).then_some(StartTodo { todo_id, reason: None })
}

/// The driver's message with its verdict: how to continue, that a message arrived, or what is left.
#[must_use]
pub fn words(
    (verdict, trigger): (&Verdict, Trigger),
    run: &Run,
    (work, lists): (&Work, &[Snapshot]),
    ways: Ways,
) -> Option<String> {
    match verdict {
        Verdict::Continue { prompted: true, .. } => {
            let template = run.settings.continuation.as_deref();
            Some(driver::continuation(work, template, ways))
        }
        Verdict::Continue { prompted: false, .. } => {
            let was_done = matches!(trigger, Trigger::Stopped(_) | Trigger::Tick);
            was_done.then(|| driver::UNHEARD.to_owned())
        }
        Verdict::Wait(_) => None,
        Verdict::Stop(reason) => {
            let made = (run.counters.continuations, run.settings.budget.max_continuations);
            driver::incomplete(lists, *reason, made)
        }
    }
}

/// Messages that a failed run has not seen are answered by the next run.
#[must_use]
pub fn unanswered(run: &Run) -> Option<Then> {
    let owes = run.owes_an_answer() && run.delegation_id.is_none();
    owes.then_some(Then::CallUpon(run.conversation_id))
}

/// The mission and the pillar that a run of an owner is about.
#[must_use]
pub fn owned_pillar(run: &Run) -> Option<(&str, &str)> {
    let pillar = run.mission.as_deref().zip(run.pillar.as_deref());
    pillar.filter(|_| matches!(run.role, Role::Owner))
}

/// Did a run in this chat plan a pillar? Its owner does that in the chat of the pillar (M-84).
#[must_use]
pub const fn is_planning(chat: &Conversation) -> bool {
    matches!(chat.channel, Channel::Pillar)
}

/// Holds an item whose tools fail, so that others continue (S-25, D-19). Returns the command, and
/// the message for the model.
#[must_use]
pub fn tools_failed(item: &Todo, error: &str) -> Option<(HoldTodo, String)> {
    let why: String = error.split_whitespace().collect::<Vec<_>>().join(" ");
    let why: String = why.chars().take(REASON_MAX).collect();
    let reason = Body::new(&format!("its tools failed: {why}")).ok()?;
    let hold = HoldTodo { todo_id: item.id, kind: HoldKind::Failed, reason, until: None };
    let message = format!("“{}” is held as failed: {why}. Go on with the others.", item.title);
    Some((hold, message))
}
