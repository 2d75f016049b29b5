//! The state that a command is decided on, and the fold that updates it.
//!
//! A snapshot holds the list, the items the operation named (often only the open ones), and counts
//! over the whole scope. `apply` is infallible and the only projection: the store writes the rows
//! it touched, and tests and `punch doctor` fold the log with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::authority::Action;
use crate::capacity::Limits;
use crate::event::{
    ChangeRecommended, ClaimReturned, CommandRefused, ListArchived, ListOpened, ListPurged,
    ListUnarchived, ProjectOpened, SignInLinkMade, TodoArchived, TodoAssigned, TodoCancelled,
    TodoChained, TodoClaimed, TodoCompleted, TodoCreated, TodoDeferred, TodoDemoted, TodoDescribed,
    TodoEscalated, TodoHeld, TodoMoved, TodoNoted, TodoPromoted, TodoRatified, TodoRemoved,
    TodoReopened, TodoRevised, TodoStarted, TodoTaken, TodoUnheld, TodoYielded, TokenIssued,
    TokenRevoked,
};
use crate::evidence::EvidenceKind;
use crate::todo::Note;
use crate::{Event, Lease, List, Status, Time, Todo, TodoId};

/// How many items have each status; zero if there are none (D-10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    pub backlog: u64,
    pub pending: u64,
    pub in_progress: u64,
    pub completed: u64,
    pub cancelled: u64,
}

impl Tally {
    pub const fn of(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::Backlog => &mut self.backlog,
            Status::Pending => &mut self.pending,
            Status::InProgress => &mut self.in_progress,
            Status::Completed => &mut self.completed,
            Status::Cancelled => &mut self.cancelled,
        }
    }

    /// Pending and in progress.
    #[must_use]
    pub const fn active(&self) -> u64 {
        self.pending + self.in_progress
    }

    /// All items that are not settled.
    #[must_use]
    pub const fn open(&self) -> u64 {
        self.backlog + self.pending + self.in_progress
    }

    #[must_use]
    pub const fn total(&self) -> u64 {
        self.backlog + self.pending + self.in_progress + self.completed + self.cancelled
    }

    const fn shift(&mut self, from: Status, to: Status) {
        let from = self.of(from);
        *from = from.saturating_sub(1);
        *self.of(to) += 1;
    }
}

/// Settings of a mission's file for the lists of its pillars, besides the limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// May an owner promote, demote and reprioritize without the lead (D-2)?
    pub owner_may_rebalance: bool,
    /// The kinds of evidence a claim must carry (P-24).
    pub claim_evidence: Vec<EvidenceKind>,
}

/// The state a command is decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub list: List,
    /// How many items may be open at once, if this kind of list has a capacity. It is a setting of
    /// the mission, not of the list: the snapshot brings it and no event changes it.
    pub limits: Option<Limits>,
    pub terms: Terms,
    /// The loaded items. An operation loads what its rules depend on.
    pub todos: BTreeMap<TodoId, Todo>,
    /// Counts over the list, or over the mission if its limits are for the whole mission.
    pub tally: Tally,
    /// The highest position in use, so that a new item comes last.
    pub last_position: Option<i64>,
    /// The leases of the loaded items that were ever taken; not part of the fold.
    pub leases: BTreeMap<TodoId, Lease>,
    /// Notes added since loading; no rule depends on notes.
    pub notes: Vec<Note>,
}

impl Snapshot {
    /// A list without items.
    #[must_use]
    pub const fn empty(list: List) -> Self {
        Self {
            list,
            limits: None,
            terms: Terms { owner_may_rebalance: false, claim_evidence: Vec::new() },
            todos: BTreeMap::new(),
            tally: Tally { backlog: 0, pending: 0, in_progress: 0, completed: 0, cancelled: 0 },
            last_position: None,
            leases: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    #[must_use]
    pub fn todo(&self, id: TodoId) -> Option<&Todo> {
        self.todos.get(&id)
    }
}

/// Which row an event changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    Nothing,
    List,
    /// The list, whose rows are all deleted.
    Purged,
    Todo(TodoId),
    /// The last note of the snapshot.
    Note,
    Lease(TodoId),
    /// The item, and the lease on it.
    Taken(TodoId),
}

impl Snapshot {
    /// Lifts the holds whose time is over, so that every caller sees the current state.
    pub fn lift_holds(&mut self, now: Time) {
        self.todos.values_mut().for_each(|todo| todo.lift_hold(now));
    }
}

/// Folds one event into the state. Items that were not loaded are ignored.
pub fn apply(snapshot: &mut Snapshot, event: &Event, at: Time) -> Touched {
    match event {
        Event::ListOpened(ListOpened { list }) => {
            snapshot.list = list.clone();
            Touched::List
        }
        Event::ListArchived(ListArchived { archived_at, .. }) => {
            snapshot.list.archived_at = Some(*archived_at);
            Touched::List
        }
        Event::ListUnarchived(ListUnarchived { .. }) => {
            snapshot.list.archived_at = None;
            Touched::List
        }
        Event::ListPurged(ListPurged { last_seq, .. }) => {
            let mut list = snapshot.list.clone();
            list.last_seq = list.last_seq.max(*last_seq);
            *snapshot = Snapshot { limits: snapshot.limits, ..Snapshot::empty(list) };
            Touched::Purged
        }
        Event::TodoCreated(TodoCreated { todo }) => {
            *snapshot.tally.of(todo.status) += 1;
            snapshot.last_position =
                Some(snapshot.last_position.map_or(todo.position, |p| p.max(todo.position)));
            snapshot.todos.insert(todo.id, Todo::clone(todo));
            Touched::Todo(todo.id)
        }
        Event::TodoTaken(TodoTaken { todo_id, lease, assignee, started_at }) => {
            snapshot.leases.insert(*todo_id, lease.clone());
            if assignee.is_none() && started_at.is_none() {
                return Touched::Lease(*todo_id);
            }
            let Some(todo) = snapshot.todos.get_mut(todo_id) else {
                return Touched::Lease(*todo_id);
            };
            if assignee.is_some() {
                todo.assignee.clone_from(assignee);
                todo.assigned_by_taking = true;
            }
            if started_at.is_some() {
                snapshot.tally.shift(todo.status, Status::InProgress);
                todo.status = Status::InProgress;
                todo.started_at = *started_at;
                granted(todo, Action::Start);
            }
            todo.lift_hold(at);
            todo.updated_at = at;
            Touched::Taken(*todo_id)
        }
        Event::TodoNoted(TodoNoted { note }) => {
            snapshot.notes.push(note.clone());
            Touched::Note
        }
        Event::ProjectOpened(ProjectOpened { .. })
        | Event::ProjectMerged(_)
        | Event::StoreIdentitySet(_)
        | Event::TokenIssued(TokenIssued { .. })
        | Event::TokenRevoked(TokenRevoked { .. })
        | Event::SignInLinkMade(SignInLinkMade { .. })
        | Event::StoreRestored(_)
        | Event::CommandRefused(CommandRefused { .. })
        // Issues, sessions, gates, delegations and missions are aggregates of their own.
        | Event::IssueCreated(_)
        | Event::IssueTransitioned(_)
        | Event::IssueTransitionRefused(_)
        | Event::ChecklistChanged(_)
        | Event::IssueAssigned(_)
        | Event::IssueDeferred(_)
        | Event::IssueRevised(_)
        | Event::IssueUpdated(_)
        | Event::IssueLinked(_)
        | Event::IssueUnlinked(_)
        | Event::SessionStarted(_)
        | Event::SessionBound(_)
        | Event::SessionUnbound(_)
        | Event::SessionEnded(_)
        | Event::SessionReopened(_)
        | Event::SessionAdopted(_)
        | Event::SessionTitled(_)
        | Event::HookAnswered(_)
        | Event::ConversationOpened(_)
        | Event::MessagePosted(_)
        | Event::GateOpened(_)
        | Event::GateAnswered(_)
        | Event::GateSuperseded(_)
        | Event::GateCollected(_)
        | Event::PermissionRevoked(_)
        | Event::GateAnswerRefused(_)
        | Event::AgentChanged(_)
        | Event::TodoLineTicked(_)
        | Event::DelegationQueued(_)
        | Event::DelegationStarted(_)
        | Event::DelegationReturned(_)
        | Event::DelegationFailed(_)
        | Event::DelegationCancelled(_)
        | Event::MissionInitialised(_)
        | Event::MissionStandingChanged(_)
        | Event::CycleRun(_)
        | Event::ReadingRecorded(_)
        | Event::CollectionQueued(_)
        | Event::CollectionFailed(_)
        | Event::DelegationRefused(_)
        | Event::RunStarted(_)
        | Event::RunConfigured(_)
        | Event::RunStepped(_)
        | Event::RunContinued(_)
        | Event::RunWaited(_)
        | Event::RunWoken(_)
        | Event::RunCancelled(_)
        | Event::RunStopped(_)
        | Event::SessionPaused(_)
        | Event::SessionResumed(_)
        | Event::ProposalDecided(_) => Touched::Nothing,
        Event::ChangeRecommended(ChangeRecommended { todo_id, .. })
        | Event::TodoEscalated(TodoEscalated { todo_id, .. })
        | Event::TodoArchived(TodoArchived { todo_id, .. })
        | Event::TodoStarted(TodoStarted { todo_id, .. })
        | Event::TodoYielded(TodoYielded { todo_id, .. })
        | Event::TodoCompleted(TodoCompleted { todo_id, .. })
        | Event::TodoCancelled(TodoCancelled { todo_id, .. })
        | Event::TodoPromoted(TodoPromoted { todo_id, .. })
        | Event::TodoDemoted(TodoDemoted { todo_id, .. })
        | Event::TodoReopened(TodoReopened { todo_id, .. })
        | Event::TodoRemoved(TodoRemoved { todo_id, .. })
        | Event::TodoRatified(TodoRatified { todo_id, .. })
        | Event::TodoRevised(TodoRevised { todo_id, .. })
        | Event::TodoMoved(TodoMoved { todo_id, .. })
        | Event::TodoDescribed(TodoDescribed { todo_id, .. })
        | Event::TodoChained(TodoChained { todo_id, .. })
        | Event::TodoHeld(TodoHeld { todo_id, .. })
        | Event::TodoUnheld(TodoUnheld { todo_id })
        | Event::TodoDeferred(TodoDeferred { todo_id, .. })
        | Event::TodoClaimed(TodoClaimed { todo_id, .. })
        | Event::ClaimReturned(ClaimReturned { todo_id, .. })
        | Event::TodoAssigned(TodoAssigned { todo_id, .. }) => {
            let Some(todo) = snapshot.todos.get_mut(todo_id) else {
                return Touched::Nothing;
            };
            let before = todo.status;
            todo.lift_hold(at);
            change(todo, event);
            todo.updated_at = at;
            if before != todo.status {
                snapshot.tally.shift(before, todo.status);
            }
            snapshot.last_position = snapshot.last_position.max(Some(todo.position));
            Touched::Todo(*todo_id)
        }
    }
}

/// Removes the recommendations of an action that was done.
fn granted(todo: &mut Todo, action: Action) {
    todo.wishes.retain(|wish| wish.action != action);
}

/// Sets the new values of one item, and clears facts that make no sense in the new status.
fn change(todo: &mut Todo, event: &Event) {
    match event {
        Event::TodoStarted(e) => {
            todo.status = Status::InProgress;
            todo.started_at = Some(e.started_at);
            granted(todo, Action::Start);
        }
        Event::TodoYielded(_) => todo.status = Status::Pending,
        Event::TodoCompleted(e) => {
            todo.status = Status::Completed;
            todo.outcome.clone_from(&e.outcome);
            todo.evidence.clone_from(&e.evidence);
            todo.started_at = Some(e.started_at);
            todo.settled_at = Some(e.settled_at);
            todo.settled_by = Some(e.settled_by.clone());
            if let Some(claim) = &mut todo.claim {
                // Not needed if the names are the same: the row shows that already.
                claim.accepted_by_maker = e.self_accepted && claim.by != e.settled_by.principal;
            }
            todo.hold = None;
            todo.defer_until = None;
            todo.wishes.clear();
        }
        Event::TodoCancelled(e) => {
            todo.status = Status::Cancelled;
            todo.outcome.clone_from(&e.outcome);
            todo.settled_at = Some(e.settled_at);
            todo.settled_by = Some(e.settled_by.clone());
            todo.claim = None;
            todo.hold = None;
            todo.defer_until = None;
            todo.wishes.clear();
        }
        Event::TodoPromoted(_) => {
            todo.status = Status::Pending;
            granted(todo, Action::Promote);
        }
        Event::TodoDemoted(_) => {
            todo.status = Status::Backlog;
            granted(todo, Action::Demote);
        }
        Event::TodoReopened(_) => {
            todo.status = Status::Pending;
            todo.outcome = None;
            todo.evidence.clear();
            todo.claim = None;
            todo.settled_at = None;
            todo.settled_by = None;
            // A reopened item is in view again.
            todo.removed_at = None;
        }
        Event::TodoRemoved(e) => todo.removed_at = Some(e.removed_at),
        Event::TodoRatified(e) => todo.ratified_at = Some(e.ratified_at),
        Event::TodoRevised(e) => {
            let before = todo.clone();
            todo.title.clone_from(&e.title);
            todo.phase.clone_from(&e.phase);
            todo.priority = e.priority;
            todo.position = e.position;
            todo.deadline = e.deadline;
            let mut wishes = std::mem::take(&mut todo.wishes);
            wishes.retain(|wish| !wish.is_met(&before, todo));
            todo.wishes = wishes;
        }
        Event::TodoMoved(e) => {
            todo.parent_id = e.parent_id;
            todo.position = e.position;
        }
        Event::TodoChained(e) => todo.after.clone_from(&e.after),
        Event::TodoDescribed(e) => todo.description.clone_from(&e.description),
        Event::TodoHeld(e) => todo.hold = Some(Box::new(e.hold.clone())),
        Event::TodoUnheld(_) => todo.hold = None,
        Event::TodoDeferred(e) => {
            todo.defer_until = e.until;
            granted(todo, Action::Defer);
        }
        Event::ChangeRecommended(ChangeRecommended { wish, .. }) => {
            // A repeated recommendation replaces the older one.
            todo.wishes.retain(|old| !wish.repeats(old));
            todo.wishes.push(wish.clone());
        }
        Event::TodoEscalated(e) => todo.overdue_notified_for = Some(e.deadline),
        Event::TodoArchived(e) => todo.archived_at = Some(e.archived_at),
        Event::TodoClaimed(e) => todo.claim = Some(Box::new(e.claim.clone())),
        Event::ClaimReturned(_) => todo.claim = None,
        Event::TodoAssigned(e) => {
            todo.assignee.clone_from(&e.assignee);
            todo.assigned_by_taking = false;
        }
        // Events that change no item.
        _ => {}
    }
}
