//! A store behind a server, beyond single answers: restarts, following, MCP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Child;

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::serving::{PATIENCE, Served, token};
use crate::support::{Place, Punch};

fn over(place: &Place, served: &Served, words: &[&str]) -> Punch {
    place
        .bare(words.iter().copied())
        .words(["--db", &served.url, "--json"])
        .env("PUNCHLIST_PROJECT", "test")
}

/// Commands that need the database itself are refused for a server's client.
#[test]
fn commands_that_need_the_database_are_refused() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    for words in [
        &["serve"][..],
        &["worker"],
        &["run", "Do it"],
        &["backup"],
        &["restore", "x.db"],
        &["export", "store"],
        &["import", "store", "-"],
        &["import", "store", "missing.json"],
        &["doctor"],
    ] {
        let refused = over(&place, &served, words).refusal(2);
        assert_eq!(refused["code"], "needs_database", "{words:?}");
    }
    let file = place.home().join("copy.db").display().to_string();
    for (from, to) in [(&place.db(), &served.url), (&served.url, &file)] {
        let refused = place.bare(["store", "copy", from, to, "--json"]).refusal(2);
        assert_eq!(refused["code"], "needs_database", "{from} to {to}");
    }
}

#[test]
fn a_missing_server_is_reported_at_once() {
    let place = Place::sqlite();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let call = place.bare(["issue", "list", "--json", "--db", &url]);
    assert_eq!(call.refusal(3)["code"], "store_unreachable");
    for bad in ["http://", "http://user:secret@host", "http://host/?x=1", "ftp://host"] {
        let refused = place.bare(["issue", "list", "--json", "--db", bad]).refusal(2);
        assert_eq!(refused["code"], "usage", "{bad}");
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
}

/// The role comes only from the token: a terminal of the client proves nothing.
#[test]
fn a_terminal_of_the_client_proves_nothing() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let listed = over(&place, &served, &["token", "list"]).on_terminal();
    assert_eq!(listed.exit, Some(4), "{listed:?}");
    let made = over(&place, &served, &["issue", "new", "A"]).on_terminal();
    assert!(made.stdout.contains("root:primary"), "{made:?}");
    over(&place, &served, &["token", "list"]).with(&operator).answer();
    for bad in ["", "garbage"] {
        let refused = over(&place, &served, &["issue", "list"]).with(bad).refusal(4);
        assert_eq!(refused["code"], "token_invalid", "{bad:?}");
    }
}

/// A response counts only if it comes from one of our servers.
#[test]
fn strange_servers_are_reported() {
    let place = Place::sqlite();
    for reply in [
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut buffer = [0; 4096];
            let _ = socket.read(&mut buffer);
            socket.write_all(reply.as_bytes()).unwrap();
        });
        let ran = place.bare(["issue", "list", "--json", "--db", &url]).run();
        assert_eq!(ran.exit, Some(3), "{ran:?}");
        server.join().unwrap();
    }
}

/// A server dies after it has executed a request and before it has answered: the same request is
/// sent again with its key, and has one effect.
fn a_request_is_repeated_if_the_server_restarts_in_the_middle(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    // A proxy that breaks the connection once, after the server has answered a write.
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    let behind = served.address;
    let passer = std::thread::spawn(move || {
        let mut broken = false;
        let mut keys = Vec::new();
        loop {
            let (mut client, _) = proxy.accept().unwrap();
            client.set_read_timeout(Some(PATIENCE)).unwrap();
            if let Some(request) = read_request(&mut client) {
                let mut server = std::net::TcpStream::connect(behind).unwrap();
                let request = request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
                server.write_all(request.as_bytes()).unwrap();
                let mut reply = Vec::new();
                server.read_to_end(&mut reply).unwrap();
                let is_write = request.starts_with("POST /v1/issue_create");
                if is_write {
                    keys.extend(
                        request.lines().filter(|l| l.contains("idempotencyKey")).map(str::to_owned),
                    );
                }
                if is_write && !std::mem::replace(&mut broken, true) {
                    continue;
                }
                client.write_all(&reply).unwrap();
                if is_write {
                    return keys;
                }
            }
        }
    });
    let made = place
        .bare(["issue", "new", "Once", "--json", "--db", &url])
        .env("PUNCHLIST_PROJECT", "test")
        .answer();
    assert_eq!(made["issue"]["number"], 1);
    let keys = passer.join().unwrap();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
    let listed = served.get("/v1/issue_list").answer();
    assert_eq!(listed["issues"].as_array().unwrap().len(), 1);
}

/// Reads one request with its body; `None` if the client has disconnected.
fn read_request(client: &mut std::net::TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        if client.read(&mut byte).ok()? == 0 {
            return None;
        }
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).ok()?.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    client.read_exact(&mut body).ok()?;
    // Header names are lower-case now, which HTTP allows. The method and the values are unchanged.
    let (method, rest) = head.split_once(' ')?;
    let rest = rest.replacen("http/1.1", "HTTP/1.1", 1).replace("idempotencykey", "idempotencyKey");
    Some(format!("{} {rest}{}", method.to_ascii_uppercase(), String::from_utf8(body).ok()?))
}

/// P-23 over HTTP: `log -f` shows events, even after the server was restarted.
fn the_log_is_followed_across_a_restart(backend: Backend) {
    let place = Place::new(backend);
    let served = Served::start(&place);
    served.post("issue_create", &json!({ "title": "A" })).answer();
    place.log_of(2);
    let mut follower = over(&place, &served, &["log", "-f"]).spawn();
    let lines = Lines::of(&mut follower);
    assert_eq!(lines.until("A"), "A");
    served.post("issue_create", &json!({ "title": "B" })).answer();
    assert_eq!(lines.until("B"), "B");
    let address = served.address.to_string();
    assert!(served.stop().success());
    place.punch(["issue", "new", "C", "--json"]).answer();
    let served = Served::with(&place, &["--listen", &address]);
    assert_eq!(lines.until("C"), "C");
    served.post("issue_create", &json!({ "title": "D" })).answer();
    assert_eq!(lines.until("D"), "D");
    follower.kill().unwrap();
    follower.wait().unwrap();
}

/// The lines of a process, read on another thread, so that a wait can time out.
struct Lines(std::sync::mpsc::Receiver<String>);

impl Lines {
    fn of(child: &mut Child) -> Self {
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self(lines)
    }

    /// Reads on until an issue with this title was created.
    fn until(&self, title: &str) -> String {
        loop {
            let line = self.0.recv_timeout(PATIENCE).expect("a line in time");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["data"]["issue"]["title"] == title {
                return title.to_owned();
            }
        }
    }
}

/// `punch wait` ends when the event happens, through the server's stream.
#[test]
fn wait_sees_the_writes_of_others() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    served.post("issue_create", &json!({ "title": "A" })).answer();
    let words = ["wait", "--timeout", "20s", "--types", "issue_created", "--after", "2"];
    let waiting = over(&place, &served, &words).spawn();
    place.punch(["issue", "new", "B", "--json"]).answer();
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["events"][0]["data"]["issue"]["title"], "B");
}

/// A host's hooks work over a server: the session gets its work, and a stop with open steps is
/// continued. The same stop is allowed when the steps are done.
fn hooks_govern_a_session_over_a_server(backend: Backend) {
    let place = Place::new(backend);
    let operator = place.operator();
    let served = Served::start(&place);
    let root = token(&place, &operator, &["--role", "root", "--agent", "coder"]);
    let punch = |words: &[&str]| over(&place, &served, words).with(&root);
    let hook = |event: &str, payload: &Value| -> Value {
        let hook = place.bare(["hook", "claude", event, "--db", &served.url]);
        let hook = hook.env("PUNCHLIST_PROJECT", "test").with(&root);
        let hook = hook.env("PUNCHLIST_HOOK_TIMEOUT_MS", "60000").stdin(payload.to_string());
        let ran = hook.run();
        assert_eq!(ran.exit, Some(0), "{event}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap_or(Value::Null)
    };
    punch(&["issue", "new", "Slow build"]).answer();
    let start = json!({ "session_id": "s1", "source": "startup" });
    assert_eq!(hook("session-start", &start), Value::Null, "there is nothing to say yet");
    punch(&["session", "bind", "1", "--session", "s1"]).answer();
    punch(&["todo", "add", "Measure it", "--session", "s1"]).answer();
    let told = hook("session-start", &json!({ "session_id": "s1", "source": "compact" }));
    let text = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(text.contains("Slow build") && text.contains("Measure it"), "{text}");
    let stop = |said: &str| {
        json!({ "session_id": "s1", "prompt_id": "p1", "stop_hook_active": false,
            "last_assistant_message": said })
    };
    let blocked = hook("stop", &stop("I am done."));
    assert_eq!(blocked["decision"], "block", "{blocked}");
    punch(&["todo", "done", "Measure it", "--session", "s1"]).answer();
    assert_eq!(hook("stop", &stop("Now it is done.")), Value::Null);
    let log = punch(&["call", "event_list", r#"{"limit":1000}"#]).answer();
    let mut hooks = log["events"].as_array().unwrap().iter();
    assert!(hooks.any(|event| event["type"] == "hook_answered"), "{log}");
}

/// `--watch` draws a plan again when somebody else changes it.
fn a_tree_is_watched_over_a_server(backend: Backend) {
    let place = Place::new(backend);
    let operator = place.operator();
    std::fs::write(place.home().join("plan.md"), "# Plan\n- [ ] one\n- [ ] two\n").unwrap();
    place.punch(["plan", "import", "plan.md", "--json"]).with(&operator).answer();
    let served = Served::start(&place);
    let watch = place.bare(["plan", "tree", "plan.md", "--watch", "--db", &served.url]);
    let mut watching = watch.env("PUNCHLIST_PROJECT", "test").spawn();
    let lines = Lines::of(&mut watching);
    let until = |words: &str| loop {
        let line = lines.0.recv_timeout(PATIENCE).expect("a line in time");
        if line.contains(words) {
            break;
        }
    };
    until("t3 two (pending)");
    place.punch(["call", "agent_register", r#"{"agent":"backend"}"#, "--json"]).answer();
    let assign = ["plan", "assign", "t3", "--to", "backend", "--json"];
    place.punch(assign).with(&operator).answer();
    until("t3 two (@backend, active)");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

/// MCP over a remote store: the token determines the tools and their rights.
#[test]
fn mcp_serves_the_tools_of_the_token() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    let root = token(&place, &operator, &["--role", "root", "--agent", "coder"]);
    let requests = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "t", "version": "0" },
        } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
            "name": "issue", "arguments": { "action": "create", "title": "From MCP" },
        } }),
        json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {
            "name": "gate_list", "arguments": {},
        } }),
    ];
    let mut mcp = place
        .bare(["mcp", "--db", &served.url])
        .env("PUNCHLIST_PROJECT", "test")
        .with(&root)
        .spawn();
    let mut input = mcp.stdin.take().unwrap();
    let mut lines = BufReader::new(mcp.stdout.take().unwrap()).lines();
    let mut answers = Vec::new();
    for request in requests {
        writeln!(input, "{request}").unwrap();
        while request.get("id").is_some() {
            let line = lines.next().unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            // Changes are announced in between.
            if message.get("method").is_none() {
                answers.push(message);
                break;
            }
        }
    }
    drop(input);
    assert!(mcp.wait().unwrap().success());
    let tools = answers[1]["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "todo"), "{tools:?}");
    let made = &answers[2]["result"]["structuredContent"]["issue"];
    assert_eq!((&made["number"], &made["createdBy"]), (&json!(1), &json!("root:coder")));
    let refused = &answers[3]["result"];
    assert_eq!(refused["structuredContent"]["error"]["code"], "not_permitted", "{refused}");
}

/// Paths in HTTP requests are only texts: the server opens no file for them.
#[test]
fn server_opens_no_file_that_a_client_names() {
    let place = Place::sqlite();
    std::fs::write(place.home().join("secret.md"), "# Secret\n- [ ] hidden\n").unwrap();
    let served = Served::start(&place);
    let import = |input: &Value| served.post("plan_import", input).refusal();
    assert_eq!(import(&json!({ "planFile": "secret.md" })), (400, "missing_field".to_owned()));
    let path = place.home().join("secret.md").display().to_string();
    let absolute = json!({ "planFile": path, "markdown": "# X\n- [ ] y\n" });
    assert_eq!(import(&absolute), (400, "bad_value".to_owned()));
    let dots = json!({ "planFile": "../../x.md", "markdown": "# X\n- [ ] y\n" });
    assert_eq!(import(&dots), (400, "bad_value".to_owned()));
    // The client reads its own file and sends it.
    let sent = over(&place, &served, &["plan", "import", "secret.md"]).answer();
    assert_eq!(sent["changes"]["added"], 2);
}

on_every_lasting_store!(
    hooks_govern_a_session_over_a_server,
    a_tree_is_watched_over_a_server,
    a_request_is_repeated_if_the_server_restarts_in_the_middle,
    the_log_is_followed_across_a_restart
);
