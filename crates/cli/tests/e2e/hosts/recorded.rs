//! Payloads that were recorded from real clients (Claude Code 2.1.197, Codex 0.166.0) and the answers
//! to them. Those of the other hosts are written after their documentation, and opencode's after our
//! own plugin. `cargo xtask test --clients` runs Claude Code, Codex and opencode themselves.

use serde_json::{Value, json};

use super::{answer, bound, hook};
use crate::support::Place;

fn replayed(host: &str, recorded: &str) -> Vec<(String, Value)> {
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let recorded = recorded.as_array().unwrap();
    let session = recorded[0]["payload"]["session_id"].as_str().unwrap();
    let place = Place::sqlite();
    bound(&place, host, session, &["One"]);
    recorded
        .iter()
        .map(|one| {
            let event = one["event"].as_str().unwrap();
            let said = answer(&hook(&place, host, event, &one["payload"]).run());
            (event.to_owned(), said)
        })
        .collect()
}

/// The answers in Claude Code's format, which Codex shares: the injected text, then the driver's
/// message, then nothing once the model has repeated itself.
#[test]
fn recorded_payloads_of_claude_code_and_codex_are_answered_in_their_form() {
    let claude = include_str!("payloads/claude.json");
    let codex = include_str!("payloads/codex.json");
    for (host, recorded) in [("claude", claude), ("codex", codex)] {
        let said = replayed(host, recorded);
        let events: Vec<&str> = said.iter().map(|(event, _)| event.as_str()).collect();
        let expected = ["session-start", "prompt", "stop", "stop", "stop", "stop", "session-end"];
        assert_eq!(events, expected, "{host}");
        let start = &said[0].1;
        let keys =
            |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(keys(start), ["hookSpecificOutput"], "{host}");
        let names = ["hookEventName", "additionalContext"];
        assert_eq!(keys(&start["hookSpecificOutput"]), names, "{host}");
        assert_eq!(said[1].1, Value::Null, "{host}");
        for stop in &said[2..4] {
            assert_eq!(keys(&stop.1), ["decision", "reason"], "{host}");
            assert_eq!(stop.1["decision"], "block");
        }
        // The third is equal to the second, so it is a duplicate. The fourth counts, and is the
        // last.
        assert_eq!(said[4].1, Value::Null, "{host}");
        assert_eq!(keys(&said[5].1), ["systemMessage"], "{host}");
        assert_eq!(said[6].1, Value::Null, "{host}");
    }
}

/// A life of Claude Code: a subagent, an end, a resume with a compaction (whose summary is written by
/// a subagent without a type), a fork, and a failure that is reported after the end. In `-p` mode a
/// fork fires its start with the parent's id, and has its own id from the prompt on.
#[test]
fn a_recorded_life_of_claude_code_is_answered() {
    let said = replayed("claude", include_str!("payloads/claude-life.json"));
    let kind = |answer: &Value| {
        let context = answer["hookSpecificOutput"]["additionalContext"].as_str();
        match context.or(answer["decision"].as_str()) {
            Some(text) => text.split([':', '.']).next().unwrap().to_owned(),
            None => answer.to_string(),
        }
    };
    let said: Vec<String> =
        said.iter().map(|(event, said)| format!("{event}: {}", kind(said))).collect();
    let expected = [
        "session-start: Issue #1 (open)",
        "prompt: null",
        "subagent-start: This work is part of issue #1",
        "subagent-stop: null",
        "stop: block",
        "session-end: null",
        "session-start: Issue #1 (open)",
        "subagent-stop: null",
        "session-start: Issue #1 (open)",
        "session-end: null",
        "session-start: Issue #1 (open)",
        "prompt: null",
        "stop: null",
        "session-end: null",
        "session-start: null",
        "prompt: null",
        "session-end: null",
        "stop-failure: null",
    ];
    assert_eq!(said, expected);
}

/// Codex reports the prompt of a subagent with the session of its parent. No person spoke, so what
/// was counted against the model stays.
#[test]
fn the_prompt_of_a_subagent_does_not_open_a_turn() {
    let recorded: Value =
        serde_json::from_str(include_str!("payloads/codex-subagent.json")).unwrap();
    let payload = |event: &str, of_subagent: bool| {
        let found = recorded.as_array().unwrap().iter().find(|one| {
            one["event"] == event && one["payload"].get("agent_id").is_some() == of_subagent
        });
        found.unwrap()["payload"].clone()
    };
    let place = Place::sqlite();
    let session = payload("session-start", false)["session_id"].as_str().unwrap().to_owned();
    bound(&place, "codex", &session, &["One"]);
    answer(&hook(&place, "codex", "prompt", &payload("prompt", false)).run());
    let stopped = |round: usize| {
        let mut stop = payload("stop", false);
        stop["stop_hook_active"] = json!(round > 0);
        stop["last_assistant_message"] = json!(format!("round {round}"));
        answer(&hook(&place, "codex", "stop", &stop).run())
    };
    let blocked = (0..3).filter(|round| stopped(*round)["decision"] == "block").count();
    assert_eq!(blocked, 2, "the third made no progress");
    let told =
        answer(&hook(&place, "codex", "subagent-start", &payload("subagent-start", true)).run());
    assert!(told.to_string().contains("This work is part of issue #1"), "{told}");
    assert_eq!(
        answer(&hook(&place, "codex", "prompt", &payload("prompt", true)).run()),
        Value::Null
    );
    assert_ne!(stopped(3)["decision"], "block");
    let runs = place.punch(["runs", "--json"]).answer();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "{runs}");
}

/// The other formats, as documented by their vendors.
#[test]
fn each_host_is_answered_in_its_own_form() {
    let stops = [
        ("gemini", json!({ "session_id": "s", "prompt_response": "x" })),
        (
            "cursor",
            json!({ "conversation_id": "s", "generation_id": "g", "status": "completed",
            "loop_count": 0 }),
        ),
        ("copilot", json!({ "sessionId": "s", "stopReason": "end_turn" })),
        ("opencode", json!({ "sessionId": "s", "turn_id": "m1", "lastText": "x" })),
        ("goose", json!({ "session_id": "s", "event": "Stop" })),
    ];
    for (host, payload) in stops {
        let place = Place::sqlite();
        bound(&place, host, "s", &["One"]);
        let said = answer(&hook(&place, host, "stop", &payload).run());
        match host {
            "gemini" => assert_eq!(said["decision"], "block"),
            "cursor" => assert!(said["followup_message"].as_str().unwrap().contains("'One'")),
            "copilot" => {
                assert_eq!(said["decision"], "block");
                assert_eq!(said["hookSpecificOutput"]["decision"], "block");
            }
            "opencode" => assert_eq!(said["answer"], "continue"),
            // A hook of this host cannot prevent a stop.
            _ => assert_eq!(said, Value::Null),
        }
    }
}

/// Hosts may load each other's hook files: the payload shows which host sent it.
#[test]
fn a_hook_file_of_one_host_that_another_loads_counts_for_that_one() {
    let place = Place::sqlite();
    bound(&place, "codex", "s1", &["One"]);
    let payload = json!({ "session_id": "s1", "turn_id": "t1", "model": "m",
        "stop_hook_active": false, "last_assistant_message": "x" });
    let own = answer(&hook(&place, "codex", "stop", &payload).run());
    assert_eq!(own["decision"], "block");
    let leaked = hook(&place, "claude", "stop", &payload).run();
    assert_eq!(answer(&leaked), Value::Null);
    assert!(leaked.remarks().contains("delivered twice"), "{leaked:?}");
    let runs = place.punch(["runs", "--json"]).answer();
    assert_eq!(runs["runs"][0]["continuations"], 1);
    assert_eq!(runs["runs"][0]["model"], "host:codex");
}
