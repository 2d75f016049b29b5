//! `punch mission init FILE`: creates or updates a mission from its file; `punch mission schema`:
//! the JSON Schema of such a file, for editors.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use punchlist_ops::catalogue::find;
use punchlist_ops::written::{BYTES_MAX, Misplaced, Written};
use punchlist_store::outside;
use serde_json::{Map, Value, json};

use super::call;
use crate::args::Globals;
use crate::failure::Failure;
use crate::{caller, output};

/// The dialect of the schema.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

pub(super) fn commands() -> Vec<Command> {
    let init = Command::new("init")
        .about("Create a mission from its file, or update it after the file changed")
        .long_about(
            "Create a mission from its file, or update it after the file changed. The same file \
             again changes nothing. A pillar or metric that is no longer in the file is archived; \
             its data is kept.\n\n\
             The file is JSON or TOML. `punch mission schema` prints its schema. Collectors run in \
             this project's folder.",
        )
        .arg(
            Arg::new("file")
                .value_name("FILE|-")
                .help("The mission's file, or - for standard input")
                .value_parser(value_parser!(PathBuf))
                .required(true),
        )
        .after_help("Example: punch mission init mission.json");
    let schema = Command::new("schema")
        .about("Print the JSON Schema of a mission's file, for editors")
        .long_about(
            "Print the JSON Schema of a mission's file, for editors.\n\n\
             Save it beside the file and begin the file with \
             {\"$schema\": \"./mission.schema.json\", …}.",
        )
        .after_help("Example: punch mission schema > mission.schema.json");
    vec![init, schema]
}

pub(super) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let Some(file) = matches.get_one::<PathBuf>("file") else {
        return Err(Failure::usage("no file was named".to_owned()));
    };
    init(globals, &shown(file), read(file)?, file)
}

/// Creates or updates a mission from a file's bytes.
pub(super) fn init(
    globals: &Globals,
    name: &str,
    bytes: Vec<u8>,
    file: &Path,
) -> Result<(), Failure> {
    let located = |fault: Misplaced| Failure::InFile { fault, file: name.to_owned() };
    let read = Written::read(bytes, file).map_err(located)?;
    let operation = find("mission_init")?;
    let ops = caller::ops(globals)?;
    let mut envelope = caller::envelope(&ops, globals, false)?;
    // Collectors run in the project's folder, from whichever folder this is called.
    envelope.context.directory = Some(caller::folder().to_string_lossy().into_owned());
    let called = ops.answer(operation, &envelope, read.input.clone());
    let answer = called.map_err(|error| located(read.blame(error)))?;
    call::show(globals, operation, &answer, envelope.now)
}

/// The name of a file in an error.
fn shown(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() }
}

/// Reads the file, but not much more than the limit.
fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let named = |error: io::Error| Failure::Io(format!("{}: {error}", file.display()));
    if file != Path::new("-") {
        return outside::beginning(file, BYTES_MAX + 1).map_err(named);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn schema() -> Result<(), Failure> {
    let operation = find("mission_init")?;
    let mut schema = Map::from_iter([("$schema".to_owned(), Value::from(DRAFT))]);
    if let Value::Object(fields) = operation.input_schema() {
        schema.extend(fields);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let about = "Where this schema lies; editors look for it here.";
        properties.insert("$schema".to_owned(), json!({ "type": "string", "description": about }));
    }
    Ok(output::print(&format!("{:#}\n", Value::Object(schema)))?)
}
