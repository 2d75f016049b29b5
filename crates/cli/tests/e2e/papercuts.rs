//! Small things that new users stumbled over, each as a command.

use std::fs;

use serde_json::{Value, json};

use crate::support::Place;

/// A place with one mission that has one metric. Returns the lead's token.
fn measured(place: &Place) -> String {
    let operator = place.operator();
    let mission = json!({
        "name": "Speed",
        "pillars": [{
            "name": "Build", "description": "Fast builds",
            "metrics": [{ "name": "Drift", "type": "numeric",
                "target": { "operator": "<", "value": 10.0 } }],
        }],
    });
    let made = place.punch(["call", "mission_init", &mission.to_string(), "--json"]);
    made.with(&operator).answer();
    operator
}

#[test]
fn a_metric_is_recorded_without_the_name_of_the_only_mission_also_below_zero() {
    let place = Place::sqlite();
    let operator = measured(&place);
    for words in [
        &["metric", "record", "drift", "-5", "--json"][..],
        &["metric", "record", "speed", "drift", "-5", "--json"],
    ] {
        let made = place.punch(words.iter().copied()).with(&operator).answer();
        assert_eq!(made["reading"]["value"], -5, "{made}");
    }
}

#[test]
fn a_worker_that_names_itself_reports_its_own_status() {
    let place = Place::sqlite();
    let me = ["--as", "worker", "--agent", "primary.subagents.x", "--json"];
    place.punch(["agent", "register", "primary.subagents.x"]).words(me).answer();
    let reported = place.punch(["agent", "status", "blocked"]).words(me).answer();
    assert_eq!(reported["agent"]["status"], "blocked", "{reported}");
}

#[test]
fn malformed_evidence_is_refused_with_its_expected_format() {
    let place = Place::sqlite();
    let claim = json!({ "todoId": "1", "outcome": "done", "evidence": ["commit:abc"] });
    let refused = place.punch(["call", "todo_claim", &claim.to_string(), "--json"]).refusal(2);
    let text = format!("{} {}", refused["message"], refused["hint"]);
    assert!(text.contains("7 to 64 hexadecimal digits"), "{text}");
}

#[test]
fn boxes_below_a_line_of_the_backlog_become_its_tasks() {
    let place = Place::sqlite();
    let backlog = "- [ ] Add auth\n  - [ ] Model\n    - [x] Table\n  - [ ] Login\n- [ ] Other\n";
    fs::write(place.home().join("TODO.md"), backlog).unwrap();
    let opened = place.punch(["plan", "from-todo", "Add auth", "--json"]).answer();
    let names = |tasks: &Value| -> Vec<Value> {
        tasks.as_array().unwrap().iter().map(|task| task["content"].clone()).collect()
    };
    let root = &opened["tasks"][0];
    assert_eq!(
        (&root["content"], names(&root["children"])),
        (&json!("Add auth"), vec![json!("Model"), json!("Login")])
    );
    assert_eq!(root["children"][0]["children"][0]["state"], "completed");
    let other = place.punch(["plan", "from-todo", "Other"]).said();
    let said = "from line 5 of TODO.md; no file was written; current: t";
    assert!(other.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{other}");
}

#[test]
fn a_task_is_shown_with_its_agent_and_its_plan() {
    let place = Place::sqlite();
    let plan = json!({ "planFile": "p.md", "markdown": "# P\n- [ ] a\n" }).to_string();
    place.punch(["call", "plan_import", &plan]).said();
    let next = place.punch(["todo", "next", "--plan-file", "p.md", "--json"]).answer();
    assert_eq!(next["todo"]["title"], "a");
    let shown = place.punch(["todo", "show", "t2"]).said();
    assert!(shown.contains("plan       p.md on main\n"), "{shown}");
    assert!(shown.contains("agent      primary\n"), "{shown}");
    let rendered = place.punch(["plan", "render", "p.md", "--json"]).answer();
    assert_eq!(rendered["markdown"], rendered["text"]);
}

#[test]
fn a_required_flag_is_marked_in_the_help() {
    let place = Place::sqlite();
    let help = place.bare(["mission", "update", "--help"]).said();
    assert!(help.contains("Why; kept in the record. (required)"), "{help}");
}

/// Contract, Context: `--issue` and `--session` are obeyed or refused, also by `punch call`.
#[test]
fn a_call_uses_the_issue_and_the_session_that_were_typed_or_is_refused() {
    let place = Place::sqlite();
    let call = |operation: &str, input: Value, words: &[&str]| {
        let call = place.punch(["call", operation, &input.to_string(), "--json"]);
        call.words(words.iter().copied())
    };
    for title in ["One thing", "Another matter"] {
        call("issue_create", json!({ "title": title }), &[]).answer();
    }
    let refused = |operation: &str, input: Value, words: &[&str]| {
        let refused = call(operation, input, words).refusal(2);
        refused["message"].as_str().unwrap().to_owned()
    };
    let two = "two issues are named: 1, and 2 with --issue";
    for (operation, input) in [
        ("issue_comment", json!({ "number": 1, "text": "x" })),
        ("issue_transition", json!({ "number": 1, "status": "triaged" })),
        ("todo_next", json!({ "number": 1 })),
    ] {
        assert_eq!(refused(operation, input, &["--issue", "2"]), two, "{operation}");
    }
    let unused = "`punch call issue_create` does not use --issue";
    assert_eq!(refused("issue_create", json!({ "title": "c" }), &["--issue", "2"]), unused);
    let commented = call("issue_comment", json!({ "text": "x" }), &["--issue", "2"]).answer();
    assert_eq!(commented["issue"]["number"], 2, "it fills the field");
    call("todo", json!({ "action": "add", "items": ["a"] }), &["--issue", "2"]).answer();

    let started = |id: &str| {
        call("session_start", json!({ "title": id, "externalId": id }), &[]).answer();
    };
    started("s1");
    started("s2");
    let input = json!({ "session": "s1", "number": 1 });
    let two = refused("session_bind", input, &["--session", "s2"]);
    assert_eq!(two, "two sessions are named: \"s1\", and s2 with --session");
    let empty = refused("issue_create", json!({ "title": "c" }), &["--session", ""]);
    assert_eq!(empty, "--session is empty");
    let shown = call("session_show", json!({}), &["--session", "s2"]).answer();
    assert_eq!(shown["session"]["title"], "s2");
    // A session named in place, as its neighbours take it.
    call("todo_write", json!({ "todos": [] }), &["--session", "s2"]).answer();
    place.punch(["session", "todos", "s2"]).said();
    let unset = place.punch(["session", "todos"]).env("PUNCHLIST_SESSION", "").run();
    assert_eq!(unset.exit, Some(2));
}

/// An error names what was typed: flags, not fields.
#[test]
fn errors_name_the_flags_of_the_command() {
    let place = Place::sqlite();
    let operator = measured(&place);
    place.punch(["issue", "new", "A"]).with(&operator).said();
    for (words, expected) in [
        (&["issue", "list", "--status", "done"][..], "--status cannot be `done`"),
        (&["issue", "list", "--limit", "0"], "--limit cannot be 0"),
        (&["inbox", "--limit", "0"], "--limit cannot be 0"),
        (&["log", "--limit", "0"], "--limit cannot be 0"),
        (&["metric", "history", "drift", "--limit", "0"], "--limit cannot be 0"),
        (&["mission", "todos", "--status", "x"], "--status cannot be `x`"),
        (&["metric", "record", "drift", "1", "--at", "2199-01-01"], "--at cannot be"),
        (&["todo", "next"], "--issue, --plan or --session is missing"),
        (&["todo", "next", "--issue", "1", "--for", "2d"], "--for cannot be 2d"),
    ] {
        let ran = place.punch(words.iter().copied()).with(&operator).run();
        assert_eq!(ran.exit, Some(2), "{words:?} {ran:?}");
        assert!(ran.stderr.contains(expected), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn an_earlier_reading_is_not_reported_as_the_newest() {
    let place = Place::sqlite();
    let operator = measured(&place);
    let record = |words: &[&str]| {
        let words = [&["metric", "record", "drift"], words].concat();
        place.punch(words).with(&operator).said()
    };
    record(&["7"]);
    let said = record(&["3", "--at", "2026-11-01"]);
    assert!(said.starts_with("Recorded 3 for 2026-11-01; the newest reading: Drift: 7"), "{said}");
}

#[test]
fn what_was_linked_names_both_issues() {
    let place = Place::sqlite();
    let operator = place.operator();
    let said = |words: &[&str]| place.punch(words.iter().copied()).with(&operator).said();
    for title in ["Log in fails", "Cookie is broken", "Banner is wrong"] {
        said(&["issue", "new", title]);
    }
    let linked = said(&["issue", "link", "2", "child_of", "1"]);
    assert_eq!(linked, "Linked issue #2, child of #1: Cookie is broken\n");
    let closed = said(&["issue", "dup", "3", "1"]);
    assert_eq!(closed, "Closed issue #3, duplicate of #1: Banner is wrong\n");
}

/// `--no-color` holds for help and for errors of the command line itself.
#[test]
fn no_color_reaches_help_and_usage_errors() {
    let place = Place::sqlite();
    for words in [&["--no-color", "issue", "--help"][..], &["--no-color", "isue"]] {
        let ran = place.bare(words.iter().copied()).on_terminal();
        assert!(!ran.stdout.contains('\u{1b}'), "{words:?}: {}", ran.stdout);
    }
}

#[test]
fn help_fits_a_narrow_terminal() {
    let place = Place::sqlite();
    for words in [&["token", "new", "--help"][..], &["issue", "list", "--help"], &["--help"]] {
        let ran = place.bare(words.iter().copied()).words(["--no-color"]).on_terminal_of(50);
        let long: Vec<&str> =
            ran.stdout.lines().filter(|line| line.trim_end().chars().count() > 50).collect();
        // Usage lines and single words cannot be broken.
        let long: Vec<&&str> =
            long.iter().filter(|line| line.split_whitespace().count() > 3).collect();
        assert!(long.is_empty(), "{words:?}: {long:#?}");
    }
}
