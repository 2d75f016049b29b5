//! `cargo xtask`: the project's own tasks, one subcommand per module.
//!
//! This file has only the list of commands and the dispatch; each command is in its own module.
//! Nothing of the product is linked, so that this crate builds even if the others do not.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task runner speaks to the person at the terminal and has no other surface"
)]

mod attacks;
mod bench;
mod browser;
mod clients;
mod debian;
mod goldens;
mod ledger;
mod licences;
mod mutants;
mod openapi;
mod postgres;
mod process;
mod repository;
mod test_command;
mod test_parts;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask COMMAND

  test [--only STEP[,STEP]] [-- NEXTEST_ARGS…]
                           everything CI checks, set-up included; `test --help` lists the steps
  test --clients           the tests with the real clients of other makers (Node and npm are needed)
  attack                   the attacks of the test suite alone: every operation with every role and
                           narrowed token, and the named ones over the binary, on both databases
  tidy                     lint the repository's files
  ledger [ID|RANGE|PREFIX…] [--json]
                           which requirements no test names; with arguments, exit 1 if one is missing
  bench [--quick] [--only PART[,PART]]
                           measure, as ratios against references of the same run, with targets;
                           parts: process issues checklist mcp hooks plans missions runs writers reads
                           http pages takers
  screenshots              pictures of every page, in three widths and both themes, in target/screenshots
                           and those of the README in docs/pictures
  mutants [--sample N] [--seed S] [--only TEXT]
                           change the core's rules one at a time: do its tests notice?
  with-postgres CMD…       run CMD with PUNCHLIST_TEST_POSTGRES set to a throwaway server
  help                     this text

Environment:
  PUNCHLIST_TEST_POSTGRES  postgres:// URL of a server to use instead of a throwaway one
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<ExitCode> {
    let Some((command, rest)) = args.split_first() else {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    match command.as_str() {
        "test" => test_command::run(rest)?,
        "attack" => attacks::run(rest)?,
        "tidy" => tidy::run(rest)?,
        "ledger" => ledger::run(rest)?,
        "bench" => bench::run(rest)?,
        "screenshots" => browser::screenshots(rest)?,
        "mutants" => mutants::run(rest)?,
        "with-postgres" => return postgres::run_with(rest),
        "help" | "--help" | "-h" => print!("{HELP}"),
        other => bail!("there is no command {other:?}; `cargo xtask help` lists them"),
    }
    Ok(ExitCode::SUCCESS)
}
