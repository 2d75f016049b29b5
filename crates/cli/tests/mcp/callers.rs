//! Who may send a message to `/mcp`: the rules of `/v1`, for every message.

use serde_json::{Value, json};

use crate::serving::{Reply, Served, token};
use crate::support::Place;
use crate::talk::{ERAS, Era, Talk, operate};

fn list() -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string()
}

fn send(served: &Served, headers: &[(&str, &str)]) -> Reply {
    send_body(served, headers, &list())
}

fn send_body(served: &Served, headers: &[(&str, &str)], body: &str) -> Reply {
    let always =
        [("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")];
    served.ask("POST", "/mcp", &[always.as_slice(), headers].concat(), body)
}

/// A plain call, which the server answers without the library's transport.
fn plain_call(served: &Served, tool: &str, input: &Value) -> Reply {
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let params = json!({ "name": tool, "arguments": input, "_meta": meta });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
        ("Punchlist-Project", "test"),
    ];
    send_body(served, &headers, &call.to_string())
}

#[test]
fn an_attack_from_another_site_or_name_is_refused() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let is = |headers: &[(&str, &str)], code: &str| {
        assert_eq!(send(&served, headers).refusal(), (403, code.to_owned()));
    };
    is(&[("Host", "evil.example")], "foreign_host");
    is(&[("Origin", "https://evil.example")], "cross_site");
    is(&[("Origin", "null")], "cross_site");
    is(&[("Origin", "http://127.0.0.1:1")], "cross_site");
    is(&[("Sec-Fetch-Site", "cross-site")], "cross_site");
    is(&[("X-Forwarded-For", "1.2.3.4")], "forwarded");
    is(&[("Forwarded", "for=1.2.3.4")], "forwarded");
    let reply = send(&served, &[]);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.json()["result"]["tools"].is_array());
}

/// 401 for an invalid token, and for a missing one if the store requires tokens.
#[test]
fn an_attack_without_a_valid_token_is_refused() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    for wrong in ["", "punch_00", &format!("punch_{:064x}", 5)] {
        let bearer = format!("Bearer {wrong}");
        let reply = send(&served, &[("Authorization", &bearer)]);
        assert_eq!(reply.refusal(), (401, "token_invalid".to_owned()), "{wrong}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"punchlist\""));
    }
    let open = plain_call(&served, "issue_list", &json!({}));
    assert_eq!(open.status, 200, "{open:?}");
    place.punch(["store", "identity", "tokens", "--json"]).with(&operator).answer();
    assert_eq!(send(&served, &[]).refusal(), (401, "token_required".to_owned()));
    // That comes before anything else that is wrong with a message.
    for (tool, input) in [
        ("issue_list", json!({})),
        ("issue_create", json!({ "title": "A" })),
        ("issue_list", json!({ "limt": 1 })),
        ("gate_answer", json!({})),
        ("authority_show", json!({})),
        ("authority_show", json!({ "x": 1 })),
    ] {
        let refused = plain_call(&served, tool, &input).refusal();
        assert_eq!(refused, (401, "token_required".to_owned()), "{tool} {input}");
        let refused = served.post(tool, &input).refusal();
        assert_eq!(refused, (401, "token_required".to_owned()), "/v1/{tool} {input}");
    }
    let unknown = ("Mcp-Session-Id", "nobody's");
    for (headers, body) in [([].as_slice(), "{"), (&[], "[]"), (&[unknown], &list())] {
        let refused = send_body(&served, headers, body).refusal();
        assert_eq!(refused, (401, "token_required".to_owned()), "{body}");
    }
    let bearer = format!("Bearer {operator}");
    assert_eq!(send(&served, &[("Authorization", &bearer)]).status, 200);
    let serve = place.punch(["serve", "--jobs", "0", "--json", "--insecure"]);
    let open = Served::run(&serve.words(["--listen", "0.0.0.0:0"]).with(&operator));
    assert_eq!(send(&open, &[]).refusal(), (401, "token_required".to_owned()));
}

#[test]
fn requests_and_streams_are_limited_for_each_caller() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served =
        Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "5", "--streams", "1"]);
    let refused = (0..20).map(|_| send(&served, &[])).filter(|reply| reply.status == 429).count();
    assert!(refused >= 10, "{refused}");
    let bearer = format!("Bearer {operator}");
    let headers = [("Authorization", bearer.as_str()), ("Punchlist-Project", "test")];
    let mut talk = Talk::http(&served, Era::Stateless, &headers);
    let wish = json!({ "notifications": { "toolsListChanged": true } });
    let mut first = talk.listen(&wish);
    assert_eq!(first.next().unwrap()["method"], "notifications/subscriptions/acknowledged");
    let second = talk.listen(&wish);
    assert_eq!((second.status, second.kind.as_str()), (429, "application/problem+json"));
}

/// The context of a call is that of `/v1`: from headers, or from the host's `_meta`.
#[test]
fn the_context_comes_from_headers_and_meta() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let no_project = Served::run(
        &place
            .punch(["serve", "--listen", "127.0.0.1:0", "--jobs", "0", "--json"])
            .without_env("PUNCHLIST_PROJECT"),
    );
    let secret = token(&place, &operator, &["--role", "root", "--agent", "coder"]);
    let bearer = format!("Bearer {secret}");
    for era in ERAS {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Punchlist-Project", "shop"),
            ("Punchlist-Conversation", "c1"),
            ("Punchlist-Turn", "t1"),
        ];
        let mut talk = Talk::http(&served, era, &headers);
        let made = talk.call("create_todo", &json!({ "items": [{ "title": format!("{era:?}") }] }));
        assert_eq!(made["totalPending"], if era == Era::Handshake { 1 } else { 2 }, "{made}");
        let params = json!({ "name": "list_todo", "arguments": {},
            "_meta": { "punchlist/turnId": "t2" } });
        let listed = talk.request("tools/call", &params);
        let items = &listed["result"]["structuredContent"]["items"];
        assert_eq!(*items, json!([]), "{listed}");
        let mut lost = Talk::http(&no_project, era, &[]);
        let answer = lost.tool("issue", &json!({ "action": "list" }));
        assert_eq!(answer["structuredContent"]["error"]["code"], "missing_context", "{answer}");
        let hint = "the host of this agent sends the header Punchlist-Project: NAME";
        assert_eq!(answer["structuredContent"]["error"]["hint"], hint);
        assert!(answer["content"][0]["text"].as_str().unwrap().ends_with(hint), "{answer}");
        assert_eq!(lost.request("resources/list", &json!({}))["result"]["resources"], json!([]));
    }
}

/// Handshake revisions are answered with themselves, later ones with the newest revision that has a
/// handshake.
#[test]
fn every_revision_is_supported() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    for (asked, met) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2031-01-01", "2025-11-25"),
        ("soon", "2025-11-25"),
    ] {
        let params = json!({ "protocolVersion": asked, "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let mut pipes = crate::talk::Pipes::start(&place.punch(["mcp"]));
        pipes.send(&hello);
        assert_eq!(pipes.receive()["result"]["protocolVersion"], met, "{asked} over stdio");
        let accept = [("Accept", "application/json, text/event-stream")];
        let reply = served.ask("POST", "/mcp", &accept, &hello.to_string());
        assert_eq!(reply.json()["result"]["protocolVersion"], met, "{asked} over HTTP");
    }
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2031-01-01",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let future = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list",
        "params": { "_meta": meta } });
    let mut pipes = crate::talk::Pipes::start(&place.punch(["mcp"]));
    pipes.send(&future);
    let answer: Value = pipes.receive();
    assert_eq!(answer["error"]["code"], -32_022, "{answer}");
    assert!(answer["error"]["data"]["supported"].is_array(), "{answer}");
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2031-01-01"),
        ("Mcp-Method", "tools/list"),
    ];
    let reply = served.ask("POST", "/mcp", &headers, &future.to_string());
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32_022)));
}

/// A field of `_meta` that is not a text, or that is misspelt, is refused on every way into the server. If it were
/// ignored, a write could be made twice, or in another session.
#[test]
fn a_field_of_meta_that_cannot_be_used_is_refused() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let can = json!({ "elicitation": {} });
    let project = [("Punchlist-Project", "test")];
    for era in ERAS {
        let over_http = Talk::http_with(&served, era, &project, can.clone());
        for mut talk in [over_http, Talk::asking(&place, era, &[])] {
            for (tool, arguments) in [
                ("issue_create", json!({ "title": "A" })),
                ("issue_list", json!({})),
                ("ask", json!({ "question": "Which port?" })),
            ] {
                for name in ["idempotencyKey", "sessionId", "conversationId", "turnId", "messageId"]
                {
                    let field = format!("punchlist/{name}");
                    let params = json!({ "name": tool, "arguments": arguments,
                        "_meta": { field.as_str(): 5 } });
                    let answer = talk.request("tools/call", &params);
                    let error = &answer["result"]["structuredContent"]["error"];
                    assert_eq!(error["code"], "bad_value", "{era:?} {tool} {field}: {answer}");
                    let message = error["message"].as_str().unwrap();
                    assert!(message.contains(&field), "{message}");
                }
                // A misspelt one would be ignored. The keys of others are none of our business.
                let meta = json!({ "example.org/x": 1, "punchlist/sessionID": "4F7Q" });
                let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
                let answer = talk.request("tools/call", &params);
                let result = &answer["result"];
                let error = &result["structuredContent"]["error"];
                assert_eq!(error["code"], "unknown_field", "{era:?} {tool}: {answer}");
                assert!(
                    result["content"][0]["text"]
                        .as_str()
                        .unwrap()
                        .contains("`punchlist/sessionId`")
                );
            }
            let prompt = json!({ "name": "next", "_meta": { "punchlist/sessionId": 5 } });
            let answer = talk.request("prompts/get", &prompt);
            assert_eq!(answer["error"]["code"], -32_602, "{answer}");
            talk.end();
        }
    }
    let issues = operate(&place, &operator, "issue_list", &json!({}));
    assert_eq!(issues["issues"], json!([]));
    let gates = operate(&place, &operator, "gate_list", &json!({}));
    assert_eq!(gates["gates"], json!([]));
}

/// The first call of an agent reads its list. Its server has a session of its own, which the first
/// write starts: until then the list is empty.
#[test]
fn the_list_of_a_session_that_is_not_started_is_empty() {
    let place = Place::sqlite();
    let mut talk = Talk::stdio(&place, Era::Handshake, &["--profile", "session"]);
    assert_eq!(talk.call("todo_read", &json!({}))["todos"], json!([]));
    assert_eq!(place.log_length(), 0);
    let todo = json!({ "id": "1", "content": "A", "status": "pending", "priority": "high" });
    talk.call("todo_write", &json!({ "todos": [todo] }));
    assert_eq!(talk.call("todo_read", &json!({}))["todos"], json!([todo]));
    talk.end();
}
