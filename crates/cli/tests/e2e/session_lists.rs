//! The list of a session, as a model keeps it over MCP and as a person sees it.

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::doctor::clean;
use crate::mcp::{Client, fits};
use crate::support::Place;

fn started(place: &Place) {
    place.punch(["session", "start", "Fix it", "--external-id", "s1", "--json"]).answer();
}

fn people_see(place: &Place) -> String {
    place.punch(["session", "todos", "--session", "s1"]).said()
}

/// S-9, S-28, S-30, X-10, P-9: a model writes its list, leaves out an item, and everybody sees
/// that.
fn a_list_lives_over_mcp(backend: Backend) {
    let place = Place::new(backend);
    started(&place);
    assert_eq!(people_see(&place), "The list is empty.\n");
    let server = place.punch(["mcp"]).words(["--profile", "session", "--session", "s1"]);
    let client = Client::start(&server);
    let tools = client.tools();
    let write = |todos: Value| {
        let answer = client.answer("todo_write", &json!({ "todos": todos }), &json!({}));
        fits(&tools, "todo_write", &answer);
        answer
    };
    let written = write(json!([
        { "id": "1", "content": "Read the code", "status": "completed" },
        { "id": "2", "content": "Fix it", "status": "in_progress", "priority": "high" },
        { "id": "3", "content": "Test it" },
        { "id": "4", "content": "Test it", "priority": "low" },
        { "id": "5", "content": " " },
    ]));
    let read = client.answer("todo_read", &json!({}), &json!({}));
    fits(&tools, "todo_read", &read);
    assert_eq!((&read["todos"], &read["summary"]), (&written["todos"], &written["summary"]));
    let hold = "blocked: conflicts with `Test it`, which comes first";
    assert_eq!(
        people_see(&place),
        format!(
            "[x] 1: Read the code\n[/] 2: Fix it (high)\n[ ] 3: Test it\n[!] 4: Test it (low)\n    \
             {hold}\n3 open, 1 held, 1 completed\n"
        )
    );
    write(json!([{ "id": "3", "content": "Test it", "status": "in_progress" }]));
    assert_eq!(
        people_see(&place),
        "[x] 1: Read the code\n[/] 3: Test it\n[-] 2: Fix it (high)\n[-] 4: Test it (low)\n\
         1 open, 1 completed, 2 cancelled\n2 of 4 cancelled by the agent.\n"
    );
    let two = json!({ "todos": [
        { "content": "a", "status": "in_progress" }, { "content": "b", "status": "in_progress" },
    ] });
    let refusal = client.refusal("todo_write", &two, &json!({}));
    assert_eq!(
        refusal,
        json!({
            "code": "one_in_progress", "titles": ["a", "b"],
            "message": "only one item may be in progress, not `a` and `b`",
            "hint": "set one to in_progress and the others to pending",
        })
    );
    let wrong = json!({ "todos": [{ "content": "a", "status": "complete" }] });
    let refusal = client.refusal("todo_write", &wrong, &json!({}));
    assert!(refusal["hint"].as_str().unwrap().ends_with("the nearest is completed"), "{refusal}");
    client.end();
    // A worker has no list, whatever its profile lists.
    let worker = ["--agent", "primary.subagents.x", "--profile", "session", "--session", "s1"];
    let client = Client::start(&place.punch(["mcp"]).words(worker));
    assert_eq!(client.names(), [""; 0]);
    let refusal = client.refusal("todo_write", &json!({ "todos": [] }), &json!({}));
    assert_eq!(refusal["code"], "not_permitted");
    client.end();
}

#[test]
fn a_list_lives_over_mcp_on_sqlite() {
    a_list_lives_over_mcp(Backend::SqliteFile);
}

#[test]
fn a_list_lives_over_mcp_on_postgres() {
    a_list_lives_over_mcp(Backend::Postgres);
}

#[test]
fn the_session_tools_match_their_golden() {
    let place = Place::sqlite();
    let client = Client::start(&place.punch(["mcp"]).words(["--profile", "session"]));
    insta::assert_snapshot!("session_tools", format!("{:#}", Value::Array(client.tools())));
    client.end();
}

/// a list that was rewritten with the same ids becomes an issue, and folding the log gives the
/// tables.
fn a_list_becomes_an_issue(backend: Backend) {
    let place = Place::new(backend);
    started(&place);
    let write = |todos: Value| {
        let input = json!({ "todos": todos }).to_string();
        place.punch(["call", "todo_write", &input, "--session", "s1", "--json"]).answer()
    };
    write(json!([
        { "id": "1", "content": "Plan it", "status": "completed" }, { "id": "2", "content": "x" },
    ]));
    let written = write(json!([
        { "id": "1", "content": "Build it", "status": "in_progress" },
        { "id": "2", "content": "Test it" },
    ]));
    assert_eq!(written["summary"]["total"], 2, "the ids went over: {written}");
    place.punch(["session", "promote", "A better way", "--session", "s1"]).said();
    let view = place.punch(["todo", "view", "--session", "s1"]).said();
    assert_eq!(view, "Steps\n  [/] Build it\n  [ ] Test it\n#1: 0 of 2 closed\n");
    assert_eq!(people_see(&place), "The list is empty.\n");
    clean(&place);
}

#[test]
fn a_list_becomes_an_issue_on_sqlite() {
    a_list_becomes_an_issue(Backend::SqliteFile);
}

#[test]
fn a_list_becomes_an_issue_on_postgres() {
    a_list_becomes_an_issue(Backend::Postgres);
}

/// the project's file can switch session lists off, and the refusal names the switch.
#[test]
fn a_file_switches_session_lists_off() {
    let place = Place::sqlite();
    started(&place);
    let todos = json!({ "todos": [{ "content": "a" }] }).to_string();
    let write = || place.punch(["call", "todo_write", &todos, "--session", "s1", "--json"]);
    assert_eq!(write().answer()["summary"]["pending"], 1);
    std::fs::write(place.home().join("punchlist.toml"), "session_lists = false\n").unwrap();
    let error = write().refusal(1);
    assert_eq!(error["code"], "session_lists_off");
    assert!(error["message"].as_str().unwrap().contains("session_lists = false"), "{error}");
    assert_eq!(people_see(&place).lines().count(), 2);
}
