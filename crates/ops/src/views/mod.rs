//! Objects as callers see them, shared by the operations that answer with them.

pub mod delegation;
pub mod gate;
pub mod issue;
pub mod session;
pub mod todo;

pub use delegation::{DelegationView, OneDelegation};
pub use gate::{AskedView, GateView};
pub use issue::{IssueRef, IssueView, ItemView, OneIssue};
pub use session::{OneSession, SessionView};
pub use todo::{OneTodo, TakenTodo, TodoView};
