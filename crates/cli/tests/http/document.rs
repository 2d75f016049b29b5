//! The OpenAPI document says what the server accepts. Schemathesis tries it with generated input;
//! these are the spellings that it would hardly find.

use serde_json::{Value, json};

use crate::serving::Served;
use crate::support::Place;

/// Does an input fit the schema of its operation in the document?
fn fits(document: &Value, operation: &str, input: &Value) -> bool {
    let post = &document["paths"][format!("/v1/{operation}")]["post"];
    let schema = &post["requestBody"]["content"]["application/json"]["schema"];
    let validator = jsonschema::options().should_validate_formats(true).build(schema);
    validator.unwrap().is_valid(input)
}

#[test]
fn input_that_fits_is_accepted_and_other_input_is_malformed() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "0"]);
    let document = punchlist_server::http::document();
    let call = |operation: &str, input: &Value| served.post_as(&operator, operation, input);
    call("issue_create", &json!({ "title": "A", "criteria": ["It holds"] })).answer();
    let mission = json!({ "name": "Speed", "pillars": [{ "name": "Build" }] });
    call("mission_init", &mission).answer();
    let shown = call("issue_show", &json!({ "number": 1 })).answer();
    let item = &shown["criteria"][0]["id"];
    let todo = |title: &str, deadline: Value| {
        json!({ "missionSlug": "speed", "pillarSlug": "build", "title": title,
            "deadline": deadline })
    };
    let hold = |until: Value| json!({ "todoId": item, "kind": "blocked", "reason": "Wait", "until": until });
    let claim =
        |evidence: Value| json!({ "todoId": item, "outcome": "Done", "evidence": evidence });
    let token = |field: &str, value: &str| json!({ "role": "root", field: value });
    let form = |schema: Value| json!({ "title": "Deploy", "schema": schema });
    let zoned = "2027-03-31T09:00:00+02:00";
    for (operation, input, is_accepted) in [
        ("agent_register", json!({ "agent": "coder.sub-1" }), true),
        ("agent_register", json!({ "agent": "a b" }), false),
        ("issue_create", json!({ "title": "B", "criteria": null }), true),
        ("issue_create", json!({ "title": " " }), false),
        ("issue_create", json!({ "title": "C", "criteria": [" "] }), false),
        ("issue_update", json!({ "number": 1, "labels": [" "] }), false),
        ("delegation_take", json!({ "types": [" "] }), false),
        ("create_todo", json!({ "items": [{ "title": " " }] }), false),
        ("mission_todo_create", todo("One", json!("2027-02-28")), true),
        ("mission_todo_create", todo("Two", json!(zoned)), true),
        ("mission_todo_create", todo("Three", Value::Null), true),
        ("mission_todo_create", todo("Four", json!("zz")), false),
        ("todo_hold", hold(json!("zz")), false),
        ("todo_hold", hold(json!(zoned)), true),
        ("todo_hold", hold(Value::Null), true),
        ("digest", json!({ "since": "7d" }), true),
        ("digest", json!({ "since": zoned }), true),
        ("digest", json!({ "since": null }), true),
        ("digest", json!({ "since": "zz" }), false),
        ("token_new", token("expires", "12h"), true),
        ("token_new", token("expires", "2099-01-01T00:00:00Z"), true),
        ("token_new", token("expires", "0h"), false),
        ("token_new", token("agent", "a b"), false),
        ("todo_claim", claim(json!(["note: "])), false),
        ("todo_claim", claim(json!(["commit:12"])), false),
        ("todo_claim", claim(json!(["url:https://Example.com/A?b=C", "commit:ABCDEF1"])), true),
        ("plan_import", json!({ "planFile": "/a.md", "markdown": "# A\n- [ ] b\n" }), false),
        ("plan_import", json!({ "planFile": "../a.md", "markdown": "# A\n- [ ] b\n" }), false),
        ("plan_import", json!({ "planFile": ".a/b.md", "markdown": "# A\n- [ ] b\n" }), true),
        ("run_start", json!({ "prompt": "Go", "agent": "a b" }), false),
        ("form", form(json!({})), false),
        ("form", form(json!({ "properties": { "a": { "type": "array" } } })), false),
        ("form", form(json!({ "properties": { "a": { "type": "string" } } })), true),
    ] {
        let reply = call(operation, &input);
        let said = String::from_utf8_lossy(&reply.body);
        // A rule may refuse what is well-formed.
        assert_eq!(matches!(reply.status, 200 | 409), is_accepted, "{operation} {input}: {said}");
        assert_eq!(reply.status == 400, !is_accepted, "{operation} {input}: {said}");
        assert_eq!(fits(&document, operation, &input), is_accepted, "{operation} {input}");
    }
}
