//! One operation, one file: name, access, surfaces, input, output, handler.

pub mod authority_show;
pub mod complete_todo;
pub mod create_todo;
pub mod event_list;
pub mod list_todo;
pub mod status;
pub mod token_list;
pub mod token_new;
pub mod token_revoke;
