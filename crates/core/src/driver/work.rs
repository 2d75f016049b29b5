//! A summary of the lists of a run.

use std::collections::BTreeSet;

use super::StopReason;
use super::fingerprint::Fingerprint;
use crate::plan::{dropped, waiting};
use crate::select::{self, First};
use crate::todo::HoldKind;
use crate::{ListKind, Snapshot, Status, Time, Todo, TodoId};

/// What the driver needs to know about the live lists of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Items somebody can work on now (S-10, D-17).
    pub actionable: usize,
    /// The next item to work on.
    pub next: Option<Next>,
    pub held: Vec<Held>,
    /// Claimed, and waiting for their reviewer.
    pub claimed: usize,
    pub deferred: usize,
    /// All items that were ever on the lists.
    pub total: usize,
    pub settled: usize,
    /// Changes when any item changes.
    pub fingerprint: u64,
}

/// The next item to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    pub id: TodoId,
    pub title: String,
    pub list: ListKind,
    pub status: Status,
}

/// An item that is held, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub title: String,
    pub kind: HoldKind,
    pub reason: String,
}

impl Work {
    /// Summarises lists, the most urgent first. The next item comes from the first list that has
    /// one.
    #[must_use]
    pub fn of<'a>(lists: impl IntoIterator<Item = &'a Snapshot>, now: Time) -> Self {
        let mut work = Self::default();
        let mut print = Fingerprint::new();
        for list in lists {
            work.add(list, now, &mut print);
        }
        work.fingerprint = print.finish();
        work
    }

    /// Like `of`, for an agent that has tools only for these kinds of lists. If nothing else is left
    /// to work on, the other lists count too, and the second value is false: no tool fits.
    #[must_use]
    pub fn within(lists: &[Snapshot], workable: &[ListKind], now: Time) -> (Self, bool) {
        let is_workable = |list: &&Snapshot| workable.contains(&list.list.kind());
        let work = Self::of(lists.iter().filter(is_workable), now);
        if work.actionable > 0 || lists.iter().all(|list| is_workable(&list)) {
            return (work, true);
        }
        let all = Self::of(lists, now);
        let has_todo_tool = all.actionable == 0;
        (all, has_todo_tool)
    }

    fn add(&mut self, list: &Snapshot, now: Time, print: &mut Fingerprint) {
        let kind = list.list.kind();
        let mut loaded = 0;
        let mut above = BTreeSet::new();
        // One pass over the items: those of a long list do not fit the CPU cache.
        let mut first = First::of(list);
        let mut marks = Vec::with_capacity(list.todos.len());
        let (waiting, dropped) = (waiting(list), dropped(list));
        for todo in list.todos.values().filter(in_view) {
            let is_free = !waiting.contains(&todo.id) && !dropped.contains(&todo.id);
            let is_actionable = todo.is_actionable(now) && is_free;
            if let Some(first) = &mut first {
                first.see(todo, is_actionable);
            }
            marks.push((todo.id, todo.status, todo.hold.is_some(), todo.claim.is_some()));
            self.total += 1;
            if todo.status.is_settled() {
                self.settled += 1;
                loaded += 1;
                continue;
            }
            if dropped.contains(&todo.id) {
                self.settled += 1;
                continue;
            }
            above.extend(todo.parent_id);
            if is_actionable {
                self.actionable += 1;
            } else if let Some(hold) = &todo.hold {
                let (title, reason) = (todo.title.clone(), hold.reason.clone());
                self.held.push(Held { title, kind: hold.kind, reason });
            } else if todo.claim.is_some() {
                self.claimed += 1;
            } else if todo.status.is_active() && !todo.title.trim().is_empty() {
                self.deferred += 1;
            }
        }
        let next = first.map_or_else(|| select::next(list, now), |first| first.found(list, now));
        let next = next.or_else(|| first_ready(list, now));
        for (id, status, is_held, is_claimed) in marks {
            // The driver itself marks the next item as started, so that does not count as progress
            // (Q-T1).
            let is_handed_out = matches!(kind, ListKind::Turn | ListKind::Session)
                && next.is_some_and(|next| next.id == id);
            let status = if is_handed_out { Status::InProgress } else { status };
            print.bytes(&id.to_bytes());
            print.bytes(status.name().as_bytes());
            print.bytes(&[u8::from(is_held), u8::from(is_claimed)]);
        }
        // A task with open tasks below it is not worked on itself (D-13).
        let above = above.iter().filter_map(|id| list.todos.get(id)).filter(in_view);
        let is_counted = |todo: &&Todo| todo.is_actionable(now) && !waiting.contains(&todo.id);
        self.actionable -= above.filter(is_counted).count();
        // Items that were not loaded are settled, and counted in the tally.
        let settled = list.tally.completed + list.tally.cancelled;
        let further = usize::try_from(settled).unwrap_or(usize::MAX).saturating_sub(loaded);
        self.total = self.total.saturating_add(further);
        self.settled = self.settled.saturating_add(further);
        print.number(settled);
        if self.next.is_none() {
            self.next = next.map(|todo| Next {
                id: todo.id,
                title: todo.title.clone(),
                list: kind,
                status: todo.status,
            });
        }
    }

    /// Why there is nothing to work on.
    #[must_use]
    pub fn rest(&self) -> StopReason {
        if !self.held.is_empty() {
            StopReason::Blocked
        } else if self.claimed > 0 {
            StopReason::AwaitingReview
        } else if self.deferred > 0 {
            StopReason::Deferred
        } else if self.total == 0 {
            StopReason::NoPlan
        } else {
            StopReason::Drained
        }
    }
}

fn in_view(todo: &&Todo) -> bool {
    todo.removed_at.is_none()
}

/// The first open task without open tasks below it, if the selector finds none.
fn first_ready(list: &Snapshot, now: Time) -> Option<&Todo> {
    let open = list.todos.values().filter(in_view).filter(|todo| !todo.status.is_settled());
    let above: BTreeSet<TodoId> = open.filter_map(|todo| todo.parent_id).collect();
    let mut todos = select::ordered(list).into_iter();
    let (waiting, dropped) = (waiting(list), dropped(list));
    let is_free = |todo: &Todo| {
        !above.contains(&todo.id) && !waiting.contains(&todo.id) && !dropped.contains(&todo.id)
    };
    todos.find(|todo| todo.is_actionable(now) && is_free(todo))
}
