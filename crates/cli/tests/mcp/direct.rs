//! Plain tool calls, which the server answers without the library's transport: they get the same
//! answers as calls that pass through it.

use serde_json::{Value, json};

use crate::serving::Served;
use crate::support::Place;
use crate::talk::{Era, Talk};

/// A call that the library answers, because it has a state.
fn through_the_library(params: &Value) -> Value {
    let mut params = params.clone();
    params["requestState"] = json!("none");
    params
}

#[test]
fn a_plain_call_gets_the_answer_that_the_library_gives() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let mut talk = Talk::http(&served, Era::Stateless, &[("Punchlist-Project", "test")]);
    talk.call("issue_create", &json!({ "title": "Slow build" }));
    for (name, arguments) in [
        ("issue_show", json!({ "number": 1 })),
        ("issue_list", json!({ "status": "open" })),
        ("issue_list", json!({ "limit": "many" })),
        ("issue_show", json!({ "number": 7 })),
        ("issue_show", json!({ "numbr": 1 })),
        ("issue_show", Value::Null),
        ("mission_todo_complete", json!({ "missionSlug": "a", "todoId": "b", "outcome": "c" })),
    ] {
        let params = json!({ "name": name, "arguments": arguments });
        let direct = talk.request("tools/call", &params);
        let passed_on = talk.request("tools/call", &through_the_library(&params));
        assert_eq!(direct["result"], passed_on["result"], "{name} {arguments}");
        assert_eq!(direct["result"]["resultType"], "complete", "{direct}");
        assert_eq!((&direct["jsonrpc"], direct["id"].is_i64()), (&json!("2.0"), true));
    }
}

#[test]
fn headers_that_contradict_the_body_are_still_refused() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let project = ("Punchlist-Project", "test");
    for extra in [("Mcp-Name", "issue_list"), ("Mcp-Method", "tools/list"), ("Mcp-Param-Id", "1")] {
        let mut talk = Talk::http(&served, Era::Stateless, &[project, extra]);
        let input = json!({ "title": extra.0 });
        let message =
            talk.message("tools/call", &json!({ "name": "issue_create", "arguments": input }));
        let (status, _) = talk.post(&message);
        // A header for an argument that is not declared is ignored, as the protocol says.
        assert_eq!(status, if extra.0 == "Mcp-Param-Id" { 200 } else { 400 }, "{extra:?}");
    }
    let mut talk = Talk::http(&served, Era::Stateless, &[project]);
    let listed = talk.call("issue_list", &json!({}));
    let titles: Vec<&str> =
        listed["issues"].as_array().unwrap().iter().filter_map(|i| i["title"].as_str()).collect();
    assert_eq!(titles, ["Mcp-Param-Id"]);
}
