//! A figure that a program prints.

use std::path::Path;

use super::{Fault, OUTPUT_MAX, Patience, text};
use crate::process::{Flood, Program};

/// The environment variables that a collector gets, besides PATH.
const ENVIRONMENT: [&str; 2] = ["LANG", "TZ"];

pub(super) fn run(
    words: &[String],
    directory: Option<&Path>,
    patience: &Patience<'_>,
) -> Result<String, Fault> {
    let program = Program { words, directory, environment: &ENVIRONMENT, fixed: &[] };
    let ran = program.run(None, OUTPUT_MAX, Flood::Ends, patience)?;
    if !ran.status.success() {
        return Err(Fault::Failed(ran.ending()));
    }
    text(ran.output)
}
