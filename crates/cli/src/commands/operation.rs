//! Commands made from the catalogue: an operation's words, its fields as flags.
//!
//! The help is the operation's own: the doc comments of its input. Flags carry text; what the
//! schema calls a number or a boolean is read as one here, and everything else is judged where
//! all inputs are, in dispatch.

use clap::{Arg, ArgMatches, Command};
use punchlist_ops::schema;
use punchlist_ops::{CATALOGUE, Operation};
use serde_json::{Map, Value};

use super::call;
use crate::args::Globals;
use crate::failure::Failure;

fn find(name: &str) -> Option<&'static Operation> {
    CATALOGUE.iter().find(|operation| operation.surfaces.command == [name])
}

/// The command of that name, if an operation asks for it.
pub(super) fn command(name: &str) -> Option<Command> {
    let operation = find(name)?;
    let schema = (operation.input_schema)();
    let name = *operation.surfaces.command.first()?;
    let fields = schema.get("properties").and_then(Value::as_object);
    let args = fields.into_iter().flatten().map(|(field, schema)| argument(field, schema));
    Some(Command::new(name).about(schema::description(&schema).to_owned()).args(args))
}

fn argument(field: &str, schema: &Value) -> Arg {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("json");
    let choices = schema.get("enum").and_then(Value::as_array).map(|values| {
        let names: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        names.join("|")
    });
    Arg::new(field.to_owned())
        .long(flag(field))
        .value_name(choices.unwrap_or_else(|| kind.to_uppercase()))
        .help(schema::description(schema).to_owned())
        .allow_hyphen_values(true)
}

/// `nextCursor` is `--next-cursor`.
fn flag(field: &str) -> String {
    field.chars().fold(String::new(), |mut flag, c| {
        if c.is_uppercase() {
            flag.push('-');
        }
        flag.extend(c.to_lowercase());
        flag
    })
}

pub(super) fn run(globals: &Globals, name: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let operation =
        find(name).ok_or_else(|| Failure::usage(format!("there is no command `{name}`")))?;
    let schema = (operation.input_schema)();
    let fields = schema.get("properties").and_then(Value::as_object);
    let input: Map<String, Value> = fields
        .into_iter()
        .flatten()
        .filter_map(|(field, schema)| {
            let text = matches.get_one::<String>(field)?;
            Some((field.clone(), value(schema, text)))
        })
        .collect();
    call::call(globals, operation, Value::Object(input))
}

/// A flag's text as the schema's type; what does not read stays text and is refused with it.
fn value(schema: &Value, text: &str) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number" | "boolean" | "array" | "object") => {
            serde_json::from_str(text).unwrap_or_else(|_| text.into())
        }
        _ => text.into(),
    }
}
