//! `punch config show`: the effective values and their sources; `punch config sample`: a file to
//! start with. Neither opens a store.

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_ops::config::drive::{DriveSettings, Source};
use punchlist_ops::config::{AgentConfig, Config, SAMPLE};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::args::Globals;
use crate::failure::Failure;
use crate::output::DIM;
use crate::settings::Settings;
use crate::{drive, output, settings};

/// The default agent.
const PRIMARY: &str = "primary";

pub(crate) fn command() -> Command {
    let show = Command::new("show")
        .about("Show the configuration that applies to each agent")
        .long_about(
            "Show the configuration that applies to each agent. Flags override the environment, \
             which overrides the project's file, then the user's file, then the defaults.",
        )
        .arg(
            Arg::new("origin")
                .long("origin")
                .help("Show where each value comes from")
                .action(ArgAction::SetTrue),
        )
        .args(drive::args())
        .after_help(
            "Example: punch config show --origin\n\n\
             Environment: PUNCHLIST_AUTO_COMPLETE_TODOS and PUNCHLIST_MAX_TODO_CONTINUATIONS, or \
             the same names that begin with SUPEROPENCODE_.",
        );
    let sample = Command::new("sample")
        .about("Print a sample punchlist.toml, in which `coder` continues until its list is done")
        .after_help("Example: punch config sample > punchlist.toml");
    Command::new("config")
        .about("Show the configuration: agents, tools, MCP servers, prices")
        .subcommand_required(true)
        .subcommands([show, sample])
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("sample", _)) => Ok(output::print(SAMPLE)?),
        Some((_, matches)) => show(globals, matches),
        None => Err(Failure::usage("no command was given".to_owned())),
    }
}

fn show(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let found = settings::read()?;
    for stranger in found.config.strangers() {
        let nearest = stranger.nearest.map(|name| format!(", did you mean `{name}`?"));
        let (agent, tool, nearest) = (stranger.agent, stranger.tool, nearest.unwrap_or_default());
        output::warn(&format!(
            "agents.{agent}.tools lists `{tool}`, but there is no such tool{nearest}"
        ));
    }
    // What is wrong with the environment is wrong for every agent, and said once.
    let mut said = BTreeSet::new();
    let shown = Shown::of(&found, |agent| {
        let (settings, notes) = drive::settings(agent, drive::flags(matches));
        for note in notes {
            if said.insert(note.clone()) {
                output::warn(&output::line(&note));
            }
        }
        settings
    });
    if globals.quiet {
        return Ok(());
    }
    let origins = matches.get_flag("origin");
    if globals.json {
        return Ok(output::print_json_line(&shown.json(&found, origins))?);
    }
    Ok(output::print(&shown.words(&found, origins))?)
}

/// One value with its source.
struct Line {
    key: String,
    value: Value,
    origin: String,
}

/// The effective values: those outside any table, and the tables in the order of the file, such as
/// `agents.coder` and its lines.
struct Shown {
    settings: Vec<Line>,
    tables: Vec<(&'static str, String, Vec<Line>)>,
}

impl Shown {
    fn of(found: &Settings, mut drive: impl FnMut(Option<&AgentConfig>) -> DriveSettings) -> Self {
        let config = &found.config;
        let mut tables = Vec::new();
        let mut names: Vec<&str> = config.agents.iter().map(|(name, _)| name).collect();
        if !names.contains(&PRIMARY) {
            names.push(PRIMARY);
        }
        for name in names {
            let agent = config.agents.get(name);
            let from = origin(config, "agents", name);
            let mut lines = lines(agent.unwrap_or(&AgentConfig::default()), &from);
            driven(&mut lines, &drive(agent), &from);
            tables.push(("agents", name.to_owned(), lines));
        }
        for (name, tool) in &config.tools {
            tables.push(("tools", name.clone(), lines(tool, &origin(config, "tools", name))));
        }
        for (name, server) in &config.servers {
            tables.push(("mcp", name.clone(), lines(server, &origin(config, "mcp", name))));
        }
        for (name, price) in config.agents.prices() {
            tables.push(("prices", name.clone(), lines(price, &origin(config, "prices", name))));
        }
        Self { settings: settings(config), tables }
    }

    fn json(&self, found: &Settings, with_origins: bool) -> Value {
        let files: Vec<Value> = found
            .files
            .iter()
            .map(|(origin, path)| {
                let file = path.display().to_string();
                json!({ "origin": origin.name(), "file": file })
            })
            .collect();
        let mut shown = json!({ "files": files });
        for kind in ["agents", "tools", "mcp", "prices"] {
            shown[kind] = json!({});
        }
        let mut origins = Map::new();
        for Line { key, value, origin } in &self.settings {
            shown[key.as_str()] = value.clone();
            origins.insert(key.clone(), Value::from(origin.as_str()));
        }
        for (kind, name, lines) in &self.tables {
            let table: Map<String, Value> =
                lines.iter().map(|line| (line.key.clone(), line.value.clone())).collect();
            shown[*kind][name.as_str()] = Value::Object(table);
            let line_of = |line: &Line| {
                let key = format!("{kind}.{name}.{}", line.key);
                (key, Value::from(line.origin.as_str()))
            };
            origins.extend(lines.iter().map(line_of));
        }
        if with_origins {
            shown["origins"] = Value::Object(origins);
        }
        shown
    }

    fn words(&self, found: &Settings, with_origins: bool) -> String {
        let mut text = String::new();
        if found.files.is_empty() {
            text.push_str("# There is no punchlist.toml; `punch config sample` prints one.\n");
        }
        for (origin, path) in &found.files {
            let path = output::line(&path.display().to_string());
            text.push_str(&format!("# {}: {path}\n", origin.name()));
        }
        let in_words = |Line { key: name, value, origin }: &Line| {
            let from = match with_origins {
                true => format!("  {DIM}# {origin}{DIM:#}"),
                false => String::new(),
            };
            format!("{} = {}{from}\n", key(name), output::line(&toml(value)))
        };
        if !self.settings.is_empty() {
            text.push('\n');
        }
        text.extend(self.settings.iter().map(in_words));
        for (kind, name, lines) in &self.tables {
            text.push_str(&format!("\n[{kind}.{}]\n", key(name)));
            text.extend(lines.iter().map(in_words));
        }
        text
    }
}

/// The values outside any table. A project without a name of its own has none.
fn settings(config: &Config) -> Vec<Line> {
    let origin = |key: &str| {
        let found = config.origins.get(key);
        found.map_or("default", |origin| origin.name()).to_owned()
    };
    let line = |key: &str, value: Value| Line { key: key.to_owned(), value, origin: origin(key) };
    let project = config.project.as_deref().map(|name| line("project", json!(name)));
    let lists = line("session_lists", json!(config.agents.keeps_session_lists()));
    project.into_iter().chain([lists]).collect()
}

fn origin(config: &Config, kind: &str, name: &str) -> String {
    let found = config.origins.get(&format!("{kind}.{name}"));
    found.map_or("default", |origin| origin.name()).to_owned()
}

fn lines(table: &impl Serialize, origin: &str) -> Vec<Line> {
    let table = serde_json::to_value(table).unwrap_or_default();
    let fields = table.as_object().cloned().unwrap_or_default().into_iter();
    fields.map(|(key, value)| Line { key, value, origin: origin.to_owned() }).collect()
}

/// Replaces the values of an agent's table with the effective ones.
fn driven(lines: &mut Vec<Line>, drive: &DriveSettings, from: &str) {
    let tokens = drive.max_tokens.map(|tokens| ("max_tokens", json!(tokens), drive.max_tokens_by));
    let settled = [
        ("todo_driven_execution", json!(drive.enabled), drive.enabled_by),
        ("max_todo_continuations", json!(drive.max_continuations), drive.max_continuations_by),
        ("todo_check_interval_ms", json!(drive.check_interval_ms), drive.check_interval_ms_by),
        ("max_iterations", json!(drive.max_iterations), drive.max_iterations_by),
    ];
    for (key, value, by) in settled.into_iter().chain(tokens) {
        lines.retain(|line| line.key != key);
        let origin = match by {
            Source::Flag => "flag".to_owned(),
            Source::Environment(name) => format!("environment {name}"),
            Source::Agent => from.to_owned(),
            Source::Default => "default".to_owned(),
        };
        lines.push(Line { key: key.to_owned(), value, origin });
    }
}

/// A value in the format of the file.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{} = {}", key(name), toml(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        // Strings, numbers and booleans are the same in JSON and TOML.
        other => other.to_string(),
    }
}

fn key(name: &str) -> String {
    let is_bare = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if is_bare { name.to_owned() } else { Value::from(name).to_string() }
}
