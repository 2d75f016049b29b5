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
        for list in ["resources/list", "resources/templates/list", "tools/list", "prompts/list"] {
            let answer = talk.request(list, &json!({ "cursor": "nowhere" }));
            assert_eq!(answer["error"]["code"], -32_602, "{list}: {answer}");
            // Some clients send the cursor that they do not have.
            let blank = talk.request(list, &json!({ "cursor": "" }));
            assert_eq!(blank["result"], talk.request(list, &json!({}))["result"], "{list}");
        }
        talk.end();
    }
}

/// A prompt that needs an issue is not offered to a role that cannot read one that way.
#[test]
fn prompts_are_listed_by_role() {
    let (place, operator, _) = furnished();
    let names = |role: &str, agent: &str| {
        let new = ["token", "new", "--role", role, "--agent", agent, "--json"];
        let new = place.punch(new).with(&operator).answer();
        let mcp = place.punch(["mcp"]).with(new["token"].as_str().unwrap());
        let mut talk = Talk::with(&mcp, Era::Handshake, json!({}));
        let listed = talk.request("prompts/list", &json!({}));
        let prompts = listed["result"]["prompts"].as_array().unwrap().clone();
        prompts.into_iter().map(|mut prompt| prompt["name"].take()).collect::<Vec<_>>()
    };
    assert_eq!(names("root", "primary"), ["next", "review", "handoff", "plan"]);
    assert_eq!(names("worker", "primary.x"), ["next", "handoff", "plan"]);
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

/// `_meta` names the session of any request, not only of calls. A value that is not a text is
/// refused.
#[test]
fn the_session_that_a_request_names_counts_for_lists_and_subscriptions() {
    let (place, operator, session) = furnished();
    let served = Served::start(&place);
    let own = format!("punchlist://test/session/{session}");
    let named = json!({ "_meta": { "punchlist/sessionId": session } });
    let wrong = json!({ "_meta": { "punchlist/sessionId": 5 }, "uri": own });
    for era in ERAS {
        let over_stdio = Talk::stdio(&place, era, &[]);
        let over_http = Talk::http(&served, era, &[("Punchlist-Project", "test")]);
        for mut talk in [over_stdio, over_http] {
            let uris = |answer: &Value| {
                let listed = answer["result"]["resources"].as_array().unwrap().clone();
                listed.iter().map(|one| one["uri"].clone()).collect::<Vec<Value>>()
            };
            let without = talk.request("resources/list", &json!({}));
            assert!(!uris(&without).contains(&json!(own)), "{without}");
            let with = talk.request("resources/list", &named);
            assert!(uris(&with).contains(&json!(own)), "{with}");
            for method in ["resources/list", "resources/read"] {
                let refused = talk.request(method, &wrong);
                assert_eq!(refused["error"]["code"], -32_602, "{method}: {refused}");
            }
            talk.end();
        }
    }
    let mut talk = Talk::http(&served, Era::Stateless, &[("Punchlist-Project", "test")]);
    let mut wish = json!({ "notifications": { "toolsListChanged": true } });
    wish["_meta"] = named["_meta"].clone();
    let mut stream = talk.listen(&wish);
    let accepted = stream.next().unwrap();
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{accepted}");
    operate(&place, &operator, "session_unbind", &json!({ "session": session }));
    assert_eq!(stream.next().unwrap()["method"], "notifications/tools/list_changed");
}

#[test]
fn a_prompt_for_another_issue_than_the_sessions_reads_that_issue() {
    let (place, operator, session) = furnished();
    operate(&place, &operator, "issue_create", &json!({ "title": "Flaky test" }));
    let mut talk = Talk::stdio(&place, Era::Handshake, &["--session", &session]);
    for (issue, title) in [("1", "Slow build"), ("2", "Flaky test")] {
        let params = json!({ "name": "review", "arguments": { "issue": issue } });
        let answer = talk.request("prompts/get", &params);
        let text = answer["result"]["messages"][0]["content"]["text"].as_str();
        assert!(text.is_some_and(|text| text.contains(title)), "{answer}");
    }
}

#[test]
fn the_inbox_shows_more_than_a_page_of_gates() {
    let (place, operator, _) = furnished();
    for n in 0..51 {
        operate(&place, &operator, "ask", &json!({ "question": format!("Question {n}?") }));
    }
    let punch = place.punch(["mcp"]).with(&operator);
    let mut talk = Talk::with(&punch, Era::Handshake, json!({}));
    let inbox = read(&mut talk, "punchlist://test/inbox");
    let inbox: Value = serde_json::from_str(text(&inbox)).unwrap();
    assert_eq!(inbox["gates"].as_array().map(Vec::len), Some(51), "{inbox}");
}

/// What is not offered is not answered, and a revoked token is the caller's error.
#[test]
fn completions_are_unknown_and_a_revoked_token_is_no_failure_of_the_server() {
    let (place, operator, _) = furnished();
    let made = operate(&place, &operator, "token_new", &json!({ "role": "root" }));
    let punch = place.punch(["mcp"]).with(made["token"].as_str().unwrap());
    let mut talk = Talk::with(&punch, Era::Handshake, json!({}));
    let params = json!({ "ref": { "type": "ref/prompt", "name": "next" },
        "argument": { "name": "issue", "value": "1" } });
    for params in [params, json!({})] {
        assert_eq!(talk.request("completion/complete", &params)["error"]["code"], -32_601);
    }
    operate(&place, &operator, "token_revoke", &json!({ "id": made["id"] }));
    for (method, params) in [
        ("resources/read", json!({ "uri": "punchlist://test/issue/1" })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
    ] {
        let refused = talk.request(method, &params);
        let (code, why) = (&refused["error"]["code"], &refused["error"]["data"]["error"]["code"]);
        assert_eq!((code, why), (&json!(-32_600), &json!("token_invalid")), "{method}: {refused}");
    }
}
