//! The turn tools over `punch call`: each call is a separate process, on either database.

use punchlist_testkit::Backend;
use serde_json::json;

use crate::life;
use crate::support::{Names, Place};

/// T-37, P-15: every step is a new process, so each answer comes only from the store.
fn a_turn_lives_over_call(backend: Backend) {
    let place = Place::new(backend);
    life::play(|step| {
        let ran = place.call_in("c1", step.turn, step.operation, &step.input.to_string()).run();
        assert_eq!(ran.remarks(), "", "with --json nothing but notes goes to stderr");
        let answer = ran.json();
        let exit = match answer["error"]["code"].as_str() {
            None => 0,
            Some("missing_field") => 2,
            Some(_) => 1,
        };
        assert_eq!(ran.exit, Some(exit), "{answer}");
        answer
    });
}

#[test]
fn a_turn_lives_over_call_on_sqlite() {
    a_turn_lives_over_call(Backend::SqliteFile);
}

#[test]
fn a_turn_lives_over_call_on_postgres() {
    a_turn_lives_over_call(Backend::Postgres);
}

/// The clock changes between the processes: each time in an answer is that of its call.
fn each_time_is_that_of_its_call(backend: Backend) {
    let place = Place::new(backend);
    let at = |operation: &str, input: serde_json::Value, now: &str| {
        place.call(operation, &input).env("PUNCHLIST_NOW", now).answer()
    };
    let early = at(
        "create_todo",
        json!({ "items": [{ "title": "early", "order": 7 }] }),
        "2026-11-15T08:00:00Z",
    );
    // T-15: of two items at the same position the older comes first, whatever their ids are.
    at(
        "create_todo",
        json!({ "items": [{ "title": "late", "order": 7 }] }),
        "2026-11-15T10:00:00+01:00",
    );
    let settle = json!({ "todoId": early["created"][0]["id"], "outcome": "done" });
    at("complete_todo", settle, "2026-11-15T09:30:00.25Z");
    let listed = at("list_todo", json!({ "status": "all" }), "2030-01-01T00:00:00Z");
    let common =
        json!({ "context": "", "completionCriteria": "", "agentType": null, "priority": 6 });
    let item = |fields: serde_json::Value| {
        let mut item = common.as_object().unwrap().clone();
        item.extend(fields.as_object().unwrap().clone());
        serde_json::Value::Object(item)
    };
    let expected = json!({
        "items": [
            item(json!({
                "id": "<id 1>", "title": "early", "status": "completed", "outcome": "done",
                "createdAt": "2026-11-15T08:00:00.000000Z",
                "startedAt": "2026-11-15T09:30:00.250000Z",
                "completedAt": "2026-11-15T09:30:00.250000Z",
            })),
            item(json!({
                "id": "<id 2>", "title": "late", "status": "pending", "outcome": null,
                "createdAt": "2026-11-15T09:00:00.000000Z",
                "startedAt": null, "completedAt": null,
            })),
        ],
        "summary": { "total": 2, "pending": 1, "inProgress": 0, "completed": 1, "cancelled": 0 },
    });
    assert_eq!(Names::default().hide(&listed), expected);
}

#[test]
fn each_time_is_that_of_its_call_on_sqlite() {
    each_time_is_that_of_its_call(Backend::SqliteFile);
}

#[test]
fn each_time_is_that_of_its_call_on_postgres() {
    each_time_is_that_of_its_call(Backend::Postgres);
}

/// One store, many projects and conversations: turns with the same name are separate.
fn lists_are_separate(backend: Backend) {
    let place = Place::new(backend);
    place.create("here");
    let titles = |project: &str, conversation: &str| {
        let call = place.bare(["call", "list_todo", "--json", "--turn", "t1", "--db", &place.db()]);
        let listed = call.words(["--project", project, "--conversation", conversation]).answer();
        let items = listed["items"].as_array().unwrap();
        items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles("test", "c1"), ["here"]);
    assert_eq!(titles("test", "c2"), [""; 0]);
    assert_eq!(titles("other", "c1"), [""; 0]);
}

#[test]
fn projects_and_conversations_are_separate_on_sqlite() {
    lists_are_separate(Backend::SqliteFile);
}

#[test]
fn projects_and_conversations_are_separate_on_postgres() {
    lists_are_separate(Backend::Postgres);
}

#[test]
fn the_default_store_is_the_users_own_and_private() {
    let place = Place::sqlite();
    let words = ["call", "create_todo", r#"{"items":[{"title":"a"}]}"#, "--json"];
    let create = place.bare(words).words(["--conversation", "c", "--turn", "t"]);
    create.answer();
    let data = place.home().join("data/punchlist");
    for (path, mode) in [(data.clone(), 0o700), (data.join("punchlist.db"), 0o600)] {
        let found = std::os::unix::fs::MetadataExt::mode(&path.metadata().unwrap());
        assert_eq!(found & 0o777, mode, "{}", path.display());
    }
    // Without XDG_DATA_HOME it is in the default folder below the home.
    create.without_env("XDG_DATA_HOME").answer();
    assert!(place.home().join(".local/share/punchlist/punchlist.db").is_file());
}

#[test]
fn input_can_come_from_standard_input() {
    let place = Place::sqlite();
    let call = place.call_in("c1", "t1", "create_todo", "-");
    let answer = call.stdin(r#"{"items":[{"title":"från röret"}]}"#).answer();
    let expected = serde_json::json!({
        "created": [{ "id": "<id 1>", "title": "från röret", "order": 1 }], "totalPending": 1,
    });
    assert_eq!(Names::default().hide(&answer), expected);
}
