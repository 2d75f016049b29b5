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

/// Its memory after it has listed its tools and made some calls.
pub(crate) fn idle(programs: &Path) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let mut server = Server::start(&programs.join("punch"), &folder.path().join("punch.db"))?;
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

/// The same writes at `/mcp` and at `/v1`, measured in turns.
pub(crate) fn over_http(programs: &Path, writes: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let (mut at_mcp, mut at_v1) = (0.0_f64, 0.0_f64);
    for round in 0..3 {
        let store = folder.path().join(format!("punch{round}.db"));
        let served = Served::start(&programs.join("punch"), &store)?;
        served.connect()?.create("the first")?;
        at_v1 += rate(&served, writes, |n| creation(&format!("Issue {round} {n}")), |_| Ok(()))?;
        at_mcp += rate(
            &served,
            writes,
            |n| call(round, n),
            |answer| {
                ensure!(answer.contains("\"isError\":false"), "{answer}");
                Ok(())
            },
        )?;
    }
    let (at_mcp, at_v1) = (at_mcp / 3.0, at_v1 / 3.0);
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
    let arguments = json!({ "title": format!("Issue {round} {n} by MCP"), "forceNew": true });
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let params = json!({ "name": "issue_create", "arguments": arguments, "_meta": meta });
    let message = json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params });
    let headers = "Accept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: issue_create\r\n";
    request("POST", "/mcp", headers, &message.to_string())
}
