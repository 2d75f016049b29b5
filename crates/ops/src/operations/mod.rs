//! One operation, one file: name, access, surfaces, input, output, handler.

pub mod audit_closes;
pub mod authority_show;
pub mod complete_todo;
pub mod create_todo;
pub mod digest;
pub mod event_list;
pub mod list_todo;
pub mod status;
