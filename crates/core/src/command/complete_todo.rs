//! Complete an item, or claim it if the caller may not complete it.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::authority::Action;
use crate::effect::Effect;
use crate::event::TodoCompleted;
use crate::evidence::Evidence;
use crate::plan::Tree;
use crate::transition::Move;
use crate::{MetricId, Refusal, Refused, Todo, TodoId};

/// Say that an item is done. From a caller without the authority this becomes a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompleteTodo {
    pub todo_id: TodoId,
    pub outcome: Option<String>,
    pub evidence: Vec<Evidence>,
    /// Metrics that should be measured again.
    pub metrics_impacted: Vec<MetricId>,
}

impl CompleteTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let leave = draft.leave(self.todo_id)?;
        if leave != Leave::Kept && !draft.todo(self.todo_id)?.status.is_settled() {
            draft.not_dropped(self.todo_id)?;
        }
        match leave {
            Leave::Granted => {}
            Leave::AsClaim => {
                draft.claim(self.todo_id, self.outcome.as_deref(), &self.evidence)?;
                return Ok(());
            }
            Leave::Kept => return Ok(()),
        }
        draft.nothing_open_below(self.todo_id, Action::Complete)?;
        draft.complete(self.todo_id, self.outcome.as_deref(), &self.evidence)?;
        for metric_id in &self.metrics_impacted {
            let (metric_id, todo_id) = (*metric_id, Some(self.todo_id));
            draft.decision.effects.push(Effect::CollectMetric { metric_id, todo_id });
        }
        Ok(())
    }
}

impl Draft<'_> {
    /// In a list that nests, open items below a completed one would be lost from view. Items below a
    /// cancelled one do not count.
    pub(super) fn nothing_open_below(
        &self,
        todo_id: TodoId,
        action: Action,
    ) -> Result<(), Refused> {
        if !self.policy().nests {
            return Ok(());
        }
        let tree = Tree::of(&self.state);
        let branches = tree.branches();
        let at = branches.iter().position(|branch| branch.todo.id == todo_id);
        let range = at.map_or(0..0, |at| at + 1..branches[at].end);
        let open = branches[range].iter().filter(|branch| branch.is_open);
        let open: Vec<&Todo> = open.map(|branch| branch.todo).collect();
        self.refuse_open(todo_id, &open, action)
    }

    /// Only a task without open tasks directly below it is worked on itself.
    pub(super) fn no_open_children(&self, todo_id: TodoId) -> Result<(), Refused> {
        if !self.policy().nests {
            return Ok(());
        }
        let open = |todo: &&Todo| {
            todo.parent_id == Some(todo_id)
                && !todo.status.is_settled()
                && todo.removed_at.is_none()
        };
        let mut below: Vec<&Todo> = self.state.todos.values().filter(open).collect();
        below.sort_unstable_by_key(|todo| (todo.position, todo.id));
        self.refuse_open(todo_id, &below, Action::Take)
    }

    /// Refuses an item because of these open items below it.
    fn refuse_open(&self, todo_id: TodoId, below: &[&Todo], action: Action) -> Result<(), Refused> {
        if below.is_empty() {
            return Ok(());
        }
        let named = |todo: &&Todo| match todo.seq {
            Some(seq) => format!("t{seq} `{}`", todo.title),
            None => format!("`{}`", todo.title),
        };
        let children = below.iter().map(named).collect();
        let title = self.todo(todo_id)?.title.clone();
        Err(Refusal::OpenSubtasks { todo_id, title, children, action }.into())
    }

    /// Settles an item as completed. One that was never started gets both times (Q-T1).
    pub(super) fn complete(
        &mut self,
        todo_id: TodoId,
        outcome: Option<&str>,
        evidence: &[Evidence],
    ) -> Result<(), Refused> {
        self.can(Move::Complete, todo_id)?;
        let outcome = self.outcome(outcome)?;
        let todo = self.todo(todo_id)?;
        let started_at = todo.started_at.unwrap_or(self.now);
        let claim = todo.claim.as_deref();
        let self_accepted =
            self.actor.role.is_agent() && claim.is_some_and(|claim| claim.is_own_of(self.actor));
        self.emit(TodoCompleted {
            todo_id,
            outcome,
            evidence: evidence.to_vec(),
            started_at,
            settled_at: self.now,
            settled_by: self.settled_by(),
            self_accepted,
        });
        Ok(())
    }
}
