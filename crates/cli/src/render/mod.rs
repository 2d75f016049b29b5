//! Answers for people: one file per kind of answer, plain JSON where there is none.

mod authority;
pub(crate) mod columns;
pub(crate) mod copies;
pub(crate) mod doctor;
mod events;
mod issues;
mod reports;
mod status;
mod times;
mod todos;
mod tokens;
pub(crate) mod turn;

use punchlist_core::Time;
use serde_json::Value;

/// An operation's answer in words.
pub(crate) fn answer(operation: &str, answer: &Value, now: Time) -> String {
    match operation {
        "create_todo" => turn::created(answer),
        "list_todo" => turn::listed(answer),
        "complete_todo" => turn::completed(answer),
        "issue_create" => issues::created(answer),
        "issue_list" => issues::listed(answer, now),
        "issue_show" => issues::shown(answer, now),
        "issue_transition" => issues::moved(answer),
        "status" => status::render(answer, now),
        "event_list" => events::render(answer, now),
        "token_new" => tokens::made(answer, now),
        "token_list" => tokens::listed(answer, now),
        "token_revoke" => tokens::revoked(answer),
        "digest" => reports::digest(answer, now),
        "audit_closes" => reports::audit(answer, now),
        "authority_show" => authority::render(answer),
        name if name.starts_with("todo_") => todos::render(answer, now),
        _ => format!("{answer:#}\n"),
    }
}

/// A text field of an answer, safe for a terminal and on one line.
fn text<'a>(value: &'a Value, field: &str) -> std::borrow::Cow<'a, str> {
    crate::output::line(value[field].as_str().unwrap_or_default()).into()
}

fn number(value: &Value, field: &str) -> i64 {
    value[field].as_i64().unwrap_or_default()
}
