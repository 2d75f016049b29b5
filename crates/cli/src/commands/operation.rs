//! Commands made from the catalogue: an operation's words, its fields as flags or positional
//! arguments, and the input made from a command line.
//!
//! The help is the operation's own: the doc comments of its input. Flags are text; numbers, lists
//! and booleans of the schema are converted here. Dispatch checks the rest, as for all inputs.
//! `call` makes the call and shows its answer.

use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_ops::schema;
use punchlist_ops::{CATALOGUE, Operation};
use serde_json::{Map, Value};

use super::flags::{
    LEASE, SHARED, flag, flag_of, has_own_flag, narrows, on_the_line, place, takes_next, typed_as,
};
use super::{call, flags, named};
use crate::args::Globals;
use crate::failure::Failure;

/// The help of each group of commands.
const GROUPS: &[(&str, &str)] = &[
    ("agent", "Register agents, and report and list their status"),
    ("audit", "Find completed work that deserves a second look"),
    ("chat", "List and read chats, and post messages"),
    ("criterion", "Confirm or drop the criteria of an issue"),
    ("delegation", "Show and take delegated work, report on it, and decide on proposals"),
    ("issue", "File, find, discuss, link and move issues"),
    ("metric", "Record, collect and show what a mission is measured by"),
    ("mission", "Lead a mission: limits, pillars, metrics, cycles and its todos"),
    ("permission", "Show and revoke what agents may call without asking"),
    ("plan", "Import, show and archive plans; assign, split and complete their tasks"),
    ("project", "List the projects of the store, or merge two"),
    ("runs", "Show the runs of agents, and stop them"),
    ("session", "Start and end sessions, bind them to issues, and show their lists"),
    ("store", "Set how callers are identified, and copy the store"),
    ("todo", "Keep an issue's checklist; take, hold, claim and judge items of any list"),
    ("token", "Create, list and revoke tokens"),
];

/// Operations that take the issue from the caller's context, not from their input.
const ABOUT_AN_ISSUE: [&str; 5] = ["todo", "checkpoint", "ask", "form", "session_context"];

/// Operations that take the text of a criterion.
const OF_CRITERIA: [&str; 2] = ["criterion_drop", "criterion_ratify"];

/// The operations whose command begins with this word.
fn of_word(word: &str) -> impl Iterator<Item = &'static Operation> {
    CATALOGUE.iter().filter(move |operation| operation.surfaces.command.first() == Some(&word))
}

/// The operation of a command of two words.
pub(super) fn named(first: &str, second: &str) -> Option<&'static Operation> {
    of_word(first).find(|operation| operation.surfaces.command.get(1).copied() == Some(second))
}

/// The command of that name, if an operation asks for it.
pub(super) fn command(name: &str, second: Option<&str>) -> Option<Command> {
    let mut operations = of_word(name).peekable();
    let first = operations.peek()?;
    if let [word] = first.surfaces.command {
        return Some(leaf(word, first));
    }
    let &(word, about) = GROUPS.iter().find(|(word, _)| *word == name)?;
    let is_meant = |operation: &&Operation| {
        second.is_some() && operation.surfaces.command.get(1).copied() == second
    };
    let is_known = of_word(name).any(|operation| is_meant(&operation));
    let children = operations.filter(|operation| !is_known || is_meant(operation));
    let children = children.filter_map(|operation| {
        let word = operation.surfaces.command.get(1)?;
        Some(leaf(word, operation))
    });
    Some(Command::new(word).about(about).subcommand_required(true).subcommands(children))
}

fn leaf(word: &'static str, operation: &'static Operation) -> Command {
    let schema = operation.input_schema();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let by_place = operation.surfaces.positional.iter().map(|field| {
        let arg = in_place(field, &schema["properties"][field]);
        arg.required(required.iter().any(|name| name == field))
    });
    let fields = schema.get("properties").and_then(Value::as_object);
    let flags = fields
        .into_iter()
        .flatten()
        .filter(|(field, _)| !operation.surfaces.positional.contains(&field.as_str()))
        .filter(|(field, _)| !SHARED.contains(&field.as_str()) || has_own_flag(operation, field))
        .map(|(field, schema)| {
            let mut arg = argument(field, schema).long(flag_of(operation, field));
            // `--issue` names it, as everywhere.
            if takes_next(operation) && field == "number" {
                arg = arg.hide(true);
            }
            // The old spelling of these flags; `--mission` and `--pillar` are global flags anyway.
            let is_renamed = narrows(operation, field) || takes_next(operation);
            if is_renamed && matches!(field.as_str(), "number" | "planFile") {
                arg = arg.alias(flag(field));
            }
            match field.as_str() {
                "epoch" => arg = arg.alias("epoch"),
                LEASE => arg = arg.value_name("DURATION").alias("lease-s"),
                _ => {}
            }
            if let Some(help) = flags::help(operation, field) {
                arg = arg.help(help);
            }
            if required.iter().any(|name| name == field) {
                arg = arg.help(format!("{} (required)", schema::description(schema)));
            }
            // The usual flag to confirm.
            if field == "confirm" { arg.visible_alias("yes") } else { arg }
        });
    let command = Command::new(word)
        .about(schema::description(&schema).to_owned())
        .args(by_place)
        .args(flags)
        .hide(HIDDEN.contains(&operation.name));
    match own_example(operation).or_else(|| example(operation)) {
        Some(example) => command.after_help(example),
        None => command,
    }
}

/// A command that is easily confused with another one, which the help shows instead: `plan archive`.
const HIDDEN: [&str; 1] = ["plan_finish"];

/// Operations on an agent, which may be the caller.
const ABOUT_AGENTS: [&str; 2] = ["agent_register", "agent_status"];

/// Examples that a catalogue's JSON cannot give: of objects, or of no input at all.
fn own_example(operation: &Operation) -> Option<String> {
    let line = match operation.name {
        "plan_list" => "punch plan list --include-archived",
        "mission_pause" => "punch mission pause developer-experience --pillar build-performance",
        "mission_resume" => "punch mission resume developer-experience --pillar build-performance",
        "project_merge" => "punch project merge clients.api api --yes",
        "drive_resume" => "punch session resume --session 4F7Q",
        "delegation_report" => "punch delegation report 4F7Q 1 --result 'Found it: see notes.md'",
        "plan_import" => "punch plan import docs/plans/auth.md",
        "todo_next" => {
            let two = "punch todo next --issue 3\n  punch todo next --plan docs/plans/auth.md";
            return Some(format!("Examples:\n  {two}"));
        }
        _ => return None,
    };
    Some(format!("Example: {line}"))
}

/// The operation's example as typed in a shell; `None` if it has no input.
fn example(operation: &Operation) -> Option<String> {
    let input: Map<String, Value> = serde_json::from_str(operation.example).ok()?;
    let mut line = format!("Example: punch {}", operation.surfaces.command.join(" "));
    let places = operation.surfaces.positional.iter();
    for value in places.map_while(|place| input.get(*place)) {
        for item in value.as_array().unwrap_or(&vec![value.clone()]) {
            line.push_str(&format!(" {}", typed(item)?));
        }
    }
    for (field, value) in &input {
        if operation.surfaces.positional.contains(&field.as_str()) {
            continue;
        }
        let flag = match SHARED.contains(&field.as_str()) && !has_own_flag(operation, field) {
            true => field.clone(),
            false => flag_of(operation, field),
        };
        match value {
            Value::Bool(true) => line.push_str(&format!(" --{flag}")),
            Value::Bool(false) => {}
            Value::Array(items) => {
                for item in items {
                    line.push_str(&format!(" --{flag} {}", typed(item)?));
                }
            }
            value if field == LEASE => line.push_str(&format!(" --{flag} {value}s")),
            value => line.push_str(&format!(" --{flag} {}", typed(value)?)),
        }
    }
    (!input.is_empty()).then_some(line)
}

/// A value as it is typed in a shell; an id in its short form.
fn typed(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) if punchlist_core::TodoId::parse(text).is_some() => "4F7Q".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Some(text),
        false => Some(format!("'{}'", text.replace('\'', r"'\''"))),
    }
}

/// The type of a field; of several, the first, which people usually write.
fn kind_of(schema: &Value) -> &str {
    let kind = &schema["type"];
    kind.as_str().or_else(|| kind[0].as_str()).unwrap_or("json")
}

fn argument(field: &str, schema: &Value) -> Arg {
    let arg = Arg::new(id(field)).help(schema::description(schema).to_owned());
    let kind = kind_of(schema);
    match kind {
        "boolean" => arg.action(ArgAction::SetTrue),
        "array" => arg.value_name("TEXT").action(ArgAction::Append),
        kind => {
            let shown = choices(schema).unwrap_or_else(|| match kind {
                "string" => "TEXT".to_owned(),
                "integer" | "number" => "N".to_owned(),
                _ => "JSON".to_owned(),
            });
            // A number may be negative; a text that begins with `-` would hide a mistyped flag.
            arg.value_name(shown).allow_negative_numbers(kind != "string")
        }
    }
}

/// The id of a field's argument, apart from those of the global flags.
pub(super) fn id(field: &str) -> String {
    format!("input.{field}")
}

/// The allowed values of a field, if there are few.
fn choices(schema: &Value) -> Option<String> {
    let values = schema.get("enum").and_then(Value::as_array)?;
    let names: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
    Some(names.join("|"))
}

/// A positional argument is shown by its name; its allowed values are in its help.
fn in_place(field: &str, schema: &Value) -> Arg {
    let arg = argument(field, schema).value_name(place(field));
    // A positional list takes several values.
    let arg = if kind_of(schema) == "array" { arg.num_args(0..) } else { arg };
    let arg = match on_the_line(field) {
        Some(help) => arg.help(help),
        None => arg,
    };
    match choices(schema) {
        Some(choices) => arg.help(format!("{} [{choices}]", schema::description(schema))),
        None => arg,
    }
}

pub(super) fn run(globals: &Globals, name: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let (second, matches) = match matches.subcommand() {
        Some((word, matches)) => (Some(word), matches),
        None => (None, matches),
    };
    let operation = of_word(name)
        .find(|operation| operation.surfaces.command.get(1).copied() == second)
        .ok_or_else(|| Failure::usage(format!("there is no command `{name}`")))?;
    let (globals, input) = prepared(globals, operation, matches)?;
    call::call(&globals, operation, input).map_err(|failure| in_flags(failure, operation))
}

/// The input from a command line, with issues and items that were named by their words.
pub(super) fn prepared(
    globals: &Globals,
    operation: &Operation,
    matches: &ArgMatches,
) -> Result<(Globals, Value), Failure> {
    let mut globals = globals.clone();
    let mut input = input(operation, &mut globals, matches);
    named::issues_of(&globals, operation, &mut input)?;
    name_issue(operation, &operation.surfaces.command.join(" "), &globals, &mut input)?;
    if OF_CRITERIA.contains(&operation.name) {
        named::criterion_of(&globals, &mut input)?;
    }
    Ok((globals, input))
}

/// A failure that names the flags and places of a command instead of fields.
pub(super) fn in_flags(failure: Failure, operation: &Operation) -> Failure {
    failure.typed_by(|path| typed_as(operation, path))
}

/// `--issue` is used or refused, never ignored: it fills the field `number`, or the operation reads
/// it from the context.
pub(super) fn name_issue(
    operation: &Operation,
    command: &str,
    globals: &Globals,
    input: &mut Value,
) -> Result<(), Failure> {
    let Some(issue) = globals.issue else { return Ok(()) };
    // An item is found in the issue by its text.
    let has_item = operation.input_schema()["properties"].get("todoId").is_some();
    if ABOUT_AN_ISSUE.contains(&operation.name) || has_item {
        return Ok(());
    }
    if operation.input_schema()["properties"].get("number").is_none() {
        let message = format!("`punch {command}` does not use --issue");
        return Err(Failure::Usage { message, hint: Some("leave --issue out".to_owned()) });
    }
    match input.get("number").filter(|given| !given.is_null()) {
        None => input["number"] = issue.into(),
        Some(given) if *given == issue => {}
        Some(given) => {
            let message = format!("two issues are named: {given}, and {issue} with --issue");
            let hint = Some("name the issue once".to_owned());
            return Err(Failure::Usage { message, hint });
        }
    }
    Ok(())
}

/// The input from a command's flags and arguments. A shared flag that fills a field is removed from
/// the globals.
pub(super) fn input(operation: &Operation, globals: &mut Globals, matches: &ArgMatches) -> Value {
    let schema = operation.input_schema();
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut input = Map::new();
    let caller = globals.agent.clone();
    for (field, schema) in fields.into_iter().flatten() {
        let by_place = operation.surfaces.positional.contains(&field.as_str());
        let mut given = None;
        if by_place || !SHARED.contains(&field.as_str()) || has_own_flag(operation, field) {
            given = value(matches, field, schema);
        }
        let is_session = narrows(operation, field) && field == "session";
        if given.is_none() && SHARED.contains(&field.as_str()) && !is_session {
            given = globals.take_for_field(field, matches).map(Value::from);
        }
        input.extend(given.map(|given| (field.clone(), given)));
    }
    // With `--as worker --agent NAME` a worker reports on itself, so both know its name.
    if globals.carry.is_some() && ABOUT_AGENTS.contains(&operation.name) {
        globals.agent = caller;
    }
    Value::Object(input)
}

/// One of several values: a text; or, for objects, an object in JSON, or the text of its only
/// required field.
fn item(text: &str, schema: &Value) -> Value {
    if schema["type"] != "object" {
        return text.into();
    }
    let object = serde_json::from_str(text).ok().filter(Value::is_object);
    let only = match schema["required"].as_array().map(Vec::as_slice) {
        Some([Value::String(only)]) => Some(only),
        _ => None,
    };
    match (object, only) {
        (Some(object), _) => object,
        (None, Some(only)) => Value::Object(Map::from_iter([(only.clone(), text.into())])),
        (None, None) => text.into(),
    }
}

/// The value given for a field, converted to the schema's type. A value that cannot be converted
/// stays a string, so the operation refuses it. A switch that is off counts as not given.
fn value(matches: &ArgMatches, field: &str, schema: &Value) -> Option<Value> {
    let kind = kind_of(schema);
    if field == LEASE {
        return matches.get_one::<String>(&id(field)).map(|text| flags::seconds(text));
    }
    let field = &id(field);
    match kind {
        "boolean" => matches.get_flag(field).then_some(Value::Bool(true)),
        "array" => {
            let texts = matches.get_many::<String>(field)?;
            Some(texts.map(|text| item(text, &schema["items"])).collect())
        }
        "string" => matches.get_one::<String>(field).map(|text| text.as_str().into()),
        _ => {
            let text = matches.get_one::<String>(field)?;
            // Issues are shown as #3, and named as they are shown.
            let text = if kind == "integer" { text.trim_start_matches('#') } else { text };
            Some(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
        }
    }
}
