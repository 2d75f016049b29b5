//! `punch`: the command line of punchlist.
//!
//! It parses the arguments into an envelope and an input, passes them to `ops`, and shows the
//! answer. No rule and no SQL is here. A plain command starts no async runtime and builds only the
//! part of the command tree it needs.

mod args;
mod caller;
mod commands;
mod drive;
mod failure;
mod first_commits;
mod hosts;
mod output;
mod progress;
mod render;
mod repository;
mod run_folders;
mod settings;
mod stop;
mod vigil;

use std::process::ExitCode;

fn main() -> ExitCode {
    if commands::complete::answered() {
        return ExitCode::SUCCESS;
    }
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // A hook has an answer for every failure, even for arguments that cannot be parsed.
    if args::first_word(&words).as_deref() == Some("hook") && !args::asks_for_help(&words) {
        return commands::hook::main(words);
    }
    if args::asks_for_no_color(&words) {
        output::without_color();
    }
    let json = args::asks_for_json(&words);
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.show(json),
    }
}

fn run(words: &[std::ffi::OsString]) -> Result<(), failure::Failure> {
    let (first, second) = (args::first_word(words), args::second_word(words));
    if first.is_none() && args::asks_for_help(words) {
        return Ok(output::print(&commands::help::overview())?);
    }
    let tree = args::tree(first.as_deref(), second.as_deref());
    let matches = tree.try_get_matches_from(words)?;
    let globals = args::Globals::from_matches(&matches);
    commands::run(&globals, &matches)
}
