//! Sessions: a table of many, a block for one, a line for what was done to one.

use punchlist_core::Time;
use punchlist_core::session::SessionState;
use punchlist_ops::operations::{session_context, session_hook, session_list, session_promote};
use punchlist_ops::views::SessionView;

use super::columns::{aligned, hanging};
use super::{ago, did, short, short_among};
use crate::output::{self, BOLD, width};

pub(super) fn listed(output: &session_list::Output, now: Time) -> String {
    if output.sessions.is_empty() {
        return "No sessions to show. `punch session start TITLE` begins one.\n".to_owned();
    }
    let ids: Vec<&str> = output.sessions.iter().map(|session| session.id.as_str()).collect();
    let rows = output.sessions.iter().map(|session| {
        let issue = session.bound_issue.map(|number| format!("#{number}"));
        vec![
            short_among(&session.id, &ids).to_owned(),
            match session.ungoverned {
                true => "not governed".to_owned(),
                false => session.state.name().to_owned(),
            },
            issue.unwrap_or_else(|| "-".to_owned()),
            ago(session.updated_at, now),
            output::line(&session.title),
        ]
    });
    aligned(rows.collect(), width()) + &super::more(output.next_cursor.as_ref())
}

pub(super) fn shown(session: &SessionView, now: Time) -> String {
    let mut shown = format!("{BOLD}{}{BOLD:#}\n", output::line(&session.title));
    let mut add = |text: &str| shown.push_str(&hanging("  ", "  ", &output::line(text), width()));
    let state = match session.state {
        SessionState::Paused => "paused: it waits for a person (`punch inbox`)",
        state => state.name(),
    };
    let (by, since) = (&session.started_by, ago(session.created_at, now));
    add(&format!("{state}; started {since} by {by}"));
    match session.bound_issue {
        Some(number) => add(&format!("works on issue #{number}")),
        None => add("works on no issue"),
    }
    if session.ungoverned {
        add("not governed: its hooks do not fire, so it may stop early (`punch doctor`)");
    }
    if session.ended_at.is_some() {
        add(&format!("ended {}", ago(session.ended_at, now)));
    }
    add(&format!("session {}", short(&session.id)));
    if let Some(host) = &session.host {
        add(&format!("host {host}"));
    }
    if let Some(id) = &session.external_id {
        add(&format!("its host's id {id}"));
    }
    add(&format!("conversation {}", short(&session.conversation_id)));
    shown
}

/// Started, bound, unbound or ended: which session, and what it works on now.
pub(super) fn bound(verb: &str, session: &SessionView) -> String {
    let (id, title) = (short(&session.id), output::line(&session.title));
    let on = session.bound_issue.map(|number| format!("; it works on issue #{number}"));
    did(verb, &format!("session {id} ({title}){}", on.unwrap_or_default()))
}

pub(super) fn promoted(output: &session_promote::Output) -> String {
    let (issue, id) = (&output.issue, short(&output.session.id));
    let (number, title) = (issue.number, output::line(&issue.title));
    did("Filed", &format!("issue #{number}: {title}; session {id} works on it now"))
}

pub(super) fn sent(session: &SessionView) -> String {
    let (number, id) = (session.bound_issue.unwrap_or_default(), short(&session.id));
    let conversation = short(&session.conversation_id);
    let where_it_is = format!("session {id}, conversation {conversation}");
    did("Sent", &format!("issue #{number} to an agent; {where_it_is}"))
}

/// The context of an agent, unchanged: other programs show it to a model.
pub(super) fn context(output: &session_context::Output) -> String {
    match output.text.as_str() {
        "" => String::new(),
        text => format!("{}\n", output::clean(text)),
    }
}

/// The answer to a host.
pub(super) fn hook(output: &session_hook::Output) -> String {
    let (what, reason) = (output.answer.name(), output::line(&output.reason));
    match output.text.as_deref() {
        None | Some("") => format!("{what} ({reason})\n"),
        Some(text) => format!("{what} ({reason})\n{}\n", output::clean(text)),
    }
}

/// A session in a line of another page.
pub(super) fn line(session: &SessionView, now: Time) -> String {
    let (title, state) = (output::line(&session.title), session.state.name());
    let (id, at) = (short(&session.id), ago(session.updated_at, now));
    hanging("  ", "  ", &format!("{title} ({state}, {at}) {id}"), width())
}
