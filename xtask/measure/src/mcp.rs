//! MCP: how fast `punch mcp` answers, how much memory it needs while idle, and calls at `/mcp`
//! against the same calls at `/v1`.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use crate::checklist::{SESSION, Server};
use crate::http::{CONNECTIONS, Served, creation, rate, request};
use crate::table::{Line, Target, median, shown};

/// The time from the start of the process to its answer to `initialize`, in an existing store.
pub(crate) fn start(programs: &Path, rounds: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let (punch, store) = (programs.join("punch"), folder.path().join("punch.db"));
    Server::start(&punch, &store)?.end()?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        let server = Server::start(&punch, &store)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        server.end()?;
    }
    let time = median(times);
    Ok(Line {
        what: "`punch mcp`, from its start to the answer to `initialize`, median".into(),
        ours: shown(time),
        reference: "in ms".into(),
        value: time / 1_000.0,
        target: Target::AtMost(60.0),
    })
}

/// Its memory after it has listed its tools and made some calls, in an existing store.
pub(crate) fn idle(programs: &Path) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let (punch, store) = (programs.join("punch"), folder.path().join("punch.db"));
    Server::start(&punch, &store)?.end()?;
    let mut server = Server::start(&punch, &store)?;
    server.call("session_start", &json!({ "title": "bench", "externalId": SESSION }))?;
    server.request("tools/list", &json!({}))?;
    for n in 0..20 {
        let input = json!({ "action": "create", "title": format!("Issue {n}"), "forceNew": true });
        server.call("issue", &input)?;
    }
    server.request("resources/list", &json!({}))?;
    // The check for changes runs a moment later.
    thread::sleep(Duration::from_secs(1));
    let mib = server.resident()?;
    server.end()?;
    Ok(Line {
        what: "`punch mcp` while it idles, resident".into(),
        ours: format!("{mib:.1} MiB"),
        reference: "in MiB".into(),
        value: mib,
        target: Target::AtMost(16.0),
    })
}

/// How often the writes at `/mcp` are compared with those at `/v1`.
const TURNS: usize = 7;

/// The same writes at `/mcp` and at `/v1`, in turns on one server. The two take turns to be first,
/// because the store grows, and the median turn counts.
pub(crate) fn over_http(programs: &Path, writes: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let served = Served::start(&programs.join("punch"), &folder.path().join("punch.db"))?;
    served.connect()?.create("the first")?;
    let at_v1 =
        |turn: usize| rate(&served, writes, |n| creation(&format!("Issue {turn} {n}")), |_| Ok(()));
    let at_mcp = |turn: usize| {
        let done = |answer: &str| {
            ensure!(answer.contains("\"isError\":false"), "{answer}");
            Ok(())
        };
        rate(&served, writes, |n| call(turn, n), done)
    };
    let mut measured = Vec::new();
    for turn in 0..TURNS {
        let (mcp, v1) = match turn % 2 {
            0 => {
                let v1 = at_v1(turn)?;
                (at_mcp(turn)?, v1)
            }
            _ => (at_mcp(turn)?, at_v1(turn)?),
        };
        measured.push((mcp, v1));
    }
    measured.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let (at_mcp, at_v1) = measured[TURNS / 2];
    Ok(Line {
        what: format!("`tools/call issue_create` at `/mcp` on {CONNECTIONS} connections"),
        ours: format!("{at_mcp:.0}/s"),
        reference: format!("{at_v1:.0}/s `POST /v1/issue_create`"),
        value: at_mcp / at_v1,
        target: Target::AtLeast(0.8),
    })
}

/// The request of a tool call that creates an issue.
fn call(round: usize, n: usize) -> String {
    let arguments = json!({ "title": format!("Issue {round} {n}"), "forceNew": true });
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let params = json!({ "name": "issue_create", "arguments": arguments, "_meta": meta });
    let message = json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params });
    let headers = "Accept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: issue_create\r\n";
    request("POST", "/mcp", headers, &message.to_string())
}
