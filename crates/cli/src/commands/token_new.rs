//! `punch token new`: the flags that narrow a token are not mistaken for those about the caller, and
//! with `--secret-file FILE` the secret is written directly to a file that only its owner can read.
//!
//! The file is created before the token, so that no secret is created that cannot be saved.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use punchlist_ops::Operation;
use punchlist_ops::catalogue::{Define, find};
use punchlist_ops::operations::token_new::{Output, TokenNew};
use serde_json::Value;

use super::{call, operation};
use crate::args::Globals;
use crate::caller;
use crate::failure::Failure;

const FLAG: &str = "secret-file";

/// Adds `--secret-file` to `new`, the only command whose answer contains a secret.
pub(super) fn with_flag(group: Command) -> Command {
    if group.find_subcommand("new").is_none() {
        return group;
    }
    group.mut_subcommand("new", |new| {
        new.arg(
            Arg::new(FLAG)
                .long(FLAG)
                .value_name("FILE")
                .help("Write the secret to this new file (mode 0600) instead of showing it")
                .value_parser(clap::value_parser!(PathBuf)),
        )
    })
}

pub(super) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    refuse_misleading(matches)?;
    let operation = find(TokenNew::NAME)?;
    let (globals, input) = operation::prepared(globals, operation, matches)?;
    let done = match matches.get_one::<PathBuf>(FLAG) {
        Some(path) => into_file(&globals, operation, input, path),
        None => call::call(&globals, operation, input),
    };
    done.map_err(|failure| operation::in_flags(failure, operation))
}

/// Refuses flags about the caller that could be mistaken for flags that narrow the token.
pub(super) fn refuse_misleading(matches: &ArgMatches) -> Result<(), Failure> {
    for (given, right) in
        [("project", "only-project"), ("issue", "only-issue"), ("session", "only-session")]
    {
        if matches.value_source(given) == Some(ValueSource::CommandLine) {
            let message = format!("--{given} does not narrow a token");
            let hint = Some(format!("to narrow it, give --{right}"));
            return Err(Failure::Usage { message, hint });
        }
    }
    Ok(())
}

/// Calls the operation, and writes the secret of its answer to the file.
fn into_file(
    globals: &Globals,
    operation: &Operation,
    input: Value,
    path: &Path,
) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file =
        options.open(path).map_err(|error| Failure::Io(format!("{}: {error}", path.display())))?;
    let shown = path.display().to_string();
    let made = || -> Result<(), Failure> {
        let ops = caller::ops(globals)?;
        let envelope = caller::envelope(&ops, globals, false)?;
        let mut made: Output = ops.answer(operation, &envelope, input)?.into_output()?;
        writeln!(file, "{}", made.token)?;
        file.sync_all()?;
        made.token = format!("(in {shown})");
        call::show_output::<TokenNew>(globals, made, envelope.now)
    };
    let done = made();
    if done.is_err() {
        // No token was created; an empty file would be misleading.
        drop(std::fs::remove_file(path));
    }
    done
}
