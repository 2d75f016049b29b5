//! Valid configuration files, and every mistake in them.

use punchlist_core::Role;
use punchlist_core::delegation::Review;
use punchlist_core::run::Completion;

use super::drive::{DriveFlags, DriveSettings, Source};
use super::roster::ROOT_ONLY;
use super::*;
use crate::catalogue::find;

fn of(text: &str, origin: Origin) -> Result<Config, Misplaced> {
    Config::default().read(text, origin, Path::new("."))
}

fn project(text: &str) -> Result<Config, Misplaced> {
    of(text, Origin::Project)
}

/// The code, the message with its hint, and the line of an error.
fn wrong(text: &str, origin: Origin) -> (&'static str, String, usize) {
    let fault = of(text, origin).unwrap_err();
    let hint = fault.error.hint().unwrap_or_default();
    let words = format!("{} ({hint})", fault.error);
    (fault.error.code(), words, fault.place.map_or(0, |place| place.line))
}

/// S-3, S-7: every setting of an agent.
#[test]
fn every_setting_of_an_agent_is_read() {
    let text = r#"
        [agents.coder]
        model = "anthropic:claude-sonnet-5"
        role = "root"
        tools = ["todo_*", "delegate"]
        subagents = ["writer"]
        instructions = "Be brief."
        reasoning_effort = 2048
        completion = "verified"
        todo_review = "auto"
        todo_driven_execution = true
        max_todo_continuations = 20
        todo_continuation = "{count} left; next is {title}."
        todo_check_interval_ms = 1000
        max_iterations = 30
        max_tokens = 100000
    "#;
    let config = project(text).unwrap();
    let parse = |text| ToolPattern::parse(text).unwrap();
    let expected = AgentConfig {
        model: Some("anthropic:claude-sonnet-5".to_owned()),
        role: Some(Role::Root),
        tools: Some(vec![parse("todo_*"), parse("delegate")]),
        subagents: vec!["writer".to_owned()],
        instructions: Some("Be brief.".to_owned()),
        reasoning_effort: Some(Effort::Tokens(2048)),
        completion: Some(Completion::Verified),
        todo_review: Some(Review::Auto),
        todo_driven_execution: Some(true),
        max_todo_continuations: Some(20),
        todo_continuation: Some("{count} left; next is {title}.".to_owned()),
        todo_check_interval_ms: Some(1000),
        max_iterations: Some(30),
        max_tokens: Some(100_000),
    };
    assert_eq!(config.agents.get("coder"), Some(&expected));
    assert_eq!(config.origins["agents.coder"], Origin::Project);
    let (drive, _) = DriveSettings::resolve(Some(&expected), DriveFlags::default(), &|_| None);
    assert_eq!((drive.enabled, drive.max_continuations), (true, 20));
    assert_eq!((drive.check_interval_ms, drive.max_tokens), (1000, Some(100_000)));
    for by in [drive.enabled_by, drive.max_continuations_by, drive.max_iterations_by] {
        assert_eq!(by, Source::Agent);
    }
}

/// S-8: a bad value is refused with the name of its key and the expected value; an unknown key is
/// refused with the closest known one.
#[test]
fn every_wrong_value_is_refused_by_name() {
    let agent = |line: &str| format!("[agents.coder]\nmodel = \"ollama:x\"\n{line}\n");
    let tool = |line: &str| {
        format!("[tools.lint]\ncommand = [\"lint\"]\ndescription = \"Look.\"\n{line}\n")
    };
    let server = |line: &str| format!("[mcp.git]\ncommand = [\"git-mcp\"]\n{line}\n");
    let price = |line: &str| format!("[prices.\"ollama:x\"]\noutput_per_mtok = 1\n{line}\n");
    for (text, code, parts) in [
        (
            agent("max_todo_continuations = -1"),
            "bad_value",
            &["coder.max_todo_continuations", "0 to 1000"][..],
        ),
        (
            agent("max_todo_continuations = 1001"),
            "bad_value",
            &["coder.max_todo_continuations", "0 to 1000"],
        ),
        (
            agent("max_todo_continuations = \"ten\""),
            "wrong_type",
            &["coder.max_todo_continuations", "an integer"],
        ),
        (
            agent("max_todo_continuations = 1.5"),
            "wrong_type",
            &["coder.max_todo_continuations", "an integer"],
        ),
        (
            agent("todo_check_interval_ms = -5"),
            "bad_value",
            &["todo_check_interval_ms", "0 to 3600000"],
        ),
        (
            agent("todo_check_interval_ms = true"),
            "wrong_type",
            &["todo_check_interval_ms", "an integer"],
        ),
        (agent("max_iterations = 0"), "bad_value", &["max_iterations", "1 to 50"]),
        (agent("max_iterations = 51"), "bad_value", &["max_iterations", "1 to 50"]),
        (agent("max_tokens = 0"), "bad_value", &["agents.coder.max_tokens", "1 to"]),
        (agent("max_tokens = \"all\""), "wrong_type", &["agents.coder.max_tokens", "an integer"]),
        (agent("todo_driven_execution = 1"), "wrong_type", &["todo_driven_execution", "a boolean"]),
        (
            agent("todo_driven_execution = \"yes\""),
            "wrong_type",
            &["todo_driven_execution", "a boolean"],
        ),
        (agent("todo_review = \"never\""), "bad_value", &["todo_review", "auto, review"]),
        (
            agent("reasoning_effort = \"hard\""),
            "invalid_input",
            &["reasoning_effort", "medium, high"],
        ),
        (agent("reasoning_effort = -1"), "invalid_input", &["reasoning_effort", "medium, high"]),
        (
            agent("reasoning_effort = true"),
            "wrong_type",
            &["reasoning_effort", "a string or an integer"],
        ),
        (agent("role = \"boss\""), "bad_value", &["agents.coder.role", "operator, lead"]),
        (
            agent("todo_continuation = \" \""),
            "bad_value",
            &["coder.todo_continuation", "a continuation message"],
        ),
        (agent("tools = [\"a*b\"]"), "invalid_input", &["agents.coder.tools[0]", "whole name"]),
        (agent("tools = \"todo\""), "wrong_type", &["agents.coder.tools", "an array"]),
        (agent("subagents = [\"a.b\"]"), "bad_value", &["agents.coder.subagents", "one word"]),
        (
            agent("subagents = [\"coder\"]"),
            "bad_value",
            &["agents.coder.subagents", "below itself"],
        ),
        (
            agent("todo_driven_executoin = true"),
            "unknown_field",
            &["todo_driven_executoin", "`todo_driven_execution`"],
        ),
        (
            "[agents.coder]\nmodel = \"gpt-5\"\n".to_owned(),
            "bad_value",
            &["agents.coder.model", "anthropic"],
        ),
        (
            "[agents.coder]\nmodel = \"openai:\"\n".to_owned(),
            "bad_value",
            &["agents.coder.model", "PROVIDER:MODEL"],
        ),
        ("[agents.\"a b\"]\n".to_owned(), "bad_value", &["agents.a b", "one word"]),
        ("agents = 3\n".to_owned(), "wrong_type", &["agents", "[agents.NAME]"]),
        ("[agent.coder]\n".to_owned(), "unknown_field", &["agent", "`agents`"]),
        ("[zebra]\n".to_owned(), "unknown_field", &["zebra", "agents, tools, mcp, prices"]),
        ("[agents.coder\n".to_owned(), "invalid_toml", &[]),
        (
            "[tools.lint]\ncommand = [\"x\"]\n".to_owned(),
            "missing_field",
            &["tools.lint.description"],
        ),
        (
            "[tools.lint]\ndescription = \"x\"\n".to_owned(),
            "missing_field",
            &["tools.lint.command"],
        ),
        (
            "[tools.lint]\ncommand = []\ndescription = \"x\"\n".to_owned(),
            "missing_field",
            &["tools.lint.command"],
        ),
        (
            "[tools.lint]\ncommand = \"lint\"\ndescription = \"x\"\n".to_owned(),
            "wrong_type",
            &["tools.lint.command", "an array"],
        ),
        (
            "[tools.todo]\ncommand = [\"x\"]\ndescription = \"x\"\n".to_owned(),
            "bad_value",
            &["tools.todo", "catalogue"],
        ),
        (
            "[tools.mcp__x]\ncommand = [\"x\"]\ndescription = \"x\"\n".to_owned(),
            "bad_value",
            &["mcp__x", "tools of servers"],
        ),
        (
            "[tools.\"a b\"]\ncommand = [\"x\"]\ndescription = \"x\"\n".to_owned(),
            "bad_value",
            &["a b", "letters"],
        ),
        (tool("timeout = 60"), "wrong_type", &["tools.lint.timeout", "a string"]),
        (tool("timeout = \"soon\""), "bad_value", &["tools.lint.timeout", "1s to 1h"]),
        (tool("timeout = \"0s\""), "bad_value", &["tools.lint.timeout", "1s to 1h"]),
        (tool("timeout = \"2d\""), "bad_value", &["tools.lint.timeout", "1s to 1h"]),
        (tool("env = [\"A=b\"]"), "bad_value", &["tools.lint.env", "names of variables"]),
        (tool("env = [\"PUNCHLIST_TOKEN\"]"), "bad_value", &["tools.lint.env", "our own token"]),
        (
            tool("permission = \"maybe\""),
            "bad_value",
            &["tools.lint.permission", "allow", "deny", "ask"],
        ),
        (
            tool("permission = \"allow\""),
            "bad_value",
            &[
                "tools.lint.permission",
                "a project file grants nothing",
                "the user's file",
                "answer the gate",
            ],
        ),
        (
            tool("schema = { type = \"string\" }"),
            "bad_value",
            &["tools.lint.schema", "type = \"object\""],
        ),
        (
            tool("schema = { type = \"object\", required = 3 }"),
            "invalid_input",
            &["tools.lint.schema", "not a JSON Schema"],
        ),
        (tool("schema = \"x\""), "wrong_type", &["tools.lint.schema", "an object"]),
        (
            tool("schema_file = \"nowhere.json\""),
            "invalid_input",
            &["tools.lint.schema_file", "nowhere.json"],
        ),
        (
            tool("schema = {}\nschema_file = \"x\""),
            "invalid_input",
            &["tools.lint.schema_file", "not both"],
        ),
        (tool("mutate = true"), "unknown_field", &["tools.lint.mutate", "`mutates`"]),
        ("[mcp.git]\n".to_owned(), "missing_field", &["mcp.git.command"]),
        ("[mcp.a__b]\ncommand = [\"x\"]\n".to_owned(), "bad_value", &["mcp.a__b", "no __"]),
        (
            server("permission = \"allow\""),
            "bad_value",
            &["mcp.git.permission", "a project file grants nothing"],
        ),
        (server("url = \"http://127.0.0.1:1/mcp\""), "invalid_input", &["mcp.git.url", "command"]),
        (server("tools = [\"*x\"]"), "invalid_input", &["mcp.git.tools[0]", "whole name"]),
        (server("env = [\"PUNCHLIST_TOKEN\"]"), "bad_value", &["mcp.git.env", "our own token"]),
        (server("timeout = \"-1s\""), "bad_value", &["mcp.git.timeout", "1s to 1h"]),
        (price("input_per_mtok = -1"), "bad_value", &["prices.ollama:x.input_per_mtok", "0 to"]),
        (price("input_per_mtok = \"1\""), "wrong_type", &["input_per_mtok", "a number"]),
        (price(""), "missing_field", &["prices.ollama:x.input_per_mtok"]),
    ] {
        let (found, words, line) = wrong(&text, Origin::Project);
        assert_eq!(found, code, "{text}: {words}");
        for part in parts {
            assert!(words.contains(part), "{text}: {words}");
        }
        assert!(line > 0, "{text}: it points at a line");
    }
    let (_, _, line) = wrong(&agent("max_tokens = 0"), Origin::Project);
    assert_eq!(line, 3);
}

/// K-22: a subagent or a worker that lists a root agent's tool is refused, at the line of that
/// entry.
#[test]
fn a_subagent_cannot_list_the_tools_of_a_root() {
    let primary = "[agents.primary]\nsubagents = [\"coder\"]\ntools = [\"todo\", \"issue\"]\n";
    for tool in ROOT_ONLY {
        for text in [
            format!("{primary}[agents.coder]\ntools = [\"read\", \"{tool}\"]"),
            format!("{primary}[agents.coder]\nrole = \"root\"\ntools = [\"{tool}\"]"),
            format!("[agents.coder]\nrole = \"worker\"\ntools = [\"{tool}\"]"),
        ] {
            let (code, words, _) = wrong(&text, Origin::Project);
            assert_eq!(code, "bad_value", "{text}");
            let start = format!("`agents.coder.tools` cannot be `{tool}`");
            assert!(words.starts_with(&start) && words.contains("only a root agent"), "{words}");
        }
    }
    assert!(project(&format!("{primary}[agents.coder]\ntools = [\"read\"]")).is_ok());
    // Across both files: one lists the subagent, the other lists its tools.
    let user = of("[agents.coder]\ntools = [\"todo\"]", Origin::User).unwrap();
    let both =
        user.read("[agents.primary]\nsubagents = [\"coder\"]", Origin::Project, Path::new("."));
    assert_eq!(both.unwrap_err().error.code(), "bad_value");
}

/// K-22, P-21: an agent cannot list an operation that its role may never call.
#[test]
fn an_agent_cannot_list_an_operation_that_its_role_may_never_call() {
    for (text, may) in [
        ("[agents.a]\ntools = [\"gate_answer\"]", false),
        ("[agents.a]\ntools = [\"mission_todo_complete\"]", false),
        ("[agents.a]\nrole = \"worker\"\ntools = [\"complete_todo\"]", false),
        ("[agents.a]\nrole = \"owner\"\ntools = [\"mission_todo_complete\"]", false),
        ("[agents.a]\nrole = \"lead\"\ntools = [\"mission_todo_complete\"]", true),
        ("[agents.a]\nrole = \"worker\"\ntools = [\"todo_claim\", \"plan\"]", true),
        ("[agents.a]\ntools = [\"complete_todo\", \"*\"]", true),
    ] {
        assert_eq!(of(text, Origin::User).is_ok(), may, "{text}");
    }
}

/// P-21: no file, the user's or the project's, can give an agent a person's or the engine's role.
#[test]
fn no_file_gives_an_agent_a_persons_role() {
    for role in ["operator", "system"] {
        for origin in [Origin::User, Origin::Project] {
            let (code, words, line) = wrong(&format!("[agents.me]\nrole = \"{role}\""), origin);
            assert_eq!((code, line), ("bad_value", 2), "{role}: {words}");
            assert!(words.contains("root, lead, owner or worker"), "{words}");
        }
    }
}

/// D-16: an agent's own continuation message is part of the settings of its runs.
#[test]
fn a_run_uses_the_continuation_message_of_its_agent() {
    let text = "[agents.coder]\nmodel = \"scripted:x\"\ntodo_continuation = \"{count}: {title}\"";
    let config = project(text).unwrap();
    let (settings, _) = config.agents.settings("coder", &Overrides::default()).unwrap();
    assert_eq!(settings.continuation.as_deref(), Some("{count}: {title}"));
    let config = project("[agents.coder]\nmodel = \"scripted:x\"").unwrap();
    let (settings, _) = config.agents.settings("coder", &Overrides::default()).unwrap();
    assert_eq!(settings.continuation, None);
}

#[test]
fn a_project_file_gives_no_role_above_root() {
    let text = "[agents.boss]\nrole = \"lead\"";
    let (_, words, _) = wrong(text, Origin::Project);
    assert!(words.contains("agents.boss.role") && words.contains("no role above root"), "{words}");
    assert!(of(text, Origin::User).is_ok());
    assert!(project("[agents.x]\nrole = \"root\"").is_ok());
    assert!(project("[agents.x]\nrole = \"supervisor\"").is_ok());
}

/// The project's table replaces the user's as a whole, so the user's grants are not inherited.
#[test]
fn a_project_file_does_not_inherit_grants() {
    let tool = |program: &str, more: &str| {
        format!("[tools.lint]\ncommand = [\"{program}\"]\ndescription = \"Look.\"\n{more}")
    };
    let user = of(&tool("lint", "permission = \"allow\""), Origin::User).unwrap();
    assert_eq!(user.tools["lint"].permission, Permission::Allow);
    let both = user.read(&tool("rm", ""), Origin::Project, Path::new(".")).unwrap();
    assert_eq!(both.tools["lint"].permission, Permission::Ask);
    assert_ne!(both.tools["lint"].definition(), user.tools["lint"].definition());
    assert_eq!(both.origins["tools.lint"], Origin::Project);
    let lead = of("[agents.a]\nrole = \"lead\"\nmodel = \"ollama:x\"", Origin::User).unwrap();
    let both = lead.read("[agents.a]\nmodel = \"ollama:y\"", Origin::Project, Path::new("."));
    assert_eq!(both.unwrap().agents.get("a").unwrap().role, None);
}

/// An agent can edit a project's file, so the file may set what the user left open, and only
/// restrict the rest.
#[test]
fn a_project_file_lifts_no_limit_of_the_user() {
    let user = "[agents.a]\nmodel = \"ollama:x\"\nrole = \"worker\"\ntools = [\"plan\", \"mcp__*\"]\n\
                completion = \"verified\"\ntodo_review = \"review\"\nmax_iterations = 5\n\
                max_todo_continuations = 2\ntodo_check_interval_ms = 1000\nmax_tokens = 9000\n";
    let user = of(user, Origin::User).unwrap();
    let project = "[agents.a]\nmodel = \"ollama:y\"\nrole = \"root\"\n\
                   tools = [\"plan\", \"issue\", \"mcp__x__*\", \"mcp__x__y\", \"mcp__*\"]\n\
                   completion = \"self\"\ntodo_review = \"auto\"\nmax_iterations = 50\n\
                   max_todo_continuations = 1\ntodo_check_interval_ms = 10\nmax_tokens = 90000\n\
                   instructions = \"Be brief.\"\n";
    let both = user.read(project, Origin::Project, Path::new(".")).unwrap();
    let parse = |text| ToolPattern::parse(text).unwrap();
    let expected = AgentConfig {
        model: Some("ollama:y".to_owned()),
        role: Some(Role::Worker),
        tools: Some(vec![parse("plan"), parse("mcp__x__y"), parse("mcp__*")]),
        completion: Some(Completion::Verified),
        todo_review: Some(Review::Review),
        max_iterations: Some(5),
        max_todo_continuations: Some(1),
        todo_check_interval_ms: Some(1000),
        max_tokens: Some(9000),
        instructions: Some("Be brief.".to_owned()),
        ..AgentConfig::default()
    };
    assert_eq!(both.agents.get("a"), Some(&expected));
    let bare = user.read("[agents.a]\nmodel = \"ollama:y\"", Origin::Project, Path::new("."));
    let expected = AgentConfig {
        model: Some("ollama:y".to_owned()),
        ..user.agents.get("a").cloned().unwrap()
    };
    assert_eq!(bare.unwrap().agents.get("a"), Some(&expected));
}

/// K-51: proposals are reviewed unless the file says auto; the later file wins.
#[test]
fn a_proposal_is_reviewed_unless_the_file_says_otherwise() {
    let read = |text| Roster::default().read(text, Origin::Project);
    assert_eq!(Roster::default().review("coder"), Review::Review);
    let user = read("[agents.coder]\ntodo_review = \"auto\"").unwrap();
    assert_eq!(user.review("coder"), Review::Auto);
    assert_eq!(user.review("writer"), Review::Review);
    let text = "[agents.coder]\ntodo_review = \"review\"";
    assert_eq!(user.read(text, Origin::Project).unwrap().review("coder"), Review::Review);
}

/// M-47, F-6: a private operation is a tool only for agents that list its full name.
#[test]
fn a_wildcard_does_not_match_private_operations() {
    let complete = find("mission_todo_complete").unwrap();
    let create = find("mission_todo_create").unwrap();
    for (tools, completes, creates) in [
        ("", false, true),
        ("tools = [\"*\"]", false, true),
        ("tools = [\"mission_*\"]", false, true),
        ("tools = [\"mission_todo_complete*\"]", false, false),
        ("tools = [\"mission_todo_complete\"]", true, false),
        ("tools = [\"mission_*\", \"mission_todo_complete\"]", true, true),
        ("tools = [\"mission_todo\"]", false, false),
        ("tools = []", false, false),
    ] {
        let config = of(&format!("[agents.a]\nrole = \"lead\"\n{tools}"), Origin::User).unwrap();
        let agent = config.agents.get("a").unwrap();
        assert_eq!((agent.offers(complete), agent.offers(create)), (completes, creates), "{tools}");
    }
    // An operation that is in no profile is offered only if it is listed by name.
    let config =
        project("[agents.a]\ntools = [\"*\"]\n[agents.b]\ntools = [\"plan_import\"]").unwrap();
    let import = find("plan_import").unwrap();
    assert!(import.surfaces.profiles.is_empty());
    assert!(!config.agents.get("a").unwrap().offers(import));
    assert!(config.agents.get("b").unwrap().offers(import));
}

#[test]
fn a_listed_tool_that_nothing_provides_is_a_warning() {
    let text = "[agents.a]\ntools = [\"delegat\", \"lint\", \"mcp__git__log\", \"mcp__x__y\", \"todo*\"]\n\
                [tools.lint]\ncommand = [\"x\"]\ndescription = \"x\"\n[mcp.git]\ncommand = [\"x\"]\n";
    let strangers = project(text).unwrap().strangers();
    let found: Vec<_> = strangers
        .iter()
        .map(|stranger| (stranger.tool.as_str(), stranger.nearest.as_deref()))
        .collect();
    assert_eq!(found[0], ("delegat", Some("delegate")));
    assert_eq!(found[1].0, "mcp__x__y");
    assert_eq!(found.len(), 2);
}

#[test]
fn a_schema_may_be_in_a_file_next_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let schema = r#"{"type":"object","required":["path"]}"#;
    std::fs::write(folder.path().join("lint.json"), schema).unwrap();
    let text = "[tools.lint]\ncommand = [\"x\"]\ndescription = \"x\"\nschema_file = \"lint.json\"";
    let config = Config::default().read(text, Origin::Project, folder.path()).unwrap();
    let expected: serde_json::Value = serde_json::from_str(schema).unwrap();
    assert_eq!(config.tools["lint"].schema, expected);
}

#[test]
fn a_price_gives_the_cost_of_tokens() {
    let config = project("[prices.\"a:b\"]\ninput_per_mtok = 3\noutput_per_mtok = 15.0").unwrap();
    let cost = config.agents.cost_usd("a:b", 1_000_000, 100_000).unwrap();
    assert!((cost - 4.5).abs() < 1e-9, "{cost}");
}

/// Q-S2: driving is off by default and on for `coder` in the sample, which a project may use
/// unchanged.
#[test]
fn the_sample_is_valid_and_drives_the_coder() {
    let config = project(SAMPLE).unwrap();
    let drives = |name: &str| {
        let agent = config.agents.get(name);
        DriveSettings::resolve(agent, DriveFlags::default(), &|_| None).0
    };
    assert_eq!((drives("coder").enabled, drives("coder").enabled_by), (true, Source::Agent));
    assert!(!drives("primary").enabled && !drives("nobody").enabled);
    assert_eq!(config.strangers(), Vec::new());
    assert_eq!(config.tools["run_tests"].permission, Permission::Ask);
    assert!(
        config.servers["files"].offers("read_text") && !config.servers["files"].offers("write")
    );
}
