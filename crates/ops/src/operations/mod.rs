//! One operation, one file: name, access, surfaces, input, output, handler.

pub mod audit_closes;
pub mod authority_show;
pub mod complete_todo;
pub mod create_todo;
pub mod digest;
pub mod event_list;
pub mod issue_create;
pub mod issue_list;
pub mod issue_show;
pub mod issue_transition;
pub mod list_todo;
pub mod status;
pub mod todo_accept;
pub mod todo_claim;
pub mod todo_defer;
pub mod todo_heartbeat;
pub mod todo_hold;
pub mod todo_next;
pub mod todo_release;
pub mod todo_return;
pub mod todo_take;
pub mod todo_unhold;
pub mod token_list;
pub mod token_new;
pub mod token_revoke;
