//! Agent hosts: their hooks, their files, and the session that a process belongs to.

mod bad_hooks;
mod doctor;
mod governed;
mod init;
mod recorded;
mod titles;
mod which_session;

use serde_json::{Value, json};

use crate::support::{Place, Punch, Ran};

/// A hook as a host fires it. On a busy machine a server may be slow, so it gets more time.
pub(crate) fn hook(place: &Place, host: &str, event: &str, payload: &Value) -> Punch {
    place
        .punch(["hook", host, event])
        .env("PUNCHLIST_HOOK_TIMEOUT_MS", "60000")
        .stdin(payload.to_string())
}

/// The answer of a hook: always exit 0, and JSON or nothing.
pub(crate) fn answer(ran: &Ran) -> Value {
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    if ran.stdout.is_empty() { Value::Null } else { serde_json::from_str(&ran.stdout).unwrap() }
}

/// The first stop of a turn.
pub(crate) fn stop(session: &str, turn: &str, said: &str, continued: bool) -> Value {
    json!({
        "session_id": session,
        "prompt_id": turn,
        "stop_hook_active": continued,
        "last_assistant_message": said,
    })
}

/// A place with issue #1 and these steps, and a session of a host that is bound to it.
pub(crate) fn bound(place: &Place, host: &str, session: &str, steps: &[&str]) {
    let title = format!("Issue of {session}");
    let made = place.punch(["issue", "new", &title, "--json"]).answer();
    let number = made["issue"]["number"].to_string();
    let start = json!({ "session_id": session, "source": "startup" });
    assert_eq!(hook(place, host, "session-start", &start).run().exit, Some(0));
    place.punch(["session", "bind", &number, "--session", session, "--json"]).answer();
    for step in steps {
        place.punch(["todo", "add", step, "--session", session, "--json"]).answer();
    }
}

pub(crate) fn done(place: &Place, session: &str, step: &str) {
    place.punch(["todo", "done", step, "--session", session, "--json"]).answer();
}
