//! Our own client against our own server: an agent's tools over MCP, from the real binary.

use punchlist_engine::model::Cancel;
use punchlist_engine::tools::AgentTools;
use punchlist_ops::config::{Config, Origin};
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::json;

use crate::support::{PUNCH, Place};

/// The tools of a configured MCP server are listed, called and refused like our own.
fn a_server_of_ours_serves_our_client(backend: Backend) {
    let place = Place::new(backend);
    let words = [PUNCH, "mcp", "--db", &place.db(), "--project", "test", "--profile", "all"];
    let table = format!(
        "[mcp.punch]\ncommand = {}\ntools = [\"issue*\", \"gate_*\", \"status\"]\n",
        json!(words)
    );
    let config = Config::default().read(&table, Origin::Project, place.home()).unwrap();
    let boxed = AgentTools::new(&config, None, place.home());
    let cancel = Cancel::default();
    let listed = boxed.list(&cancel, &|_, _| true);
    assert_eq!(boxed.faults(), Vec::<String>::new());
    let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.contains(&"mcp__punch__issue_create"), "{names:?}");
    assert!(!names.contains(&"mcp__punch__gate_answer"), "its caller is an agent: {names:?}");
    assert!(!names.contains(&"mcp__punch__todo"), "not let through: {names:?}");
    let made =
        boxed.call("mcp__punch__issue_create", &json!({ "title": "Over the wire" }), &cancel);
    assert!(!made.is_error, "{made:?}");
    assert!(made.text.contains("#1") && made.text.contains("Over the wire"), "{made:?}");
    let issues = place.punch(["call", "issue_list", "--json"]).answer();
    assert_eq!(issues["issues"][0]["title"], "Over the wire");
    let wrong = boxed.call("mcp__punch__issue_create", &json!({ "titel": "x" }), &cancel);
    assert!(wrong.is_error && wrong.text.contains("did you mean `title`?"), "{wrong:?}");
    let about = |tool: &str| boxed.about(tool).unwrap().mutates;
    assert!(about("mcp__punch__issue_create") && !about("mcp__punch__issue_show"));
}

on_every_lasting_store!(a_server_of_ours_serves_our_client);
