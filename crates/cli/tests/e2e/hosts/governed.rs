//! A session of a host under the driver: it gets its work, is continued up to a limit, and may
//! stop.

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use super::{answer, bound, done, hook, stop};
use crate::support::Place;

fn each(test: impl Fn(Place)) {
    for backend in [Backend::SqliteFile, Backend::Postgres] {
        test(Place::new(backend));
    }
}

fn newest_run(place: &Place) -> Value {
    place.punch(["runs", "--json"]).answer()["runs"][0].clone()
}

fn reasons(place: &Place) -> Vec<String> {
    place.wait_for_log();
    let log = place.punch(["call", "event_list", r#"{"after":0,"limit":1000}"#, "--json"]).answer();
    let events = log["events"].as_array().unwrap().clone();
    let hooks = events.iter().filter(|event| event["type"] == "hook_answered");
    hooks.map(|event| event["data"]["reason"].as_str().unwrap().to_owned()).collect()
}

/// P-5, P-7: at the start, after a resume and after a compaction, the text says what is open and
/// what is closed.
#[test]
fn a_session_gets_its_work_at_the_start_and_after_compaction() {
    each(|place| {
        bound(&place, "claude", "s1", &["Write the test", "Fix it"]);
        done(&place, "s1", "Write the test");
        for source in ["startup", "resume", "compact"] {
            let start = json!({ "session_id": "s1", "source": source });
            let told = answer(&hook(&place, "claude", "session-start", &start).run());
            let output = &told["hookSpecificOutput"];
            assert_eq!(output["hookEventName"], "SessionStart");
            let text = output["additionalContext"].as_str().unwrap();
            assert!(text.starts_with("Issue #1 (open): Issue of s1\n"), "{text}");
            assert!(
                text.contains("- [x] Write the test") && text.contains("- [/] Fix it"),
                "{text}"
            );
            assert!(text.chars().count() <= 1_500, "{text}");
        }
    });
}

#[test]
fn a_session_without_work_gets_no_text() {
    let place = Place::sqlite();
    place.punch(["issue", "new", "Other", "--json"]).answer();
    let start = json!({ "session_id": "s1", "source": "startup" });
    assert_eq!(answer(&hook(&place, "claude", "session-start", &start).run()), Value::Null);
    let prompt = json!({ "session_id": "s1", "prompt_id": "p1", "prompt": "hello" });
    assert_eq!(answer(&hook(&place, "claude", "prompt", &prompt).run()), Value::Null);
    let ran = hook(&place, "claude", "stop", &stop("s1", "p1", "hi", false)).run();
    assert_eq!((answer(&ran), ran.remarks()), (Value::Null, String::new()));
    assert_eq!(newest_run(&place)["stopReason"], "no_plan");
}

/// The stop becomes a continuation until the steps are done. `punch runs` shows it like our own
/// runs.
#[test]
fn a_stop_is_continued_until_the_steps_are_done() {
    each(|place| {
        bound(&place, "claude", "s1", &["One", "Two"]);
        let prompt = json!({ "session_id": "s1", "prompt_id": "p1" });
        answer(&hook(&place, "claude", "prompt", &prompt).run());
        let first = answer(&hook(&place, "claude", "stop", &stop("s1", "p1", "a", false)).run());
        assert_eq!(first["decision"], "block");
        let reason = first["reason"].as_str().unwrap();
        assert!(reason.contains("2 incomplete tasks") && reason.contains("'One'"), "{reason}");
        assert!(reason.contains("put it on hold with a reason"), "{reason}");
        done(&place, "s1", "One");
        let next = answer(&hook(&place, "claude", "stop", &stop("s1", "p1", "b", true)).run());
        assert!(next["reason"].as_str().unwrap().contains("'Two'"), "{next}");
        done(&place, "s1", "Two");
        let last = answer(&hook(&place, "claude", "stop", &stop("s1", "p1", "c", true)).run());
        assert_eq!(last, Value::Null);
        let run = newest_run(&place);
        assert_eq!(run["model"], "host:claude");
        assert_eq!((&run["stopReason"], &run["continuations"]), (&json!("drained"), &json!(2)));
        let expected = ["nothing_to_say", "turn_opened", "continued", "continued", "drained"];
        assert_eq!(reasons(&place), expected);
        // The driver's message is in the chat of the session, with its label.
        let session = place.punch(["session", "show", "s1", "--json"]).answer();
        let chat = session["session"]["conversationId"].as_str().unwrap().to_owned();
        let input = json!({ "conversationId": chat }).to_string();
        let shown = place.punch(["call", "conversation_show", &input, "--json"]);
        let messages = shown.with(&place.operator()).answer()["messages"].clone();
        let kinds: Vec<&Value> = messages.as_array().unwrap().iter().map(|m| &m["kind"]).collect();
        assert_eq!(kinds, ["synthetic", "synthetic"]);
    });
}

/// A model that changes nothing may stop after two continuations without progress, and stays
/// stopped.
#[test]
fn a_model_that_never_progresses_is_let_go() {
    for host in ["claude", "codex"] {
        let place = Place::sqlite();
        bound(&place, host, "s1", &["One"]);
        let prompt = json!({ "session_id": "s1", "prompt_id": "p1" });
        answer(&hook(&place, host, "prompt", &prompt).run());
        let mut continued = 0;
        for round in 0..12 {
            let said = format!("round {round}");
            let ran = hook(&place, host, "stop", &stop("s1", "p1", &said, round > 0)).run();
            continued += usize::from(answer(&ran)["decision"] == "block");
        }
        assert_eq!(continued, 2, "{host}");
        assert_eq!(newest_run(&place)["stopReason"], "no_progress");
        // A person's message starts the count again.
        let prompt = json!({ "session_id": "s1", "prompt_id": "p2" });
        answer(&hook(&place, host, "prompt", &prompt).run());
        let again = answer(&hook(&place, host, "stop", &stop("s1", "p2", "x", false)).run());
        assert_eq!(again["decision"], "block");
    }
}

/// The limit stays below Claude Code's own limit of eight, whatever the model changes.
#[test]
fn the_limit_is_below_the_hosts_own() {
    let place = Place::sqlite();
    let steps: Vec<String> = (0..12).map(|n| format!("Step {n}")).collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    bound(&place, "claude", "s1", &steps);
    let mut continued = 0;
    for (round, step) in steps.iter().enumerate() {
        let ran = hook(&place, "claude", "stop", &stop("s1", "p1", step, round > 0)).run();
        continued += usize::from(answer(&ran)["decision"] == "block");
        done(&place, "s1", step);
    }
    assert_eq!(continued, 7);
    assert_eq!(newest_run(&place)["stopReason"], "continuation_cap");
}

/// P-12: the same stop from two hook files counts once; repeated messages of a model are counted.
#[test]
fn a_stop_that_is_delivered_twice_counts_once() {
    each(|place| {
        bound(&place, "claude", "s1", &["One"]);
        let first = stop("s1", "p1", "Done.", false);
        assert_eq!(answer(&hook(&place, "claude", "stop", &first).run())["decision"], "block");
        let twice = hook(&place, "claude", "stop", &first).run();
        assert_eq!(answer(&twice), Value::Null);
        let said = "punch hook: the stop is allowed: it was delivered twice, and counts once\n";
        assert_eq!(twice.remarks(), said);
        assert_eq!(newest_run(&place)["continuations"], 1);
        let mut continued = 0;
        for _ in 0..12 {
            let same = stop("s1", "p1", "Done.", true);
            let ran = hook(&place, "claude", "stop", &same).run();
            continued += usize::from(answer(&ran)["decision"] == "block");
        }
        assert!(continued <= 2, "{continued}");
        assert_eq!(newest_run(&place)["stopReason"], "no_progress");
    });
}

/// Background work, plan mode, interrupts and subagents are never continued.
#[test]
fn background_work_plan_mode_interrupts_and_subagents_may_stop() {
    let place = Place::sqlite();
    bound(&place, "claude", "s1", &["One"]);
    bound(&place, "cursor", "c1", &["One"]);
    let with = |field: &str, value: Value| {
        let mut payload = stop("s1", "p1", field, false);
        payload[field] = value;
        payload
    };
    let cases = [
        ("claude", with("background_tasks", json!([{ "id": "b" }])), "parked"),
        ("claude", with("session_crons", json!([{ "id": "c" }])), "parked"),
        // A form that no known version has: in doubt the stop is allowed.
        ("claude", with("background_tasks", json!({ "b": {} })), "parked"),
        ("claude", with("permission_mode", json!("plan")), "plan_mode"),
        ("claude", with("agent_id", json!("a1")), "subagent"),
        ("cursor", json!({ "conversation_id": "c1", "status": "aborted" }), "interrupted"),
        ("cursor", json!({ "conversation_id": "c1", "status": "error" }), "interrupted"),
    ];
    for (host, payload, reason) in cases {
        let said = answer(&hook(&place, host, "stop", &payload).run());
        assert!(said.is_null() || said == json!({}), "{said}");
        assert_eq!(reasons(&place).last().unwrap(), reason);
    }
    let substop = json!({ "session_id": "s1", "agent_id": "a1", "agent_type": "Explore" });
    assert_eq!(answer(&hook(&place, "claude", "subagent-stop", &substop).run()), Value::Null);
    let told = answer(&hook(&place, "claude", "subagent-start", &substop).run());
    let text = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(text.starts_with("This work is part of issue #1: Issue of s1."), "{text}");
}

/// A question to a person, a pause and a hold allow the session to stop.
#[test]
fn an_open_question_a_pause_or_a_hold_allows_the_stop() {
    let place = Place::sqlite();
    let secret = place.operator();
    bound(&place, "claude", "s1", &["One"]);
    let stopped =
        |said: &str| answer(&hook(&place, "claude", "stop", &stop("s1", said, said, false)).run());
    place.punch(["call", "ask", r#"{"question":"Which?"}"#, "--session", "s1", "--json"]).answer();
    assert_eq!(stopped("a"), Value::Null);
    assert_eq!(newest_run(&place)["waitsFor"]["kind"], "gate");
    let gates = place.punch(["call", "gate_list", "{}", "--json"]).with(&secret).answer();
    let id = gates["gates"][0]["id"].as_str().unwrap();
    let input = json!({ "gateId": id, "decision": "resume", "response": "the left" }).to_string();
    place.punch(["call", "gate_answer", &input, "--json"]).with(&secret).answer();
    // Decisions made meanwhile are part of the next prompt.
    let prompt = json!({ "session_id": "s1", "prompt_id": "p2" });
    let told = answer(&hook(&place, "claude", "prompt", &prompt).run());
    let text = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(text.contains("the left"), "{text}");
    assert_eq!(stopped("b")["decision"], "block");
    place.punch(["todo", "block", "One", "no key", "--session", "s1", "--json"]).answer();
    let held = stopped("c");
    assert!(held["systemMessage"].as_str().unwrap().contains("no key"), "{held}");
    assert_eq!(newest_run(&place)["stopReason"], "blocked");
}

/// The model's service failed: the item is held for a while and then becomes available again.
#[test]
fn a_failure_of_the_model_holds_the_item_for_a_while() {
    let place = Place::sqlite();
    bound(&place, "claude", "s1", &["One"]);
    answer(
        &hook(&place, "claude", "prompt", &json!({ "session_id": "s1", "prompt_id": "p" })).run(),
    );
    let failure = json!({ "session_id": "s1", "prompt_id": "p", "error": "overloaded" });
    assert_eq!(answer(&hook(&place, "claude", "stop-failure", &failure).run()), Value::Null);
    let run = newest_run(&place);
    assert_eq!((&run["stopReason"], &run["stopCode"]), (&json!("error"), &json!("model_failed")));
    let items = || {
        let view = r#"{"action":"view"}"#;
        place.punch(["call", "todo", view, "--session", "s1", "--json"])
    };
    let item = &items().answer()["items"][0];
    assert_eq!(item["hold"]["kind"], "failed", "{item}");
    let later = items().env("PUNCHLIST_NOW", "2026-11-15T08:06:00Z").answer();
    assert_eq!(later["items"][0]["hold"], Value::Null, "{later}");
}

/// An ended session is unbound from its issue, and bound again when its host resumes it.
#[test]
fn a_resumed_session_is_bound_again() {
    each(|place| {
        bound(&place, "claude", "s1", &["One"]);
        let named = json!({ "session_id": "s1", "source": "resume" });
        answer(&hook(&place, "claude", "session-end", &named).run());
        let show = || place.punch(["session", "show", "s1", "--json"]).answer()["session"].clone();
        assert_eq!((&show()["state"], &show()["boundIssue"]), (&json!("ended"), &Value::Null));
        let told = answer(&hook(&place, "claude", "session-start", &named).run());
        assert!(told.to_string().contains("Issue #1"), "{told}");
        assert_eq!((&show()["state"], &show()["boundIssue"]), (&json!("active"), &json!(1)));
        let doctor = place.punch(["doctor", "--json"]).run();
        assert_eq!(doctor.exit, Some(0), "{doctor:?}");
    });
}

/// The switch in the environment and in the file also applies to hosts.
#[test]
fn the_driver_can_be_switched_off_for_a_host() {
    let place = Place::sqlite();
    bound(&place, "claude", "s1", &["One"]);
    let off = hook(&place, "claude", "stop", &stop("s1", "p1", "a", false))
        .env("PUNCHLIST_AUTO_COMPLETE_TODOS", "false");
    assert_ne!(answer(&off.run())["decision"], "block");
    assert_eq!(reasons(&place).last().unwrap(), "switched_off");
}

/// A host's own list becomes the session's; its completed items become claims (P-22).
#[test]
fn a_native_list_is_mirrored_with_its_done_items_as_claims() {
    each(|place| {
        place.punch(["issue", "new", "Other", "--json"]).answer();
        let start = json!({ "session_id": "o1" });
        answer(&hook(&place, "opencode", "session-start", &start).run());
        let todos = json!({ "sessionId": "o1", "todos": [
            { "id": "1", "content": "Read", "status": "completed", "priority": "high" },
            { "id": "2", "content": "Write", "status": "in_progress", "priority": "high" },
        ]});
        let said = answer(&hook(&place, "opencode", "todos", &todos).run());
        assert_eq!(said["reason"], "mirrored", "{said}");
        assert_eq!(answer(&hook(&place, "opencode", "todos", &todos).run())["reason"], "mirrored");
        let list = place.punch(["call", "todo_read", "{}", "--session", "o1", "--json"]).answer();
        let shown: Vec<(&Value, &Value)> = list["todos"]
            .as_array()
            .unwrap()
            .iter()
            .map(|todo| (&todo["content"], &todo["status"]))
            .collect();
        let expected = [(json!("Read"), json!("pending")), (json!("Write"), json!("in_progress"))];
        assert_eq!(shown, expected.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>());
        let stopped =
            answer(&hook(&place, "opencode", "stop", &json!({ "sessionId": "o1" })).run());
        assert!(stopped["text"].as_str().unwrap().contains("1 incomplete tasks"), "{stopped}");
    });
}

/// Claude Code keeps its tasks in files. The whole list is read from there, several tasks may be in
/// progress, and a task that was claimed stays when the host forgets it.
#[test]
fn the_task_files_of_claude_code_are_mirrored() {
    each(|place| {
        place.punch(["issue", "new", "Other", "--json"]).answer();
        answer(&hook(&place, "claude", "session-start", &json!({ "session_id": "c1" })).run());
        let folder = place.home().join(".claude/tasks/c1");
        std::fs::create_dir_all(&folder).unwrap();
        let write = |id: u32, subject: &str, status: &str| {
            let task = json!({ "id": id.to_string(), "subject": subject, "description": "All of it",
                "status": status, "blocks": [], "blockedBy": [] });
            std::fs::write(folder.join(format!("{id}.json")), task.to_string()).unwrap();
        };
        let fire = || {
            let payload = json!({ "session_id": "c1", "hook_event_name": "PostToolUse",
                "tool_name": "TaskUpdate", "tool_input": { "taskId": "1", "status": "completed" } });
            hook(&place, "claude", "todos", &payload).run()
        };
        let shown = || {
            let list =
                place.punch(["call", "todo_read", "{}", "--session", "c1", "--json"]).answer();
            let todos = list["todos"].as_array().unwrap().clone();
            let row = |todo: &Value| format!("{} {}", todo["content"], todo["status"]);
            todos.iter().map(row).collect::<Vec<_>>().join(", ")
        };
        write(1, "Read", "completed");
        write(2, "Write", "in_progress");
        write(3, "Test", "in_progress");
        assert_eq!(fire().exit, Some(0));
        let three = r#""Read" "pending", "Write" "in_progress", "Test" "pending""#;
        assert_eq!(shown(), three);
        // The host clears what is done. The claim stays, and so does everything while a file is
        // being written.
        std::fs::remove_file(folder.join("1.json")).unwrap();
        assert_eq!(fire().exit, Some(0));
        assert_eq!(shown(), r#""Write" "in_progress", "Test" "pending", "Read" "pending""#);
        std::fs::write(folder.join("3.json"), "{\"subject\":").unwrap();
        assert_eq!(fire().exit, Some(0));
        assert_eq!(shown(), r#""Write" "in_progress", "Test" "pending", "Read" "pending""#);
        std::fs::remove_file(folder.join("3.json")).unwrap();
        assert_eq!(fire().exit, Some(0));
        assert_eq!(shown(), r#""Write" "in_progress", "Read" "pending", "Test" "cancelled""#);
        let stopped = json!({ "session_id": "c1", "prompt_id": "p1" });
        let stopped = answer(&hook(&place, "claude", "stop", &stopped).run());
        let reason = stopped["reason"].as_str().unwrap();
        assert!(reason.contains("1 incomplete tasks"), "the claimed one is not open: {reason}");
    });
}

/// A session whose hooks do not fire is shown as such until one fires.
#[test]
fn home_shows_a_session_whose_hooks_do_not_fire() {
    each(|place| {
        place.punch(["issue", "new", "Refunds", "--json"]).answer();
        let start = r#"{"title":"Codex session","host":"codex","externalId":"x1"}"#;
        let own = place.punch(["call", "session_start", start, "--json"]).answer();
        place.punch(["session", "bind", "1", "--session", "x1", "--json"]).answer();
        let status = place.punch(["status", "--json"]).answer();
        let expected = json!([{ "sessionId": own["session"]["id"], "title": "Codex session",
            "host": "codex", "number": 1, "createdAt": own["session"]["createdAt"] }]);
        assert_eq!(status["ungoverned"], expected);
        let home = place.punch(["status"]).run().stdout;
        assert!(home.contains("Not governed\n"), "{home}");
        assert!(home.contains("Codex session on #1") && home.contains("punch doctor"), "{home}");
        let shown = || place.punch(["session", "show", "x1", "--json"]).answer()["session"].clone();
        assert_eq!(shown()["ungoverned"], true);
        assert!(place.punch(["session", "show", "x1"]).run().stdout.contains("not governed"));
        answer(&hook(&place, "codex", "prompt", &json!({ "session_id": "x1" })).run());
        assert_eq!(shown()["ungoverned"], false);
        assert!(place.punch(["status", "--json"]).answer().get("ungoverned").is_none());
    });
}

/// A host's run is known by its host and the beginning of what the person wrote.
#[test]
fn runs_of_hosts_are_told_apart() {
    each(|place| {
        bound(&place, "claude", "s1", &["One"]);
        let prompt = format!("Fix the refunds,\n  please. {}", "More. ".repeat(200));
        let prompt = json!({ "session_id": "s1", "prompt_id": "p1", "prompt": prompt });
        answer(&hook(&place, "claude", "prompt", &prompt).run());
        let run = newest_run(&place);
        let said = run["prompt"].as_str().unwrap();
        assert!(said.starts_with("Fix the refunds, please. More. More."), "{said}");
        assert!(said.ends_with('…') && said.chars().count() == 121, "{said}");
        let runs = place.punch(["runs"]).said();
        assert!(runs.contains("Claude Code") && runs.contains("#1 Fix the refunds"), "{runs}");
        let home = place.punch(["status"]).said();
        assert!(home.contains("Claude Code"), "{home}");
        assert_eq!(place.punch(["status", "--json"]).answer()["running"][0]["host"], "claude");
        // What the person said is no news to the model.
        let next = json!({ "session_id": "s1", "prompt_id": "p2", "prompt": "Go on" });
        assert_eq!(answer(&hook(&place, "claude", "prompt", &next).run()), Value::Null);
    });
}

/// The plan's position is said once, with the counts that `plan list` has.
#[test]
fn the_plans_of_the_branch_are_counted_as_in_their_list() {
    let place = Place::sqlite();
    let file = place.home().join("other.md");
    let text =
        "- [x] First\n  - [x] Below\n- [ ] Second\n  - [ ] Inner\n  - [x] Done\n- [ ] Third\n";
    std::fs::write(&file, text).unwrap();
    let at_home = |words: &[&str]| place.punch(words.iter().copied()).at(place.home());
    at_home(&["plan", "import", "other.md", "--json"]).answer();
    let row = at_home(&["plan", "list", "--json"]).answer()["plans"][0].clone();
    let (done, open) = (row["completed"].as_u64().unwrap(), row["open"].as_u64().unwrap());
    assert_eq!(done, 2, "{row}");
    let start = json!({ "session_id": "s1", "source": "startup" });
    let told = answer(&hook(&place, "claude", "session-start", &start).at(place.home()).run());
    let text = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let expected = format!("Plan other.md: {done} of {} tasks settled; current: ", done + open);
    assert!(text.starts_with(&expected), "{text}");
    assert_eq!(text.matches("other.md").count(), 1, "{text}");
}
