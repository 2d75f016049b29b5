//! The pages as a browser gets them: signing in, headers, unknown pages, and hostile text.

use serde_json::{Value, json};

use crate::browser::{Browser, attribute, link};
use crate::serving::Served;
use crate::support::Place;

fn world() -> (Place, String) {
    let place = Place::sqlite();
    let operator = place.operator();
    (place, operator)
}

fn call(place: &Place, operator: &str, operation: &str, input: &Value) -> Value {
    place.call(operation, input).with(operator).answer()
}

#[test]
fn a_link_signs_in_once_and_the_session_is_a_token_that_ends() {
    let (place, operator) = world();
    let served = Served::start(&place);
    let url = link(&served, &place, &operator);
    let path = url.strip_prefix(&served.url).unwrap().to_owned();
    let browser = Browser::new(&served);
    let reply = browser.ask("GET", &path, "");
    assert_eq!((reply.status, reply.header("location")), (303, Some("/")));
    let cookie = reply.header("set-cookie").unwrap().to_owned();
    assert!(cookie.starts_with("punchlist_session=page_"), "{cookie}");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "not over plain HTTP: {cookie}");
    assert_eq!(browser.follow("/").status, 200);
    // The link works once. A second browser gets a page that says so, and is not signed in.
    let late = Browser::new(&served);
    let again = late.follow(&path);
    assert_eq!((again.status, again.has("This link has already been used.")), (410, true));
    assert_eq!(late.follow("/").at, "/sign-in");
    assert!(late.follow("/sign-in?code=open_00").has("This link is not valid."));
    // It is listed like any token, never with its secret, and revoking it ends it.
    let listed = call(&place, &operator, "token_list", &json!({}));
    let sessions: Vec<&Value> = listed["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|token| token["usedAt"].is_string())
        .collect();
    assert_eq!(sessions.len(), 1, "{listed}");
    assert!(!listed.to_string().contains("page_"), "{listed}");
    call(&place, &operator, "token_revoke", &json!({ "id": sessions[0]["id"] }));
    assert_eq!(browser.follow("/").at, "/sign-in");
}

#[test]
fn a_session_is_not_a_bearer_token_and_a_token_is_not_a_session() {
    let (place, operator) = world();
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let session = browser.cookie("punchlist_session").unwrap();
    assert_eq!(served.post_as(&session, "issue_list", &json!({})).status, 401);
    let cookie = format!("punchlist_session={session}");
    let stream = served.events("", &[("Cookie", &cookie)]);
    assert_eq!(stream.status, 200);
    // Elsewhere below /v1 the cookie is ignored.
    let made = served.ask("POST", "/v1/token_list", &[("Cookie", &cookie)], "{}");
    assert_eq!(made.status, 403);
    let bad = format!("punchlist_session={operator}");
    assert_eq!(
        served.ask("GET", "/", &[("Cookie", &bad)], "").header("location"),
        Some("/sign-in")
    );
    assert_eq!(served.ask("GET", "/v1/events", &[("Cookie", &bad)], "").status, 401);
}

#[test]
fn only_the_operator_opens_the_pages_and_only_where_a_server_runs() {
    let (place, operator) = world();
    let refused = place.punch(["open", "--print", "--json"]).with(&operator).refusal(3);
    assert_eq!(refused["hint"], "start one: punch serve --open");
    place.punch(["open", "--print", "--json"]).refusal(4);
    let served = Served::start(&place);
    assert_eq!(served.sign_in, None, "an agent started it");
    link(&served, &place, &operator);
    assert!(served.stop().success());
    place.punch(["open", "--print", "--json"]).with(&operator).refusal(3);
    let serve = place.punch(["serve", "--listen", "127.0.0.1:0", "--jobs", "0", "--json"]);
    let served = Served::run(&serve.with(&operator));
    let page = Browser::new(&served).follow(&served.sign_in.clone().unwrap());
    assert_eq!((page.status, page.at.as_str()), (200, "/"));
}

#[test]
fn signing_out_ends_the_session_and_a_form_sent_later_is_not_lost() {
    let (place, operator) = world();
    call(&place, &operator, "issue_create", &json!({ "title": "One" }));
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let issue = browser.follow("/p/test/issues/1");
    let form = &issue.html[issue.html.find("action=\"/sign-out\"").unwrap()..];
    let csrf = attribute(&form[form.find("csrf").unwrap()..], "value").unwrap();
    assert_eq!(browser.ask("GET", "/sign-out", "").status, 405);
    assert_eq!(browser.ask("POST", "/sign-out", "csrf=wrong").status, 403);
    let session = browser.cookie("punchlist_session").unwrap();
    let out = browser.ask("POST", "/sign-out", &format!("csrf={csrf}"));
    assert_eq!((out.status, out.header("location")), (303, Some("/sign-in")));
    assert_eq!(browser.cookie("punchlist_session"), None);
    let cookie = format!("punchlist_session={session}");
    assert_eq!(served.ask("GET", "/", &[("Cookie", &cookie)], "").status, 303);
    let late = browser.send(&issue, "comment", &[("text", "A long thought")]);
    assert_eq!(late.status, 401);
    assert!(late.has("A long thought") && late.has("punch open"), "{}", late.html);
}

#[test]
fn every_page_has_headers_that_protect_it_and_no_style_or_script_of_its_own() {
    let (place, operator) = world();
    call(&place, &operator, "issue_create", &json!({ "title": "One", "criteria": ["It works"] }));
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let paths = [
        "/",
        "/p/test",
        "/p/test/inbox",
        "/p/test/issues",
        "/p/test/issues?view=board",
        "/p/test/issues/1",
        "/p/test/issues/1?open=edit",
        "/p/test/issues/99",
        "/p/nowhere",
        "/nowhere",
        "/sign-in",
    ];
    for path in paths {
        let reply = browser.ask("GET", path, "");
        let header = |name| reply.header(name).unwrap_or_else(|| panic!("{path}: no {name}"));
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "same-origin");
        assert_eq!(header("cache-control"), "no-store");
        let html = String::from_utf8(reply.body.clone()).unwrap();
        assert!(html.starts_with("<!DOCTYPE html>"), "{path}");
        for inline in
            [" style=", "<style", " onclick", "<script>", "http://", "https://", "javascript:"]
        {
            assert!(!html.contains(inline), "{path} has {inline}");
        }
        assert_eq!(html.matches("<h1").count(), 1, "{path}");
    }
    for path in ["/p/test/issues/99", "/p/nowhere", "/nowhere", "/p/test/nowhere"] {
        assert_eq!(browser.ask("GET", path, "").status, 404, "{path}");
    }
    // A program that requests an unknown path still gets a problem.
    assert_eq!(served.get("/nowhere").refusal(), (404, "unknown_path".to_owned()));
}

#[test]
fn assets_are_kept_by_browsers_and_change_their_name_with_their_content() {
    let (place, operator) = world();
    let served = Served::start(&place);
    let page = Browser::of(&served, &place, &operator).follow("/");
    let mut total = 0;
    for start in ["/assets/style-", "/assets/script-", "/assets/icon-"] {
        let at = page.html.find(start).unwrap();
        let path = page.html[at..].split('"').next().unwrap();
        let reply = served.get(path);
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.header("cache-control").unwrap().contains("immutable"));
        total += reply.body.len();
    }
    assert!(total <= 100 << 10, "{total} bytes");
    assert_eq!(served.get("/assets/style-000000000000.css").status, 404);
}

/// Texts that would do harm if they were treated as HTML, in every field that an agent writes.
#[test]
fn hostile_text_is_shown_as_text() {
    let attempts = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "'\"></textarea><svg onload=alert(1)>",
        "[x](javascript:alert(1))",
        "<iframe srcdoc='<script>alert(1)</script>'>",
        "</title><script>alert(1)</script>",
    ];
    let (place, operator) = world();
    for (n, text) in (1..).zip(attempts) {
        let title = format!("{n} {text}");
        let made = json!({ "title": title, "body": text, "criteria": [text], "forceNew": true });
        place.call("issue_create", &made).answer();
        call(&place, &operator, "issue_update", &json!({ "number": n, "labels": [text] }));
        let started = place.call("session_start", &json!({ "title": text })).answer();
        let session = started["session"]["id"].as_str().unwrap();
        place.call("session_bind", &json!({ "session": session, "number": n })).answer();
        let in_session = |operation: &str, input: &Value| {
            place.call(operation, input).words(["--session", session]).answer()
        };
        in_session("todo", &json!({ "action": "add", "items": [format!("step {text}")] }));
        let note = json!({ "action": "note", "content": text, "text": text });
        in_session("todo", &note);
        let done =
            json!({ "action": "done", "content": text, "evidence": [format!("note:{text}")] });
        in_session("todo", &done);
        in_session("checkpoint", &json!({ "reason": text, "purpose": "sign_off" }));
        in_session("ask", &json!({ "question": text, "options": [text, "b"] }));
        place.call("issue_comment", &json!({ "number": n, "text": text })).answer();
    }
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let mut paths = vec!["/".to_owned(), "/p/test/issues".to_owned()];
    paths.push("/p/test/issues?view=board".to_owned());
    paths.extend((1..=attempts.len()).map(|n| format!("/p/test/issues/{n}?open=edit")));
    paths.extend((1..=attempts.len()).map(|n| format!("/p/test/issues/{n}")));
    for path in paths {
        let page = browser.follow(&path);
        assert_eq!(page.status, 200, "{path}");
        for harm in ["<script>alert", "<img ", "<svg onload", "<iframe", "href=\"javascript:"] {
            assert!(!page.has(harm), "{path} has {harm}");
        }
        assert!(page.words().contains("alert(1)"), "{path} shows the text");
    }
}
