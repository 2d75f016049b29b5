//! Objects as callers see them, shared by the operations that answer with them.

pub mod issue;
pub mod todo;

pub use issue::{IssueView, ItemView};
pub use todo::{OneTodo, TakenTodo, TodoView};
