//! Protection against outsiders: host names, origins, proxies, addresses and limits.

use std::io::{Read, Write};

use serde_json::json;

use crate::serving::{Reply, Served, token};
use crate::support::Place;

fn is(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.refusal(), (status, code.to_owned()));
}

/// The attack: a page makes its own name resolve to this machine, or calls from another site or
/// port.
#[test]
fn foreign_names_and_pages_are_refused() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let port = served.address.port();
    let bearer = format!("Bearer {operator}");
    let own = format!("http://127.0.0.1:{port}");
    let ask = |headers: &[(&str, &str)]| served.ask("GET", "/v1/issue_list", headers, "");
    is(&ask(&[("Host", "evil.example")]), 403, "foreign_host");
    is(&ask(&[("Host", "evil.example"), ("Authorization", &bearer)]), 403, "foreign_host");
    is(&ask(&[("Origin", "https://evil.example")]), 403, "cross_site");
    is(&ask(&[("Origin", "http://127.0.0.1:1")]), 403, "cross_site");
    is(&ask(&[("Sec-Fetch-Site", "cross-site")]), 403, "cross_site");
    is(&ask(&[("Sec-Fetch-Site", "same-site")]), 403, "cross_site");
    ask(&[("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")]).answer();
    ask(&[("Host", "localhost")]).answer();
    for path in ["/metrics", "/openapi.json", "/v1/events"] {
        is(&served.ask("GET", path, &[("Host", "evil.example")], ""), 403, "foreign_host");
    }
    // A proxied request could come from anywhere, so it needs a token.
    for header in ["X-Forwarded-For", "Forwarded"] {
        is(&ask(&[(header, "for=1.2.3.4")]), 403, "forwarded");
        ask(&[(header, "for=1.2.3.4"), ("Authorization", &bearer)]).answer();
    }
}

#[test]
fn public_url_is_a_name_of_the_server() {
    let place = Place::sqlite();
    let operator = place.operator();
    let words = ["--listen", "127.0.0.1:0", "--public-url", "https://Punch.example/"];
    let mut serve = place.punch(["serve", "--jobs", "0", "--json"]).words(words).spawn();
    let mut line = [0; 200];
    let read = serve.stdout.take().unwrap().read(&mut line).unwrap();
    let line = String::from_utf8_lossy(&line[..read]).into_owned();
    serve.kill().unwrap();
    serve.wait().unwrap();
    assert_eq!(line, "{\"url\":\"https://punch.example\",\"signIn\":null}\n");
    let bad = place.punch(["serve", "--public-url", "punch.example", "--json"]).with(&operator);
    assert_eq!(bad.refusal(2)["code"], "usage");
}

/// An address that other machines can reach needs TLS, or the statement that a proxy does TLS.
/// There, nobody gets in without a token.
#[test]
fn listening_beyond_loopback_needs_tls_and_tokens() {
    let place = Place::sqlite();
    let operator = place.operator();
    let refused = place.punch(["serve", "--listen", "0.0.0.0:0", "--json"]).refusal(2);
    assert!(refused["message"].as_str().unwrap().contains("no TLS"), "{refused}");
    let served = Served::with(&place, &["--listen", "0.0.0.0:0", "--insecure"]);
    let told = served.get("/v1/issue_list");
    is(&told, 401, "token_required");
    let said = String::from_utf8_lossy(&told.body);
    assert!(said.contains("beyond its own machine"), "the store is open: {said}");
    is(&served.get("/openapi.json"), 401, "token_required");
    is(&served.get("/metrics"), 401, "token_required");
    served.get("/healthz").answer();
    served.get("/readyz").answer();
    served.post_as(&operator, "issue_list", &json!({})).answer();
    for bad in [vec!["--listen", "nowhere"], vec!["--listen", "127.0.0.1:99999"]] {
        let serve = place.punch(["serve", "--json"]).words(bad);
        assert_eq!(serve.refusal(2)["code"], "usage");
    }
    let taken = served.address.port().to_string();
    let twice = format!("127.0.0.1:{taken}");
    let refused = place.punch(["serve", "--json", "--listen", &twice]).refusal(3);
    assert_eq!(refused["code"], "io");
    assert!(refused["hint"].as_str().unwrap().contains("--listen"), "{refused}");
}

/// A caller with a token can start a server only if the token may do everything the server does.
#[test]
fn narrowed_tokens_start_no_server() {
    let place = Place::sqlite();
    let operator = place.operator();
    for words in [&["--role", "root"][..], &["--role", "system", "--only-project", "test"]] {
        let secret = token(&place, &operator, words);
        let serve = place.punch(["serve", "--listen", "127.0.0.1:0", "--json"]).with(&secret);
        let refused = serve.refusal(4);
        assert!(["not_permitted", "out_of_reach"].contains(&refused["code"].as_str().unwrap()));
    }
    let system = token(&place, &operator, &["--role", "system"]);
    let words = ["serve", "--listen", "127.0.0.1:0", "--jobs", "0", "--json"];
    Served::run(&place.punch(words).with(&system)).get("/healthz").answer();
}

/// Ten invalid tokens get their own error; after that, their address is slowed down.
#[test]
fn failed_tokens_are_slowed_down() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let wrong = format!("punch_{}", "0".repeat(64));
    for _ in 0..10 {
        is(&served.post_as(&wrong, "issue_list", &json!({})), 401, "token_invalid");
    }
    let slowed = served.post_as(&wrong, "issue_list", &json!({}));
    is(&slowed, 429, "rate_limited");
    assert_eq!(slowed.header("retry-after"), Some("60"));
    // The operator cannot be locked out this way.
    served.post_as(&operator, "issue_list", &json!({})).answer();
}

#[test]
fn requests_of_one_principal_are_limited_by_the_second() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "3"]);
    let replies: Vec<Reply> = (0..12).map(|_| served.get("/v1/issue_list")).collect();
    let limited: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 429).collect();
    assert!(!limited.is_empty() && limited.len() < 12, "{replies:?}");
    is(limited[0], 429, "rate_limited");
    assert_eq!(limited[0].header("retry-after"), Some("1"));
    // Another principal has its own limit.
    served.post_as(&operator, "issue_list", &json!({})).answer();
}

#[test]
fn huge_requests_are_cut_off() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let huge = format!("{{\"title\":\"{}\"}}", "x".repeat(9 << 20));
    is(&served.ask("POST", "/v1/issue_create", &[], &huge), 413, "input_too_large");
    // A client that sends everything before it reads gets the answer, too.
    let mut socket = served.connect();
    let head = format!(
        "POST /v1/issue_create HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
        Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        huge.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(huge.as_bytes()).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 413"), "{answer:?}");
    // The length is not declared.
    let mut socket = served.connect();
    let head = "POST /v1/issue_create HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
        Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    let piece = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    for _ in 0..10 {
        if socket.write_all(piece.as_bytes()).is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    assert!(String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 413"), "{answer:?}");
    let padding = "x".repeat(100 << 10);
    let headers = served.ask("GET", "/v1/issue_list", &[("X-Padding", &padding)], "");
    is(&headers, 431, "headers_too_large");
    let many = "x".repeat(400 << 10);
    assert_eq!(served.ask("GET", "/v1/issue_list", &[("X-Padding", &many)], "").status, 431);
    for garbage in ["GARBAGE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\0\0\0\0\r\n\r\n"] {
        assert!([0, 400].contains(&served.raw(garbage.as_bytes()).status), "{garbage:?}");
    }
    served.get("/healthz").answer();
}

/// Many simultaneous clients: each gets its own answer, nothing is lost, and the server can stop.
#[test]
fn many_simultaneous_connections_are_served() {
    const CLIENTS: usize = 32;
    const EACH: usize = 20;
    let place = Place::sqlite();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "0"]);
    let made = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let served = &served;
                scope.spawn(move || {
                    let create = |n: usize| {
                        let title = format!("issue {n} of {client}");
                        let input = json!({ "title": title, "forceNew": true });
                        let made = served.post("issue_create", &input).answer();
                        assert_eq!(made["issue"]["title"], title);
                        made["issue"]["number"].as_i64().unwrap()
                    };
                    (0..EACH).map(create).collect::<Vec<_>>()
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    let distinct: std::collections::BTreeSet<i64> = made.into_iter().collect();
    assert_eq!(distinct.len(), CLIENTS * EACH);
    assert!(served.stop().success());
}

/// Streams are open files of the server, so their number per principal is limited.
#[test]
fn streams_of_one_principal_are_limited() {
    let place = Place::sqlite();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--streams", "2"]);
    let first = served.events("", &[]);
    let second = served.events("", &[]);
    assert_eq!((first.status, second.status), (200, 200));
    is(&served.get("/v1/events"), 429, "too_many_streams");
}
