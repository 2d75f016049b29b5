//! The MCP inspector, over both transports and in both eras: single requests, and a connection that
//! stays, with a user who is asked.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::desk::PUNCH;
use crate::mcp::{ISSUE_TOOLS, LEGACY, Room, node};

const ERAS: [&str; 2] = [LEGACY, "modern"];
const ISSUE: &str = "punchlist://test/issue/1";

/// Sends one request with the inspector. Returns its output.
fn inspected(room: &Room, era: &str, token: Option<&str>, words: &[&str]) -> Value {
    let launcher = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let mut inspector = node(launcher);
    // An option that takes several values would also consume the server's arguments.
    inspector.arg("--cli").args(words).env("HOME", room.home.path());
    match &room.served {
        Some((_, url)) => {
            inspector.args(["--protocol-era", era, "--transport", "http", "--server-url", url]);
            inspector.args(["--header", "Punchlist-Project: test"]);
            if let Some(token) = token {
                inspector.args(["--header", &format!("Authorization: Bearer {token}")]);
            }
        }
        None => {
            if let Some(token) = token {
                inspector.args(["-e", &format!("PUNCHLIST_TOKEN={token}")]);
            }
            inspector.args([
                "--protocol-era",
                era,
                PUNCH,
                "--db",
                &room.store(),
                "--project",
                "test",
                "mcp",
            ]);
        }
    }
    let output = inspector.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}\n{errors}");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}\n{errors}"))
}

/// One request each: lists, calls, reads, prompts, and answers a gate as the operator. Here the
/// inspector has no user, so it is not asked itself.
fn the_inspector_finds_its_way(room: &Room, era: &str) {
    let look = |words: &[&str]| inspected(room, era, None, words);
    let tools = look(&["--method", "tools/list"]);
    let names: Vec<&Value> =
        tools["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ISSUE_TOOLS);
    let create = ["--tool-arg", "action=create", "--tool-arg", "title=Looked at"];
    let call = [&["--method", "tools/call", "--tool-name", "issue"], create.as_slice()].concat();
    assert_eq!(look(&call)["structuredContent"]["issue"]["number"], 1);
    let read = look(&["--method", "resources/read", "--uri", "punchlist://test/issue/1"]);
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("Looked at"), "{read}");
    assert_eq!(look(&["--method", "prompts/list"])["prompts"].as_array().unwrap().len(), 4);
    let ask = ["--method", "tools/call", "--tool-name", "ask", "--tool-arg", "question=Now?"];
    let asked = look(&ask);
    assert_eq!(asked["structuredContent"]["state"], "open", "{asked}");
    let gate = format!("gateId={}", asked["structuredContent"]["gateId"].as_str().unwrap());
    let answer = [
        "--method",
        "tools/call",
        "--tool-name",
        "gate_answer",
        "--tool-arg",
        &gate,
        "--tool-arg",
        "decision=resume",
        "--tool-arg",
        "response=yes",
    ];
    let answered = inspected(room, era, Some(&room.operator), &answer);
    assert_eq!(answered["structuredContent"]["gate"]["state"], "resumed", "{answered}");
}

#[test]
fn the_inspector_finds_its_way_over_both_transports_in_both_eras() {
    for era in ERAS {
        the_inspector_finds_its_way(&Room::new(), era);
        the_inspector_finds_its_way(&Room::served(), era);
    }
}

/// A connection that a process of the inspector holds, and that its commands use.
struct Connection<'a> {
    room: &'a Room,
}

impl<'a> Connection<'a> {
    fn open(room: &'a Room, era: &str) -> Self {
        let server = match &room.served {
            Some((_, url)) => json!({ "type": "streamable-http", "url": url,
                "headers": { "Punchlist-Project": "test" } }),
            None => {
                let args = ["--db", &room.store(), "--project", "test", "mcp"];
                json!({ "command": PUNCH, "args": args, "env": { "HOME": room.home.path() } })
            }
        };
        let config = json!({ "mcpServers": { "punch": server } }).to_string();
        std::fs::write(room.home.path().join("inspector.json"), config).unwrap();
        let connection = Self { room };
        let opened =
            connection.say(&["--config", "inspector.json", "connect", "punch", "--era", era]);
        assert_eq!(opened["protocolEra"], era, "{opened}");
        connection
    }

    fn command(&self, words: &[&str]) -> Command {
        let inspector =
            "node_modules/@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js";
        let (home, mut command) = (self.room.home.path(), node(inspector));
        command.args(["--format", "json"]).args(words).current_dir(home).env("HOME", home);
        // The process belongs to this test alone.
        command.env("MCP_INSPECTOR_DAEMON_DIR", home.join("inspector"));
        command.env("MCP_INSPECTOR_DAEMON_TOKEN", "0123456789abcdef0123456789abcdef0123456789a");
        command.env("MCP_INSPECTOR_SECRET_STORE", "memory").stdin(Stdio::null());
        command
    }

    fn say(&self, words: &[&str]) -> Value {
        let output = self.command(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {said}\n{errors}");
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}\n{errors}"))
    }

    /// Subscribes, and hears of a change that somebody else makes.
    fn hears_of_a_change(&self) {
        let mut subscribe = self.command(&["@punch", "resources/subscribe", ISSUE]);
        let mut child = subscribe.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut hear = |word: &str| {
            let heard = lines.by_ref().map_while(Result::ok).find(|line| line.contains(word));
            assert!(heard.is_some(), "nothing was heard of {word}");
        };
        hear("subscribed");
        hear(ISSUE);
        let comment = json!({ "number": 1, "text": "Somebody was here" });
        let words = ["call", "issue_comment", &comment.to_string(), "--json"];
        self.room.punch(&words, Some(&self.room.operator));
        hear("resources/updated");
        hear(ISSUE);
        kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
        child.wait().unwrap();
    }

    /// The user is asked, and answers.
    fn answers_a_gate(&self) {
        let asked = self.say(&["@punch", "tools/call", "ask", "question:=Which port?"]);
        let pending = &asked["elicitationPending"];
        assert_eq!(pending["message"], "Which port?", "{asked}");
        let id = pending["elicitationId"].as_str().unwrap();
        let answer = self.say(&["@punch", "elicitation/respond", id, "answer:=\"8443\""]);
        let structure = &answer["structuredContent"];
        assert_eq!(structure["state"], "resumed", "{answer}");
        assert_eq!(structure["response"], "8443", "{answer}");
        let answers = self.room.answers();
        assert_eq!((answers.len(), &answers[0]["proof"]), (1, &json!("client")), "{answers:?}");
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        drop(self.command(&["daemon", "stop"]).output());
    }
}

#[test]
fn the_inspector_subscribes_and_answers_over_both_transports_in_both_eras() {
    for era in ERAS {
        for room in [Room::new(), Room::served()] {
            let connection = Connection::open(&room, era);
            let create = ["action:=create", "title:=Looked at"];
            connection.say(&[&["@punch", "tools/call", "issue"], create.as_slice()].concat());
            connection.hears_of_a_change();
            connection.answers_a_gate();
        }
    }
}
