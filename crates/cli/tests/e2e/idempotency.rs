//! Idempotency keys over `punch call`: one effect and one answer for the same request.

use punchlist_testkit::Backend;
use serde_json::json;

use crate::support::Place;

/// The same key with the same input has one effect, in any process.
fn keys_are_honoured(backend: Backend) {
    let place = Place::new(backend);
    let call = |turn, operation, input: &str, key| {
        place.call_in("c1", turn, operation, input).words(["--idempotency-key", key])
    };
    let create = r#"{"items":[{"title":"once","context":"c","order":3}]}"#;
    let first = call("t1", "create_todo", create, "k1").answer();
    let reordered = r#"{ "items": [ { "order": 3, "context": "c", "title": "once" } ] }"#;
    // T-19: dropped context does not make it another request.
    let chatty = r#"{"items":[{"title":"once","context":"c","order":3}],"turnId":"t9"}"#;
    for same in [create, reordered, chatty] {
        assert_eq!(call("t1", "create_todo", same, "k1").answer(), first, "{same}");
    }
    let settle = json!({ "todoId": first["created"][0]["id"], "outcome": "done" }).to_string();
    let settled = call("t1", "complete_todo", &settle, "k2").answer();
    assert_eq!(call("t1", "complete_todo", &settle, "k2").answer(), settled);

    let conflict = json!({
        "code": "idempotency_conflict",
        "message": "the idempotency key `k1` was used before with another input",
        "hint": "use a new key for a new request", "idempotencyKey": "k1",
    });
    let other = r#"{"items":[{"title":"twice"}]}"#;
    assert_eq!(call("t1", "create_todo", other, "k1").refusal(1), conflict);
    assert_eq!(call("t2", "create_todo", create, "k1").refusal(1), conflict);
    assert_eq!(call("t1", "complete_todo", &settle, "k1").refusal(1), conflict);

    let summary = place.call("list_todo", &json!({ "status": "all" })).answer();
    let expected =
        json!({ "total": 1, "pending": 0, "inProgress": 0, "completed": 1, "cancelled": 0 });
    assert_eq!(summary["summary"], expected);
    // The project, the list, the item, its completion.
    assert_eq!(place.log_of(4), 4);
    // Another agent's key is another key.
    let other_agent = call("t1", "create_todo", other, "k1").words(["--agent", "coder"]);
    assert_eq!(other_agent.answer()["totalPending"], 1);
}

#[test]
fn idempotency_keys_are_honoured_on_sqlite() {
    keys_are_honoured(Backend::SqliteFile);
}

#[test]
fn idempotency_keys_are_honoured_on_postgres() {
    keys_are_honoured(Backend::Postgres);
}

#[test]
fn a_key_is_forgotten_after_a_week() {
    let place = Place::sqlite();
    let create = |now: &str, title: &str| {
        let input = json!({ "items": [{ "title": title }] });
        place
            .call("create_todo", &input)
            .words(["--idempotency-key", "k"])
            .env("PUNCHLIST_NOW", now)
    };
    create("2026-11-01T08:00:00Z", "a").answer();
    let conflict = create("2026-11-08T07:59:59Z", "b").refusal(1);
    assert_eq!(conflict["code"], "idempotency_conflict");
    assert_eq!(create("2026-11-08T08:00:01Z", "b").answer()["totalPending"], 2);
}

#[test]
fn a_blank_key_is_no_key() {
    let place = Place::sqlite();
    for (n, key) in ["", " ", "", " "].into_iter().enumerate() {
        let create = place.call("create_todo", &json!({ "items": [{ "title": format!("{n}") }] }));
        assert_eq!(create.words(["--idempotency-key", key]).answer()["totalPending"], n + 1);
    }
}
