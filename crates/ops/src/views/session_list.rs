//! A session's whole list, as the model wrote it.

use punchlist_core::issue::progress;
use punchlist_core::todo::Priority;
use punchlist_core::{Snapshot, Status, Todo, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::todo::HoldView;

/// The answer of `todo_write` and `todo_read`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionListView {
    /// In list order; cancelled todos come last.
    pub todos: Vec<SessionTodoView>,
    pub summary: SessionListSummary,
    /// What was skipped or held, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One item.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SessionTodoView {
    /// The id it was written with, otherwise ours.
    pub id: String,
    pub content: String,
    pub status: Status,
    pub priority: Priority,
    /// Why it cannot be worked on now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldView>,
}

/// The number of items in each status.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListSummary {
    pub total: usize,
    pub pending: usize,
    pub in_progress: usize,
    pub completed: usize,
    pub cancelled: usize,
    /// How many of the open ones are held.
    pub held: usize,
}

impl SessionListView {
    #[must_use]
    pub fn of(snapshot: &Snapshot, warnings: &[Warning]) -> Self {
        let mut todos: Vec<&Todo> = snapshot.todos.values().collect();
        todos.retain(|todo| todo.removed_at.is_none());
        todos.sort_by_key(|todo| {
            (todo.status == Status::Cancelled, todo.position, todo.created_at, todo.id)
        });
        let count = |status| todos.iter().filter(|todo| todo.status == status).count();
        let summary = SessionListSummary {
            total: todos.len(),
            pending: count(Status::Pending),
            in_progress: count(Status::InProgress),
            completed: count(Status::Completed),
            cancelled: count(Status::Cancelled),
            held: todos.iter().filter(|todo| todo.hold.is_some()).count(),
        };
        Self {
            todos: todos.into_iter().map(SessionTodoView::from).collect(),
            summary,
            warnings: warnings.iter().map(Warning::to_string).collect(),
            message: progress::given_up(snapshot).map(|given_up| format!("{given_up}.")),
        }
    }
}

impl From<&Todo> for SessionTodoView {
    fn from(todo: &Todo) -> Self {
        Self {
            id: todo.called(),
            content: todo.title.clone(),
            status: todo.status,
            priority: todo.priority,
            hold: todo.hold.as_deref().map(HoldView::from),
        }
    }
}
