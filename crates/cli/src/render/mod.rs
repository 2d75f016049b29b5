//! Answers for people: one file per kind of answer. Every operation has its words.

mod authority;
mod checklist;
pub(crate) mod columns;
mod conversations;
pub(crate) mod copies;
mod delegations;
pub(crate) mod doctor;
mod event_words;
mod events;
pub(crate) mod gates;
mod imported;
mod issues;
mod metrics;
mod mission_status;
mod missions;
mod permissions;
mod plans;
mod reports;
pub(crate) mod runs;
mod session_list;
mod sessions;
mod status;
mod times;
mod todos;
mod tokens;
pub(crate) mod turn;

pub(crate) use plans::CURRENT;
use punchlist_core::Time;
use serde_json::Value;

/// An operation's answer in words; as JSON if it has none, which a test forbids.
pub(crate) fn answer(operation: &str, answer: &Value, now: Time) -> String {
    words(operation, answer, now).unwrap_or_else(|| format!("{answer:#}\n"))
}

fn words(operation: &str, answer: &Value, now: Time) -> Option<String> {
    Some(match operation {
        "create_todo" => turn::created(answer),
        "list_todo" => turn::listed(answer),
        "complete_todo" => turn::completed(answer),
        "todo" => checklist::kept(answer, now),
        "todo_write" | "todo_read" => session_list::kept(answer),
        "issue" => issues::tool(answer, now),
        "issue_create" => issues::created(answer),
        "issue_list" => issues::listed(answer, now),
        "issue_show" => issues::shown(answer, now),
        "issue_transition" => issues::moved(answer),
        "issue_comment" => issues::done("Commented on", answer),
        "issue_link" => issues::done("Linked", answer),
        "issue_unlink" => issues::done("Unlinked", answer),
        "issue_close_as_duplicate" => issues::done("Closed as a duplicate:", answer),
        "issue_defer" => issues::deferred(answer, now),
        "issue_checklist_edit" | "criterion_ratify" | "criterion_drop" => {
            issues::changed(answer, now)
        }
        "session_list" => sessions::listed(answer, now),
        "session_start" | "session_show" => sessions::shown(answer, now),
        "session_bind" => sessions::bound("Bound", answer),
        "session_unbind" => sessions::bound("Unbound", answer),
        "session_end" => sessions::bound("Ended", answer),
        "drive_pause" => sessions::bound("Paused", answer),
        "drive_resume" => sessions::bound("Resumed", answer),
        "run_list" => runs::listed(answer, now),
        "run_start" | "run_show" | "run_begin" | "run_take" | "run_step" => {
            runs::shown(answer, now)
        }
        "run_stop" => runs::stopped(answer),
        "session_promote" => sessions::promoted(answer),
        "session_send_to_agent" => sessions::sent(answer),
        "session_context" => sessions::context(answer),
        "session_hook" => sessions::hook(answer),
        "checkpoint" | "ask" | "form" => gates::asked(answer),
        "gate_list" => gates::listed(answer, now),
        "gate_answer" => gates::answered(answer),
        "permission_ask" => permissions::asked(answer),
        "permission_list" => permissions::listed(answer, now),
        "permission_revoke" => permissions::revoked(answer),
        "delegate" => delegations::handed(answer),
        "delegation_list" => delegations::listed(answer, now),
        "delegation_heartbeat" => delegations::lease(answer, now),
        "delegation_show" | "delegation_take" | "delegation_report" | "delegation_cancel"
        | "proposal_decide" => delegations::shown(answer, now),
        "conversation_show" => conversations::shown(answer, now),
        "conversation_list" => conversations::listed(answer),
        "conversation_post" => conversations::posted(answer),
        "mission_import" => imported::missions(answer),
        "mission_init" => missions::initialised(answer),
        "mission_list" => missions::listed(answer, now),
        "mission_pause" | "mission_resume" => missions::standing(answer),
        "mission_status" => mission_status::status(answer, now),
        "mission_cycle" => missions::cycled(answer, now),
        "mission_todo_list" => missions::todos(answer),
        "mission_todo_create" | "mission_todo_update" | "mission_todo_complete" => {
            missions::todo(answer)
        }
        "issue_checklist_import" => imported::render(answer),
        // It is made to be read by programs.
        "project_export" => format!("{answer:#}\n"),
        "plan_import" => plans::imported(answer),
        "plan_from_todo" => plans::opened(answer),
        "plan_tick" => plans::ticked(answer),
        "plan" => plans::tool(answer),
        "plan_tree" | "task_assign" | "task_complete" | "task_add" | "task_release"
        | "task_cancel" | "task_reopen" => plans::tree(answer),
        "plan_current" => plans::current(answer),
        "plan_render" => plans::rendered(answer),
        "plan_archive" => plans::archived("Archived", answer),
        "plan_finish" => plans::archived("Finished", answer),
        "plan_purge" => plans::purged(answer),
        "agent_register" | "agent_status" | "agent_list" => plans::agents(answer, now),
        "metric_record" => metrics::recorded(answer, now),
        "metric_collect" => metrics::queued(answer),
        "metric_failed" => metrics::failed(answer, now),
        "metric_history" => metrics::history(answer, now),
        "status" => status::render(answer, now),
        "event_list" => events::render(answer, now),
        "token_new" => tokens::made(answer, now),
        "token_list" => tokens::listed(answer, now),
        "token_revoke" => tokens::revoked(answer),
        "store_identity" => tokens::identity(answer),
        "digest" => reports::digest(answer, now),
        "audit_closes" => reports::audit(answer, now),
        "authority_show" => authority::render(answer),
        "todo_show" => todos::shown(answer, now),
        name if name.starts_with("todo_") => todos::render(answer, now),
        _ => return None,
    })
}

/// A text field of an answer, safe for a terminal and on one line.
fn text<'a>(value: &'a Value, field: &str) -> std::borrow::Cow<'a, str> {
    crate::output::line(value[field].as_str().unwrap_or_default()).into()
}

fn number(value: &Value, field: &str) -> i64 {
    value[field].as_i64().unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// How long ago a time of an answer was, or how far ahead; nothing where there is none.
fn ago(value: &Value, now: Time) -> String {
    value.as_str().and_then(Time::parse).map_or(String::new(), |at| times::relative(at, now))
}

#[cfg(test)]
mod tests {
    use punchlist_ops::CATALOGUE;

    use super::*;

    /// What a newer program answers may lack what we look for; that is no reason to fall over.
    #[test]
    fn every_operation_has_words_even_for_an_answer_that_lacks_everything() {
        let now = Time::from_micros(0);
        for operation in CATALOGUE {
            let said = words(operation.name, &Value::Object(Default::default()), now);
            assert!(said.is_some(), "{} has no words for people", operation.name);
        }
    }
}
