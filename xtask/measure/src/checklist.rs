//! The checklist: a `todo` call through `punch mcp` against one durable commit, and a list of a
//! thousand items against one of a hundred, rendered and parsed.

use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use punchlist_core::issue::checklist;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::table::{Line, Target, median, shown};

/// The id of the session that the server is started for, as a host would give it.
pub(crate) const SESSION: &str = "bench";

/// The number of steps in the measured list, as in a typical plan of an agent.
const STEPS: usize = 20;

/// Measures calls and commits in turns, so that a busy disk affects both.
pub(crate) fn over_mcp(programs: &Path, rounds: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let mut server = Server::start(&programs.join("punch"), &folder.path().join("punch.db"))?;
    server.call("session_start", &json!({ "title": "bench", "externalId": SESSION }))?;
    let promote = json!({
        "session": SESSION, "title": "Measure it", "criteria": ["It is fast", "It is small"],
    });
    server.call("session_promote", &promote)?;
    let steps: Vec<String> = (0..STEPS).map(|n| format!("Step {n} of the plan")).collect();
    server.call("todo", &json!({ "action": "set", "items": steps }))?;
    let raw = Connection::open(folder.path().join("raw.db"))?;
    raw.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         CREATE TABLE rows (id INTEGER PRIMARY KEY, title TEXT NOT NULL)",
    )?;
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let step = &steps[round % STEPS];
        server.call("todo", &json!({ "action": "start", "content": step }))?;
        ours.push(server.took.as_secs_f64() * 1e6);
        let start = Instant::now();
        raw.execute("INSERT INTO rows (title) VALUES (?1)", [step])?;
        reference.push(start.elapsed().as_secs_f64() * 1e6);
    }
    server.end()?;
    let (ours, reference) = (median(ours), median(reference));
    Ok(Line {
        what: "a `todo` mutation through `punch mcp`, p50".into(),
        ours: shown(ours),
        reference: format!("{} raw durable commit", shown(reference)),
        value: ours / reference,
        target: Target::AtMost(2.0),
    })
}

/// Renders and parses lists of two sizes.
pub(crate) fn markdown(rounds: usize) -> Result<Line> {
    let (small, large) = (text(100), text(1_000));
    let (mut at_small, mut at_large) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        at_small.push(round_trip(&small)?);
        at_large.push(round_trip(&large)?);
    }
    let (at_small, at_large) = (median(at_small), median(at_large));
    Ok(Line {
        what: "a checklist of 1,000 items, parsed and rendered".into(),
        ours: shown(at_large),
        reference: format!("{} of 100", shown(at_small)),
        value: at_large / at_small,
        target: Target::AtMost(12.0),
    })
}

fn text(items: usize) -> String {
    let mut text = "# Criteria\n- [ ] It works\n".to_owned();
    for n in 0..items {
        if n % 20 == 0 {
            text.push_str(&format!("\n# Phase {}\n", n / 20));
        }
        text.push_str(&format!("- [x] Item {n} of the list\n  - note: it took {n} minutes\n"));
    }
    text
}

fn round_trip(text: &str) -> Result<f64> {
    let start = Instant::now();
    let lines = checklist::parse(black_box(text));
    let Ok(lines) = lines else { bail!("the list does not parse") };
    let again = checklist::render(&lines);
    let micros = start.elapsed().as_secs_f64() * 1e6;
    if again != text {
        bail!("the list does not come back as it was");
    }
    Ok(micros)
}

/// `punch mcp`, and a client that sends one line per message.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
    /// The time of the last request, from its first byte to the end of its answer. The client parses
    /// it afterwards.
    took: Duration,
}

impl Server {
    pub(crate) fn start(punch: &Path, store: &Path) -> Result<Self> {
        let mut child = Command::new(punch)
            .args(["mcp", "--project", "bench", "--session", SESSION, "--db"])
            .arg(store)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("punch mcp starts")?;
        let input = child.stdin.take().context("its input")?;
        let output = BufReader::new(child.stdout.take().context("its output")?);
        let mut server = Self { child, input, output, id: 0, took: Duration::ZERO };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        server.request("initialize", &hello)?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(server.input, "{ready}")?;
        Ok(server)
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.id += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        let (message, mut line) = (format!("{message}\n"), String::new());
        let start = Instant::now();
        // Use a single write, so that the server reads the message at once.
        self.input.write_all(message.as_bytes())?;
        loop {
            line.clear();
            self.output.read_line(&mut line)?;
            self.took = start.elapsed();
            let mut answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == self.id {
                return Ok(answer["result"].take());
            }
            // It may be a notification.
            if answer.get("method").is_none() {
                bail!("not an answer to {method}: {line}");
            }
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        let params = json!({ "name": tool, "arguments": arguments });
        let result = self.request("tools/call", &params)?;
        if result["isError"] != false {
            bail!("{tool} was refused: {result}");
        }
        Ok(())
    }

    /// Its resident memory, in MiB.
    pub(crate) fn resident(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: f64 = line.context("VmRSS")?.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    }

    pub(crate) fn end(mut self) -> Result<()> {
        drop(self.input);
        self.child.wait()?;
        Ok(())
    }
}
