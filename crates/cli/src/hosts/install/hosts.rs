//! The files of each host, and what is written into them.

use std::path::PathBuf;

use punchlist_core::host::Host;
use serde_json::{Value, json};

use super::claude::{self, Style};
use super::edits::{Edit, Target};
use super::json;

/// The text of the AGENTS.md block.
const AGENTS: &str = include_str!("../files/agents.md");

/// The plugin of opencode, whose line [`PLUGIN_LINE`] names the command.
const PLUGIN: &str = include_str!("../files/opencode.js");
const PLUGIN_LINE: &str = "const PUNCH = [\"punch\"]";

/// The command that binds a session: with an argument, for Gemini CLI, and for hosts that pass none.
pub(super) const BIND: &str = include_str!("../files/bind.md");
const BIND_ABOUT: &str = "Bind this session to a punchlist issue";
const BIND_ARGS: &str = "Run `punch session bind {{args}}` in the shell, then view the checklist with \
                         the tool `todo`.";
const BIND_PLAIN: &str = include_str!("../files/bind-plain.md");

/// Seconds a hook may take; ours answers within four.
pub(super) const SECONDS: i64 = 20;

/// Where and how to install.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The project's folder.
    pub(crate) folder: PathBuf,
    /// `punch` and the flags that every call of it gets: the store and the project.
    pub(crate) program: String,
    pub(crate) flags: Vec<String>,
    /// The flags for a host that passes no variables to its servers: every value that a variable or
    /// the folder would have given.
    pub(crate) every_flag: Vec<String>,
    /// How Claude Code is set up.
    pub(crate) claude: Style,
}

impl Setup {
    /// Sets the project's name, as the store knows it, in the flags.
    pub(crate) fn set_project(&mut self, name: String) {
        if let Some(known) = self.every_flag.last_mut() {
            *known = name;
        }
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// A file that is wholly ours.
    pub(super) fn whole(&self, path: &str, text: &str) -> Target {
        Target::new(self.at(path), vec![Edit::Whole(text.to_owned())])
    }

    /// A text for the model, with the command that finds this program and its store from the shell of
    /// the host.
    pub(super) fn told(&self, text: &str) -> String {
        text.replace("`punch session", &format!("`{} session", self.line(&[])))
    }

    pub(super) fn words(&self, words: &[&str]) -> Vec<String> {
        self.flags.iter().cloned().chain(words.iter().map(|word| (*word).to_owned())).collect()
    }

    /// The command as one line for a shell.
    fn line(&self, words: &[&str]) -> String {
        let all: Vec<String> = [vec![self.program.clone()], self.words(words)].concat();
        shlex::try_join(all.iter().map(String::as_str)).unwrap_or_default()
    }
}

/// The files of a host, with what we put into them.
pub(crate) fn plan(host: Host, setup: &Setup) -> Vec<Target> {
    let mut targets = match host {
        Host::Claude => claude::targets(setup, setup.claude),
        Host::Codex => codex(setup),
        Host::Opencode => opencode(setup),
        Host::Gemini => gemini(setup),
        Host::Cursor => cursor(setup),
        Host::Copilot => copilot(setup),
        Host::Goose => goose(setup),
    };
    targets.push(Target::new(setup.at("AGENTS.md"), vec![Edit::Block(AGENTS)]));
    targets
}

/// The files of another way to set up this host, which the plan replaces.
pub(crate) fn replaced(host: Host, setup: &Setup) -> Vec<Target> {
    match host {
        Host::Claude => claude::replaced(setup),
        _ => Vec::new(),
    }
}

/// Is anything of ours in the files of this host?
pub(crate) fn is_set_up(host: Host, setup: &Setup) -> bool {
    let targets = plan(host, setup).into_iter().chain(replaced(host, setup));
    let mut own = targets.filter(|target| !target.is_shared());
    own.any(|target| target.remove().is_ok_and(|change| change.is_needed()))
}

/// Are our hooks in this file of a host?
pub(crate) fn has_hook(host: Host, text: &str) -> bool {
    match host {
        Host::Opencode => text.contains("export const Punchlist"),
        // Its commands have other names.
        Host::Copilot => text.contains("hook copilot "),
        _ => json::has_hook(text, ours(host)),
    }
}

/// The words that identify our own hooks.
pub(super) const fn ours(host: Host) -> [&'static str; 2] {
    ["hook", host.name()]
}

fn codex(setup: &Setup) -> Vec<Target> {
    // Codex passes few variables to its servers, so the flags name the store.
    let setup = &Setup { flags: setup.every_flag.clone(), ..setup.clone() };
    let events = [
        ("SessionStart", "session-start", SECONDS),
        ("UserPromptSubmit", "prompt", SECONDS),
        ("Stop", "stop", SECONDS),
        ("SubagentStart", "subagent-start", SECONDS),
        ("SubagentStop", "subagent-stop", SECONDS),
        ("SessionEnd", "session-end", 3),
    ];
    let hook = |event: &str, seconds: i64| {
        let command = setup.line(&["hook", "codex", event]);
        json!({ "type": "command", "command": command, "timeout": seconds })
    };
    let mut edits: Vec<Edit> = events
        .iter()
        .map(|(name, event, seconds)| Edit::Element {
            path: vec!["hooks", name],
            value: json!({ "hooks": [hook(event, *seconds)] }),
            words: ours(Host::Codex),
        })
        .collect();
    edits.push(Edit::Element {
        path: vec!["hooks", "PostToolUse"],
        value: json!({ "matcher": "update_plan", "hooks": [hook("todos", SECONDS)] }),
        words: ours(Host::Codex),
    });
    let server = json!({ "command": setup.program, "args": setup.words(&["mcp"]) });
    vec![
        Target::new(setup.at(".codex/hooks.json"), edits),
        Target::new(
            setup.at(".codex/config.toml"),
            vec![Edit::Table { path: ["mcp_servers", "punchlist"], value: server }],
        ),
    ]
}

fn opencode(setup: &Setup) -> Vec<Target> {
    let command: Vec<String> = [vec![setup.program.clone()], setup.words(&["mcp"])].concat();
    let server = json!({ "type": "local", "command": command, "enabled": true });
    let all: Vec<String> = [vec![setup.program.clone()], setup.flags.clone()].concat();
    let line = format!("const PUNCH = {}", Value::from(all));
    let plugin = PLUGIN.replacen(PLUGIN_LINE, &line, 1);
    let config = ["opencode.jsonc", "opencode.json"].map(|name| setup.at(name));
    let config = config.iter().find(|path| path.exists()).unwrap_or(&config[1]).clone();
    vec![
        Target::new(config, vec![Edit::Property { path: vec!["mcp", "punchlist"], value: server }]),
        Target::new(setup.at(".opencode/plugins/punchlist.js"), vec![Edit::Whole(plugin)]),
        setup.whole(".opencode/commands/punch-bind.md", &setup.told(BIND)),
    ]
}

fn gemini(setup: &Setup) -> Vec<Target> {
    let events = [
        ("SessionStart", "session-start"),
        ("BeforeAgent", "prompt"),
        ("AfterAgent", "stop"),
        ("SessionEnd", "session-end"),
    ];
    let mut edits: Vec<Edit> = events
        .iter()
        .map(|(name, event)| {
            let command = setup.line(&["hook", "gemini", event]);
            // Its times are in milliseconds.
            let hook = json!({ "type": "command", "name": "punchlist", "command": command,
                "timeout": SECONDS * 1000 });
            let (path, words) = (vec!["hooks", *name], ours(Host::Gemini));
            Edit::Element { path, value: json!({ "hooks": [hook] }), words }
        })
        .collect();
    let server = json!({ "command": setup.program, "args": setup.words(&["mcp"]) });
    edits.push(Edit::Property { path: vec!["mcpServers", "punchlist"], value: server });
    // The texts are strings of TOML.
    let lines = [BIND_ABOUT, &setup.told(BIND_ARGS)].map(toml_edit::Value::from);
    let bind = format!("description = {}\nprompt = {}\n", lines[0], lines[1]);
    vec![
        Target::new(setup.at(".gemini/settings.json"), edits),
        setup.whole(".gemini/commands/punch-bind.toml", &bind),
    ]
}

fn cursor(setup: &Setup) -> Vec<Target> {
    let events = [
        ("sessionStart", "session-start"),
        ("beforeSubmitPrompt", "prompt"),
        ("stop", "stop"),
        ("sessionEnd", "session-end"),
    ];
    let mut edits = vec![Edit::Default { path: vec!["version"], value: json!(1) }];
    edits.extend(events.iter().map(|(name, event)| Edit::Element {
        path: vec!["hooks", *name],
        value: json!({ "command": setup.line(&["hook", "cursor", event]) }),
        words: ours(Host::Cursor),
    }));
    let server = json!({ "command": setup.program, "args": setup.words(&["mcp"]) });
    vec![
        Target::new(setup.at(".cursor/hooks.json"), edits),
        Target::new(
            setup.at(".cursor/mcp.json"),
            vec![Edit::Property { path: vec!["mcpServers", "punchlist"], value: server }],
        ),
        setup.whole(".cursor/commands/punch-bind.md", &setup.told(BIND_PLAIN)),
    ]
}

fn copilot(setup: &Setup) -> Vec<Target> {
    let events = [
        ("sessionStart", "session-start"),
        ("userPromptSubmitted", "prompt"),
        ("agentStop", "stop"),
        ("sessionEnd", "session-end"),
    ];
    let hooks: serde_json::Map<String, Value> = events
        .iter()
        .map(|(name, event)| {
            let line = setup.line(&["hook", "copilot", event]);
            let hook = json!({ "type": "command", "bash": line, "powershell": line,
                "timeoutSec": SECONDS });
            ((*name).to_owned(), json!([hook]))
        })
        .collect();
    let file = json!({ "version": 1, "hooks": hooks });
    let (command, args) = (&setup.program, setup.words(&["mcp"]));
    let server = json!({ "type": "stdio", "command": command, "args": args });
    vec![
        Target::new(
            setup.at(".github/hooks/punchlist.json"),
            vec![Edit::Whole(format!("{file:#}\n"))],
        ),
        Target::new(
            setup.at(".vscode/mcp.json"),
            vec![Edit::Property { path: vec!["servers", "punchlist"], value: server }],
        ),
        setup.whole(".github/prompts/punch-bind.prompt.md", &setup.told(BIND_PLAIN)),
    ]
}

fn goose(setup: &Setup) -> Vec<Target> {
    let events =
        [("SessionStart", "session-start"), ("Stop", "stop"), ("SessionEnd", "session-end")];
    let hooks: serde_json::Map<String, Value> = events
        .iter()
        .map(|(name, event)| {
            let line = setup.line(&["hook", "goose", event]);
            let hook = json!({ "hooks": [{ "type": "command", "command": line }] });
            ((*name).to_owned(), json!([hook]))
        })
        .collect();
    let about = json!({ "name": "punchlist", "description": "A durable work ledger" });
    let server = json!({ "mcpServers": { "punchlist": {
        "type": "stdio", "command": setup.program, "args": setup.words(&["mcp"]) } } });
    let file = |path: &str, value: Value| {
        let path = setup.at(".agents/plugins/punchlist").join(path);
        Target::new(path, vec![Edit::Whole(format!("{value:#}\n"))])
    };
    vec![
        file("plugin.json", about),
        file("hooks/hooks.json", json!({ "hooks": hooks })),
        file("mcp.json", server),
    ]
}

/// What to do next in a host: three lines.
pub(crate) const fn next_steps(host: Host, setup: &Setup) -> [&'static str; 3] {
    match host {
        Host::Claude => claude::next_steps(setup.claude),
        Host::Codex => [
            "start codex in this folder, trust the project, and approve the hooks with /hooks",
            "say: run `punch session bind 1`",
            "run `punch doctor`: Codex silently skips hooks that it does not trust",
        ],
        Host::Opencode => [
            "start opencode in this folder; it loads the plugin by itself",
            "type /punch-bind 1 (or say: run `punch session bind 1`)",
            "run `punch doctor` to see that its hooks fire",
        ],
        Host::Gemini => [
            "start gemini in this folder, trust it, and allow the MCP server punchlist",
            "type /punch-bind 1 (or say: run `punch session bind 1`)",
            "run `punch doctor` to see that its hooks fire",
        ],
        Host::Cursor => [
            "open this folder in Cursor and enable the MCP server punchlist in its settings",
            "type /punch-bind 1 (or say: run `punch session bind 1`)",
            "run `punch doctor`: cloud agents do not run stop hooks",
        ],
        Host::Copilot => [
            "start copilot here and trust the folder, or open VS Code, which reads the same files",
            "say: run `punch session bind 1` (in VS Code, type /punch-bind 1)",
            "run `punch doctor` to see that its hooks fire",
        ],
        Host::Goose => [
            "start goose in this folder; it loads the plugin punchlist",
            "say: run `punch session bind 1`",
            "goose cannot be held at a stop: use a recipe with retry for that",
        ],
    }
}
