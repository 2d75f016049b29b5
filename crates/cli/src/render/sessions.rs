//! Sessions: a table of many, a block for one, a line for what was done to one.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::{aligned, hanging};
use super::{ago, list, number, text};
use crate::output::{BOLD, DIM, GREEN, width};

pub(super) fn listed(answer: &Value, now: Time) -> String {
    let sessions = list(answer, "sessions");
    if sessions.is_empty() {
        return "No sessions to show. `punch session start TITLE` begins one.\n".to_owned();
    }
    let rows = sessions.iter().map(|session| {
        let issue = session["boundIssue"].as_i64().map(|number| format!("#{number}"));
        vec![
            text(session, "id").into_owned(),
            text(session, "state").into_owned(),
            issue.unwrap_or_else(|| "-".to_owned()),
            ago(&session["updatedAt"], now),
            text(session, "title").into_owned(),
        ]
    });
    let mut shown = aligned(rows.collect(), width());
    if let Some(cursor) = answer["nextCursor"].as_str() {
        shown.push_str(&format!("{DIM}… more: the same with --cursor {cursor}{DIM:#}\n"));
    }
    shown
}

pub(super) fn shown(answer: &Value, now: Time) -> String {
    let session = &answer["session"];
    let mut shown = format!("{BOLD}{}{BOLD:#}\n", text(session, "title"));
    let mut add = |text: &str| shown.push_str(&hanging("  ", "  ", text, width()));
    let state = match text(session, "state").as_ref() {
        "paused" => "paused: it waits for a person (`punch inbox`)".to_owned(),
        state => state.to_owned(),
    };
    let (by, since) = (text(session, "startedBy"), ago(&session["createdAt"], now));
    add(&format!("{state}; started {since} by {by}"));
    match session["boundIssue"].as_i64() {
        Some(number) => add(&format!("works on issue #{number}")),
        None => add("works on no issue"),
    }
    if session["endedAt"].is_string() {
        add(&format!("ended {}", ago(&session["endedAt"], now)));
    }
    add(&format!("session {}", text(session, "id")));
    if let Some(host) = session["host"].as_str() {
        add(&crate::output::line(&format!("host {host}")));
    }
    if session["externalId"].is_string() {
        add(&format!("its host's id {}", text(session, "externalId")));
    }
    add(&format!("conversation {}", text(session, "conversationId")));
    shown
}

/// Bound, unbound or ended: which session, and what it works on now.
pub(super) fn bound(verb: &str, answer: &Value) -> String {
    let session = &answer["session"];
    let (id, title) = (text(session, "id"), text(session, "title"));
    let on = session["boundIssue"].as_i64();
    let on = on.map_or(String::new(), |number| format!("; it works on issue #{number}"));
    format!("{GREEN}{verb}{GREEN:#} session {id} ({title}){on}.\n")
}

pub(super) fn promoted(answer: &Value) -> String {
    let (issue, id) = (&answer["issue"], text(&answer["session"], "id"));
    let (number, title) = (number(issue, "number"), text(issue, "title"));
    format!("{GREEN}Filed{GREEN:#} issue #{number}: {title}\n  session {id} works on it now\n")
}

pub(super) fn sent(answer: &Value) -> String {
    let session = &answer["session"];
    let (number, id) = (number(session, "boundIssue"), text(session, "id"));
    let conversation = text(session, "conversationId");
    format!(
        "{GREEN}Sent{GREEN:#} issue #{number} to an agent.\n  session {id}\n  \
         conversation {conversation}\n"
    )
}

/// What an agent is to know, as it is: other programs put it before a model.
pub(super) fn context(answer: &Value) -> String {
    match answer["text"].as_str() {
        None | Some("") => String::new(),
        Some(text) => format!("{}\n", crate::output::clean(text)),
    }
}

/// What a host was answered.
pub(super) fn hook(answer: &Value) -> String {
    let (what, reason) = (text(answer, "answer"), text(answer, "reason"));
    match answer["text"].as_str() {
        None | Some("") => format!("{what} ({reason})\n"),
        Some(text) => format!("{what} ({reason})\n{}\n", crate::output::clean(text)),
    }
}

/// A session in a line of another page.
pub(super) fn line(session: &Value, now: Time) -> String {
    let (title, state) = (text(session, "title"), text(session, "state"));
    let (id, at) = (text(session, "id"), ago(&session["updatedAt"], now));
    hanging("  ", "  ", &format!("{title} ({state}, {at}) {id}"), width())
}
