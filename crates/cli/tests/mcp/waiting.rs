//! Long calls: a delegation is waited for and reported on; after a timeout or a cancelled call it
//! is found again.

use std::time::Instant;

use serde_json::{Value, json};

use crate::serving::Served;
use crate::support::Place;
use crate::talk::{ERAS, Era, PATIENCE, Talk, operate};

fn work() -> Value {
    json!({ "type": "coder", "mission": "Write the parser" })
}

/// Takes the delegation as a worker of another process. A call waits two seconds for a worker, which
/// on a busy machine may come later; tests then call again.
fn take(place: &Place) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let taken = place.punch(["call", "delegation_take", "{}", "--json"]).answer();
        if !taken["delegation"].is_null() {
            return taken;
        }
        assert!(Instant::now() < deadline, "nothing to take");
    }
}

fn report(place: &Place, taken: &Value) {
    let input = json!({ "delegationId": taken["delegation"]["id"], "epoch": taken["epoch"],
        "result": "It is written." });
    place.punch(["call", "delegation_report", &input.to_string(), "--json"]).answer();
}

/// The call waits for the end of the work, and reports progress.
#[test]
fn a_delegation_is_waited_for() {
    for era in ERAS {
        let place = Place::sqlite();
        let served = Served::start(&place);
        let over_http = Talk::http(&served, era, &[("Punchlist-Project", "test")]);
        for mut talk in [Talk::stdio(&place, era, &[]), over_http] {
            let params = json!({ "name": "delegate", "arguments": work(),
                "_meta": { "progressToken": "p1" } });
            let mut waited = || {
                talk.heard.clear();
                std::thread::scope(|scope| {
                    let worker = scope.spawn(|| report(&place, &take(&place)));
                    let answer = talk.request("tools/call", &params);
                    worker.join().unwrap();
                    (answer["result"]["structuredContent"]["state"] != "queued").then_some(answer)
                })
            };
            let answer = (0..10).find_map(|_| waited()).expect("a worker within two seconds");
            let output = &answer["result"]["structuredContent"];
            assert_eq!(output["state"], "returned", "{era:?}: {answer}");
            assert_eq!(output["result"], "It is written.");
            let told = talk.heard.iter().filter(|m| m["method"] == "notifications/progress");
            let told: Vec<f64> = told.map(|m| m["params"]["progress"].as_f64().unwrap()).collect();
            assert!(!told.is_empty() && told.is_sorted(), "{told:?}");
            talk.end();
        }
    }
}

/// If nobody takes it, the call returns soon, and says how to find it.
#[test]
fn a_delegation_that_nobody_takes_is_not_waited_for() {
    let place = Place::sqlite();
    let mut talk = Talk::stdio(&place, Era::Handshake, &[]);
    let result = talk.tool("delegate", &work());
    assert_eq!(result["structuredContent"]["state"], "queued", "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("delegation_show"), "{text}");
    let quick = json!({ "type": "coder", "mission": "Another thing", "async": true });
    assert_eq!(talk.call("delegate", &quick)["mode"], "async");
    talk.end();
}

/// The host cancels the call or disconnects: the delegation continues, and a new connection finds
/// it.
#[test]
fn a_delegation_outlives_its_connection() {
    let place = Place::sqlite();
    let mut talk = Talk::stdio(&place, Era::Handshake, &[]);
    let params =
        json!({ "name": "delegate", "arguments": work(), "_meta": { "progressToken": 1 } });
    let mut running = || {
        let message = talk.message("tools/call", &params);
        talk.pipes().send(&message);
        talk.hear("notifications/progress");
        let taken = take(&place);
        // The call goes on if it has seen the worker. Between its messages may be others.
        loop {
            let next = talk.pipes().receive();
            if next["method"] == "notifications/progress" {
                return Some((message, taken));
            }
            if next["id"] == message["id"] {
                report(&place, &taken);
                return None;
            }
        }
    };
    let (message, taken) = (0..10).find_map(|_| running()).expect("a worker within two seconds");
    let cancel = json!({ "requestId": message["id"], "reason": "no time" });
    talk.notify("notifications/cancelled", &cancel);
    // A cancelled request gets no answer, and its id must not be used again.
    let again = json!({ "jsonrpc": "2.0", "id": message["id"], "method": "ping" });
    talk.pipes().send(&again);
    let answer = loop {
        let message = talk.pipes().receive();
        if message.get("method").is_none() {
            break message;
        }
    };
    assert_eq!(answer["id"], message["id"], "{answer}");
    assert_eq!(answer["error"]["code"], -32_600, "{answer}");
    assert_eq!(talk.request("ping", &json!({}))["result"], json!({}));
    assert_eq!(talk.end(), Some(0));
    report(&place, &taken);
    let mut later = Talk::stdio(&place, Era::Stateless, &[]);
    let input = json!({ "delegationId": taken["delegation"]["id"] });
    let shown = later.call("delegation_show", &input);
    assert_eq!(shown["delegation"]["result"], "It is written.", "{shown}");
    later.end();
}

/// The same over HTTP, where the cancellation is a message of the session.
#[test]
fn a_cancelled_call_over_http_leaves_the_delegation_alone() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let mut talk = Talk::http(&served, Era::Handshake, &[("Punchlist-Project", "test")]);
    let params =
        json!({ "name": "delegate", "arguments": work(), "_meta": { "progressToken": 1 } });
    let mut running = || {
        let message = talk.message("tools/call", &params);
        let mut stream = talk.open(&message);
        assert_eq!(stream.next().unwrap()["method"], "notifications/progress");
        let taken = take(&place);
        // The call goes on if it has seen the worker. Between its messages may be others.
        loop {
            let next = stream.next().expect("progress or an answer");
            if next["method"] == "notifications/progress" {
                return Some((message, stream, taken));
            }
            if next["id"] == message["id"] {
                report(&place, &taken);
                return None;
            }
        }
    };
    let (message, mut stream, taken) =
        (0..10).find_map(|_| running()).expect("a worker within two seconds");
    talk.notify("notifications/cancelled", &json!({ "requestId": message["id"] }));
    let answer = loop {
        let message = stream.next().expect("an answer");
        if message.get("method").is_none() {
            break message;
        }
    };
    assert_eq!(answer["result"]["structuredContent"]["state"], "running", "{answer}");
    report(&place, &taken);
    let input = json!({ "delegationId": taken["delegation"]["id"] });
    let shown = talk.call("delegation_show", &input);
    assert_eq!(shown["delegation"]["result"], "It is written.", "{shown}");
}

/// Progress is reported for a new state or after five seconds, and not whenever anybody writes.
#[test]
fn the_writes_of_others_are_not_reported_as_progress() {
    let place = Place::sqlite();
    let operator = place.operator();
    let mut talk = Talk::stdio(&place, Era::Handshake, &[]);
    let params =
        json!({ "name": "delegate", "arguments": work(), "_meta": { "progressToken": 1 } });
    let message = talk.message("tools/call", &params);
    let start = Instant::now();
    talk.pipes().send(&message);
    let taken = take(&place);
    for title in ["A", "B", "C", "D", "E", "F", "G", "H"] {
        operate(&place, &operator, "issue_create", &json!({ "title": title }));
    }
    report(&place, &taken);
    let mut states = Vec::new();
    loop {
        let heard = talk.pipes().receive();
        if heard["id"] == message["id"] {
            break;
        }
        if heard["method"] == "notifications/progress" {
            states.push(heard["params"]["message"].as_str().unwrap().to_owned());
        }
    }
    let repeated = states.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let periods = usize::try_from(start.elapsed().as_secs() / 5).unwrap();
    assert!(repeated <= periods, "{states:?} in {:?}", start.elapsed());
    talk.end();
}
