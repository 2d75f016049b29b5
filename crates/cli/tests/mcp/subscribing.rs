//! Notifications of changes: of resources and lists, over both transports and in both eras.

use std::time::Duration;

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::serving::{Served, token};
use crate::support::Place;
use crate::talk::{Era, Talk, operate};

const ISSUE: &str = "punchlist://test/issue/1";

fn with_issue(backend: Backend) -> (Place, String) {
    let place = Place::new(backend);
    let operator = place.operator();
    operate(&place, &operator, "issue_create", &json!({ "title": "Watched" }));
    operate(&place, &operator, "issue_create", &json!({ "title": "Not looked at" }));
    (place, operator)
}

fn comment(place: &Place, operator: &str, number: i64) {
    let input = json!({ "number": number, "text": "Something happened" });
    operate(place, operator, "issue_comment", &input);
}

fn filter(uris: &[&str]) -> Value {
    json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": uris } })
}

/// By `resources/subscribe`, until it is unsubscribed.
fn a_connection_is_notified_of_its_subscriptions(backend: Backend) {
    let (place, operator) = with_issue(backend);
    let mut talk = Talk::stdio(&place, Era::Handshake, &[]);
    talk.request("resources/subscribe", &json!({ "uri": ISSUE }));
    comment(&place, &operator, 1);
    let heard = talk.hear("notifications/resources/updated");
    assert_eq!(heard["params"]["uri"], ISSUE);
    talk.request("resources/unsubscribe", &json!({ "uri": ISSUE }));
    talk.request("resources/subscribe", &json!({ "uri": "punchlist://test/issue/2" }));
    comment(&place, &operator, 1);
    comment(&place, &operator, 2);
    let heard = talk.hear("notifications/resources/updated");
    assert_eq!(heard["params"]["uri"], "punchlist://test/issue/2", "{heard}");
    let unknown = json!({ "uri": "punchlist://test/issue/99" });
    let answer = talk.request("resources/subscribe", &unknown);
    assert_eq!(answer["error"]["code"], -32_002, "{answer}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_connection_is_notified_of_its_subscriptions_on_sqlite() {
    a_connection_is_notified_of_its_subscriptions(Backend::SqliteFile);
}

#[test]
fn a_connection_is_notified_of_its_subscriptions_on_postgres() {
    a_connection_is_notified_of_its_subscriptions(Backend::Postgres);
}

#[test]
fn a_listener_is_notified_of_its_subscriptions_over_stdio() {
    let (place, operator) = with_issue(Backend::SqliteFile);
    let mut talk = Talk::stdio(&place, Era::Stateless, &[]);
    let listen = talk.message("subscriptions/listen", &filter(&[ISSUE]));
    let id = listen["id"].clone();
    talk.pipes().send(&listen);
    let accepted = talk.hear("notifications/subscriptions/acknowledged");
    let tag = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(accepted["params"]["_meta"][tag], id, "{accepted}");
    comment(&place, &operator, 1);
    let heard = talk.hear("notifications/resources/updated");
    assert_eq!((&heard["params"]["uri"], &heard["params"]["_meta"][tag]), (&json!(ISSUE), &id));
    // The same connection answers meanwhile.
    assert_eq!(talk.tool("issue", &json!({ "action": "list" }))["isError"], false);
    assert_eq!(talk.end(), Some(0));
}

/// Over HTTP; another replica makes the change. The stream ends with the server.
fn a_listener_is_notified_of_its_subscriptions_over_http(backend: Backend) {
    let (place, operator) = with_issue(backend);
    let (served, other) = (Served::start(&place), Served::start(&place));
    let mut talk = Talk::http(&served, Era::Stateless, &[("Punchlist-Project", "test")]);
    let listen = talk.message("subscriptions/listen", &filter(&[ISSUE]));
    let mut stream = talk.open(&listen);
    assert_eq!((stream.status, stream.kind.as_str()), (200, "text/event-stream"));
    let accepted = stream.next().unwrap();
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{accepted}");
    other.post_as(&operator, "issue_comment", &json!({ "number": 1, "text": "Here" })).answer();
    let heard = stream.next().unwrap();
    assert_eq!(heard["method"], "notifications/resources/updated", "{heard}");
    assert_eq!(heard["params"]["uri"], ISSUE);
    served.signal(nix::sys::signal::Signal::SIGTERM);
    let last = stream.next().unwrap();
    assert_eq!(last["id"], listen["id"], "a proper end: {last}");
    assert!(stream.next().is_none());
}

#[test]
fn a_listener_is_notified_of_its_subscriptions_over_http_on_sqlite() {
    a_listener_is_notified_of_its_subscriptions_over_http(Backend::SqliteFile);
}

#[test]
fn a_listener_is_notified_of_its_subscriptions_over_http_on_postgres() {
    a_listener_is_notified_of_its_subscriptions_over_http(Backend::Postgres);
}

/// The attack: a revoked token goes on listening, and a narrowed one listens to something out of
/// its reach.
#[test]
fn an_attack_by_a_listener_without_rights_hears_nothing() {
    let (place, operator) = with_issue(Backend::SqliteFile);
    let served = Served::start(&place);
    let secret = token(
        &place,
        &operator,
        &["--role", "root", "--only-issue", "2", "--only-project", "test"],
    );
    let bearer = format!("Bearer {secret}");
    let headers = [("Authorization", bearer.as_str()), ("Punchlist-Project", "test")];
    let mut talk = Talk::http(&served, Era::Stateless, &headers);
    let both = filter(&[ISSUE, "punchlist://test/issue/2"]);
    let mut stream = talk.listen(&both);
    assert_eq!(stream.next().unwrap()["method"], "notifications/subscriptions/acknowledged");
    comment(&place, &operator, 1);
    comment(&place, &operator, 2);
    assert_eq!(stream.next().unwrap()["params"]["uri"], "punchlist://test/issue/2");
    let tokens = operate(&place, &operator, "token_list", &json!({}));
    let tokens = tokens["tokens"].as_array().unwrap();
    let id = &tokens.iter().find(|token| token["role"] == "root").unwrap()["id"];
    operate(&place, &operator, "token_revoke", &json!({ "id": id }));
    comment(&place, &operator, 2);
    while let Some(message) = stream.next() {
        assert!(message.get("result").is_some(), "after the end of its token: {message}");
    }
}

/// The list of tools depends on the issue that the caller's session is bound to. A connection with
/// a handshake is notified without having subscribed to anything.
fn the_tools_are_announced_when_the_binding_changes(backend: Backend, is_remote: bool) {
    let (place, operator) = with_issue(backend);
    let served = is_remote.then(|| Served::start(&place));
    let punch = |session: &str| match &served {
        None => place.punch(["mcp", "--session", session]),
        Some(served) => place
            .bare(["mcp", "--session", session, "--db", &served.url])
            .env("PUNCHLIST_PROJECT", "test"),
    };
    let started = operate(&place, &operator, "session_start", &json!({ "title": "Work" }));
    let session = started["session"]["id"].as_str().unwrap().to_owned();
    let mut connected = Talk::with(&punch(&session), Era::Handshake, json!({}));
    // The lists are watched once they have been read; then a new issue is announced.
    let changed = "notifications/resources/list_changed";
    let mut is_heard = false;
    for attempt in 0..30 {
        let title = format!("Issue {attempt}");
        operate(&place, &operator, "issue_create", &json!({ "title": title }));
        let heard = connected.pipes().receive_within(Duration::from_secs(1));
        is_heard = heard.is_some_and(|heard| heard["method"] == changed);
        if is_heard {
            break;
        }
    }
    assert!(is_heard, "nothing was heard of {changed}");
    let mut listening = Talk::with(&punch(&session), Era::Stateless, json!({}));
    let listen = listening.message("subscriptions/listen", &filter(&[]));
    listening.pipes().send(&listen);
    listening.hear("notifications/subscriptions/acknowledged");
    let bind = json!({ "session": session, "number": 1 });
    operate(&place, &operator, "session_bind", &bind);
    connected.hear("notifications/tools/list_changed");
    listening.hear("notifications/tools/list_changed");
    // A subscription is followed at once, also where nothing was followed before.
    connected.request("resources/subscribe", &json!({ "uri": ISSUE }));
    comment(&place, &operator, 1);
    connected.hear("notifications/resources/updated");
    connected.end();
    listening.end();
}

#[test]
fn the_tools_are_announced_when_the_binding_changes_on_sqlite() {
    the_tools_are_announced_when_the_binding_changes(Backend::SqliteFile, false);
}

#[test]
fn the_tools_are_announced_when_the_binding_changes_on_postgres() {
    the_tools_are_announced_when_the_binding_changes(Backend::Postgres, false);
}

#[test]
fn the_tools_are_announced_when_the_binding_changes_on_a_remote_store() {
    the_tools_are_announced_when_the_binding_changes(Backend::SqliteFile, true);
}

/// A subscriber gets only the notifications it asked for.
#[test]
fn a_listener_gets_no_other_notifications() {
    let (place, operator) = with_issue(Backend::SqliteFile);
    let mut talk = Talk::stdio(&place, Era::Stateless, &[]);
    let wish = json!({ "notifications": { "resourceSubscriptions": [ISSUE, "file:///x"] } });
    let listen = talk.message("subscriptions/listen", &wish);
    talk.pipes().send(&listen);
    let accepted = talk.hear("notifications/subscriptions/acknowledged");
    let subscribed = &accepted["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*subscribed, json!([ISSUE]), "{accepted}");
    operate(&place, &operator, "issue_create", &json!({ "title": "A third one" }));
    comment(&place, &operator, 2);
    comment(&place, &operator, 1);
    let heard = talk.hear("notifications/resources/updated");
    assert_eq!(heard["params"]["uri"], ISSUE, "{heard}");
    assert!(talk.heard.is_empty(), "{:?}", talk.heard);
    let quiet = talk.pipes().receive_within(Duration::from_millis(50));
    assert_eq!(quiet, None);
    talk.end();
}
