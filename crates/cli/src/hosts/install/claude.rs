//! The files of Claude Code: entries in its settings, or a plugin.
//!
//! Settings also work with `claude -p` in a folder that nobody has trusted yet. A plugin is one
//! folder with everything in it. Claude Code loads it by itself from a folder that it trusts.

use punchlist_core::host::Host;
use serde_json::{Map, Value, json};

use super::edits::{Edit, Target};
use super::hosts::{BIND, SECONDS, Setup, ours};

/// The skill.
const SKILL: &str = include_str!("../files/skill.md");

/// The folder of the plugin. A folder of skills that has a manifest is a plugin.
const PLUGIN: &str = ".claude/skills/punchlist";
const SKILL_FILE: &str = ".claude/skills/punchlist/SKILL.md";
pub(crate) const MANIFEST: &str = ".claude/skills/punchlist/.claude-plugin/plugin.json";

/// The plugin's name in the settings of Claude Code.
pub(crate) const PLUGIN_NAME: &str = "punchlist@skills-dir";

/// The tools that change the host's own list of tasks.
const LIST_TOOLS: &str = "TodoWrite|TaskCreate|TaskUpdate";

/// The two ways to set up Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Settings,
    Plugin,
}

impl Style {
    const fn other(self) -> Self {
        match self {
            Self::Settings => Self::Plugin,
            Self::Plugin => Self::Settings,
        }
    }
}

pub(super) fn targets(setup: &Setup, style: Style) -> Vec<Target> {
    match style {
        Style::Settings => settings(setup),
        Style::Plugin => plugin(setup),
    }
}

/// The files of the other style that this style does not have.
pub(super) fn replaced(setup: &Setup) -> Vec<Target> {
    let own = targets(setup, setup.claude);
    let mut others = targets(setup, setup.claude.other());
    others.retain(|other| own.iter().all(|target| target.path != other.path));
    others
}

pub(super) const fn next_steps(style: Style) -> [&'static str; 3] {
    match style {
        Style::Settings => [
            "start claude in this folder and approve the MCP server punchlist",
            "say: bind this session to issue 1 (or type /punch-bind 1)",
            "run `punch doctor` to see that its hooks fire",
        ],
        Style::Plugin => [
            "start claude in this folder and trust it; it loads the plugin punchlist",
            "say: bind this session to issue 1 (or type /punchlist:bind 1)",
            "run `punch doctor` to see that its hooks fire",
        ],
    }
}

/// Each event of the host with our hook.
fn hooks(setup: &Setup) -> Vec<(&'static str, Value)> {
    let hook = |event: &str, seconds: i64| {
        let args = setup.words(&["hook", "claude", event]);
        json!([{ "type": "command", "command": setup.program, "args": args, "timeout": seconds }])
    };
    let events = [
        ("SessionStart", "session-start", SECONDS),
        ("UserPromptSubmit", "prompt", SECONDS),
        ("Stop", "stop", SECONDS),
        ("SubagentStart", "subagent-start", SECONDS),
        ("SubagentStop", "subagent-stop", SECONDS),
        ("StopFailure", "stop-failure", SECONDS),
        ("SessionEnd", "session-end", 2),
    ];
    let all = events.map(|(name, event, seconds)| (name, json!({ "hooks": hook(event, seconds) })));
    let list = json!({ "matcher": LIST_TOOLS, "hooks": hook("todos", SECONDS) });
    all.into_iter().chain([("PostToolUse", list)]).collect()
}

fn server(setup: &Setup) -> Value {
    json!({ "command": setup.program, "args": setup.words(&["mcp"]), "alwaysLoad": true })
}

fn settings(setup: &Setup) -> Vec<Target> {
    let words = ours(Host::Claude);
    let hooks = hooks(setup).into_iter();
    let edits =
        hooks.map(|(name, value)| Edit::Element { path: vec!["hooks", name], value, words });
    let entry = Edit::Property { path: vec!["mcpServers", "punchlist"], value: server(setup) };
    vec![
        Target::new(setup.at(".claude/settings.json"), edits.collect()),
        Target::new(setup.at(".mcp.json"), vec![entry]),
        setup.whole(SKILL_FILE, &setup.told(SKILL)),
        setup.whole(".claude/commands/punch-bind.md", &setup.told(BIND)),
    ]
}

fn plugin(setup: &Setup) -> Vec<Target> {
    let manifest = json!({
        "name": "punchlist",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "A work ledger that outlives the session",
        "author": { "name": "punchlist" },
        "skills": ["./"],
    });
    let hooks: Map<String, Value> =
        hooks(setup).into_iter().map(|(name, value)| (name.to_owned(), json!([value]))).collect();
    let json = |path: &str, value: Value| setup.whole(path, &format!("{value:#}\n"));
    let servers = json!({ "mcpServers": { "punchlist": server(setup) } });
    vec![
        json(MANIFEST, manifest),
        json(&format!("{PLUGIN}/hooks/hooks.json"), json!({ "hooks": hooks })),
        json(&format!("{PLUGIN}/.mcp.json"), servers),
        setup.whole(SKILL_FILE, &setup.told(SKILL)),
        setup.whole(&format!("{PLUGIN}/commands/bind.md"), &setup.told(BIND)),
    ]
}
