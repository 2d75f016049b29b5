//! The session of a command, a server or a hook: always the one that the host proves, never that of
//! the folder.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use super::{answer, hook};
use crate::support::Place;

/// A host process: a shell that runs each given line and reports when it is done.
struct Host {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Host {
    fn new(place: &Place) -> Self {
        let mut command = place.punch(["status"]).env("PUNCHLIST_DB", place.db()).command();
        let mut shell = std::process::Command::new("sh");
        shell.env_clear().envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))));
        shell.current_dir(place.home());
        command.stdin(Stdio::null());
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = shell.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    /// Runs `punch` with these words as a child of this host. Returns its output.
    fn punch(&mut self, words: &str, stdin: &str) -> String {
        let punch = crate::support::PUNCH;
        let line = format!("printf '%s' '{stdin}' | {punch} {words} 2>&1; echo; echo END\n");
        self.stdin.write_all(line.as_bytes()).unwrap();
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "{said}");
            if line == "END\n" {
                return said.trim().to_owned();
            }
            if !line.starts_with("note: ") {
                said.push_str(&line);
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Three agents in one folder, each with its own issue: none writes to another's issue.
#[test]
fn three_agents_in_one_folder_never_write_into_each_others_issue() {
    for backend in [Backend::SqliteFile, Backend::Postgres] {
        let place = Place::new(backend);
        for title in ["First", "Second", "Third"] {
            place.punch(["issue", "new", title, "--json"]).answer();
        }
        let mut hosts: Vec<Host> = (0..3).map(|_| Host::new(&place)).collect();
        for (at, host) in hosts.iter_mut().enumerate() {
            let start = json!({ "session_id": format!("s{at}"), "source": "startup" });
            host.punch("hook claude session-start", &start.to_string());
            let bound = host.punch(&format!("session bind {}", at + 1), "");
            assert!(bound.contains(&format!("issue #{}", at + 1)), "{bound}");
        }
        for round in 0..2 {
            for (at, host) in hosts.iter_mut().enumerate() {
                let added = host.punch(&format!("todo add 'step {round} of {at}'"), "");
                assert!(added.contains(&format!("#{}:", at + 1)), "{added}");
            }
        }
        for number in 1..=3 {
            let shown = place.punch(["issue", "show", &number.to_string(), "--json"]).answer();
            let steps: Vec<&str> = shown["steps"]
                .as_array()
                .unwrap()
                .iter()
                .map(|step| step["content"].as_str().unwrap())
                .collect();
            let own = [format!("step 0 of {}", number - 1), format!("step 1 of {}", number - 1)];
            assert_eq!(steps, own);
        }
    }
}

/// At each call, a host's server finds the session of its host's newest hook. A server without a
/// host has a session of its own.
#[test]
fn a_server_is_in_the_session_of_its_host_or_in_its_own() {
    let place = Place::sqlite();
    place.punch(["issue", "new", "First", "--json"]).answer();
    let call = |tool: &str, arguments: Value| {
        let init = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" } } });
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        format!("{init}\n{ready}\n{call}\n")
    };
    let last = |said: &str| -> Value {
        let line = said.lines().rev().find(|line| line.contains("\"id\":2")).unwrap();
        serde_json::from_str::<Value>(line).unwrap()["result"].clone()
    };
    let todos = call("todo_write", json!({ "todos": [{ "content": "Mine" }] }));
    let ran = place.punch(["mcp", "--profile", "all"]).stdin(todos.clone()).run();
    assert_ne!(last(&ran.stdout)["isError"], true, "{ran:?}");
    let sessions = place.punch(["session", "list", "--json"]).answer();
    let own = &sessions["sessions"][0];
    assert!(own["externalId"].as_str().unwrap().starts_with("mcp-"), "{own}");

    let mut host = Host::new(&place);
    host.punch("hook codex session-start", r#"{"session_id":"c1"}"#);
    let said = host.punch("mcp --profile all", &todos);
    assert_ne!(last(&said)["isError"], true, "{said}");
    let list = place.punch(["call", "todo_read", "{}", "--session", "c1", "--json"]).answer();
    assert_eq!(list["todos"][0]["content"], "Mine");
}

/// One process has several sessions, and nothing says which is meant: the call is refused, and
/// nothing is written.
#[test]
fn several_sessions_of_one_process_are_ambiguous() {
    let place = Place::sqlite();
    place.punch(["issue", "new", "First", "--json"]).answer();
    let mut host = Host::new(&place);
    for id in ["a", "b"] {
        host.punch("hook opencode session-start", &json!({ "session_id": id }).to_string());
    }
    let said: Value = serde_json::from_str(&host.punch("session bind 1 --json", "")).unwrap();
    assert_eq!(said["error"]["code"], "session_ambiguous", "{said}");
    // An issue needs no session.
    let filed: Value = serde_json::from_str(&host.punch("issue new Second --json", "")).unwrap();
    assert_eq!(filed["issue"]["number"], 2, "{filed}");
    let named: Value =
        serde_json::from_str(&host.punch("session bind 1 --session a --json", "")).unwrap();
    assert_eq!(named["session"]["externalId"], "a");
    // An ended session is not a candidate.
    host.punch("hook opencode session-end", r#"{"session_id":"a"}"#);
    let bound: Value = serde_json::from_str(&host.punch("session bind 1 --json", "")).unwrap();
    assert_eq!(bound["session"]["externalId"], "b", "{bound}");
}

/// In a host with one session at a time, a cleared session replaces the previous one.
#[test]
fn a_cleared_session_replaces_the_one_before() {
    let place = Place::sqlite();
    place.punch(["issue", "new", "First", "--json"]).answer();
    let mut host = Host::new(&place);
    host.punch("hook claude session-start", r#"{"session_id":"a","source":"startup"}"#);
    host.punch("hook claude session-start", r#"{"session_id":"b","source":"clear"}"#);
    let bound: Value = serde_json::from_str(&host.punch("session bind 1 --json", "")).unwrap();
    assert_eq!(bound["session"]["externalId"], "b", "{bound}");
}

/// The host's variable counts if no hook has fired; a hook of the process takes precedence.
#[test]
fn a_hook_of_the_process_takes_precedence_over_the_hosts_variable() {
    let place = Place::sqlite();
    for id in ["old", "new"] {
        let start = json!({ "externalId": id, "host": "claude" }).to_string();
        place.punch(["call", "session_start", &start, "--json"]).answer();
    }
    let shown = |place: &Place| {
        let show = place.punch(["session", "show", "--json"]).env("CLAUDE_CODE_SESSION_ID", "old");
        show.answer()["session"]["externalId"].clone()
    };
    assert_eq!(shown(&place), "old");
    let start = json!({ "session_id": "new", "source": "startup" });
    answer(&hook(&place, "claude", "session-start", &start).run());
    assert_eq!(shown(&place), "new", "this test is the host process");
}

/// D-27: an issue that waits for a host goes to the first unbound session that starts there, and
/// only once.
#[test]
fn an_issue_that_was_sent_to_a_host_is_adopted_once() {
    for backend in [Backend::SqliteFile, Backend::Postgres] {
        let place = Place::new(backend);
        let secret = place.operator();
        place.punch(["issue", "new", "First", "--json"]).answer();
        let sent = place.punch(["issue", "send", "1", "Begin with the tests.", "--to", "claude"]);
        let sent = sent.words(["--json"]).with(&secret).answer();
        let id = sent["session"]["id"].clone();
        // Another host's session does not get it.
        answer(&hook(&place, "codex", "session-start", &json!({ "session_id": "x1" })).run());
        let children: Vec<_> = (0..4)
            .map(|n| {
                let start = json!({ "session_id": format!("s{n}"), "source": "startup" });
                let mut child = hook(&place, "claude", "session-start", &start).spawn();
                child.stdin.take().unwrap().write_all(start.to_string().as_bytes()).unwrap();
                child
            })
            .collect();
        let said: Vec<String> = children
            .into_iter()
            .map(|child| {
                let output = child.wait_with_output().unwrap();
                assert!(output.status.success());
                String::from_utf8(output.stdout).unwrap()
            })
            .collect();
        let told: Vec<&String> = said.iter().filter(|said| said.contains("Issue #1")).collect();
        assert_eq!(told.len(), 1, "{said:?}");
        assert!(told[0].contains("Begin with the tests."), "{told:?}");
        let sessions = place.punch(["session", "list", "--json"]).answer();
        let on_it: Vec<&Value> = sessions["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|session| session["boundIssue"] == 1)
            .collect();
        assert_eq!(on_it.len(), 1);
        assert_eq!(on_it[0]["id"], id, "the session that waited is the host's now");
    }
}
