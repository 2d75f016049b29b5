//! Events by their names, hosts by their payloads, and the limits of what a payload may say.

use punchlist_core::host::{Happened, Host};
use punchlist_ops::operations::session_hook::{Answer, Output};
use serde_json::json;

use super::*;

#[test]
fn an_event_is_known_by_our_name_and_by_the_hosts() {
    let cases = [
        ("session-start", Happened::Start),
        ("SessionStart", Happened::Start),
        ("UserPromptSubmit", Happened::Prompt),
        ("BeforeAgent", Happened::Prompt),
        ("AfterAgent", Happened::Stop),
        ("agentStop", Happened::Stop),
        ("subagent_stop", Happened::SubagentStop),
        ("StopFailure", Happened::StopFailure),
        ("sessionEnd", Happened::End),
    ];
    for (name, expected) in cases {
        assert_eq!(event(name), Some(expected), "{name}");
    }
    assert_eq!(event("lunch"), None);
}

#[test]
fn a_host_is_known_by_its_payload() {
    let claude = json!({ "session_id": "s", "prompt_id": "p" });
    assert_eq!(fired_by(Host::Claude, &claude), Host::Claude);
    let cursor = json!({ "session_id": "s", "cursor_version": "3.7" });
    assert_eq!(fired_by(Host::Claude, &cursor), Host::Cursor);
    let codex = json!({ "session_id": "s", "turn_id": "t", "model": "m" });
    assert_eq!(fired_by(Host::Claude, &codex), Host::Codex);
    assert_eq!(fired_by(Host::Gemini, &codex), Host::Gemini);
}

/// Fields of another type, and names that are too long, are as if they were not there.
#[test]
fn a_payload_of_any_shape_is_decoded() {
    let odd = json!({
        "session_id": 7, "prompt_id": "x".repeat(10_000), "stop_hook_active": "yes",
        "last_assistant_message": null, "background_tasks": {}, "permission_mode": [],
        "transcript_path": 1, "tool_input": "x", "todos": "x", "status": 3,
    });
    for host in &Host::ALL {
        for happened in &Happened::ALL {
            let hook = dialect(*host).decode(*happened, &odd);
            assert_eq!((hook.host, hook.event), (*host, *happened));
            assert!(hook.external_id.0.is_none() && hook.turn.0.is_none());
            assert!(hook.todos.is_none(), "an unreadable list replaces nothing");
        }
    }
}

/// P-13: what goes out is JSON or nothing, for every host, event and answer.
#[test]
fn every_answer_is_json_or_nothing() {
    for host in &Host::ALL {
        for happened in &Happened::ALL {
            for (answer, text) in [
                (Answer::Allow, None),
                (Answer::Allow, Some("left: \"One\"\n")),
                (Answer::Continue, Some("Go on.\u{0}")),
                (Answer::Context, Some("Issue #1")),
            ] {
                let (text, reason) = (text.map(str::to_owned), "continued".to_owned());
                let output = Output { answer, text, reason, session_id: None, run_id: None };
                let said = dialect(*host).encode(*happened, &output);
                let parsed = serde_json::from_str::<Value>(&said);
                assert!(said.is_empty() || parsed.is_ok(), "{}: {said}", host.name());
            }
        }
        let silence = dialect(*host).silence();
        assert!(silence.is_empty() || silence == "{}");
    }
}
