//! Every status that a request can be answered with, and its code.

use punchlist_store::sql;
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::serving::{Reply, Served, token};
use crate::support::Place;

fn refused(reply: &Reply) -> (u16, String) {
    reply.refusal()
}

fn is(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.refusal(), (status, code.to_owned()));
}

/// Operations answer with their plain output: by POST, and reads also by GET.
fn operations_answer_by_post_and_reads_by_get(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    let made = served.post("issue_create", &json!({ "title": "A", "criteria": ["B"] })).answer();
    assert_eq!(made["issue"]["number"], 1);
    let posted = served.post("issue_show", &json!({ "number": 1 })).answer();
    let got = served.get("/v1/issue_show?number=1");
    assert_eq!(got.answer(), posted);
    assert_eq!(got.answer()["criteria"][0]["content"], "B");
    // The command line sees the same, because it is the same store (P-15).
    let shown = place.punch(["issue", "show", "1", "--json"]).answer();
    assert_eq!(shown, posted);
    place.punch(["issue", "comment", "1", "hello", "--json"]).answer();
    assert_ne!(served.get("/v1/issue_show?number=1").answer(), posted);
    let head = served.ask("HEAD", "/v1/issue_show?number=1", &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

/// A client that already has an answer gets no body; a changed answer is sent again.
fn unchanged_answers_are_not_sent_again(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    served.post("issue_create", &json!({ "title": "A" })).answer();
    let path = "/v1/issue_show?number=1";
    let first = served.get(path);
    let tag = first.header("etag").unwrap().to_owned();
    let again = |tag: &str| served.ask("GET", path, &[("If-None-Match", tag)], "");
    let same = again(&tag);
    assert_eq!((same.status, same.body.len(), same.header("etag")), (304, 0, Some(tag.as_str())));
    served.post("issue_comment", &json!({ "number": 1, "text": "x" })).answer();
    let changed = again(&tag);
    assert_eq!(changed.status, 200);
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
    let small = served.ask("GET", path, &[("Accept-Encoding", "gzip")], "");
    assert_eq!(small.header("content-encoding"), Some("gzip"));
    assert_eq!(small.body[..2], [0x1f, 0x8b]);
}

/// P-25: the header is the key.
fn idempotency_key_has_one_effect(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    let create = |title: &str| {
        let body = json!({ "title": title }).to_string();
        served.ask("POST", "/v1/issue_create", &[("Idempotency-Key", "k1")], &body)
    };
    let first = create("A").answer();
    assert_eq!(create("A").answer(), first);
    is(&create("B"), 409, "idempotency_conflict");
    let listed = served.get("/v1/issue_list").answer();
    assert_eq!(listed["issues"].as_array().unwrap().len(), 1);
}

fn malformed_requests_are_told_and_change_nothing(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    served.post("issue_create", &json!({ "title": "A" })).answer();
    let before = place.log_length();
    let post = |headers: &[(&str, &str)], body: &str| {
        served.ask("POST", "/v1/issue_create", headers, body)
    };
    is(&post(&[], "{\"title\": "), 400, "invalid_json");
    is(&post(&[], "[]"), 400, "wrong_type");
    is(&post(&[], "{\"title\": 5}"), 400, "wrong_type");
    is(&post(&[], "{\"title\": \"x\", \"titel\": 1}"), 400, "unknown_field");
    is(&post(&[], "{}"), 400, "missing_field");
    is(&post(&[], &json!({ "title": "x".repeat(501) }).to_string()), 400, "too_long");
    is(&post(&[("Content-Type", "text/plain")], "{\"title\":\"x\"}"), 415, "not_json");
    is(&post(&[("Punchlist-As", "king")], "{\"title\":\"x\"}"), 400, "bad_value");
    is(&post(&[("Punchlist-Agent", "a b")], "{\"title\":\"x\"}"), 400, "bad_value");
    is(&post(&[("Punchlist-Context", "{\"x\":1}")], "{\"title\":\"x\"}"), 400, "bad_value");
    let utf8 = b"POST /v1/issue_create HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
        Content-Type: application/json\r\nContent-Length: 3\r\n\r\n\"\xff\"";
    is(&served.raw(utf8), 400, "invalid_utf8");
    for (path, status, code) in [
        ("/v1/issue_show?number=x", 400, "wrong_type"),
        ("/v1/issue_show?number=1&number=2", 400, "bad_value"),
        ("/v1/issue_show?nummer=1", 400, "unknown_field"),
        ("/v1/issue_show?number=%zz", 400, "bad_value"),
        ("/v1/issue_list?status=lost", 400, "bad_value"),
        ("/v1/issue_list?limit=0", 400, "bad_value"),
        ("/v1/issue_list?cursor=nonsense", 400, "bad_value"),
        ("/v1/session_list?cursor=nonsense", 400, "bad_value"),
        ("/v1/event_list?after=999999", 409, "reset_required"),
        ("/v1/issue_show?number=99", 404, "unknown_issue"),
        ("/v1/issue_shown", 404, "unknown_operation"),
        ("/v2/issue_show", 404, "unknown_path"),
        ("/v1/issue_create?title=x", 405, "method_not_allowed"),
    ] {
        assert_eq!(refused(&served.get(path)), (status, code.to_owned()), "{path}");
    }
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
        let reply = served.ask(method, "/v1/issue_show", &[], "");
        is(&reply, 405, "method_not_allowed");
        assert_eq!(reply.header("allow"), Some("GET, HEAD, POST"), "{method}");
    }
    let moved = json!({ "number": 1, "status": "open" });
    is(&served.post("issue_transition", &moved), 409, "wrong_issue_status");
    let none = Served::run(
        &place
            .bare(["serve", "--listen", "127.0.0.1:0", "--jobs", "0", "--json"])
            .words(["--db", &place.db()]),
    );
    is(&none.get("/v1/issue_list"), 400, "missing_context");
    let hint = |path: &str| none.get(path).json()["hint"].as_str().unwrap().to_owned();
    assert_eq!(hint("/v1/issue_list"), "send the header Punchlist-Project: NAME");
    assert_eq!(hint("/v1/zzz"), "/openapi.json lists all");
    let named = none.ask("GET", "/v1/issue_list", &[("Punchlist-Project", "test")], "");
    assert_eq!(named.answer()["issues"].as_array().unwrap().len(), 1);
    assert_eq!(place.log_length(), before);
}

fn tokens_decide_who_calls(backend: Backend) {
    let place = Place::new(backend);
    let operator = place.operator();
    let served = Served::start(&place);
    let input = json!({ "title": "A" });
    // Without a token, the caller is the agent `primary` as root, which may not do what the
    // operator may.
    let made = served.post("issue_create", &input).answer();
    assert_eq!(made["issue"]["createdBy"], "root:primary");
    is(&served.post("gate_list", &json!({})), 403, "not_permitted");
    is(&served.post("token_new", &json!({ "role": "operator" })), 403, "not_permitted");
    let asked = |headers: &[(&str, &str)]| served.ask("GET", "/v1/gate_list", headers, "");
    is(&asked(&[("Punchlist-As", "operator")]), 403, "not_permitted");
    served.post_as(&operator, "gate_list", &json!({})).answer();
    // Narrowed: by project, and by role.
    let narrow = token(&place, &operator, &["--role", "root", "--only-project", "elsewhere"]);
    is(&served.post_as(&narrow, "issue_list", &json!({})), 403, "out_of_reach");
    let agent = token(&place, &operator, &["--role", "root", "--agent", "coder"]);
    let bearer = format!("Bearer {agent}");
    let as_other = asked(&[("Authorization", bearer.as_str()), ("Punchlist-Agent", "someone")]);
    is(&as_other, 403, "not_permitted");
    // Invalid tokens: empty, of another scheme, unknown, revoked.
    for header in ["Bearer", "Bearer x", "Basic YTpi", &format!("Bearer punch_{}", "0".repeat(64))]
    {
        let reply = asked(&[("Authorization", header)]);
        is(&reply, 401, "token_invalid");
        assert!(reply.header("www-authenticate").unwrap().starts_with("Bearer"));
    }
    let listed = served.post_as(&operator, "token_list", &json!({})).answer();
    let tokens = listed["tokens"].as_array().unwrap();
    let of_coder = tokens.iter().find(|token| token["agent"] == "coder").unwrap();
    served.post_as(&agent, "issue_list", &json!({})).answer();
    served.post_as(&operator, "token_revoke", &json!({ "id": of_coder["id"] })).answer();
    is(&served.post_as(&agent, "issue_list", &json!({})), 401, "token_invalid");
    // Under the rule `tokens` nobody gets in without a token.
    served.post_as(&operator, "store_identity", &json!({ "rule": "tokens" })).answer();
    is(&served.post("issue_list", &json!({})), 401, "token_required");
    is(&served.get("/metrics"), 401, "token_required");
    // That comes before anything else that is wrong with a call.
    is(&served.post("gate_list", &json!({})), 401, "token_required");
    is(&served.post("issue_list", &json!({ "limt": 1 })), 401, "token_required");
    is(&served.ask("POST", "/v1/issue_list", &[], "{"), 401, "token_required");
    is(&served.get("/v1/issue_list?limt=1"), 401, "token_required");
    served.post_as(&operator, "issue_list", &json!({})).answer();
}

/// The bootstrap is local: nobody can create the first operator's token over HTTP.
fn first_operators_token_is_not_made_over_http(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    is(&served.post("token_new", &json!({ "role": "operator" })), 403, "not_permitted");
    let remote = place.bare(["token", "new", "--role", "operator", "--json", "--db", &served.url]);
    assert_eq!(remote.refusal(4)["code"], "not_permitted");
    place.operator();
}

#[test]
fn other_paths_are_answered_too() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    assert_eq!(served.get("/healthz").answer(), json!({ "ok": true }));
    assert_eq!(served.get("/readyz").answer(), json!({ "ok": true }));
    let document = served.get("/openapi.json").answer();
    assert_eq!(document["openapi"], "3.1.0");
    let show = &document["paths"]["/v1/issue_show"];
    assert!(show["get"].is_object() && show["post"].is_object());
    assert!(document["paths"]["/v1/issue_create"].get("get").is_none());
    served.post("issue_create", &json!({ "title": "A" })).answer();
    let metrics = served.get("/metrics");
    let text = String::from_utf8(metrics.body).unwrap();
    assert!(
        text.contains("punchlist_requests_total{operation=\"issue_create\",status=\"200\"} 1\n")
    );
    for name in ["commits_total 1", "queue_depth 0", "open_gates 0", "oldest_open_gate_seconds 0"] {
        assert!(text.contains(&format!("\npunchlist_{name}\n")), "{name} in {text}");
    }
    let mine = served.ask("GET", "/healthz", &[("X-Request-Id", "abc-1")], "");
    assert_eq!(mine.header("x-request-id"), Some("abc-1"));
    is(&served.ask("POST", "/healthz", &[], "{}"), 405, "method_not_allowed");
    assert!(served.stop().success());
}

/// Metrics count everything in the store, so a narrowed token may not see them.
#[test]
fn metrics_are_not_for_narrowed_tokens() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let narrow = token(&place, &operator, &["--role", "root", "--only-project", "test"]);
    let ask = |secret: &str| {
        let bearer = format!("Bearer {secret}");
        served.ask("GET", "/metrics", &[("Authorization", bearer.as_str())], "")
    };
    is(&ask(&narrow), 403, "out_of_reach");
    assert_eq!(ask(&operator).status, 200);
}

/// A broken store is also an answer of the server, with a hint when to retry.
#[test]
fn a_broken_store_is_reported_with_503() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    served.post("issue_create", &json!({ "title": "A" })).answer();
    let file = place.file();
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch("DROP TABLE issue_updates; DROP TABLE issue_links;").unwrap();
    let reply = served.get("/v1/issue_show?number=1");
    let (status, code) = reply.refusal();
    assert_eq!((status, reply.header("retry-after")), (503, Some("1")), "{code}");
    assert!(code.starts_with("store_"), "{code}");
}

/// A store whose schema is not ours any more is not ready, and the process still lives.
fn a_store_with_another_schema_is_not_ready(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    assert_eq!(served.get("/readyz").answer(), json!({ "ok": true }));
    // Opened before: a store with another schema cannot be opened.
    let store = place.open();
    let set = |version: i64| match backend {
        Backend::Postgres => {
            let sql = sql!("UPDATE schema_version SET version = $1");
            let changed: Result<(), punchlist_store::Error> =
                store.write(move |tx| tx.write(sql, &[version.into()]));
            changed.unwrap();
        }
        _ => {
            let connection = rusqlite::Connection::open(place.file()).unwrap();
            connection.pragma_update(None, "user_version", version).unwrap();
        }
    };
    let known = punchlist_store::migrate::MIGRATIONS.last().unwrap().version;
    for version in [known + 1, known - 1, 0] {
        set(version);
        let (status, code) = served.get("/readyz").refusal();
        assert_eq!(status, 503, "{version}: {code}");
        assert!(code.starts_with("store_"), "{version}: {code}");
        assert_eq!(served.get("/healthz").status, 200);
    }
    set(known);
    assert_eq!(served.get("/readyz").answer(), json!({ "ok": true }));
}

on_every_lasting_store!(
    a_store_with_another_schema_is_not_ready,
    operations_answer_by_post_and_reads_by_get,
    unchanged_answers_are_not_sent_again,
    idempotency_key_has_one_effect,
    malformed_requests_are_told_and_change_nothing,
    tokens_decide_who_calls,
    first_operators_token_is_not_made_over_http
);

/// The whole document is generated from the catalogue.
#[test]
fn document_names_every_operation_and_every_code() {
    let document = punchlist_server::http::document();
    for operation in punchlist_ops::CATALOGUE {
        let path = &document["paths"][format!("/v1/{}", operation.name)]["post"];
        assert_eq!(path["operationId"], operation.name);
        assert_eq!(path["summary"], Value::from(operation.description()));
    }
    let problem = &document["components"]["responses"]["Problem"]["content"];
    let codes = &problem["application/problem+json"]["schema"]["properties"]["code"]["enum"];
    assert_eq!(codes.as_array().unwrap().len(), punchlist_ops::error::TABLE.len());
}
