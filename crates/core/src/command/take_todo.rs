//! Take an item: lease it, and start it. If many try at once, one gets it (P-2).

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoTaken;
use crate::plan::cancelled_above;
use crate::policy::Wip;
use crate::transition::Move;
use crate::{Lease, Refusal, Refused, Status, Time, TodoId, TodoKind};

/// Lease an item for `lease_s` seconds of the database's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeTodo {
    pub todo_id: TodoId,
    pub lease_s: i64,
    /// The database's clock, used to check leases.
    pub clock: Time,
}

impl TakeTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let todo = draft.open(self.todo_id)?;
        if todo.kind == TodoKind::Criterion {
            return Err(Refusal::CriterionNotStartable { title: todo.title.clone() }.into());
        }
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        let me = draft.actor.principal.clone();
        draft.not_taken_by_another(self.todo_id, self.clock)?;
        if draft.holder(self.todo_id, self.clock).is_some() {
            // A repeated take changes nothing.
            return Ok(());
        }
        draft.workable(self.todo_id)?;
        draft.not_waiting(self.todo_id)?;
        draft.not_assigned_to_another(self.todo_id)?;
        draft.not_dropped(self.todo_id)?;
        draft.no_open_children(self.todo_id)?;
        draft.nobody_works(self.todo_id, self.clock)?;
        let todo = draft.todo(self.todo_id)?;
        let new_to_it = todo.assignee.as_ref() != Some(&draft.actor.agent);
        let begins = todo.status != Status::InProgress;
        let assigns = draft.policy().assigning_starts && new_to_it;
        let assignee = assigns.then(|| draft.actor.agent.clone());
        let mut started_at = None;
        if begins {
            draft.can(Move::Start, self.todo_id)?;
            // If many items may be in progress, one event records the whole take. Otherwise another
            // item may have to yield first, with its own event.
            if draft.policy().wip == Wip::Many {
                started_at = Some(draft.now);
            } else {
                draft.start(self.todo_id)?;
            }
        }
        let epoch = draft.state.leases.get(&self.todo_id).map_or(0, |lease| lease.epoch) + 1;
        let until = self.clock.plus_seconds(self.lease_s);
        let lease = Lease { holder: Some(me), epoch, until };
        draft.emit(TodoTaken { todo_id: self.todo_id, lease, assignee, started_at });
        Ok(())
    }
}

impl Draft<'_> {
    /// Who holds an item now, and until when.
    fn holder(&self, id: TodoId, clock: Time) -> Option<(String, Time)> {
        let lease = self.state.leases.get(&id)?;
        lease.held_by(clock).map(|holder| (holder.to_owned(), lease.until))
    }

    /// Refuses an item that another holds, and names the holder.
    pub(super) fn not_taken_by_another(&self, id: TodoId, clock: Time) -> Result<(), Refused> {
        match self.holder(id, clock) {
            Some((holder, until)) if holder != self.actor.principal => {
                let (todo_id, title) = (id, self.todo(id)?.title.clone());
                Err(Refusal::AlreadyTaken { todo_id, title, holder, until }.into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses a task that another agent was assigned. An assignment made by taking ends with its
    /// lease, and the caller has checked that nobody holds one.
    fn not_assigned_to_another(&self, id: TodoId) -> Result<(), Refused> {
        let todo = self.todo(id)?;
        let Some(agent) = todo.assignee.clone().filter(|_| self.policy().assigning_starts) else {
            return Ok(());
        };
        if agent == self.actor.agent || todo.assigned_by_taking {
            return Ok(());
        }
        Err(Refusal::AssignedToAnother { todo_id: id, title: todo.title.clone(), agent }.into())
    }

    /// Refuses a task with a cancelled task above it.
    pub(super) fn not_dropped(&self, id: TodoId) -> Result<(), Refused> {
        let todo = self.todo(id)?;
        match cancelled_above(&self.state, todo) {
            None => Ok(()),
            Some(above) => {
                let (title, above) = (todo.title.clone(), above.title.clone());
                Err(Refusal::BelowCancelled { title, above }.into())
            }
        }
    }

    /// Refuses an item that is claimed, held or deferred.
    fn workable(&self, id: TodoId) -> Result<(), Refused> {
        self.unclaimed(id)?;
        let todo = self.todo(id)?;
        if let Some(hold) = &todo.hold {
            let (title, reason) = (todo.title.clone(), hold.reason.clone());
            return Err(Refusal::Held { title, reason }.into());
        }
        match todo.defer_until {
            Some(until) if until > self.now => {
                Err(Refusal::Deferred { title: todo.title.clone(), until }.into())
            }
            _ => Ok(()),
        }
    }

    /// If only one item may be in progress, refuses while another one is leased.
    fn nobody_works(&self, id: TodoId, clock: Time) -> Result<(), Refused> {
        if self.policy().wip == Wip::Many {
            return Ok(());
        }
        let other = self.state.todos.values().find(|todo| {
            todo.id != id
                && todo.status == Status::InProgress
                && self.holder(todo.id, clock).is_some()
        });
        match other {
            None => Ok(()),
            Some(todo) => {
                let (todo_id, title) = (todo.id, todo.title.clone());
                Err(Refusal::OneInProgress { todo_id, title }.into())
            }
        }
    }

    /// A write that names an epoch must name the caller's current lease; else it is refused and
    /// logged.
    pub(super) fn fence(&self, id: TodoId, epoch: i64, clock: Time) -> Result<(), Refused> {
        let lease = self.state.leases.get(&id);
        let holder = lease.and_then(|lease| lease.held_by(clock));
        let current = lease.map_or(0, |lease| lease.epoch);
        let is_own = holder == Some(self.actor.principal.as_str());
        if is_own && current == epoch {
            return Ok(());
        }
        let holder = holder.map(str::to_owned);
        let refusal = Refusal::StaleEpoch { todo_id: id, epoch, current, holder, is_own };
        Err(self.logged(id, refusal))
    }
}
