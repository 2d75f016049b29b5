//! Resources and prompts: which exist, who may see them, and unknown ones.

use serde_json::{Value, json};

use crate::serving::{Served, token};
use crate::support::Place;
use crate::talk::{ERAS, Era, Talk, operate};

const MISSION: &str = r#"{"name":"Speed","slug":"speed","pillars":[{"name":"Build"}]}"#;

/// An issue, a plan, a mission and a session.
fn furnished() -> (Place, String, String) {
    let place = Place::sqlite();
    let operator = place.operator();
    let issue = json!({ "title": "Slow build", "body": "It takes ten minutes.",
        "criteria": ["Under a minute"] });
    operate(&place, &operator, "issue_create", &issue);
    let plan = json!({ "planFile": "docs/plan.md", "markdown": "# Ship\n- [ ] Measure\n" });
    operate(&place, &operator, "plan_import", &plan);
    operate(&place, &operator, "mission_init", &serde_json::from_str(MISSION).unwrap());
    let started = operate(&place, &operator, "session_start", &json!({ "title": "Work" }));
    let session = started["session"]["id"].as_str().unwrap().to_owned();
    operate(&place, &operator, "session_bind", &json!({ "session": session, "number": 1 }));
    (place, operator, session)
}

fn read(talk: &mut Talk, uri: &str) -> Value {
    talk.request("resources/read", &json!({ "uri": uri }))
}

fn text(answer: &Value) -> &str {
    answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// The operator can read every kind; everything listed can be read.
#[test]
fn every_kind_of_resource_is_listed_and_read() {
    let (place, operator, session) = furnished();
    let served = Served::start(&place);
    let bearer = format!("Bearer {operator}");
    for era in ERAS {
        let punch = place.punch(["mcp"]).with(&operator);
        let over_stdio = Talk::with(&punch, era, json!({}));
        let headers = [("Authorization", bearer.as_str()), ("Punchlist-Project", "test")];
        for mut talk in [over_stdio, Talk::http(&served, era, &headers)] {
            let listed = talk.request("resources/list", &json!({}));
            let listed = listed["result"]["resources"].as_array().unwrap().clone();
            let uris: Vec<&str> = listed.iter().map(|one| one["uri"].as_str().unwrap()).collect();
            for uri in [
                "punchlist://test/inbox",
                "punchlist://test/plan/docs/plan.md",
                "punchlist://test/mission/speed",
                "punchlist://test/issue/1",
            ] {
                assert!(uris.contains(&uri), "{uri} is not in {uris:?}");
            }
            for uri in uris {
                assert!(!text(&read(&mut talk, uri)).is_empty(), "{uri}");
            }
            let issue = read(&mut talk, "punchlist://test/issue/1");
            for part in ["# #1 Slow build", "It takes ten minutes.", "Under a minute"] {
                assert!(text(&issue).contains(part), "{issue}");
            }
            assert_eq!(issue["result"]["contents"][0]["mimeType"], "text/markdown");
            let hints = (&issue["result"]["ttlMs"], &issue["result"]["cacheScope"]);
            assert_eq!(hints, (&json!(0), &json!("private")));
            let shown = read(&mut talk, &format!("punchlist://test/session/{session}"));
            let shown: Value = serde_json::from_str(text(&shown)).unwrap();
            assert_eq!(shown["session"]["boundIssue"], 1);
            let templates = talk.request("resources/templates/list", &json!({}));
            let templates = &templates["result"]["resourceTemplates"];
            assert_eq!(templates.as_array().unwrap().len(), 5, "{templates}");
            talk.end();
        }
    }
}

/// A resource exists for its reader as far as the reader's role, project and token reach.
#[test]
fn an_attack_on_what_is_out_of_reach_finds_nothing() {
    let (place, operator, session) = furnished();
    let issue = json!({ "title": "Other work" });
    operate(&place, &operator, "issue_create", &issue);
    let served = Served::start(&place);
    let all = [
        "punchlist://test/issue/1".to_owned(),
        "punchlist://test/issue/2".to_owned(),
        "punchlist://test/plan/docs/plan.md".to_owned(),
        "punchlist://test/mission/speed".to_owned(),
        "punchlist://test/inbox".to_owned(),
        format!("punchlist://test/session/{session}"),
    ];
    let cases: [(&[&str], &[usize]); 6] = [
        (&["--role", "root"], &[0, 1, 2, 5]),
        (&["--role", "lead"], &[3]),
        (&["--role", "worker"], &[2]),
        (&["--role", "root", "--only-issue", "1", "--only-project", "test"], &[0]),
        (&["--role", "operator", "--only-mission", "speed", "--only-project", "test"], &[3]),
        (&["--role", "operator", "--only-project", "elsewhere"], &[]),
    ];
    for (words, may) in cases {
        let secret = token(&place, &operator, words);
        let bearer = format!("Bearer {secret}");
        for era in ERAS {
            let headers = [("Authorization", bearer.as_str()), ("Punchlist-Project", "test")];
            let mut talk = Talk::http(&served, era, &headers);
            let listed = talk.request("resources/list", &json!({}));
            let listed = listed["result"]["resources"]
                .as_array()
                .unwrap_or_else(|| panic!("{words:?}: {listed}"));
            for uri in listed.iter().map(|one| one["uri"].as_str().unwrap()) {
                let answer = read(&mut talk, uri);
                assert!(answer.get("result").is_some(), "{words:?} lists {uri}: {answer}");
            }
            for index in [0, 1] {
                let is_listed = listed.iter().any(|one| one["uri"] == all[index].as_str());
                assert_eq!(is_listed, may.contains(&index), "{words:?} {}", all[index]);
            }
            for (index, uri) in all.iter().enumerate() {
                let answer = read(&mut talk, uri);
                let is_there = answer.get("result").is_some();
                let narrowed = words.contains(&"--only-issue") || words.contains(&"--only-mission");
                // A narrowed token may see the session that works on its issue, and its own gates.
                if narrowed && (index == 5 || index == 4) {
                    continue;
                }
                assert_eq!(is_there, may.contains(&index), "{words:?} {uri}: {answer}");
                if !is_there {
                    let code = if era == Era::Handshake { -32_002 } else { -32_602 };
                    assert_eq!(answer["error"]["code"], code, "{answer}");
                    assert!(!answer.to_string().contains("Other work"), "{answer}");
                }
            }
        }
    }
}

#[test]
fn an_unknown_resource_is_reported_as_not_found() {
    let place = Place::sqlite();
    for era in ERAS {
        let mut talk = Talk::stdio(&place, era, &[]);
        let code = if era == Era::Handshake { -32_002 } else { -32_602 };
        for uri in [
            "",
            "x",
            "file:///etc/passwd",
            "punchlist://test/issue/1",
            "punchlist://../x",
            "punchlist://test/nothing/1",
            "punchlist://test/plan/../../etc/passwd",
        ] {
            let answer = read(&mut talk, uri);
            assert_eq!(answer["error"]["code"], code, "{uri}: {answer}");
            assert_eq!(answer["error"]["data"]["uri"], uri, "{answer}");
        }
        let long = format!("punchlist://test/{}", "x".repeat(1 << 20));
        assert!(read(&mut talk, &long).to_string().len() < 4_000);
        let answer = talk.request("resources/read", &json!({}));
        assert_eq!(answer["error"]["code"], -32_602, "{answer}");
        let answer = talk.request("resources/list", &json!({ "cursor": "nowhere" }));
        assert_eq!(answer["error"]["code"], -32_602, "{answer}");
        talk.end();
    }
}

#[test]
fn prompts_contain_the_task_and_the_current_state() {
    let (place, _, session) = furnished();
    for era in ERAS {
        let mut talk = Talk::stdio(&place, era, &["--session", &session]);
        let listed = talk.request("prompts/list", &json!({}));
        let prompts = listed["result"]["prompts"].as_array().unwrap();
        let names: Vec<&Value> = prompts.iter().map(|prompt| &prompt["name"]).collect();
        assert_eq!(names, ["next", "review", "handoff", "plan"]);
        let mut get = |name: &str, arguments: &Value| {
            talk.request("prompts/get", &json!({ "name": name, "arguments": arguments }))
        };
        for (name, arguments) in [
            ("next", json!({})),
            ("review", json!({ "issue": "1" })),
            ("handoff", json!({ "issue": "#1" })),
            ("plan", json!({ "goal": "A faster build" })),
        ] {
            let answer = get(name, &arguments);
            let text = answer["result"]["messages"][0]["content"]["text"].as_str().unwrap();
            assert!(text.contains("Issue #1 (open): Slow build"), "{name}: {text}");
            assert_eq!(text.contains("A faster build"), name == "plan", "{text}");
        }
        for (name, arguments, said) in [
            ("nothing", json!({}), "there is no prompt"),
            ("review", json!({}), "needs the argument `issue`"),
            ("plan", json!({ "goal": " " }), "needs the argument `goal`"),
            ("next", json!({ "isue": "1" }), "has no argument `isue`"),
            ("next", json!({ "issue": "one" }), "number of an issue"),
            ("next", json!({ "issue": "77" }), "77"),
            ("next", json!({ "issue": ["1"] }), "not a text"),
        ] {
            let answer = get(name, &arguments);
            assert_eq!(answer["error"]["code"], -32_602, "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{answer}");
        }
        talk.end();
    }
}
