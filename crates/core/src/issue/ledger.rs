//! The ledger of an issue: comments, and the few decisions that must be seen (K-26, K-27).
//!
//! Notes on items and routine moves stay in the event log. [`follow`] alone decides which changes
//! of a checklist appear here, from the events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Issue, Part, keeper};
use crate::authority::{Action, Subject};
use crate::event::{ChecklistChanged, IssueUpdated};
use crate::named::named;
use crate::text::Body;
use crate::{
    Actor, By, Command, Decide, Decision, Event, Ids, IssueId, Refused, Snapshot, Time, Todo,
    TodoId, TodoKind, UpdateId,
};

named! {
    /// The kind of a ledger line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum UpdateKind {
        Comment = "comment",
        SystemNote = "system_note",
    }
}

/// A line of the ledger; lines are only ever added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IssueUpdate {
    pub id: UpdateId,
    pub issue_id: IssueId,
    pub kind: UpdateKind,
    pub author: String,
    pub text: String,
    pub created_at: Time,
}

/// Comment on an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentIssue {
    pub text: Body,
}

impl Decide for CommentIssue {
    type On<'a> = &'a Issue;
    type Out = Decision;

    fn decide(
        &self,
        issue: Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Subject::Issue, Action::Comment, || true)?;
        let text = self.text.as_str().to_owned();
        let event = line(issue.id, UpdateKind::Comment, text, actor, now, ids);
        Ok(Decision { events: vec![event], ..Decision::default() })
    }
}

/// A system note as an event.
pub(crate) fn note(issue: &Issue, text: String, actor: &Actor, now: Time, ids: &mut Ids) -> Event {
    line(issue.id, UpdateKind::SystemNote, text, actor, now, ids)
}

fn line(
    issue_id: IssueId,
    kind: UpdateKind,
    text: String,
    actor: &Actor,
    created_at: Time,
    ids: &mut Ids,
) -> Event {
    let (id, author) = (UpdateId::from(ids.ulid()), actor.principal.clone());
    IssueUpdated { update: IssueUpdate { id, issue_id, kind, author, text, created_at } }.into()
}

/// The consequences of a checklist change for its issue: a new revision, and new lines in the
/// ledger. `checklist` is the state after the change.
#[must_use]
pub fn follow(
    issue: &Issue,
    checklist: &Snapshot,
    command: &Command,
    decided: &Decision,
    actor: &Actor,
    now: Time,
    ids: &mut Ids,
) -> Decision {
    // A renewed lease changes nothing visible. A refused sign-off is told even if it opens nothing
    // again.
    let is_refusal = matches!(command, Command::RefuseSignOff(_));
    if !is_refusal && decided.events.iter().all(|event| matches!(event, Event::TodoTaken(_))) {
        return Decision::default();
    }
    let mut events: Vec<Event> = lines_about(checklist, command, decided)
        .into_iter()
        .map(|text| note(issue, text, actor, now, ids))
        .collect();
    let (issue_id, revision) = (issue.id, issue.revision + 1);
    let parts = judged_parts(checklist, decided);
    events.push(ChecklistChanged { issue_id, revision, parts }.into());
    Decision { events, ..Decision::default() }
}

/// The parts of an issue that a sign-off covers and this decision changed.
fn judged_parts(checklist: &Snapshot, decided: &Decision) -> Vec<Part> {
    let is_criterion =
        |id: &TodoId| checklist.todo(*id).is_some_and(|todo| todo.kind == TodoKind::Criterion);
    let mut parts = Vec::new();
    for event in &decided.events {
        let (id, changed): (&TodoId, &[Part]) = match event {
            Event::TodoCreated(e) => (&e.todo.id, &[Part::Criteria]),
            Event::TodoRevised(e) => (&e.todo_id, &[Part::Criteria]),
            Event::TodoDescribed(e) => (&e.todo_id, &[Part::Criteria]),
            Event::TodoCancelled(e) => (&e.todo_id, &[Part::Criteria]),
            Event::TodoRemoved(e) => (&e.todo_id, &[Part::Criteria]),
            Event::TodoHeld(e) => (&e.todo_id, &[Part::Criteria]),
            Event::TodoReopened(e) => (&e.todo_id, &[Part::Claims]),
            Event::TodoCompleted(e) => (&e.todo_id, &[Part::Claims]),
            Event::ClaimReturned(e) => (&e.todo_id, &[Part::Claims]),
            Event::TodoClaimed(e) if e.claim.evidence.is_empty() => (&e.todo_id, &[Part::Claims]),
            Event::TodoClaimed(e) => (&e.todo_id, &[Part::Claims, Part::Evidence]),
            _ => continue,
        };
        if is_criterion(id) {
            parts.extend_from_slice(changed);
        }
    }
    parts.sort_unstable();
    parts.dedup();
    parts
}

/// The ledger lines for a change of the checklist.
fn lines_about(checklist: &Snapshot, command: &Command, decided: &Decision) -> Vec<String> {
    let criterion = |id: &TodoId| -> Option<&Todo> {
        checklist.todo(*id).filter(|todo| todo.kind == TodoKind::Criterion)
    };
    let mut lines = Vec::new();
    match command {
        Command::AdoptTodos(adopt) => {
            let items = new_items(decided);
            lines.push(format!("Sublist of {} approved: {items}.", adopt.origin_agent));
        }
        Command::RefuseSignOff(refused) => {
            let returned = decided.events.iter().filter_map(|event| match event {
                Event::ClaimReturned(e) => criterion(&e.todo_id),
                Event::TodoReopened(e) => criterion(&e.todo_id),
                _ => None,
            });
            let titles: Vec<String> = returned.map(|todo| format!("`{}`", todo.title)).collect();
            let open = match titles.join(", ") {
                none if none.is_empty() => String::new(),
                titles => format!(" Open again: {titles}."),
            };
            let said = refused.feedback.as_str();
            let stop = if said.ends_with(['.', '!', '?']) { "" } else { "." };
            lines.push(format!("Sign-off refused: {said}{stop}{open}"));
        }
        _ => {}
    }
    let removed: Vec<TodoId> = decided
        .events
        .iter()
        .filter_map(|event| match event {
            Event::TodoRemoved(e) => Some(e.todo_id),
            _ => None,
        })
        .collect();
    for event in &decided.events {
        let said = match event {
            Event::TodoClaimed(e) => criterion(&e.todo_id).map(|todo| claimed(todo, &e.claim)),
            Event::TodoRatified(e) if matches!(command, Command::RatifyTodo(_)) => {
                criterion(&e.todo_id).map(|todo| format!("Criterion ratified: {}", todo.title))
            }
            // Removing an open item cancels it first; the two events make one line.
            Event::TodoCancelled(e) if !removed.contains(&e.todo_id) => {
                criterion(&e.todo_id).map(|todo| format!("Criterion dropped: {}", todo.title))
            }
            Event::TodoRemoved(e) => {
                criterion(&e.todo_id).map(|todo| format!("Criterion removed: {}", todo.title))
            }
            _ => None,
        };
        lines.extend(said);
    }
    lines
}

/// The number of items that a decision adds, in words.
fn new_items(decided: &Decision) -> String {
    let is_new = |event: &&Event| matches!(event, Event::TodoCreated(_));
    match decided.events.iter().filter(is_new).count() {
        1 => "1 item".to_owned(),
        count => format!("{count} items"),
    }
}

fn claimed(todo: &Todo, claim: &crate::todo::Claim) -> String {
    let evidence: Vec<String> = claim.evidence.iter().map(ToString::to_string).collect();
    let on = if evidence.is_empty() { "no evidence".to_owned() } else { evidence.join(", ") };
    format!("Criterion claimed by {}: {} ({on})", claim.by, todo.title)
}
