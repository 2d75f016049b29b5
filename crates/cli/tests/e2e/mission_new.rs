//! `punch mission new`: a mission from a dialogue at a terminal. Stopping leaves nothing behind.

use std::fs;
use std::io::{Read, Write};

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::mission_file::Desk;
use crate::support::Ran;

fn typing(desk: &Desk, typed: &str) -> Ran {
    desk.place.punch(["mission", "new", "--no-color"]).stdin(typed).on_terminal()
}

fn files(desk: &Desk) -> Vec<String> {
    let all = fs::read_dir(desk.place.home()).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "data").collect()
}

/// Invalid answers are asked for again; the file that is written is the one that was shown.
#[test]
fn a_mission_is_asked_for_step_by_step() {
    let desk = Desk::new(Backend::SqliteFile);
    let typed = [
        "",
        "!!!",
        "Developer Experience",
        "Make it a joy", // name, twice asked again; description
        "9",
        "1",
        "Mars",
        "Europe/Berlin", // cadence and time zone
        "many",
        "3",
        "", // limits
        "Build Performance",
        "Fast builds", // a pillar
        "Local build time",
        "time",
        "duration",
        "",
        "about 60",
        "< 60",              // its metric
        "",                  // no more metrics
        "Build performance", // there is one already
        "Docs",
        "",
        "",        // another pillar, with nothing
        "",        // no more
        "",        // mission.json
        "perhaps", // neither yes nor no is asked again
        "y",       // make it
    ];
    let ran = typing(&desk, &format!("{}\n", typed.join("\n")));
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    for said in [
        "It needs a name.",
        "A name needs a letter or a digit.",
        "Give a number from 1 to 6.",
        "There is no such time zone",
        "Give a whole number.",
        "Give one of numeric, percentage",
        "Give <, <=, >, >= or = and a number",
        "There is a `build-performance` already.",
        "Please answer yes or no.",
        "created mission `developer-experience`",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
    let text = fs::read_to_string(desk.place.home().join("mission.json")).unwrap();
    assert!(ran.stdout.contains(&text.replace('\n', "\r\n")), "{ran:?}");
    let expected = json!({
        "name": "Developer Experience",
        "description": "Make it a joy",
        "cadence": { "cron": "0 9 * * 1", "timezone": "Europe/Berlin" },
        "todo": { "activeTodoLimit": 3, "backlogTodoLimit": 50 },
        "pillars": [
            { "name": "Build Performance", "description": "Fast builds", "metrics": [
                { "name": "Local build time", "type": "duration", "unit": "s",
                  "target": { "operator": "<", "value": 60 } } ] },
            { "name": "Docs" },
        ],
    });
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    let status = desk.punch(&["mission", "status", "--json"]).answer();
    assert_eq!(status["counts"]["activeLimit"], 3);
}

/// The shortest way: a name and the defaults in brackets. No file is overwritten without asking.
#[test]
fn an_existing_file_is_not_overwritten_without_asking() {
    let desk = Desk::new(Backend::SqliteFile);
    desk.write("mission.json", "mine");
    // First a no to overwriting; then a path without a folder; then a file next to it. The mission
    // is not created yet.
    let ran = typing(&desk, "Other\n\n6\n\n\n\n\nn\nno/where.json\nother.json\nn\n");
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("mission.json exists. Replace it?"), "{ran:?}");
    assert!(ran.stdout.contains("no/where.json: No such file"), "{ran:?}");
    assert!(ran.stdout.contains("`punch mission init other.json` makes it."), "{ran:?}");
    let read = |name: &str| fs::read_to_string(desk.place.home().join(name)).unwrap();
    assert_eq!(read("mission.json"), "mine");
    let made: Value = serde_json::from_str(&read("other.json")).unwrap();
    assert_eq!(made["name"], "Other");
    assert_eq!(made.get("cadence"), None);
    let none = desk.punch(&["mission", "list", "--json"]).answer();
    assert_eq!(none["missions"], json!([]));
    let ran = typing(&desk, "Other\n\n6\n\n\n\n\ny\nn\n");
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert_eq!(read("mission.json"), read("other.json"));
}

/// A person who leaves in the middle, by end of input or Ctrl-C, leaves nothing behind.
#[test]
fn leaving_in_the_middle_leaves_nothing_behind() {
    let desk = Desk::new(Backend::SqliteFile);
    let ran = typing(&desk, "Developer Experience\n\n1\n");
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert!(ran.stdout.ends_with("Nothing was written.\r\n"), "{ran:?}");
    let mut child = desk.place.punch(["mission", "new"]).spawn_on_terminal();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"Developer Experience\n").unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("What is it after?") {
        let mut byte = [0];
        assert_eq!(output.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&seen));
        seen.push(byte[0]);
    }
    input.write_all(b"\x03").unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(files(&desk), [""; 0]);
    let none = desk.punch(&["mission", "list", "--json"]).answer();
    assert_eq!(none["missions"], json!([]));
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let desk = Desk::new(Backend::SqliteFile);
    let error = desk.punch(&["mission", "new", "--json"]).stdin("Name\n").refusal(2);
    assert!(error["hint"].as_str().unwrap().contains("punch mission init FILE"), "{error}");
    assert_eq!(files(&desk), [""; 0]);
}
