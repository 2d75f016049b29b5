//! Complete a task, alone or with the open tasks below it.

use super::open_below;
use crate::authority::{Action, Verdict, authority};
use crate::command::{CompleteTodo, HeartbeatTodo};
use crate::{Command, Refusal, Role, Snapshot, TodoId, TodoKind};

/// Complete a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub todo_id: TodoId,
    /// What was done.
    pub outcome: Option<String>,
    /// The lease it was taken with, if the caller names one.
    pub lease: Option<HeartbeatTodo>,
    pub with_children: bool,
}

impl Completion {
    /// The commands that complete it, in the order in which they are decided. A lease that has
    /// ended is refused before anything changes. Then the deepest tasks come first, because a task
    /// with open tasks below it cannot be completed.
    pub fn commands(&self, role: Role, plan: &Snapshot) -> Result<Vec<Command>, Refusal> {
        let (action, list, todo_kind) =
            (Action::CompleteWithChildren, plan.list.kind(), TodoKind::Step);
        let mut tasks = vec![self.todo_id];
        if self.with_children {
            if let Verdict::Deny(denial) = authority(role, list, todo_kind, action, false) {
                return Err(Refusal::NotPermitted { role, action, list, todo_kind, denial });
            }
            tasks.extend(open_below(plan, self.todo_id));
        }
        let complete = |todo_id| CompleteTodo {
            todo_id,
            outcome: self.outcome.clone(),
            evidence: Vec::new(),
            metrics_impacted: Vec::new(),
        };
        let mut commands: Vec<Command> =
            self.lease.clone().map(Command::from).into_iter().collect();
        commands.extend(tasks.into_iter().rev().map(|id| complete(id).into()));
        Ok(commands)
    }
}
