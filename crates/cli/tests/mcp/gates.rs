//! Questions to a person: through the client and in the inbox, and who may answer.

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::serving::{Served, token};
use crate::support::Place;
use crate::talk::{ERAS, Era, Talk, log, operate};

fn port() -> Value {
    json!({ "question": "Which port?", "options": ["8080", "8443"] })
}

fn accept(content: &Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// The events of these types, with their actor and proof.
fn told(place: &Place, operator: &str, types: &[&str]) -> Vec<(String, String)> {
    let is_wanted = |event: &&Value| types.iter().any(|name| event["type"] == *name);
    let say = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let log = log(place, operator);
    log.iter().filter(is_wanted).map(|e| (say(e, "type"), say(e, "proof"))).collect()
}

fn answered_by_client() -> Vec<(String, String)> {
    vec![("gate_answered".to_owned(), "client".to_owned())]
}

/// A client with a user: the user is asked, the answer counts, and the log shows whose it was.
fn a_user_answers_through_the_client(backend: Backend) {
    for era in ERAS {
        let place = Place::new(backend);
        let operator = place.operator();
        let mut talk = Talk::asking(&place, era, &[]);
        let answer = ask(&mut talk, "ask", &port(), &accept(&json!({ "answer": "8443" })));
        assert_eq!(answer["state"], "resumed", "{era:?}: {answer}");
        assert_eq!(answer["response"], "8443");
        assert_eq!(told(&place, &operator, &["gate_answered"]), answered_by_client());
        let gate = log(&place, &operator);
        let answered = gate.iter().find(|event| event["type"] == "gate_answered").unwrap();
        assert_eq!(answered["data"]["answeredBy"], "client:primary", "{answered}");
        talk.end();
    }
}

#[test]
fn a_user_answers_through_the_client_on_sqlite() {
    a_user_answers_through_the_client(Backend::SqliteFile);
}

#[test]
fn a_user_answers_through_the_client_on_postgres() {
    a_user_answers_through_the_client(Backend::Postgres);
}

/// Asks with a tool, and answers as the user with `said`.
fn ask(talk: &mut Talk, tool: &str, arguments: &Value, said: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    if talk.era == Era::Handshake {
        let mut answer = talk.request_and("tools/call", &params, |_| Some(said.clone()));
        return answer["result"]["structuredContent"].take();
    }
    let asked = talk.request("tools/call", &params);
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let mut answer = talk.request("tools/call", &retried(&params, &asked, said));
    answer["result"]["structuredContent"].take()
}

/// The same call again, with the user's answer.
fn retried(params: &Value, asked: &Value, said: &Value) -> Value {
    let mut params = params.clone();
    params["inputResponses"] = json!({ "answer": said });
    params["requestState"] = asked["result"]["requestState"].clone();
    params
}

#[test]
fn a_form_is_asked_field_by_field_and_checked() {
    let schema = json!({ "type": "object", "required": ["region"], "properties": {
        "region": { "type": "string", "enum": ["eu", "us"] }, "canary": { "type": "boolean" } } });
    let form = json!({ "title": "Deploy", "schema": schema });
    for era in ERAS {
        let place = Place::sqlite();
        let mut talk = Talk::asking(&place, era, &[]);
        let filled = json!({ "region": "eu", "canary": true });
        let answer = ask(&mut talk, "form", &form, &accept(&filled));
        assert_eq!((&answer["state"], &answer["response"]), (&json!("resumed"), &filled));
        talk.end();
    }
}

/// The agent cannot answer, so it gets no error if the user's answer does not fit: the question stays
/// open, and a client that repeats its call is asked again and told why.
#[test]
fn an_answer_that_does_not_fit_leaves_the_question_open() {
    let schema = json!({ "properties": { "n": { "type": "integer", "maximum": 5 } } });
    let form = json!({ "title": "How many?", "schema": schema });
    for (tool, question, wrong, why, right) in [
        ("form", &form, json!({ "n": 9 }), "`n` must be at most 5", json!({ "n": 3 })),
        (
            "ask",
            &port(),
            json!({ "answer": "22" }),
            "it must be one of `8080`, `8443`",
            json!({ "answer": "8443" }),
        ),
    ] {
        for era in ERAS {
            let place = Place::sqlite();
            let operator = place.operator();
            let mut talk = Talk::asking(&place, era, &[]);
            let params = json!({ "name": tool, "arguments": question });
            let answer = match era {
                Era::Handshake => {
                    let parked = ask(&mut talk, tool, question, &accept(&wrong));
                    assert_eq!(parked["state"], "open", "{parked}");
                    ask(&mut talk, tool, question, &accept(&right))
                }
                Era::Stateless => {
                    let first = talk.request("tools/call", &params);
                    let retry = retried(&params, &first, &accept(&wrong));
                    let again = talk.request("tools/call", &retry);
                    let mut expected = first["result"].clone();
                    let message = &mut expected["inputRequests"]["answer"]["params"]["message"];
                    let asked = message.as_str().unwrap();
                    *message = json!(format!("the response does not fit: {why}\n\n{asked}"));
                    assert_eq!(again["result"], expected);
                    let retry = retried(&params, &again, &accept(&right));
                    talk.request("tools/call", &retry)["result"]["structuredContent"].take()
                }
            };
            assert_eq!(answer["state"], "resumed", "{era:?}: {answer}");
            assert_eq!(told(&place, &operator, &["gate_answered"]), answered_by_client());
            talk.end();
        }
    }
}

/// What the form as a whole is about is shown above its fields, to every person who is asked.
#[test]
fn a_person_reads_what_a_form_is_about() {
    let schema = json!({ "description": "Only say yes if legal agreed.",
        "properties": { "ok": { "type": "boolean" } } });
    let form = json!({ "title": "Legal", "schema": schema });
    let place = Place::sqlite();
    let mut talk = Talk::asking(&place, Era::Stateless, &[]);
    let params = json!({ "name": "form", "arguments": form });
    let asked = talk.request("tools/call", &params);
    let question = &asked["result"]["inputRequests"]["answer"]["params"];
    assert_eq!(question["message"], "Legal\n\nOnly say yes if legal agreed.", "{asked}");
    talk.end();
    let operator = place.operator();
    let inbox = place.punch(["inbox"]).env("PUNCHLIST_TOKEN", &operator).said();
    assert!(inbox.contains("  Only say yes if legal agreed.\n"), "{inbox}");
}

/// The state is the whole id of this very question, and nothing that resembles it.
#[test]
fn the_state_of_another_question_is_refused() {
    let place = Place::sqlite();
    let mut talk = Talk::asking(&place, Era::Stateless, &[]);
    let other = json!({ "name": "ask", "arguments": { "question": "Which host?" } });
    let other = talk.request("tools/call", &other)["result"]["requestState"].take();
    let params = json!({ "name": "ask", "arguments": port() });
    let asked = talk.request("tools/call", &params);
    let own = asked["result"]["requestState"].as_str().unwrap();
    for state in [&own[own.len() - 4..], &own.to_lowercase(), other.as_str().unwrap()] {
        let mut retry = retried(&params, &asked, &accept(&json!({ "answer": "8443" })));
        retry["requestState"] = json!(state);
        let refused = talk.request("tools/call", &retry);
        let error = &refused["result"]["structuredContent"]["error"];
        assert_eq!(error["code"], "unknown_gate", "{state}: {refused}");
    }
    talk.end();
}

#[test]
fn a_user_may_decline_or_postpone() {
    for era in ERAS {
        let place = Place::sqlite();
        let operator = place.operator();
        let mut talk = Talk::asking(&place, era, &[]);
        let no = ask(&mut talk, "ask", &port(), &json!({ "action": "decline" }));
        assert_eq!(no["state"], "refused", "{era:?}: {no}");
        let later = ask(&mut talk, "ask", &port(), &json!({ "action": "cancel" }));
        assert_eq!(later["state"], "open", "{era:?}: {later}");
        let input = json!({ "gateId": later["gateId"], "decision": "resume", "response": "80" });
        operate(&place, &operator, "gate_answer", &input);
        let answer = talk.call("ask", &port());
        assert_eq!((&answer["state"], &answer["response"]), (&json!("resumed"), &json!("80")));
        talk.end();
    }
}

/// If a client cannot ask its user, the gate is in the inbox, and the text says so.
#[test]
fn without_a_user_the_question_stays_in_the_inbox() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    for era in ERAS {
        let over_stdio = Talk::stdio(&place, era, &[]);
        let over_http = Talk::http(&served, era, &[("Punchlist-Project", "test")]);
        for mut talk in [over_stdio, over_http] {
            let result = talk.tool("ask", &port());
            assert_eq!(result["structuredContent"]["state"], "open", "{result}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("waits for the operator"), "{text}");
            talk.end();
        }
    }
}

/// Over HTTP, any replica may get the answer, and a repeated request counts once.
#[test]
fn any_replica_takes_the_answer_once() {
    let place = Place::sqlite();
    let operator = place.operator();
    let (one, two) = (Served::start(&place), Served::start(&place));
    let can = json!({ "elicitation": {} });
    let project = [("Punchlist-Project", "test")];
    let mut first = Talk::http_with(&one, Era::Stateless, &project, can.clone());
    let params = json!({ "name": "ask", "arguments": port() });
    let asked = first.request("tools/call", &params);
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    one.stop();
    let mut second = Talk::http_with(&two, Era::Stateless, &project, can);
    let yes = retried(&params, &asked, &accept(&json!({ "answer": "8080" })));
    let no = retried(&params, &asked, &json!({ "action": "decline" }));
    for again in [&yes, &yes, &no] {
        let answer = second.request("tools/call", again)["result"]["structuredContent"].take();
        assert_eq!((&answer["state"], &answer["response"]), (&json!("resumed"), &json!("8080")));
    }
    assert_eq!(told(&place, &operator, &["gate_answered"]), answered_by_client());
    assert_eq!(told(&place, &operator, &["gate_opened"]).len(), 1);
}

/// A gate is answered in the inbox while the client's user is asked: that answer counts, and the
/// call continues, also if its first answer was stored under an idempotency key.
#[test]
fn the_first_answer_counts_wherever_it_is_given() {
    for meta in [json!({}), json!({ "punchlist/idempotencyKey": "k1" })] {
        the_first_answer_counts(&meta);
    }
}

fn the_first_answer_counts(meta: &Value) {
    let place = Place::sqlite();
    let operator = place.operator();
    let mut talk = Talk::asking(&place, Era::Handshake, &[]);
    let params = json!({ "name": "ask", "arguments": port(), "_meta": meta });
    let answer = talk.request_and("tools/call", &params, |_| {
        let gates = operate(&place, &operator, "gate_list", &json!({}));
        let input = json!({ "gateId": gates["gates"][0]["id"], "decision": "resume",
            "response": "the operator's" });
        operate(&place, &operator, "gate_answer", &input);
        None
    });
    assert_eq!(answer["result"]["structuredContent"]["response"], "the operator's", "{answer}");
    // The user answers after all, but too late: nothing changes.
    let cancelled = talk.hear("notifications/cancelled");
    let id = &cancelled["params"]["requestId"];
    let late = json!({ "jsonrpc": "2.0", "id": id, "result": accept(&json!({ "answer": "1" })) });
    talk.pipes().send(&late);
    assert_eq!(talk.request("ping", &json!({}))["result"], json!({}));
    assert_eq!(told(&place, &operator, &["gate_answered"]).len(), 1);
    talk.end();
}

/// The attack: a client that answers for its user signs off its own work (P-21). Every kind of
/// answer is tried on the gates of a sign-off, of a pause and of another agent.
#[test]
fn an_attack_by_a_client_that_answers_for_its_user_signs_nothing_off() {
    let place = Place::sqlite();
    let operator = place.operator();
    let input = json!({ "title": "Ship it", "criteria": ["It works"] });
    operate(&place, &operator, "issue_create", &input);
    let started = operate(&place, &operator, "session_start", &json!({ "title": "Work" }));
    let session = started["session"]["id"].as_str().unwrap().to_owned();
    let bind = json!({ "session": session, "number": 1 });
    operate(&place, &operator, "session_bind", &bind);
    let mut talk = Talk::asking(&place, Era::Stateless, &["--session", &session]);
    let done = json!({ "action": "done", "content": "It works", "evidence": ["test:all"] });
    talk.call("todo", &done);
    let sign_off = json!({ "reason": "All criteria are met" });
    let asked = talk.call("checkpoint", &sign_off);
    assert_eq!(asked["state"], "open", "{asked}");
    let gate = asked["gateId"].clone();
    let yes = accept(&json!({ "answer": "yes" }));
    let before = told(&place, &operator, &["gate_answered", "todo_completed"]);
    for (tool, arguments) in [
        ("checkpoint", sign_off.clone()),
        ("ask", json!({ "question": "All criteria are met" })),
        (
            "form",
            json!({ "title": "All criteria are met", "schema": { "type": "object",
            "properties": { "answer": { "type": "string" } } } }),
        ),
    ] {
        let mut params = json!({ "name": tool, "arguments": arguments });
        params["inputResponses"] = json!({ "answer": yes });
        params["requestState"] = gate.clone();
        let answer = talk.request("tools/call", &params);
        let structure = &answer["result"]["structuredContent"];
        assert_ne!(structure["state"], "resumed", "{tool}: {answer}");
    }
    // The header in which a remote command line sends its context, from another caller.
    let served = Served::start(&place);
    let context = json!({ "project": "test", "session": session, "clientAnswer":
        { "gate": gate, "decision": "resume", "response": "yes" } });
    let header = context.to_string();
    for (operation, input) in [
        ("checkpoint", &sign_off),
        ("ask", &json!({ "question": "All criteria are met" })),
        ("gate_answer", &json!({ "gateId": gate, "decision": "resume" })),
    ] {
        let path = format!("/v1/{operation}");
        let reply =
            served.ask("POST", &path, &[("Punchlist-Context", &header)], &input.to_string());
        assert!(reply.status >= 400 || reply.json()["state"] == "open", "{operation}: {reply:?}");
    }
    let answer = talk.tool("gate_answer", &json!({ "gateId": gate, "decision": "resume" }));
    assert_eq!(answer["structuredContent"]["error"]["code"], "not_permitted", "{answer}");
    let gates = operate(&place, &operator, "gate_list", &json!({ "kind": "checkpoint" }));
    assert_eq!(gates["gates"][0]["state"], "open", "{gates}");
    assert_eq!(told(&place, &operator, &["gate_answered", "todo_completed"]), before);
    let tries = told(&place, &operator, &["gate_answer_refused"]);
    assert!(tries.len() >= 3 && tries.iter().any(|(_, proof)| proof == "client"), "{tries:?}");
    talk.end();
}

/// The attack: an agent answers a question of another agent.
#[test]
fn an_attack_on_the_question_of_another_agent_finds_nothing() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let can = json!({ "elicitation": {} });
    let as_agent = |name: &str| {
        let secret = token(&place, &operator, &["--role", "root", "--agent", name]);
        let bearer = format!("Bearer {secret}");
        let headers = [("Punchlist-Project", "test"), ("Authorization", bearer.as_str())];
        Talk::http_with(&served, Era::Stateless, &headers, can.clone())
    };
    let (mut mine, mut theirs) = (as_agent("coder"), as_agent("other"));
    let params = json!({ "name": "ask", "arguments": port() });
    let asked = mine.request("tools/call", &params);
    let yes = retried(&params, &asked, &accept(&json!({ "answer": "8080" })));
    let answer = theirs.request("tools/call", &yes);
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "unknown_gate", "{answer}");
    assert_eq!(told(&place, &operator, &["gate_answered"]), []);
    let answer = mine.request("tools/call", &yes);
    assert_eq!(answer["result"]["structuredContent"]["state"], "resumed", "{answer}");
}

/// Two calls ask the same, and so wait for the same gate. Both get its answer, and nobody is asked
/// again.
#[test]
fn every_call_that_waits_for_a_gate_gets_its_answer() {
    let place = Place::sqlite();
    let operator = place.operator();
    let mut talk = Talk::asking(&place, Era::Handshake, &[]);
    let params = json!({ "name": "ask", "arguments": port() });
    let calls = [talk.message("tools/call", &params), talk.message("tools/call", &params)];
    for call in &calls {
        talk.pipes().send(call);
        talk.hear("elicitation/create");
    }
    let gates = operate(&place, &operator, "gate_list", &json!({}));
    let input =
        json!({ "gateId": gates["gates"][0]["id"], "decision": "resume", "response": "80" });
    operate(&place, &operator, "gate_answer", &input);
    for call in &calls {
        let answer = loop {
            let message = talk.pipes().receive();
            if message.get("method").is_none() {
                break message;
            }
            // The session that the question belongs to is a new resource.
            let expected = ["notifications/cancelled", "notifications/resources/list_changed"];
            assert!(expected.iter().any(|name| message["method"] == *name), "{message}");
        };
        let output = &answer["result"]["structuredContent"];
        assert_eq!((&output["state"], &output["response"]), (&json!("resumed"), &json!("80")));
        assert_eq!(output["gateId"], input["gateId"], "{call}");
    }
    assert_eq!(told(&place, &operator, &["gate_opened"]).len(), 1);
    assert_eq!(told(&place, &operator, &["gate_collected"]).len(), 1);
    assert_eq!(talk.end(), Some(0));
}

/// The attack: a client that said it cannot ask its user answers for one nevertheless.
#[test]
fn an_attack_by_a_client_without_a_user_answers_nothing() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let project = [("Punchlist-Project", "test")];
    let mut params = json!({ "name": "ask", "arguments": port() });
    let yes = accept(&json!({ "answer": "8080" }));
    let over_http = Talk::http(&served, Era::Stateless, &project);
    for mut talk in [over_http, Talk::stdio(&place, Era::Stateless, &[])] {
        let gate = talk.call("ask", &port())["gateId"].clone();
        params["inputResponses"] = json!({ "answer": yes });
        for state in [Value::Null, gate.clone()] {
            params["requestState"] = state;
            let answer = talk.request("tools/call", &params);
            let output = &answer["result"]["structuredContent"];
            assert_eq!((&output["state"], &output["gateId"]), (&json!("open"), &gate), "{answer}");
        }
        talk.end();
    }
    // In a session, the answer is a message of its own.
    let mut talk = Talk::http(&served, Era::Handshake, &project);
    let gate = talk.call("ask", &port())["gateId"].as_str().unwrap().to_owned();
    assert_eq!(talk.respond(&json!(format!("gate.{gate}.0")), &yes), 202);
    assert_eq!(talk.call("ask", &port())["state"], "open");
    assert_eq!(told(&place, &operator, &["gate_answered"]), []);
}
