//! `GET /v1/events`: in order, resumable, complete, and limited to what the caller may see.

use std::collections::BTreeSet;
use std::time::Instant;

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::serving::{Events, Message, PATIENCE, Served, token};
use crate::support::Place;

fn titles(message: &Message) -> Option<String> {
    message.data["data"]["issue"]["title"].as_str().map(str::to_owned)
}

/// The title in the next message about a created issue.
fn next_title(events: &mut Events) -> String {
    loop {
        let message = events.next().expect("the stream goes on");
        if let Some(title) = titles(&message) {
            return title;
        }
    }
}

/// P-23: events arrive in order, with their number, type and data.
fn events_arrive_in_order_and_from_a_cursor(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    let mut now = served.events("", &[]);
    served.post("issue_create", &json!({ "title": "A" })).answer();
    served.post("issue_create", &json!({ "title": "B" })).answer();
    assert_eq!([next_title(&mut now), next_title(&mut now)], ["A", "B"]);
    let mut all = served.events("?after=0", &[]);
    let opened = all.next().unwrap();
    assert_eq!(opened.event, "project_opened");
    let mut seen = vec![opened];
    while seen.last().and_then(titles).as_deref() != Some("B") {
        seen.push(all.next().unwrap());
    }
    assert!(seen.is_sorted_by_key(|message| message.id));
    for message in &seen {
        assert_eq!(message.data["seq"], json!(message.id));
        assert_eq!(message.data["type"], message.event);
        assert_eq!(message.data["project"], "test");
    }
    // The later of both cursors counts.
    let of_a = seen.iter().find(|m| titles(m).as_deref() == Some("A")).unwrap();
    let last = of_a.id.unwrap().to_string();
    let mut resumed = served.events("?after=0", &[("Last-Event-ID", &last)]);
    assert_eq!(next_title(&mut resumed), "B");
    // A filter by project and by types.
    served.ask("POST", "/v1/issue_create", &[("Punchlist-Project", "other")], "{\"title\":\"C\"}");
    let mut other = served.events("?after=0&project=other", &[]);
    assert_eq!(next_title(&mut other), "C");
    let mut comments = served.events("?after=0&types=issue_linked,issue_created", &[]);
    assert_eq!(comments.next().unwrap().event, "issue_created");
}

fn bad_cursors_and_filters_are_refused(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    served.post("issue_create", &json!({ "title": "A" })).answer();
    for (query, code) in [
        ("?after=x", "bad_value"),
        ("?after=-1", "bad_value"),
        ("?types=nonsense", "bad_value"),
        ("?what=1", "unknown_field"),
    ] {
        let reply = served.get(&format!("/v1/events{query}"));
        assert_eq!(reply.refusal(), (400, code.to_owned()), "{query}");
    }
    let wrong = served.get("/v1/events?afte=1").json();
    assert_eq!((&wrong["path"], &wrong["nearest"]), (&json!("afte"), &json!("after")), "{wrong}");
    // A POST has its fields in the body.
    let ignored = served.ask("POST", "/v1/issue_list?limit=1", &[], "{}");
    assert_eq!(ignored.refusal(), (400, "invalid_input".to_owned()));
    let bad = served.ask("GET", "/v1/events", &[("Last-Event-ID", "x")], "");
    assert_eq!(bad.refusal(), (400, "bad_value".to_owned()));
    assert_eq!(served.post("events", &json!({})).refusal().0, 405);
}

/// P-29: a cursor that the log no longer has gets `reset_required`; the stream continues at the end.
fn lost_cursor_gets_reset_required(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    served.post("issue_create", &json!({ "title": "A" })).answer();
    place.log_of(2);
    let mut lost = served.events("?after=987654321", &[]);
    let reset = lost.next().unwrap();
    assert_eq!(reset.event, "reset_required");
    assert_eq!(reset.data["after"], 987_654_321);
    served.post("issue_create", &json!({ "title": "B" })).answer();
    assert_eq!(next_title(&mut lost), "B");
}

/// A restore replaces the log under a running server, and its streams get a reset.
#[test]
fn restore_resets_running_streams() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    served.post("issue_create", &json!({ "title": "A" })).answer();
    let backup = place.home().join("backup.db");
    place.punch(["backup", backup.to_str().unwrap(), "--json"]).answer();
    served.post("issue_create", &json!({ "title": "B" })).answer();
    let mut events = served.events("?after=0", &[]);
    assert_eq!([next_title(&mut events), next_title(&mut events)], ["A", "B"]);
    let restore = place.punch(["restore", backup.to_str().unwrap(), "--yes"]);
    assert_eq!(restore.on_terminal().exit, Some(0));
    loop {
        let message = events.next().expect("the stream goes on");
        if message.event == "reset_required" {
            break;
        }
    }
    served.post("issue_create", &json!({ "title": "C" })).answer();
    assert_eq!(next_title(&mut events), "C");
}

/// Events that a token may not see are not sent. When it is revoked, its streams end.
fn stream_shows_what_its_token_may_see(backend: Backend) {
    let place = Place::new(backend);
    let operator = place.operator();
    let served = Served::start(&place);
    for title in ["Mine", "Secret"] {
        served.post("issue_create", &json!({ "title": title })).answer();
    }
    let other = [("Punchlist-Project", "other")];
    served.ask("POST", "/v1/issue_create", &other, "{\"title\":\"Elsewhere\"}").answer();
    let open = |secret: &str, query: &str| {
        let bearer = format!("Bearer {secret}");
        served.events(query, &[("Authorization", bearer.as_str())])
    };
    let words =
        ["--role", "root", "--agent", "coder", "--only-project", "test", "--only-issue", "1"];
    let narrow = token(&place, &operator, &words);
    let mut narrowed = open(&narrow, "?after=0");
    let mut whole = open(&operator, "?after=0");
    let comment = |number: i64, text: &str| {
        let input = json!({ "number": number, "text": text });
        served.post("issue_comment", &input).answer();
    };
    comment(2, "about the secret");
    comment(1, "about mine");
    let mut shown = String::new();
    loop {
        let message = narrowed.next().unwrap();
        shown.push_str(&message.data.to_string());
        if message.data.to_string().contains("about mine") {
            break;
        }
    }
    assert!(!shown.contains("ecret") && !shown.contains("Elsewhere"), "{shown}");
    let mut seen = BTreeSet::new();
    while seen.len() < 3 {
        seen.extend(titles(&whole.next().unwrap()));
    }
    assert_eq!(seen, ["Elsewhere", "Mine", "Secret"].map(str::to_owned).into());
    let bearer = format!("Bearer {narrow}");
    let refused =
        served.ask("GET", "/v1/events?project=other", &[("Authorization", bearer.as_str())], "");
    assert_eq!(refused.refusal(), (403, "out_of_reach".to_owned()));
    let listed = served.post_as(&operator, "token_list", &json!({})).answer();
    let tokens = listed["tokens"].as_array().unwrap();
    let id = tokens.iter().find(|token| token["agent"] == "coder").unwrap()["id"].clone();
    served.post_as(&operator, "token_revoke", &json!({ "id": id })).answer();
    while narrowed.next().is_some() {}
    comment(1, "for the operator");
    loop {
        if whole.next().unwrap().data.to_string().contains("for the operator") {
            break;
        }
    }
}

/// A token that expires is refused from then on, and its streams end by themselves.
fn a_token_that_expires_ends_its_streams(backend: Backend) {
    let place = Place::new(backend);
    let operator = place.operator();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "0"]);
    let words = ["--role", "root", "--agent", "coder", "--expires", "6s"];
    let short = token(&place, &operator, &words);
    let bearer = format!("Bearer {short}");
    let mut stream = served.events("", &[("Authorization", bearer.as_str())]);
    assert_eq!(stream.status, 200);
    let list = || served.post_as(&short, "issue_list", &json!({}));
    let deadline = Instant::now() + PATIENCE;
    while list().status == 200 {
        assert!(Instant::now() < deadline, "it has not expired");
        std::thread::yield_now();
    }
    assert_eq!(list().refusal(), (401, "token_invalid".to_owned()));
    while stream.next().is_some() {}
    let again = served.events("", &[("Authorization", bearer.as_str())]);
    assert_eq!(again.status, 401);
}

/// When the store starts to require tokens, streams without one end.
#[test]
fn streams_without_a_token_end_with_the_rule() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let mut events = served.events("", &[]);
    served.post_as(&operator, "store_identity", &json!({ "rule": "tokens" })).answer();
    while events.next().is_some() {}
    assert_eq!(served.get("/v1/events").refusal(), (401, "token_required".to_owned()));
}

/// A stream that starts far behind reads the log, then new events.
#[test]
fn a_stream_catches_up_with_a_long_log() {
    let place = Place::sqlite();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "0"]);
    let items: Vec<Value> = (0..100).map(|n| json!({ "title": format!("item {n}") })).collect();
    for turn in 0..25 {
        let headers = [("Punchlist-Conversation", "c"), ("Punchlist-Turn", &*turn.to_string())];
        let body = json!({ "items": items }).to_string();
        served.ask("POST", "/v1/create_todo", &headers, &body).answer();
    }
    // A server that starts now has no events in memory.
    drop(served);
    let served = Served::start(&place);
    let mut events = served.events("?after=0", &[]);
    served.post("issue_create", &json!({ "title": "the last" })).answer();
    let (mut count, mut last) = (0, 0);
    loop {
        let message = events.next().unwrap();
        let id = message.id.unwrap();
        assert!(id > last, "{id} after {last}");
        last = id;
        count += 1;
        if titles(&message).is_some() {
            break;
        }
    }
    assert_eq!(count, place.log_count());
}

/// A hundred streams, and the server restarts twice: each resumes where it was, and none misses an
/// event or sees one twice.
fn a_restart_loses_no_event(backend: Backend) {
    const STREAMS: usize = 100;
    let place = Place::new(backend);
    let mut served = Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "0"]);
    let port = served.address.to_string();
    let mut streams: Vec<Events> = (0..STREAMS).map(|_| served.events("?after=0", &[])).collect();
    let mut seen: Vec<Vec<i64>> = vec![Vec::new(); STREAMS];
    for round in 0..3 {
        for n in 0..5 {
            let title = format!("round {round} number {n}");
            served.post("issue_create", &json!({ "title": title, "forceNew": true })).answer();
        }
        if round == 2 {
            break;
        }
        // Streams are asked to reconnect, and ended. Events that were not sent come with the next
        // stream.
        assert!(served.stop().success());
        for (stream, seen) in streams.iter_mut().zip(&mut seen) {
            let mut told = false;
            while let Some(message) = stream.next() {
                told |= message.event == "reconnect";
                seen.extend(message.id);
            }
            assert!(told, "a stream was not told to reconnect");
        }
        // Written while no server runs.
        let title = format!("between {round}");
        place.punch(["issue", "new", &title, "--force-new", "--json"]).answer();
        served = Served::with(&place, &["--listen", &port, "--rate", "0"]);
        streams = seen
            .iter()
            .map(|seen| {
                let last = seen.last().copied().unwrap_or(0).to_string();
                served.events("", &[("Last-Event-ID", &last)])
            })
            .collect();
    }
    served.post("issue_create", &json!({ "title": "the very end" })).answer();
    let expected: Vec<i64> = place.event_numbers();
    for (stream, seen) in streams.iter_mut().zip(&mut seen) {
        while seen.len() < expected.len() {
            seen.extend(stream.next().expect("the stream goes on").id);
        }
        assert_eq!(*seen, expected);
    }
}

impl Place {
    fn event_numbers(&self) -> Vec<i64> {
        let all = punchlist_store::sql!("SELECT seq FROM events ORDER BY seq");
        self.open().read(move |tx| tx.query(all, &[], |row| row.int(0))).unwrap()
    }

    fn log_count(&self) -> usize {
        self.event_numbers().len()
    }
}

on_every_lasting_store!(
    a_token_that_expires_ends_its_streams,
    events_arrive_in_order_and_from_a_cursor,
    bad_cursors_and_filters_are_refused,
    lost_cursor_gets_reset_required,
    stream_shows_what_its_token_may_see,
    a_restart_loses_no_event
);
