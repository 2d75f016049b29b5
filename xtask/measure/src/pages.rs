//! The pages: the time to the first byte of each in a small store and in a large one, the size of
//! the assets, and the time from an event to an open page in a browser.

use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::http::{Connection, Served};
use crate::reads::filled;
use crate::table::{Line, Target, median, shown};

const SMALL: usize = 1_000;
const ISSUES: usize = 50;

/// How often all pages are measured in turn, on new connections. A machine that slows down for some
/// seconds then slows down all of them, and `/healthz`, alike.
const PASSES: usize = 10;

/// The script that opens a page in a browser. xtask passes its path and everything it needs.
const SCRIPT: &str = "PUNCHLIST_BROWSER_LATENCY";

/// A store with data on every page, a server on it, and a signed-in user.
struct Site {
    served: Served,
    cookie: String,
    paths: Vec<String>,
}

pub(crate) fn measure(programs: &Path, large: usize, rounds: usize) -> Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let punch = programs.join("punch");
    let small = Site::start(&punch, &folder.path().join("small.db"), SMALL)?;
    let big = Site::start(&punch, &folder.path().join("large.db"), large)?;
    let mut healthy = Vec::new();
    let mut times = vec![(Vec::new(), Vec::new()); small.paths.len()];
    for _ in 0..PASSES {
        let (mut to_small, mut to_big) = (small.served.connect()?, big.served.connect()?);
        for _ in 0..rounds * 2 / PASSES {
            healthy.push(first_byte(&mut to_small, "/healthz", "")?);
        }
        for ((path, same), times) in small.paths.iter().zip(&big.paths).zip(&mut times) {
            for _ in 0..rounds.div_ceil(PASSES) {
                times.0.push(first_byte(&mut to_small, path, &small.cookie)?);
                times.1.push(first_byte(&mut to_big, same, &big.cookie)?);
            }
        }
    }
    let healthy = median(healthy);
    let (mut slowest, mut steepest) = (Vec::new(), Vec::new());
    for (path, (at_small, at_large)) in small.paths.iter().zip(times) {
        let (at_small, at_large) = (median(at_small), median(at_large));
        slowest.push((at_small / healthy, at_small, path));
        steepest.push((at_large / at_small, at_large, at_small, path));
    }
    let by_first = |a: f64, b: f64| a.total_cmp(&b);
    let (times, slow, path) =
        slowest.into_iter().max_by(|a, b| by_first(a.0, b.0)).context("there are pages")?;
    let first = Line {
        what: format!("the slowest page's first byte with {SMALL} todos (`{}`)", shape(path)),
        ours: shown(slow),
        reference: format!("{} /healthz", shown(healthy)),
        value: times,
        target: Target::AtMost(20.0),
    };
    let (times, at_large, at_small, path) =
        steepest.into_iter().max_by(|a, b| by_first(a.0, b.0)).context("there are pages")?;
    let large = Line {
        what: format!("the page that grows most, with {large} todos (`{}`)", shape(path)),
        ours: shown(at_large),
        reference: format!("{} with {SMALL}", shown(at_small)),
        value: times,
        target: Target::AtMost(1.5),
    };
    Ok(vec![first, large, assets(&small)?])
}

/// The time from a write's request to its text on a page that is open in a browser.
pub(crate) fn latency() -> Result<Line> {
    let script = std::env::var(SCRIPT).with_context(|| format!("{SCRIPT} is not set"))?;
    let output = Command::new("node")
        .arg(script)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("node")?;
    ensure!(output.status.success(), "the browser failed ({})", output.status);
    let text = String::from_utf8(output.stdout)?;
    let answer: Value = serde_json::from_str(text.lines().last().context("an answer")?)?;
    let median = answer["medianMs"].as_f64().context("medianMs")?;
    Ok(Line {
        what: "an event is on an open page, in Chromium".into(),
        ours: format!("{median:.0} ms"),
        reference: "250 ms".into(),
        value: median / 250.0,
        target: Target::AtMost(1.0),
    })
}

impl Site {
    fn start(punch: &Path, store: &Path, todos: usize) -> Result<Self> {
        drop(filled(store, todos)?);
        let served = Served::start(punch, store)?;
        let command = |words: &[&str], token: &str| -> Result<Value> {
            let mut command = Command::new(punch);
            command.args(words).args(["--json", "--db"]).arg(store).stdin(Stdio::null());
            command.env_remove("PUNCHLIST_TOKEN").env("PUNCHLIST_PROJECT", "bench");
            if !token.is_empty() {
                command.env("PUNCHLIST_TOKEN", token);
            }
            let output = command.stderr(Stdio::inherit()).output()?;
            ensure!(output.status.success(), "punch {words:?} failed");
            Ok(serde_json::from_slice(&output.stdout)?)
        };
        let made = command(&["token", "new", "--role", "operator"], "")?;
        let token = made["token"].as_str().context("a token")?.to_owned();
        let link = command(&["open", "--print"], &token)?;
        let link = link["url"].as_str().context("a link")?;
        let code = link.rsplit_once("code=").context("a code")?.1;
        let cookie = sign_in(&mut served.connect()?, code)?;
        let paths = fill(&mut served.connect()?, &token)?;
        Ok(Self { served, cookie, paths })
    }
}

/// Follows a sign-in link. Returns the header of a signed-in user.
fn sign_in(connection: &mut Connection, code: &str) -> Result<String> {
    let head = connection.head(&format!("/sign-in?code={code}"), "")?;
    let cookie = head.iter().find_map(|line| line.strip_prefix("set-cookie: punchlist_session="));
    let value = cookie.and_then(|cookie| cookie.split(';').next()).context("a cookie")?;
    Ok(format!("Cookie: punchlist_session={value}\r\n"))
}

/// Creates data for every page. Returns their paths.
fn fill(connection: &mut Connection, token: &str) -> Result<Vec<String>> {
    let headers = format!("Authorization: Bearer {token}\r\n");
    let mut call = |operation: &str, input: Value| -> Result<Value> {
        let path = format!("/v1/{operation}");
        let answer = connection.ask("POST", &path, &headers, &input.to_string())?;
        Ok(serde_json::from_str(&answer)?)
    };
    for n in 0..ISSUES {
        let title = format!("Issue {n}");
        let criteria = ["It works", "A test covers it"];
        call("issue_create", json!({ "title": title, "criteria": criteria, "forceNew": true }))?;
    }
    let sent = call("session_send_to_agent", json!({ "number": 1 }))?;
    let session = sent["session"]["id"].as_str().context("a session")?.to_owned();
    let metric = json!({ "name": "Time", "slug": "time", "type": "count",
        "target": { "operator": "<", "value": 60, "warningThreshold": 90 } });
    let pillars = json!([{ "name": "Speed", "slug": "speed", "metrics": [metric] }]);
    call("mission_init", json!({ "name": "Bench", "slug": "bench", "pillars": pillars }))?;
    for value in 0..30 {
        call("metric_record", json!({ "mission": "bench", "metric": "time", "value": value }))?;
    }
    let mut todo = String::new();
    for n in 0..8 {
        let made = call(
            "mission_todo_create",
            json!({ "missionSlug": "bench", "pillarSlug": "speed", "title": format!("Todo {n}"),
                "justification": "It is slow", "completionCriteria": "It is fast" }),
        )?;
        todo = made["todo"]["id"].as_str().context("a todo")?.to_owned();
    }
    let tasks: String = (0..40).map(|n| format!("- [ ] Task {n}\n")).collect();
    call("plan_import", json!({ "planFile": "plan.md", "markdown": format!("# Plan\n{tasks}") }))?;
    let below = ["", "/inbox", "/issues", "/issues?view=board", "/issues/1", "/missions"];
    let further = ["/missions/bench", "/plans", "/plans/plan.md", "/agents", "/activity"];
    let started =
        call("run_start", json!({ "prompt": "Make it fast", "model": "scripted:none.toml" }))?;
    let run = started["run"]["id"].as_str().context("a run")?.to_owned();
    let own = [format!("/sessions/{session}"), format!("/todos/{todo}"), format!("/runs/{run}")];
    let named = below.iter().chain(&further).map(|path| (*path).to_owned()).chain(own);
    let paths = named.map(|path| format!("/p/bench{path}"));
    Ok(std::iter::once("/".to_owned()).chain(paths).collect())
}

/// The time to the first byte, in microseconds. The rest is read and discarded.
fn first_byte(connection: &mut Connection, path: &str, cookie: &str) -> Result<f64> {
    let start = Instant::now();
    let (micros, length) = connection.send(path, cookie, start)?;
    std::io::copy(&mut connection.reader.by_ref().take(length), &mut std::io::sink())?;
    Ok(micros)
}

/// The size of everything a page loads besides itself, as it is sent.
fn assets(site: &Site) -> Result<Line> {
    let mut connection = site.served.connect()?;
    let page = connection.ask("GET", "/", &site.cookie, "")?;
    let mut found: Vec<&str> = page
        .match_indices("\"/assets/")
        .filter_map(|(at, _)| page[at + 1..].split('"').next())
        .collect();
    found.sort_unstable();
    found.dedup();
    let mut bytes = 0;
    for path in &found {
        bytes += connection.ask("GET", path, "", "")?.len();
    }
    let kib = bytes as f64 / 1024.0;
    Ok(Line {
        what: format!("{} assets together, not compressed, KiB", found.len()),
        ours: format!("{kib:.1} KiB"),
        reference: "–".into(),
        value: kib,
        target: Target::AtMost(100.0),
    })
}

/// A path without the ids in it.
fn shape(path: &str) -> String {
    let is_id = |part: &str| part.len() == 26 && part.chars().all(|c| c.is_ascii_alphanumeric());
    let parts: Vec<&str> =
        path.split('/').map(|part| if is_id(part) { "…" } else { part }).collect();
    parts.join("/")
}

impl Connection {
    /// The header lines of a response, with names in lower case.
    fn head(&mut self, path: &str, headers: &str) -> Result<Vec<String>> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        self.reader.get_mut().write_all(request.as_bytes())?;
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            match line.trim_end() {
                "" => return Ok(lines),
                line => lines.push(line.to_owned()),
            }
        }
    }

    /// Requests a page. Returns the time to its first byte and the number of remaining bytes.
    fn send(&mut self, path: &str, headers: &str, start: Instant) -> Result<(f64, u64)> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        self.reader.get_mut().write_all(request.as_bytes())?;
        ensure!(!self.reader.fill_buf()?.is_empty(), "{path}: the connection ended");
        let micros = start.elapsed().as_secs_f64() * 1e6;
        let (mut line, mut length) = (String::new(), 0);
        self.reader.read_line(&mut line)?;
        ensure!(line.contains(" 200 "), "{path}: {line}");
        while line != "\r\n" {
            line.clear();
            self.reader.read_line(&mut line)?;
            if let Some(bytes) = line.strip_prefix("content-length: ") {
                length = bytes.trim().parse()?;
            }
        }
        Ok((micros, length))
    }
}
