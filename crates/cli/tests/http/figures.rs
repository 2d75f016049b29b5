//! What `/metrics` says about runs, models, gates and work that waits, and about calls that did not
//! come by `/v1`.

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::json;

use crate::browser::Browser;
use crate::serving::Served;
use crate::support::Place;

const STEPS: &str = r#"
[[steps]]
text = "I plan."
usage = { input = 1200, output = 40 }
[[steps.calls]]
tool = "create_todo"
save = "plan"
input.items = [ { title = "look" } ]
[[steps]]
usage = { input = 800, output = 10 }
[[steps.calls]]
tool = "complete_todo"
input.todoId = "{{plan.created.0.id}}"
input.outcome = "seen"
[[steps]]
text = "Done."
"#;

const CONFIGURATION: &str = r#"
[agents.coder]
model = "scripted:steps.toml"
[prices."scripted:steps.toml"]
input_per_mtok = 2.0
output_per_mtok = 100.0
"#;

/// The line of a figure, by its name and labels.
fn figure(served: &Served, operator: &str, name: &str) -> Option<String> {
    let bearer = format!("Bearer {operator}");
    let reply = served.ask("GET", "/metrics", &[("Authorization", bearer.as_str())], "");
    let text = String::from_utf8(reply.body).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(&format!("punchlist_{name} ")));
    value.map(str::to_owned)
}

fn metrics_tell_what_ran_and_what_waits(backend: Backend) {
    let place = Place::new(backend);
    let operator = place.operator();
    std::fs::write(place.home().join("steps.toml"), STEPS).unwrap();
    let folder = place.home().join(".config/punchlist");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("punchlist.toml"), CONFIGURATION).unwrap();
    let run = place.punch(["run", "Do it", "--with", "coder", "--json"]);
    let ran = run.without_env("PUNCHLIST_NOW").answer();
    assert_eq!(ran["usage"]["inputTokens"], 2000, "{ran}");
    let question = json!({ "question": "Which port?", "options": ["80", "443"] });
    let asked = place.call("ask", &question).answer();
    let work = json!({ "type": "coder", "mission": "Fix it", "async": true });
    place.call("delegate", &work).answer();
    let serve = place.punch(["serve", "--listen", "127.0.0.1:0", "--jobs", "0", "--json"]);
    // A minute and a half after the question.
    let served = Served::run(&serve.env("PUNCHLIST_NOW", "2026-11-15T08:01:30Z"));
    let model = "model=\"scripted:steps.toml\"";
    let is = |name: &str, value: &str| {
        let found = figure(&served, &operator, name);
        assert_eq!(found.as_deref(), Some(value), "{name}");
    };
    is("runs{state=\"ended\"}", "1");
    is(&format!("model_tokens_total{{{model},direction=\"input\"}}"), "2000");
    is(&format!("model_tokens_total{{{model},direction=\"output\"}}"), "50");
    let cost = figure(&served, &operator, &format!("model_cost_usd_total{{{model}}}")).unwrap();
    assert!((cost.parse::<f64>().unwrap() - 0.009).abs() < 1e-9, "{cost}");
    is("open_gates", "1");
    is("oldest_open_gate_seconds", "90");
    is("queue_depth", "1");
    is("commits_total", "0");

    // A tool of `/mcp`, a form of a page and a refusal count like calls of `/v1`.
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let call = |arguments| {
        let params = json!({ "name": "issue", "arguments": arguments, "_meta": meta });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = [
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "issue"),
            ("Punchlist-Project", "test"),
        ];
        let reply = served.ask("POST", "/mcp", &headers, &call.to_string());
        assert_eq!(reply.status, 200, "{reply:?}");
    };
    call(json!({ "action": "create", "title": "By a tool" }));
    call(json!({ "action": "view", "number": 99 }));
    is("requests_total{operation=\"issue\",status=\"200\"}", "1");
    is("requests_total{operation=\"issue\",status=\"404\"}", "1");
    is("commits_total", "1");
    let browser = Browser::of(&served, &place, &operator);
    let key = format!("answer-{}", asked["gateId"].as_str().unwrap());
    let done = browser.send(&browser.follow("/"), &key, &[("option", "\"443\"")]);
    assert_eq!(done.status, 200, "{}", done.words());
    is("requests_total{operation=\"gate_answer\",status=\"200\"}", "1");
    is("commits_total", "2");
    is("open_gates", "0");
    is("oldest_open_gate_seconds", "0");
}

on_every_lasting_store!(metrics_tell_what_ran_and_what_waits);
