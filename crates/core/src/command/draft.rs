//! A decision in the making: the state with the events so far folded in, and the checks that
//! commands share. Nothing here is visible outside `command`.

use super::texts::Texts;
use crate::authority::{Action, Denial, Verdict, authority, owns};
use crate::event::{ChangeRecommended, CommandRefused, TodoStarted, TodoYielded};
use crate::policy::{Policy, Wip, policy};
use crate::select::ordered;
use crate::todo::{SettledBy, Wish};
use crate::transition::{self, Move};
use crate::{
    Actor, Command, Decision, Event, Ids, Refusal, Refused, Snapshot, Status, Tally, Time, Todo,
    TodoId, TodoKind, Warning, apply,
};

pub(super) struct Draft<'a> {
    pub state: Snapshot,
    pub actor: &'a Actor,
    pub now: Time,
    pub ids: &'a mut Ids,
    pub decision: Decision,
    pub(super) texts: Texts,
    command: &'a Command,
}

/// May the command go on?
#[derive(PartialEq, Eq)]
pub(super) enum Leave {
    Granted,
    /// It becomes a claim.
    AsClaim,
    /// It was kept as a recommendation, and there is nothing more to do.
    Kept,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        snapshot: &Snapshot,
        actor: &'a Actor,
        now: Time,
        ids: &'a mut Ids,
        command: &'a Command,
    ) -> Self {
        let mut state = snapshot.clone();
        state.lift_holds(now);
        let (decision, texts) = (Decision::default(), Texts::default());
        Self { state, actor, now, ids, decision, texts, command }
    }

    pub(super) fn policy(&self) -> &'static Policy {
        policy(self.state.list.kind())
    }

    /// Records an event and moves the state on, so that the next check sees it.
    pub(super) fn emit(&mut self, event: impl Into<Event>) {
        let event = event.into();
        apply(&mut self.state, &event, self.now);
        self.texts.follow(&event);
        self.decision.events.push(event);
    }

    pub(super) fn todo(&self, id: TodoId) -> Result<&Todo, Refused> {
        self.state.todo(id).ok_or_else(|| {
            Refusal::UnknownTodo { todo_id: id.to_string(), list: Some(self.state.list.kind()) }
                .into()
        })
    }

    /// An item that is not settled yet.
    pub(super) fn open(&self, id: TodoId) -> Result<&Todo, Refused> {
        let todo = self.todo(id)?;
        if todo.status.is_settled() {
            return Err(Refusal::settled(todo).into());
        }
        Ok(todo)
    }

    /// Asks the authority table about the command's own action on one item. A recommendation is
    /// recorded here, and a denied judgement is logged.
    pub(super) fn leave(&mut self, id: TodoId) -> Result<Leave, Refused> {
        let action = self.command.action();
        let todo = self.todo(id)?;
        let owned = owns(self.actor, &self.state, Some(todo));
        let (list, kind) = (self.state.list.kind(), todo.kind);
        match authority(self.actor.role, list, kind, action, owned) {
            Verdict::Allow => Ok(Leave::Granted),
            Verdict::Claim => Ok(Leave::AsClaim),
            Verdict::Recommend => {
                if self.state.terms.owner_may_rebalance && self.command.is_rebalancing() {
                    return Ok(Leave::Granted);
                }
                self.open(id)?;
                let (by, at) = (self.actor.principal.clone(), self.now);
                let command = Box::new(self.command.clone());
                let wish = Wish { by, at, action, command };
                self.emit(ChangeRecommended { todo_id: id, wish });
                self.decision.warnings.push(Warning::Recommended { todo_id: id, action });
                Ok(Leave::Kept)
            }
            Verdict::Deny(denial) => {
                let role = self.actor.role;
                let refusal = Refusal::NotPermitted { role, action, list, todo_kind: kind, denial };
                // Logged, so that a result reported after a reassignment is kept.
                if action.is_judgement() || action == Action::Claim {
                    return Err(self.logged(id, refusal));
                }
                Err(refusal.into())
            }
        }
    }

    /// A refusal that is logged.
    pub(super) fn logged(&self, todo_id: TodoId, refusal: Refusal) -> Refused {
        let action = self.command.action();
        let said = self.command.reported().map(str::to_owned);
        let audit = CommandRefused { todo_id, action, refusal: refusal.clone(), said };
        Refused { refusal, audit: Some(Box::new(audit.into())) }
    }

    /// Asks the authority table about the list as a whole.
    pub(super) fn leave_on_list(
        &self,
        kind: TodoKind,
        parent: Option<TodoId>,
    ) -> Result<(), Refused> {
        let parent = parent.map(|id| self.todo(id)).transpose()?;
        let (list, action) = (self.state.list.kind(), self.command.action());
        let owned = owns(self.actor, &self.state, parent);
        let denial = match authority(self.actor.role, list, kind, action, owned) {
            Verdict::Allow => return Ok(()),
            // No row has a claim or a wish for an act on the whole list.
            Verdict::Claim | Verdict::Recommend => Denial::Role,
            Verdict::Deny(denial) => denial,
        };
        let role = self.actor.role;
        Err(Refusal::NotPermitted { role, action, list, todo_kind: kind, denial }.into())
    }

    /// Does the state machine allow this move from the item's status?
    pub(super) fn can(&self, by: Move, id: TodoId) -> Result<(), Refused> {
        let current = self.todo(id)?.status;
        if transition::next(current, by, self.policy()).is_some() {
            return Ok(());
        }
        if by != Move::Reopen {
            self.open(id)?;
        }
        Err(Refusal::WrongStatus { action: by, current, expected: by.sources(self.policy()) }
            .into())
    }

    /// Starts an item under the one-in-progress rule of the list.
    pub(super) fn start(&mut self, id: TodoId) -> Result<(), Refused> {
        self.start_because(id, None)
    }

    /// Like [`Self::start`], with a reason.
    pub(super) fn start_because(
        &mut self,
        id: TodoId,
        reason: Option<String>,
    ) -> Result<(), Refused> {
        let others: Vec<(TodoId, String)> = self
            .state
            .todos
            .values()
            .filter(|todo| todo.status == Status::InProgress && todo.id != id)
            .map(|todo| (todo.id, todo.title.clone()))
            .collect();
        match self.policy().wip {
            Wip::Many => {}
            Wip::AtMostOne => {
                if let Some((todo_id, title)) = others.into_iter().next() {
                    return Err(Refusal::OneInProgress { todo_id, title }.into());
                }
            }
            Wip::ExactlyOneStep => {
                for (todo_id, _) in others {
                    self.emit(TodoYielded { todo_id, reason: None });
                }
            }
        }
        self.emit(TodoStarted { todo_id: id, started_at: self.now, reason });
        Ok(())
    }

    /// If the list must have exactly one step in progress and has none, starts the first ready one.
    pub(super) fn keep_one_in_progress(&mut self) {
        if self.policy().wip != Wip::ExactlyOneStep {
            return;
        }
        let working = self
            .state
            .todos
            .values()
            .any(|todo| todo.status == Status::InProgress && todo.is_actionable(self.now));
        if working {
            return;
        }
        let idle: Vec<TodoId> = self
            .state
            .todos
            .values()
            .filter(|todo| todo.status == Status::InProgress)
            .map(|todo| todo.id)
            .collect();
        let next = ordered(&self.state)
            .into_iter()
            .find(|todo| {
                todo.status == Status::Pending
                    && todo.kind == TodoKind::Step
                    && todo.is_actionable(self.now)
            })
            .map(|todo| todo.id);
        for todo_id in idle {
            self.emit(TodoYielded { todo_id, reason: None });
        }
        if let Some(todo_id) = next {
            self.emit(TodoStarted { todo_id, started_at: self.now, reason: None });
        }
    }

    /// Checks the limit of open items. A list that is over the limit already may shrink but not
    /// grow, and one call never adds more items than the limit.
    pub(super) fn check_room(&self, before: &Tally) -> Result<(), Refused> {
        let Some(limit) = self.policy().open_max else { return Ok(()) };
        let is_new = |event: &&Event| matches!(event, Event::TodoCreated(_));
        let added = self.decision.events.iter().filter(is_new).count() as u64;
        let open = self.state.tally.open();
        // A refused sign-off may reopen criteria over the limit.
        let grows = open > before.open() && !matches!(self.command, Command::RefuseSignOff(_));
        if added > limit || (grows && open > limit) {
            return Err(Refusal::ListFull { limit, open: before.open(), added }.into());
        }
        Ok(())
    }

    /// The position after every item.
    pub(super) fn end(&self) -> i64 {
        self.state.last_position.map_or(0, |position| position.saturating_add(1))
    }

    /// The outcome; refuses a missing one if the list requires it.
    pub(super) fn outcome(&self, given: Option<&str>) -> Result<Option<String>, Refused> {
        let given = given.map(str::trim).filter(|text| !text.is_empty());
        if given.is_none() && self.policy().outcome_required {
            return Err(Refusal::OutcomeRequired.into());
        }
        Ok(given.map(str::to_owned))
    }

    pub(super) fn settled_by(&self) -> SettledBy {
        SettledBy { principal: self.actor.principal.clone(), role: self.actor.role }
    }

    pub(super) fn finish(self) -> Decision {
        self.decision
    }
}
