//! One operation, one file: name, access, surfaces, input, output, handler.

pub mod authority_show;
pub mod complete_todo;
pub mod create_todo;
pub mod event_list;
pub mod issue_create;
pub mod issue_list;
pub mod issue_show;
pub mod issue_transition;
pub mod list_todo;
pub mod status;
