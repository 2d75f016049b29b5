//! A user's tool: a program that gets the validated input, and whose output is the answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jsonschema::Validator;
use punchlist_ops::config::UserTool;
use serde_json::Value;

use super::{ANSWER_MAX, CUT, ToolAnswer};
use crate::model::Cancel;
use crate::process::{Fault, Flood, Patience, Program, Ran};

/// The environment variables that an outside program gets, besides PATH and those its table names.
pub(super) const ENVIRONMENT: [&str; 3] = ["HOME", "LANG", "TERM"];

/// How many faults of an input are reported at once.
const FAULTS_MAX: usize = 5;

/// A tool that can be called.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) tool: UserTool,
    validator: Validator,
    /// The folder it runs in.
    folder: PathBuf,
}

impl Prepared {
    /// None if its schema is invalid; the configuration refuses that earlier.
    pub(super) fn new(tool: &UserTool, folder: &Path) -> Option<Self> {
        let validator = jsonschema::validator_for(&tool.schema).ok()?;
        let below = tool.directory.as_deref().unwrap_or_default();
        Some(Self { tool: tool.clone(), validator, folder: folder.join(below) })
    }

    pub(super) fn call(&self, name: &str, input: &Value, cancel: &Cancel) -> ToolAnswer {
        let faults: Vec<String> =
            self.validator.iter_errors(input).take(FAULTS_MAX).map(|fault| said(&fault)).collect();
        if !faults.is_empty() {
            let faults = faults.join("; ");
            return ToolAnswer::error(format!("the input of {name} does not fit: {faults}"));
        }
        let named = self.tool.env.iter().map(String::as_str);
        let environment: Vec<&str> = ENVIRONMENT.into_iter().chain(named).collect();
        let (words, directory) = (self.tool.command.as_slice(), Some(self.folder.as_path()));
        let program = Program { words, directory, environment: &environment, fixed: &[] };
        let is_stopped = || cancel.is_cancelled();
        let timeout = Duration::from_secs(self.tool.timeout.as_seconds());
        let patience = Patience::new(timeout, &is_stopped);
        let input = Some(input.to_string().into_bytes());
        match program.run(input, ANSWER_MAX, Flood::IsCut, &patience) {
            Ok(ran) => answer(name, ran),
            Err(Fault::Failed(why)) => ToolAnswer::error(format!("{name} {why}")),
            Err(Fault::Stopped) => ToolAnswer::error(format!("{name} was stopped")),
        }
    }
}

/// A fault of an input, with its position.
fn said(fault: &jsonschema::ValidationError<'_>) -> String {
    let place = fault.instance_path().to_string();
    if place.is_empty() { fault.to_string() } else { format!("`{place}`: {fault}") }
}

fn answer(name: &str, ran: Ran) -> ToolAnswer {
    if !ran.status.success() {
        let output = text(ran.output.clone(), ran.is_cut);
        return ToolAnswer::error(format!("{name} {}\n{output}", ran.ending()).trim_end());
    }
    ToolAnswer { text: text(ran.output, ran.is_cut), is_error: false }
}

/// The output as text: cut between two characters, with a note, if it was too long.
fn text(mut bytes: Vec<u8>, is_cut: bool) -> String {
    if is_cut
        && let Err(fault) = std::str::from_utf8(&bytes)
        && fault.error_len().is_none()
    {
        bytes.truncate(fault.valid_up_to());
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end();
    if is_cut { format!("{text}{CUT}") } else { text.to_owned() }
}
