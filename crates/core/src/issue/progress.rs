//! The progress of a checklist in one line, and the steps that an agent cancelled (P-9).

use crate::select::ordered;
use crate::text::normalised;
use crate::{Snapshot, Status, Todo, TodoKind};

/// Counts over the items in view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub total: usize,
    /// Not settled and not claimed.
    pub open: usize,
    /// Settled, or claimed and waiting for its reviewer.
    pub closed: usize,
    /// Open, but not actionable.
    pub held: usize,
    pub criteria: usize,
    /// Accepted.
    pub criteria_met: usize,
    /// Claimed and not accepted yet.
    pub criteria_claimed: usize,
    /// Steps that an agent cancelled.
    pub dropped_by_agent: usize,
    pub steps: usize,
    /// Settled, or claimed and waiting for its reviewer.
    pub steps_closed: usize,
}

/// What one item adds to the counts of its kind. The store adds the same shares up in SQL's groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// A criterion; a cancelled one does not count.
    pub criterion: bool,
    pub met: bool,
    pub claimed: bool,
    pub step: bool,
    pub step_closed: bool,
    pub held: bool,
}

impl Share {
    #[must_use]
    pub fn of(kind: TodoKind, status: Status, (is_claimed, is_held): (bool, bool)) -> Self {
        let is_open = !status.is_settled();
        let held = is_held && is_open;
        match kind {
            TodoKind::Criterion => Self {
                criterion: status != Status::Cancelled,
                met: status == Status::Completed,
                claimed: is_claimed && is_open,
                held,
                ..Self::default()
            },
            TodoKind::Step => {
                let step_closed = is_claimed || !is_open;
                Self { step: true, step_closed, held, ..Self::default() }
            }
        }
    }
}

/// Counts the items in view.
#[must_use]
pub fn of(snapshot: &Snapshot) -> Progress {
    let mut progress = Progress::default();
    for todo in ordered(snapshot) {
        let marks = (todo.claim.is_some(), todo.hold.is_some());
        let share = Share::of(todo.kind, todo.status, marks);
        let closed = todo.status.is_settled() || todo.claim.is_some();
        progress.total += 1;
        *(if closed { &mut progress.closed } else { &mut progress.open }) += 1;
        progress.held += usize::from(share.held);
        progress.criteria += usize::from(share.criterion);
        progress.criteria_met += usize::from(share.met);
        progress.criteria_claimed += usize::from(share.claimed);
        progress.steps += usize::from(share.step);
        progress.steps_closed += usize::from(share.step_closed);
        progress.dropped_by_agent += usize::from(share.step && dropped_by_agent(todo));
    }
    progress
}

fn dropped_by_agent(todo: &Todo) -> bool {
    todo.status == Status::Cancelled
        && todo.settled_by.as_ref().is_some_and(|by| by.role.is_agent())
}

/// The steps of its plan that an agent cancelled, in words; `None` if there are none (P-9). It
/// works for any list, so that cancelled plans are always visible.
#[must_use]
pub fn given_up(snapshot: &Snapshot) -> Option<String> {
    let Progress { dropped_by_agent: dropped, steps, .. } = of(snapshot);
    (dropped > 0).then(|| format!("{dropped} of {steps} cancelled by the agent"))
}

/// How many removed items a notice names.
const REMOVED_MAX: usize = 5;

/// The items that the operator removed from view, the newest first, so that nobody adds them again
/// (F-16); `None` if there are none.
#[must_use]
pub fn removed_notice(snapshot: &Snapshot) -> Option<String> {
    let mut removed: Vec<&Todo> =
        snapshot.todos.values().filter(|todo| todo.removed_at.is_some()).collect();
    removed.sort_unstable_by_key(|todo| std::cmp::Reverse((todo.removed_at, todo.id)));
    let back = |text: &str| {
        let text = normalised(text);
        ordered(snapshot).into_iter().any(|todo| normalised(&todo.title) == text)
    };
    let mut texts: Vec<String> = removed
        .into_iter()
        .filter(|todo| !back(&todo.title))
        .map(|todo| format!("`{}`", normalised(&todo.title)))
        .collect();
    let more = texts.len().saturating_sub(REMOVED_MAX);
    texts.truncate(REMOVED_MAX);
    if more > 0 {
        texts.push(format!("{more} more"));
    }
    let listed = texts.join(", ");
    (!listed.is_empty())
        .then(|| format!("Removed by the operator, not to be added again: {listed}."))
}

/// The progress in words; empty for an empty list.
#[must_use]
pub fn line(snapshot: &Snapshot) -> String {
    let progress = of(snapshot);
    if progress.total == 0 {
        return String::new();
    }
    // A claim is not closed before it is accepted; it is counted below.
    let closed = progress.closed - progress.criteria_claimed;
    let mut parts = vec![format!("{closed} of {} closed", progress.total)];
    if progress.held > 0 {
        parts.push(format!("{} held", progress.held));
    }
    if progress.criteria > 0 {
        parts.push(format!("{} of {} criteria met", progress.criteria_met, progress.criteria));
    }
    if progress.criteria_claimed > 0 {
        parts.push(format!("{} claimed", progress.criteria_claimed));
    }
    parts.extend(given_up(snapshot));
    parts.join(", ")
}
