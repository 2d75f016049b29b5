//! `punch mission init` and mission files: two formats, errors with positions, and commands that
//! need no slug if there is only one mission.

use std::fs;

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::support::{Place, Punch};

pub(crate) const MISSION_JSON: &str = r#"{
  "$schema": "./mission.schema.json",
  "name": "Developer Experience",
  "cadence": { "cron": "0 9 * * 1", "timezone": "Europe/Berlin" },
  "todo": { "activeTodoLimit": 2, "backlogTodoLimit": 3 },
  "pillars": [
    {
      "name": "Build Performance",
      "description": "Builds that nobody waits for",
      "metrics": [
        { "name": "Local build time", "type": "duration", "unit": "s",
          "target": { "operator": "<", "value": 60, "warningThreshold": 90 },
          "collect": { "command": ["./measure"], "timeout": "60s" }, "cron": "0 * * * *" }
      ],
      "strategies": [{ "description": "Cache what does not change" }]
    },
    { "name": "Docs" }
  ]
}
"#;

const MISSION_TOML: &str = r#"
name = "Developer Experience"
cadence = { cron = "0 9 * * 1", timezone = "Europe/Berlin" }

[todo]
activeTodoLimit = 2
backlogTodoLimit = 3

[[pillars]]
name = "Build Performance"
description = "Builds that nobody waits for"
strategies = [{ description = "Cache what does not change" }]

[[pillars.metrics]]
name = "Local build time"
type = "duration"
unit = "s"
target = { operator = "<", value = 60, warningThreshold = 90 }
collect = { command = ["./measure"], timeout = "60s" }
cron = "0 * * * *"

[[pillars]]
name = "Docs"
"#;

/// A place with an operator who has files there.
pub(crate) struct Desk {
    pub(crate) place: Place,
    secret: String,
}

impl Desk {
    pub(crate) fn new(backend: Backend) -> Self {
        let place = Place::new(backend);
        let secret = place.operator();
        Self { place, secret }
    }

    /// With the mission of the file above.
    pub(crate) fn with_mission(backend: Backend) -> Self {
        let desk = Self::new(backend);
        desk.write("mission.json", MISSION_JSON);
        desk.punch(&["mission", "init", "mission.json"]).said();
        desk
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.place.home().join(name), text).unwrap();
    }

    pub(crate) fn punch(&self, words: &[&str]) -> Punch {
        self.place.punch(words.iter().copied()).with(&self.secret)
    }
}

/// M-4: the limits of the file apply. Both formats give the same mission, and the same file again
/// changes nothing.
fn a_file_creates_a_mission_and_the_same_file_changes_nothing(backend: Backend) {
    let desk = Desk::new(backend);
    desk.write("mission.json", MISSION_JSON);
    let made = desk.punch(&["mission", "init", "mission.json"]).said();
    let expected = "Mission developer-experience:\n  created mission `developer-experience`\n  \
                    added pillar `build-performance`\n  added pillar `docs`\n\
                    See it with `punch mission status developer-experience`.\n";
    assert_eq!(made, expected);
    desk.write("mission.toml", MISSION_TOML);
    for again in [&["mission", "init", "mission.toml"], &["mission", "init", "mission.json"]] {
        let said = desk.punch(again).said();
        assert_eq!(said, "Mission developer-experience is as its file says; nothing changed.\n");
    }
    let piped = desk.punch(&["mission", "init", "-", "--json"]).stdin(MISSION_TOML).answer();
    assert_eq!(piped["changes"], json!([]));
    let mission = &piped["mission"];
    assert_eq!(mission["todo"]["activeTodoLimit"], 2);
    assert_eq!(mission["todo"]["backlogTodoLimit"], 3);
    // Collectors run in the project's folder, not in the folder of the mission file.
    let collect = &mission["pillars"][0]["metrics"][0]["collect"];
    let home = fs::canonicalize(desk.place.home()).unwrap();
    assert_eq!(collect["directory"], home.to_str().unwrap());
    let lowered = MISSION_TOML.replace("activeTodoLimit = 2", "activeTodoLimit = 1");
    let lowered = desk.punch(&["mission", "init", "-"]).stdin(lowered).said();
    assert!(lowered.contains("updated mission `developer-experience`"), "{lowered}");
    let status = desk.punch(&["mission", "status", "--json"]).answer();
    let expected = json!({ "active": 0, "activeLimit": 1, "backlog": 0, "backlogLimit": 3 });
    assert_eq!(status["counts"], expected);
}

/// Every error in a file has a stable code and a position, and changes nothing.
#[test]
fn errors_in_a_file_are_reported_with_their_position() {
    let desk = Desk::new(Backend::SqliteFile);
    let nul = String::from_utf8(vec![b'{', 0, b'}']).unwrap();
    let with = |old: &str, new: &str| MISSION_JSON.replacen(old, new, 1);
    let toml = |old: &str, new: &str| MISSION_TOML.replacen(old, new, 1);
    type Case<'a> = (&'a str, String, &'a str, Value, &'a str);
    let cases: Vec<Case<'_>> = vec![
        ("a.json", with("\"name\"", "\"nmae\""), "unknown_field", json!(3), "did you mean `name`?"),
        ("b.json", with("\"target\"", "\"taget\""), "unknown_field", json!(12), "`target`"),
        ("c.json", with("0 9 * * 1", "0 99 * * 1"), "bad_value", json!(4), "cron expression"),
        ("d.json", with("Europe/Berlin", "Mars"), "bad_value", json!(4), "time zone"),
        ("e.json", with(": 60,", ": \"60\","), "wrong_type", json!(12), "give a number"),
        ("f.json", with("\"duration\"", "\"dur\""), "bad_value", json!(11), "duration"),
        (
            "g.json",
            with("{ \"name\": \"Docs\" }", "{}"),
            "missing_field",
            json!(17),
            "pillars[1].name",
        ),
        ("h.json", with("\"Docs\"", "\"Build Performance\""), "bad_value", json!(17), "no other"),
        ("i.json", with("\"todo\"", "todo"), "invalid_json", json!(5), "nothing was changed"),
        ("j.json", with("],\n", "]\n"), "invalid_json", json!(15), "nothing was changed"),
        ("k.json", with("\"unit\": \"s\"", "\"name\": \"x\""), "invalid_input", json!(11), ""),
        ("l.json", "[]".to_owned(), "wrong_type", json!(1), "give an object"),
        ("m.json", " \n".to_owned(), "invalid_input", Value::Null, ""),
        ("n.json", nul, "invalid_json", json!(1), ""),
        (
            "o.json",
            " ".repeat((1 << 20) + 1),
            "input_too_large",
            Value::Null,
            "smaller than that limit",
        ),
        ("a.toml", toml("unit", "unti"), "unknown_field", json!(17), "did you mean `unit`?"),
        ("b.toml", toml("= 2\n", "= \"two\"\n"), "wrong_type", json!(6), "give an integer"),
        ("c.toml", toml("[todo]", "[todo"), "invalid_toml", json!(5), "nothing was changed"),
        ("d.toml", toml("value = 60", "value = inf"), "bad_value", json!(18), "a finite number"),
        ("e.toml", toml("\"60s\"", "\"2h\""), "bad_value", json!(19), "1s to 1h"),
        ("f.toml", toml("\"Docs\"", "2027-01-01"), "", Value::Null, ""),
    ];
    let before = desk.place.log_length();
    for (name, text, code, line, next) in cases {
        desk.write(name, &text);
        let init = desk.punch(&["mission", "init", name, "--json"]);
        if code.is_empty() {
            // A date is read as the text in the file.
            init.answer();
            continue;
        }
        let error = init.refusal(2);
        assert_eq!(error["code"], code, "{name}: {error}");
        assert_eq!(error["line"], line, "{name}: {error}");
        assert_eq!(error["file"], name, "{name}: {error}");
        let (message, hint) = (error["message"].to_string(), error["hint"].to_string());
        assert!(message.contains(next) || hint.contains(next), "{name}: {error}");
        let begins = line.as_u64().map_or(format!("{name}: "), |line| format!("{name}:{line}:"));
        assert!(error["message"].as_str().unwrap().starts_with(&begins), "{name}: {error}");
        assert_eq!(desk.place.log_length(), before, "{name}");
    }
    for (file, said) in [("nowhere.json", "No such file"), (".", "directory")] {
        let error = desk.punch(&["mission", "init", file, "--json"]).refusal(3);
        assert_eq!(error["code"], "io");
        assert!(error["message"].as_str().unwrap().contains(said), "{error}");
    }
    desk.write("binary", [0x7f, b'E', b'L', b'F', 0xff, 0xfe]);
    let error = desk.punch(&["mission", "init", "binary", "--json"]).refusal(2);
    assert_eq!(error["code"], "invalid_utf8");
    let agent = desk.place.punch(["mission", "init", "a.json", "--json"]).refusal(4);
    assert_eq!(agent["code"], "not_permitted");
}

#[test]
fn the_schema_for_editors_accepts_valid_files_only() {
    let desk = Desk::new(Backend::SqliteFile);
    let schema: Value = serde_json::from_str(&desk.punch(&["mission", "schema"]).said()).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema.get("$id"), None);
    jsonschema::meta::validate(&schema).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let good: Value = serde_json::from_str(MISSION_JSON).unwrap();
    assert!(schema.is_valid(&good));
    let bad: Value = serde_json::from_str(&MISSION_JSON.replace("unit", "unti")).unwrap();
    assert!(!schema.is_valid(&bad));
}

/// The mission need not be named if there is only one.
fn the_only_mission_need_not_be_named(backend: Backend) {
    let desk = Desk::new(backend);
    let none = desk.punch(&["mission", "status", "--json"]).refusal(2);
    assert!(none["hint"].as_str().unwrap().contains("punch mission init FILE"), "{none}");
    desk.write("mission.json", MISSION_JSON);
    desk.punch(&["mission", "init", "mission.json"]).said();
    let add = |words: &[&str]| {
        let words = [&["mission", "add"], words, &["--json"]].concat();
        desk.punch(&words).answer()["todo"]["pillarSlug"].clone()
    };
    assert_eq!(add(&["docs", "Write it down"]), "docs");
    assert_eq!(add(&["developer-experience", "docs", "Draw it"]), "docs");
    assert_eq!(add(&["docs", "Say it", "--mission", "developer-experience"]), "docs");
    for words in [["todos"], ["pause"], ["resume"], ["cycle"], ["status"]] {
        let words = [&["mission"], &words[..], &["--json"]].concat();
        desk.punch(&words).answer();
    }
    desk.punch(&["mission", "init", "-"]).stdin("name = \"Other\"").said();
    let several = desk.punch(&["mission", "status", "--json"]).refusal(2);
    assert_eq!(several["hint"], "name one of: developer-experience, other");
    let named = desk.punch(&["mission", "status", "--mission", "other", "--json"]).answer();
    assert_eq!(named["mission"]["slug"], "other");
    let gone = "name = \"Other\"\nstatus = \"archived\"";
    desk.punch(&["mission", "init", "-"]).stdin(gone).said();
    let left = desk.punch(&["mission", "status", "--json"]).answer();
    assert_eq!(left["mission"]["slug"], "developer-experience");
    let short = desk.punch(&["mission", "add", "docs", "--json"]).refusal(2);
    assert_eq!(short["code"], "missing_field");
    let unknown = desk.punch(&["mission", "status", "nope", "--json"]).refusal(1);
    assert_eq!(unknown["code"], "unknown_mission");
}

on_every_lasting_store! {
    a_file_creates_a_mission_and_the_same_file_changes_nothing,
    the_only_mission_need_not_be_named,
}
