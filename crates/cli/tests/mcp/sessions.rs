//! Sessions over HTTP in the handshake era: any server continues them, from their id and the store.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nix::sys::signal::Signal;
use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::serving::{Served, token};
use crate::support::Place;
use crate::talk::{Era, PATIENCE, Stream, Talk, log, operate};

const ISSUE: &str = "punchlist://test/issue/1";
const PROJECT: (&str, &str) = ("Punchlist-Project", "test");

fn asking(served: &Served, headers: &[(&str, &str)]) -> Talk {
    let headers = [&[PROJECT], headers].concat();
    Talk::http_with(served, Era::Handshake, &headers, json!({ "elicitation": {} }))
}

fn port() -> Value {
    json!({ "name": "ask", "arguments": { "question": "Which port?", "options": ["8080", "8443"] } })
}

fn accept(content: &Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// Begins a call of `ask`. Returns its stream, the id of the call, and that of the question.
fn ask(talk: &mut Talk, params: &Value) -> (Stream, Value, Value) {
    let call = talk.message("tools/call", params);
    let mut stream = talk.open(&call);
    assert_eq!((stream.status, stream.kind.as_str()), (200, "text/event-stream"));
    let question = stream.next().unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (stream, call["id"].clone(), question["id"].clone())
}

/// The result of the call, after which the stream ends.
fn result(stream: &mut Stream, id: &Value) -> Value {
    let mut answer = stream.next().unwrap();
    while answer["method"] == "notifications/cancelled" {
        answer = stream.next().unwrap();
    }
    assert_eq!(answer["id"], *id, "{answer}");
    assert!(stream.next().is_none());
    answer["result"]["structuredContent"].take()
}

/// The proofs of all answers in the log.
fn proofs(place: &Place, operator: &str) -> Vec<String> {
    let log = log(place, operator);
    let answered = log.iter().filter(|event| event["type"] == "gate_answered");
    answered.map(|event| event["proof"].as_str().unwrap().to_owned()).collect()
}

/// Asked at one server, answered at another; the answer counts once.
fn another_server_takes_the_answer(backend: Backend) {
    let place = Place::new(backend);
    let operator = place.operator();
    let (one, two) = (Served::start(&place), Served::start(&place));
    let mut talk = asking(&one, &[]);
    let (mut stream, call, question) = ask(&mut talk, &port());
    let there = talk.at(&two);
    let yes = accept(&json!({ "answer": "8443" }));
    assert_eq!(there.respond(&question, &yes), 202);
    let answer = result(&mut stream, &call);
    assert_eq!((&answer["state"], &answer["response"]), (&json!("resumed"), &json!("8443")));
    // Again, differently, and with an id that is not ours.
    assert_eq!(there.respond(&question, &yes), 202);
    assert_eq!(talk.respond(&question, &json!({ "action": "decline" })), 202);
    for id in [json!(0), json!("0"), json!("gate."), json!("gate.x.y")] {
        assert_eq!(talk.respond(&id, &yes), 202);
    }
    assert_eq!(proofs(&place, &operator), ["client"]);
}

#[test]
fn another_server_takes_the_answer_on_sqlite() {
    another_server_takes_the_answer(Backend::SqliteFile);
}

#[test]
fn another_server_takes_the_answer_on_postgres() {
    another_server_takes_the_answer(Backend::Postgres);
}

/// The server of the call stops before the user answers: the answer is not lost.
#[test]
fn an_answer_after_a_restart_reaches_the_repeated_call() {
    let place = Place::sqlite();
    let operator = place.operator();
    let (one, two) = (Served::start(&place), Served::start(&place));
    let mut talk = asking(&one, &[]);
    let (mut stream, call, question) = ask(&mut talk, &port());
    assert!(one.stop().success());
    let parked = result(&mut stream, &call);
    assert_eq!(parked["state"], "open", "{parked}");
    let mut there = talk.at(&two);
    assert_eq!(there.respond(&question, &accept(&json!({ "answer": "8080" }))), 202);
    let again = there.request("tools/call", &port());
    let answer = &again["result"]["structuredContent"];
    assert_eq!((&answer["gateId"], &answer["response"]), (&parked["gateId"], &json!("8080")));
    assert_eq!(proofs(&place, &operator), ["client"]);
}

#[test]
fn a_user_may_decline_postpone_or_fail() {
    let place = Place::sqlite();
    let (one, two) = (Served::start(&place), Served::start(&place));
    let mut talk = asking(&one, &[]);
    let (mut stream, call, question) = ask(&mut talk, &port());
    assert_eq!(talk.respond(&question, &json!({ "action": "decline" })), 202);
    assert_eq!(result(&mut stream, &call)["state"], "refused");
    // The question stays in the inbox, and the call ends. It may wait at another server.
    let there = talk.at(&two);
    for (postponing, at) in [(&talk, true), (&there, false)] {
        let mut talk = talk.at(&one);
        let (mut stream, call, question) = ask(&mut talk, &port());
        assert_eq!(postponing.respond(&question, &json!({ "action": "cancel" })), 202);
        assert_eq!(result(&mut stream, &call)["state"], "open", "at the same server: {at}");
    }
    let (mut stream, call, question) = ask(&mut talk, &port());
    let error = json!({ "code": -32_603, "message": "no user" });
    talk.post(&json!({ "jsonrpc": "2.0", "id": question, "error": error }));
    assert_eq!(result(&mut stream, &call)["state"], "open");
}

#[test]
fn a_form_is_checked_and_stays_open_until_an_answer_fits() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let schema = json!({ "type": "object", "required": ["region"], "properties": {
        "region": { "type": "string", "enum": ["eu", "us"] }, "canary": { "type": "boolean" } } });
    let form = json!({ "name": "form", "arguments": { "title": "Deploy", "schema": schema } });
    let mut talk = asking(&served, &[]);
    let (mut stream, call, question) = ask(&mut talk, &form);
    assert_eq!(talk.respond(&question, &accept(&json!({ "region": "moon" }))), 202);
    assert_eq!(result(&mut stream, &call)["state"], "open");
    let (mut stream, call, question) = ask(&mut talk, &form);
    let filled = json!({ "region": "eu", "canary": true });
    assert_eq!(talk.respond(&question, &accept(&filled)), 202);
    assert_eq!(result(&mut stream, &call)["response"], filled);
}

/// The operator answers first: that answer counts, and the client's late one changes nothing.
#[test]
fn the_first_answer_counts_and_a_late_one_changes_nothing() {
    let place = Place::sqlite();
    let operator = place.operator();
    let (one, two) = (Served::start(&place), Served::start(&place));
    let mut talk = asking(&one, &[]);
    let mut params = port();
    params["_meta"] = json!({ "punchlist/idempotencyKey": "k1" });
    let (mut stream, call, question) = ask(&mut talk, &params);
    let gates = operate(&place, &operator, "gate_list", &json!({}));
    let input = json!({ "gateId": gates["gates"][0]["id"], "decision": "resume",
        "response": "the operator's" });
    two.post_as(&operator, "gate_answer", &input).answer();
    let withdrawn = stream.next().unwrap();
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], question);
    assert_eq!(result(&mut stream, &call)["response"], "the operator's");
    assert_eq!(talk.respond(&question, &accept(&json!({ "answer": "8080" }))), 202);
    let proofs = proofs(&place, &operator);
    assert!(proofs.len() == 1 && proofs[0].starts_with("token:"), "{proofs:?}");
}

/// The attack: another caller knows the session and the question, and answers or listens.
#[test]
fn an_attack_with_the_session_of_another_finds_nothing() {
    let place = Place::sqlite();
    let operator = place.operator();
    operate(&place, &operator, "issue_create", &json!({ "title": "Watched" }));
    let served = Served::start(&place);
    let secret = |agent| token(&place, &operator, &["--role", "root", "--agent", agent]);
    let bearers = ["coder", "other", "coder"].map(|agent| format!("Bearer {}", secret(agent)));
    let [mut mine, theirs, same_agent] =
        bearers.each_ref().map(|bearer| asking(&served, &[("Authorization", bearer)]));
    let id = mine.session().unwrap().to_owned();
    let [mut theirs, mut same_agent] = [theirs, same_agent].map(|talk| talk.in_session(Some(&id)));
    let (mut stream, call, question) = ask(&mut mine, &port());
    assert_eq!(theirs.respond(&question, &accept(&json!({ "answer": "8080" }))), 202);
    assert_eq!(theirs.respond(&question, &json!({ "action": "cancel" })), 202);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": call } });
    assert_eq!(theirs.post(&cancel).0, 202);
    assert_eq!(proofs(&place, &operator), [""; 0]);
    mine.request("resources/subscribe", &json!({ "uri": ISSUE }));
    for other in [&mut theirs, &mut same_agent] {
        assert_eq!(other.bare("DELETE").status, 200, "it ends nothing of the first");
        assert_eq!(other.bare("GET").status, 404, "it has ended its own");
    }
    let mut notices = mine.bare("GET");
    assert_eq!(notices.status, 200);
    operate(&place, &operator, "issue_comment", &json!({ "number": 1, "text": "Here" }));
    assert_eq!(updated(&mut notices), ISSUE);
    // Nobody else has answered or cancelled.
    assert_eq!(mine.respond(&question, &accept(&json!({ "answer": "8443" }))), 202);
    assert_eq!(result(&mut stream, &call)["response"], "8443");
}

/// The attack: a client answers a question that it was not asked, or under an id that it made up.
#[test]
fn an_attack_with_an_answer_that_was_not_asked_for_changes_nothing() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let mut talk = asking(&served, &[]);
    let (mut stream, call, question) = ask(&mut talk, &port());
    let own = question.as_str().unwrap();
    let gate = own.split('.').nth(1).unwrap();
    let yes = accept(&json!({ "answer": "8443" }));
    for id in
        [format!("gate.{gate}.x"), format!("gate.{gate}.{}", "0".repeat(64)), format!("{own}0")]
    {
        assert_eq!(talk.respond(&json!(id), &yes), 202);
    }
    // Another session of the same agent was not asked either, whatever its id says.
    let plain = Talk::http(&served, Era::Handshake, &[("Punchlist-Project", "test")]);
    let made_up = format!("asks-{}", "0".repeat(64));
    for other in [asking(&served, &[]), plain, asking(&served, &[]).in_session(Some(&made_up))] {
        assert_eq!(other.respond(&question, &yes), 202);
    }
    assert_eq!(proofs(&place, &operator), [""; 0]);
    assert_eq!(talk.respond(&question, &yes), 202);
    assert_eq!(result(&mut stream, &call)["response"], "8443");
}

/// The attack: the client answers a sign-off, as if it were a question (P-21).
#[test]
fn an_attack_on_a_sign_off_by_a_posted_answer_changes_nothing() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let mut talk = asking(&served, &[]);
    let pause = json!({ "name": "checkpoint", "arguments": { "reason": "Look at this" } });
    let asked = talk.request("tools/call", &pause);
    let gate = asked["result"]["structuredContent"]["gateId"].as_str().unwrap();
    let id = json!(format!("gate.{gate}.{}", "0".repeat(64)));
    for said in [accept(&json!({ "answer": "yes" })), json!({ "action": "decline" })] {
        assert_eq!(talk.respond(&id, &said), 202);
    }
    assert_eq!(proofs(&place, &operator), [""; 0]);
    let tries = log(&place, &operator);
    let tries: Vec<_> =
        tries.iter().filter(|event| event["type"] == "gate_answer_refused").collect();
    assert!(tries.len() == 2 && tries.iter().all(|event| event["proof"] == "client"), "{tries:?}");
}

/// A cancelled call gets no result, wherever its cancellation arrives; the question stays.
#[test]
fn a_cancelled_call_ends_without_a_result() {
    let place = Place::sqlite();
    let operator = place.operator();
    let (one, two) = (Served::start(&place), Served::start(&place));
    let mut talk = asking(&one, &[]);
    for at in [talk.at(&one), talk.at(&two)] {
        let (mut stream, call, question) = ask(&mut talk, &port());
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": call } });
        assert_eq!(at.post(&cancel).0, 202);
        assert_eq!(stream.next().unwrap()["params"]["requestId"], question);
        assert!(stream.next().is_none());
    }
    let gates = operate(&place, &operator, "gate_list", &json!({}));
    assert_eq!(gates["gates"].as_array().unwrap().len(), 1, "{gates}");
}

/// A revoked token ends the wait, and a full house asks in the inbox only.
#[test]
fn a_waiting_call_counts_as_a_stream_and_ends_with_its_token() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--streams", "1"]);
    let made = operate(&place, &operator, "token_new", &json!({ "role": "root" }));
    let bearer = format!("Bearer {}", made["token"].as_str().unwrap());
    let mut talk = asking(&served, &[("Authorization", &bearer)]);
    let (mut stream, call, _) = ask(&mut talk, &port());
    let other = json!({ "name": "ask", "arguments": { "question": "And the host?" } });
    let parked = talk.request("tools/call", &other);
    assert_eq!(parked["result"]["structuredContent"]["state"], "open", "{parked}");
    assert_eq!(talk.bare("GET").status, 429);
    operate(&place, &operator, "token_revoke", &json!({ "id": made["id"] }));
    operate(&place, &operator, "issue_create", &json!({ "title": "Something happens" }));
    assert_eq!(result(&mut stream, &call)["error"]["code"], "token_invalid");
}

fn updated(stream: &mut Stream) -> String {
    loop {
        let heard = stream.next().expect("a notice");
        if heard["method"] == "notifications/resources/updated" {
            return heard["params"]["uri"].as_str().unwrap().to_owned();
        }
    }
}

/// Subscribed at one server, announced by another; and what happens while no server runs is
/// announced by the next stream.
fn any_server_announces(backend: Backend) {
    let place = Place::new(backend);
    let operator = place.operator();
    for title in ["Watched", "Also watched", "Not looked at"] {
        operate(&place, &operator, "issue_create", &json!({ "title": title }));
    }
    let comment = |number: i64| {
        let input = json!({ "number": number, "text": "Something happened" });
        operate(&place, &operator, "issue_comment", &input);
    };
    let second = "punchlist://test/issue/2";
    let (one, two) = (Served::start(&place), Served::start(&place));
    let mut talk = asking(&one, &[]);
    assert_eq!(talk.request("resources/subscribe", &json!({ "uri": ISSUE }))["result"], json!({}));
    // Before there is a stream, and while it is at another server.
    comment(1);
    let mut stream = talk.at(&two).bare("GET");
    assert_eq!((stream.status, stream.kind.as_str()), (200, "text/event-stream"));
    assert_eq!(updated(&mut stream), ISSUE);
    assert_eq!(talk.request("resources/subscribe", &json!({ "uri": second }))["result"], json!({}));
    comment(3);
    comment(2);
    assert_eq!(updated(&mut stream), second);
    talk.request("resources/unsubscribe", &json!({ "uri": second }));
    comment(2);
    comment(1);
    assert_eq!(updated(&mut stream), ISSUE, "unsubscribed");
    two.signal(Signal::SIGTERM);
    while stream.next().is_some() {}
    comment(1);
    let three = Served::start(&place);
    let mut there = talk.at(&three);
    let mut stream = there.bare("GET");
    assert_eq!(updated(&mut stream), ISSUE, "it happened while nobody listened");
    let unknown =
        there.request("resources/subscribe", &json!({ "uri": "punchlist://test/issue/9" }));
    assert_eq!(unknown["error"]["code"], -32_002, "{unknown}");
    // The client ends its session: the stream ends, and there is no other.
    assert_eq!(there.bare("DELETE").status, 200);
    while stream.next().is_some() {}
    assert_eq!([talk.bare("GET").status, there.bare("GET").status], [404, 404]);
    // No server takes another message of it, of any kind.
    let ping = talk.message("ping", &json!({}));
    let list = talk.message("tools/list", &json!({}));
    let call = json!({ "name": "issue", "arguments": { "action": "list" } });
    let call = talk.message("tools/call", &call);
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let four = Served::start(&place);
    for message in [ping, list, call, note] {
        for talk in [&there, &talk.at(&four)] {
            assert_eq!(talk.post(&message).0, 404, "{message}");
        }
    }
    assert_eq!(there.bare("DELETE").status, 404);
    assert_eq!(there.in_session(None).request("ping", &json!({}))["result"], json!({}));
}

#[test]
fn any_server_announces_on_sqlite() {
    any_server_announces(Backend::SqliteFile);
}

#[test]
fn any_server_announces_on_postgres() {
    any_server_announces(Backend::Postgres);
}

/// Reads streams to their end, each on a thread of its own. Returns the notices of all of them.
fn heard_by(streams: Vec<Stream>) -> Receiver<String> {
    let (send, notices) = channel();
    for mut stream in streams {
        let send = send.clone();
        std::thread::spawn(move || {
            while let Some(notice) = stream.next() {
                drop(send.send(notice["method"].as_str().unwrap_or_default().to_owned()));
            }
        });
    }
    notices
}

/// Of two streams of a session, one announces a change, of a resource or of a list.
fn a_change_is_announced_once(backend: Backend) {
    let place = Place::new(backend);
    let operator = place.operator();
    operate(&place, &operator, "issue_create", &json!({ "title": "Watched" }));
    let (one, two) = (Served::start(&place), Served::start(&place));
    let mut talk = asking(&one, &[]);
    talk.request("resources/subscribe", &json!({ "uri": ISSUE }));
    let notices = heard_by(vec![talk.bare("GET"), talk.at(&two).bare("GET")]);
    let (updated, listed) =
        ("notifications/resources/updated", "notifications/resources/list_changed");
    let mut all = Vec::new();
    for title in ["Another", "A third one", "The last of all"] {
        operate(&place, &operator, "issue_comment", &json!({ "number": 1, "text": title }));
        operate(&place, &operator, "issue_create", &json!({ "title": title }));
        let mut missing = vec![updated, listed];
        while !missing.is_empty() {
            let heard = notices.recv_timeout(PATIENCE).expect("a notice in time");
            missing.retain(|method| *method != heard);
            all.push(heard);
        }
    }
    assert_eq!(talk.bare("DELETE").status, 200);
    all.extend(notices.iter());
    let count = |method: &str| all.iter().filter(|heard| *heard == method).count();
    assert_eq!((count(updated), count(listed)), (3, 3), "{all:?}");
}

#[test]
fn a_change_is_announced_once_on_sqlite() {
    a_change_is_announced_once(Backend::SqliteFile);
}

#[test]
fn a_change_is_announced_once_on_postgres() {
    a_change_is_announced_once(Backend::Postgres);
}

/// A list that changes between two streams of a session, or while no server runs, is announced by
/// the next one.
#[test]
fn a_list_that_changed_meanwhile_is_announced_by_the_next_stream() {
    let place = Place::sqlite();
    let operator = place.operator();
    operate(&place, &operator, "issue_create", &json!({ "title": "Work" }));
    let started = operate(&place, &operator, "session_start", &json!({ "title": "Work" }));
    let session = started["session"]["id"].as_str().unwrap().to_owned();
    let one = Served::start(&place);
    let talk = asking(&one, &[("Punchlist-Session", &session)]);
    let mut stream = talk.bare("GET");
    assert!(one.stop().success());
    assert_eq!(stream.next(), None);
    operate(&place, &operator, "session_bind", &json!({ "session": session, "number": 1 }));
    let two = Served::start(&place);
    let mut stream = talk.at(&two).bare("GET");
    assert_eq!(stream.next().unwrap()["method"], "notifications/tools/list_changed");
}

/// Nobody could answer any more: the user's reply to an ended session is refused.
#[test]
fn a_waiting_call_ends_with_its_session() {
    let place = Place::sqlite();
    let (one, two) = (Served::start(&place), Served::start(&place));
    let mut talk = asking(&one, &[]);
    let (mut stream, call, question) = ask(&mut talk, &port());
    assert_eq!(talk.at(&two).bare("DELETE").status, 200);
    let withdrawn = stream.next().unwrap();
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question)
    );
    assert_eq!(result(&mut stream, &call)["state"], "open", "it stays in the inbox");
}

/// A repeated call with its idempotency key gets the stored answer, which is older than the user's.
#[test]
fn an_answered_question_is_not_asked_again_under_its_key() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let mut talk = asking(&served, &[]);
    let keyed = json!({ "name": "ask", "arguments": { "question": "Which port?" },
        "_meta": { "punchlist/idempotencyKey": "k1" } });
    let (mut stream, call, question) = ask(&mut talk, &keyed);
    assert_eq!(talk.respond(&question, &accept(&json!({ "answer": "  8443 " }))), 202);
    assert_eq!(result(&mut stream, &call)["response"], "8443");
    let again = talk.request("tools/call", &keyed);
    let answer = &again["result"]["structuredContent"];
    assert_eq!((&answer["state"], &answer["response"]), (&json!("resumed"), &json!("8443")));
    assert_eq!(proofs(&place, &operator), ["client"]);
    // A blank answer is none.
    let (mut stream, call, question) = ask(&mut talk, &port());
    assert_eq!(talk.respond(&question, &accept(&json!({ "answer": " " }))), 202);
    assert_eq!(result(&mut stream, &call)["state"], "open");
}

/// The list of tools depends on the issue that the caller's session is bound to. A client that
/// subscribed to nothing hears of it, too.
#[test]
fn the_tools_are_announced_when_the_binding_changes() {
    let place = Place::sqlite();
    let operator = place.operator();
    operate(&place, &operator, "issue_create", &json!({ "title": "Work" }));
    let started = operate(&place, &operator, "session_start", &json!({ "title": "Work" }));
    let session = started["session"]["id"].as_str().unwrap().to_owned();
    let served = Served::start(&place);
    let talk = asking(&served, &[("Punchlist-Session", &session)]);
    let mut stream = talk.bare("GET");
    assert_eq!(stream.status, 200);
    operate(&place, &operator, "session_bind", &json!({ "session": session, "number": 1 }));
    let heard = stream.next().expect("a notice");
    assert_eq!(heard["method"], "notifications/tools/list_changed", "{heard}");
}

/// A token that is narrowed or revoked hears only what it may still see.
#[test]
fn an_attack_by_a_session_without_rights_hears_nothing() {
    let place = Place::sqlite();
    let operator = place.operator();
    for title in ["Not for it", "For it"] {
        operate(&place, &operator, "issue_create", &json!({ "title": title }));
    }
    let served = Served::start(&place);
    let input = json!({ "role": "root", "project": "test", "number": 2 });
    let made = operate(&place, &operator, "token_new", &input);
    let bearer = format!("Bearer {}", made["token"].as_str().unwrap());
    let mut talk = asking(&served, &[("Authorization", &bearer)]);
    let refused = talk.request("resources/subscribe", &json!({ "uri": ISSUE }));
    assert_eq!(refused["error"]["code"], -32_002, "{refused}");
    let second = "punchlist://test/issue/2";
    assert_eq!(talk.request("resources/subscribe", &json!({ "uri": second }))["result"], json!({}));
    let mut stream = talk.bare("GET");
    assert_eq!(stream.status, 200);
    let comment = |number: i64| {
        let input = json!({ "number": number, "text": "Something happened" });
        operate(&place, &operator, "issue_comment", &input);
    };
    comment(1);
    comment(2);
    assert_eq!(updated(&mut stream), second);
    operate(&place, &operator, "token_revoke", &json!({ "id": made["id"] }));
    comment(2);
    while let Some(heard) = stream.next() {
        assert_ne!(heard["method"], "notifications/resources/updated", "after the end: {heard}");
    }
}

#[test]
fn a_session_has_a_limited_number_of_subscriptions() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "0"]);
    let mut talk = asking(&served, &[]);
    let mut subscribed = |number: i64| {
        let uri = format!("punchlist://test/issue/{number}");
        talk.request("resources/subscribe", &json!({ "uri": uri }))
    };
    for number in 1..=201 {
        let input = json!({ "title": format!("Number {number}"), "forceNew": true });
        served.post_as(&operator, "issue_create", &input).answer();
        if number <= 200 {
            assert_eq!(subscribed(number)["result"], json!({}), "{number}");
        }
    }
    let refused = subscribed(201);
    assert!(refused["error"]["message"].as_str().unwrap().contains("at most 200"), "{refused}");
    assert_eq!(subscribed(200)["result"], json!({}), "it is one of them");
}

/// Without a session id everything works that needs none; an id that is not ours is 404.
#[test]
fn a_client_without_a_session_works_and_an_unknown_id_is_not_found() {
    let place = Place::sqlite();
    let operator = place.operator();
    operate(&place, &operator, "issue_create", &json!({ "title": "Seen" }));
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "0"]);
    let talk = asking(&served, &[]);
    let id = talk.session().unwrap().to_owned();
    let mut simple = talk.at(&served).in_session(None);
    assert!(simple.request("tools/list", &json!({}))["result"]["tools"].is_array());
    let asked = simple.request("tools/call", &port());
    assert_eq!(asked["result"]["structuredContent"]["state"], "open", "{asked}");
    let subscribed = simple.request("resources/subscribe", &json!({ "uri": ISSUE }));
    assert_eq!(subscribed["error"]["code"], -32_601, "{subscribed}");
    assert_eq!([simple.bare("GET").status, simple.bare("DELETE").status], [405, 405]);
    let mut wrong: Vec<String> = ["", "x", "asks-", "plain-0", "%00", "é", "../x"]
        .iter()
        .map(|text| (*text).to_owned())
        .collect();
    // Every prefix of a real id, and every id with one other character.
    wrong.extend((0..id.len()).map(|end| id[..end].to_owned()));
    wrong.extend((0..id.len()).map(|at| format!("{}~{}", &id[..at], &id[at + 1..])));
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    for id in &wrong {
        let talk = talk.at(&served).in_session(Some(id));
        let (status, answer) = talk.post(&list);
        assert_eq!((status, &answer[0]["error"]["code"]), (404, &json!(-32_001)), "{id}");
    }
    let other = talk.at(&served).in_session(Some("x"));
    assert_eq!([other.bare("GET").status, other.bare("DELETE").status], [404, 404]);
    // A session id of our form that no server has given is as good as any: it proves nothing.
    let made_up = format!("plain-{}", "0".repeat(64));
    let mut made_up = talk.at(&served).in_session(Some(&made_up));
    assert!(made_up.request("tools/list", &json!({}))["result"]["tools"].is_array());
    let asked = made_up.request("tools/call", &port());
    assert_eq!(asked["result"]["structuredContent"]["state"], "open", "it cannot ask: {asked}");
}

/// A client that goes away leaves its question in the inbox, and its place to others.
#[test]
fn a_client_that_goes_away_leaves_its_place() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--streams", "1"]);
    let mut talk = asking(&served, &[]);
    let (stream, ..) = ask(&mut talk, &port());
    drop(stream);
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while talk.bare("GET").status != 200 {
        assert!(std::time::Instant::now() < deadline, "the place is still taken");
        std::thread::yield_now();
    }
    let gates = operate(&place, &operator, "gate_list", &json!({}));
    assert_eq!(gates["gates"][0]["state"], "open", "{gates}");
}

/// A request whose id was cancelled is refused before it asks anything.
#[test]
fn a_question_under_a_cancelled_id_is_refused() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let mut talk = asking(&served, &[]);
    let call = talk.message("tools/call", &port());
    talk.notify("notifications/cancelled", &json!({ "requestId": call["id"] }));
    let (status, answers) = talk.post(&call);
    assert_eq!((status, answers.len()), (200, 1), "{answers:?}");
    assert_eq!(answers[0]["id"], call["id"], "{answers:?}");
    assert_eq!(answers[0]["error"]["code"], -32_600, "{answers:?}");
    let gates = operate(&place, &operator, "gate_list", &json!({}));
    assert_eq!(gates["gates"], json!([]));
    // Another id asks as usual.
    ask(&mut talk, &port());
}

/// The client's user must see the whole question. Bounds of numbers survive the protocol's form;
/// a list of allowed numbers does not, so such a form waits in the inbox.
#[test]
fn a_form_is_asked_through_the_client_only_if_all_of_it_can_be() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let mut talk = asking(&served, &[]);
    let form = |field: Value| {
        let schema = json!({ "type": "object", "properties": { "load": field } });
        json!({ "name": "form", "arguments": { "title": "Deploy", "schema": schema } })
    };
    let bounded = json!({ "type": "number", "minimum": 2, "maximum": 5, "title": "Load" });
    let (mut stream, call, question) = ask(&mut talk, &form(bounded));
    assert_eq!(talk.respond(&question, &accept(&json!({ "load": 3 }))), 202);
    assert_eq!(result(&mut stream, &call)["response"]["load"], 3);
    let listed = json!({ "type": "integer", "enum": [80, 443] });
    let parked = talk.request("tools/call", &form(listed));
    assert_eq!(parked["result"]["structuredContent"]["state"], "open", "{parked}");
}
