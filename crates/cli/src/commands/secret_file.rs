//! `punch token new --secret-file FILE`: the secret is written directly to a file that only its
//! owner can read.
//!
//! The file is created before the token, so that no secret is created that cannot be saved.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches};
use punchlist_ops::Operation;
use punchlist_ops::operations::token_new::{Output, TokenNew};
use serde_json::Value;

use super::call;
use crate::args::Globals;
use crate::caller;
use crate::failure::Failure;

const FLAG: &str = "secret-file";

/// The flag, for the only command whose answer contains a secret.
pub(super) fn argument(operation: &Operation) -> Option<Arg> {
    (operation.name == "token_new").then(|| {
        Arg::new(FLAG)
            .long(FLAG)
            .value_name("FILE")
            .help("Write the secret to this new file (mode 0600) instead of showing it")
            .value_parser(clap::value_parser!(PathBuf))
    })
}

/// The file for the secret, if one is named.
pub(super) fn named(matches: &ArgMatches) -> Option<&Path> {
    matches.try_get_one::<PathBuf>(FLAG).ok().flatten().map(PathBuf::as_path)
}

/// Calls the operation, and writes the secret of its answer to the file.
pub(super) fn call(
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
