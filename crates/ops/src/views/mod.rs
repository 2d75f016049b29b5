//! Objects as callers see them, shared by operations.

pub mod agent;
pub mod conversation;
pub mod delegation;
pub mod gate;
pub mod home;
pub mod issue;
pub mod metric;
pub mod mission;
pub mod plan;
pub mod run;
pub mod session;
pub mod session_list;
pub mod task;
pub mod todo;

pub use agent::{AgentView, OneAgent};
pub use conversation::{ConversationView, MessageView, ResultOf};
pub use delegation::{DelegationView, OneDelegation};
pub use gate::{AskedView, GateView};
pub use issue::{IssueRef, IssueView, ItemView, LinkedIssue, OneIssue};
pub use metric::{MetricView, ReadingView};
pub use mission::{MissionTodoView, MissionView};
pub use plan::PlanArchived;
pub use session::{OneSession, SessionView};
pub use session_list::SessionListView;
pub use task::{PlanView, TaskView};
pub use todo::{NothingReason, OneTodo, TakenTodo, TodoView, WhyNothing};
