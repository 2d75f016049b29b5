//! Adopt a worker's proposal: its items are created with the worker's path as their origin (K-49).

use serde::{Deserialize, Serialize};

use super::create_todos::NewTodo;
use super::draft::Draft;
use crate::event::TodoCreated;
use crate::text::normalised;
use crate::{AgentPath, Refused, Warning};

/// Put a worker's proposal into the list. An item with the text of an open one is skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptTodos {
    pub items: Vec<NewTodo>,
    pub origin_agent: AgentPath,
}

impl AdoptTodos {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        for item in &self.items {
            draft.leave_on_list(item.kind, None)?;
            if draft.check_unique(item.title.as_str()).is_err() {
                let text = normalised(item.title.as_str());
                draft.decision.warnings.push(Warning::AlreadyListed { text });
                continue;
            }
            let mut todo = draft.new_todo(item)?;
            todo.origin_agent = self.origin_agent.clone();
            draft.emit(TodoCreated { todo: Box::new(todo) });
        }
        Ok(())
    }
}
