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
