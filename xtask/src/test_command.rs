//! `cargo xtask test`: the steps that CI runs, in order, each timed, until one fails.
//!
//! Each check is in its own module or in the tool it calls; this file is only the sequence.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::postgres::{Commits, TestServer, URL_VARIABLE};
use crate::process::{cargo, run_cargo, succeeds};
use crate::{browser, clients, debian, goldens, ledger, licences, openapi, repository, tidy};

struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Session) -> Result<()>,
}

/// The state that the steps share.
struct Session {
    root: PathBuf,
    nextest_args: Vec<String>,
    pages_args: Vec<String>,
    server: Option<TestServer>,
}

const STEPS: [Step; 12] = [
    Step { name: "postgres", about: "a PostgreSQL server for nextest", run: postgres },
    Step { name: "fmt", about: "cargo fmt --check", run: fmt },
    Step { name: "clippy", about: "cargo clippy, warnings denied", run: clippy },
    Step { name: "tidy", about: "cargo xtask tidy", run: |session| tidy::check(&session.root) },
    Step { name: "nextest", about: "all tests, on SQLite and on PostgreSQL", run: nextest },
    Step {
        name: PAGES_STEP,
        about: "the pages in Chromium",
        run: |session| browser::test(&session.root, &session.pages_args),
    },
    Step { name: "openapi", about: "the server against its OpenAPI document", run: openapi },
    Step { name: "doctest", about: "the examples in the documentation", run: doctest },
    Step { name: "doc", about: "rustdoc, warnings denied", run: doc },
    Step {
        name: "licences",
        about: "third-party licences and sources",
        run: |session| licences::check(&session.root),
    },
    Step {
        name: "goldens",
        about: "no golden waits to be accepted",
        run: |session| goldens::check(&session.root),
    },
    Step { name: "ledger", about: "how many requirements a test names; never fails", run: summary },
];

/// The shells whose completions the tests try; Debian's packages have the same names.
const SHELLS: [&str; 2] = ["bash", "zsh"];

/// The step that only prepares for another one, and the steps that need it.
const SERVER_STEP: &str = "postgres";
const SERVER_USER_STEP: &str = "nextest";
const SERVER_USERS: [&str; 2] = [SERVER_USER_STEP, "openapi"];

/// This step gets the arguments after `--` if nextest does not run.
const PAGES_STEP: &str = "pages";

/// Steps that run only if `--only` names them. Fuzzing the HTTP API takes minutes and needs Python
/// packages.
const ON_REQUEST: [&str; 1] = ["openapi"];

#[derive(Debug, PartialEq)]
enum Request {
    Help,
    /// Only the tests with the real clients of other vendors.
    Clients {
        nextest_args: Vec<String>,
    },
    Run {
        steps: Vec<&'static str>,
        nextest_args: Vec<String>,
    },
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    let (steps, nextest_args) = match parse(args)? {
        Request::Help => {
            print_help();
            return Ok(());
        }
        Request::Clients { nextest_args } => return clients::run(&nextest_args),
        Request::Run { steps, nextest_args } => (steps, nextest_args),
    };
    let is_for_nextest = steps.contains(&SERVER_USER_STEP);
    let (nextest_args, pages_args) =
        if is_for_nextest { (nextest_args, Vec::new()) } else { (Vec::new(), nextest_args) };
    let root = repository::root()?;
    let mut session = Session { root, nextest_args, pages_args, server: None };
    let mut times = Vec::new();
    let result = run_steps(&steps, &mut session, &mut times);
    drop(session);
    print_table(&times);
    result?;
    println!("all steps passed");
    Ok(())
}

/// Runs only the tests that a filter of nextest selects.
pub(crate) fn only_tests(filter: &str, args: &[String]) -> Result<()> {
    let only = ["--only", SERVER_USER_STEP, "--", "-E", filter].map(str::to_owned);
    run(&only.into_iter().chain(args.iter().cloned()).collect::<Vec<_>>())
}

fn parse(args: &[String]) -> Result<Request> {
    let mut only: Option<&str> = None;
    let mut rest = args.iter();
    let mut nextest_args = Vec::new();
    let mut is_clients = false;
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--help" | "-h" => return Ok(Request::Help),
            "--clients" => is_clients = true,
            "--only" => only = Some(rest.next().context("--only wants the names of steps")?),
            "--" => nextest_args = rest.by_ref().cloned().collect(),
            other => match other.strip_prefix("--only=") {
                Some(names) => only = Some(names),
                None => bail!("`cargo xtask test` does not know {other:?}; see --help"),
            },
        }
    }
    if is_clients {
        if only.is_some() {
            bail!("--clients runs its own tests alone, so --only does not go with it");
        }
        return Ok(Request::Clients { nextest_args });
    }
    let names: Option<Vec<&str>> = only.map(|names| names.split(',').collect());
    if let Some(names) = &names {
        let known = |name: &&str| STEPS.iter().any(|step| step.name == *name);
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            let all: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
            bail!("there is no step {unknown:?}; the steps are {}", all.join(", "));
        }
    }
    let is_chosen = |name: &str| {
        names.as_ref().map_or(!ON_REQUEST.contains(&name), |names| match name == SERVER_STEP {
            true => SERVER_USERS.iter().any(|user| names.contains(user)),
            false => names.contains(&name),
        })
    };
    let steps: Vec<_> = STEPS.iter().map(|step| step.name).filter(|n| is_chosen(n)).collect();
    if steps.is_empty() {
        bail!("{SERVER_STEP} alone does nothing: it serves {SERVER_USER_STEP}");
    }
    let takes_args = |name| [SERVER_USER_STEP, PAGES_STEP].contains(name);
    if !nextest_args.is_empty() && !steps.iter().any(takes_args) {
        bail!(
            "what follows -- goes to {SERVER_USER_STEP}, or else to {PAGES_STEP}; --only leaves out both"
        );
    }
    Ok(Request::Run { steps, nextest_args })
}

fn run_steps(
    names: &[&'static str],
    session: &mut Session,
    times: &mut Vec<(&'static str, Duration)>,
) -> Result<()> {
    for step in STEPS.iter().filter(|step| names.contains(&step.name)) {
        println!("==> {}: {}", step.name, step.about);
        let start = Instant::now();
        let result = (step.run)(session);
        let time = start.elapsed();
        times.push((step.name, time));
        let end = if result.is_ok() { "passed" } else { "FAILED" };
        println!("<== {} {end} after {:.1} s", step.name, time.as_secs_f64());
        result.with_context(|| format!("step {} failed", step.name))?;
    }
    Ok(())
}

fn print_help() {
    println!("cargo xtask test [--only STEP[,STEP]] [-- ARGS…]");
    println!("cargo xtask test --clients [-- NEXTEST_ARGS…]\n\nSteps, in order:");
    for step in &STEPS {
        println!("  {:<9} {}", step.name, step.about);
    }
    println!("\nThe {SERVER_STEP} step runs only when {SERVER_USER_STEP} does.");
    println!(
        "ARGS go to {SERVER_USER_STEP}; without it, to {PAGES_STEP} as parts of names of test files."
    );
}

fn print_table(times: &[(&str, Duration)]) {
    println!();
    for (name, time) in times {
        println!("{name:<9} {:>8.1} s", time.as_secs_f64());
    }
    let total: Duration = times.iter().map(|(_, time)| time).sum();
    println!("{:<9} {:>8.1} s", "total", total.as_secs_f64());
}

fn postgres(session: &mut Session) -> Result<()> {
    session.server = Some(TestServer::get(Commits::Fast)?);
    Ok(())
}

fn fmt(session: &mut Session) -> Result<()> {
    run_cargo(&session.root, &["fmt", "--all", "--check"], &[])
}

fn clippy(session: &mut Session) -> Result<()> {
    let args = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    run_cargo(&session.root, &args, &[])
}

fn nextest(session: &mut Session) -> Result<()> {
    if !succeeds(&mut cargo(&session.root, &["nextest", "--version"])) {
        println!("cargo-nextest is not on this machine: installing it");
        run_cargo(&session.root, &["install", "cargo-nextest", "--locked"], &[])?;
    }
    let missing: Vec<&str> = SHELLS
        .into_iter()
        .filter(|shell| !succeeds(Command::new(shell).arg("--version")))
        .collect();
    if !missing.is_empty() {
        debian::install(&missing)?;
    }
    let url = session.server.as_ref().context("there is no PostgreSQL server")?.url();
    let mut args = vec!["nextest", "run", "--workspace", "--no-fail-fast"];
    args.extend(session.nextest_args.iter().map(String::as_str));
    // A golden that differs is a failure here, whatever the developer's settings are.
    let env = [(URL_VARIABLE, url.as_str()), ("INSTA_UPDATE", "no"), ("INSTA_FORCE_PASS", "0")];
    run_cargo(&session.root, &args, &env)
}

/// Uses the throwaway server, or a database on the server that the environment names.
fn openapi(session: &mut Session) -> Result<()> {
    let url = session.server.as_ref().context("there is no PostgreSQL server")?.url();
    openapi::check(&session.root, &url)
}

fn doctest(session: &mut Session) -> Result<()> {
    run_cargo(&session.root, &["test", "--workspace", "--doc"], &[])
}

fn doc(session: &mut Session) -> Result<()> {
    let args = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    run_cargo(&session.root, &args, &[("RUSTDOCFLAGS", "-D warnings")])
}

fn summary(session: &mut Session) -> Result<()> {
    match ledger::summary(&session.root) {
        Ok(line) => println!("{line}"),
        Err(error) => println!("no ledger: {error:#}"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Request> {
        parse(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    fn steps_of(args: &[&str]) -> Vec<&'static str> {
        match parsed(args).unwrap() {
            Request::Run { steps, .. } => steps,
            Request::Help | Request::Clients { .. } => Vec::new(),
        }
    }

    #[test]
    fn the_clients_run_alone() {
        assert_eq!(parsed(&["--clients"]).unwrap(), Request::Clients { nextest_args: vec![] });
        assert!(parsed(&["--clients", "--only", "fmt"]).is_err());
    }

    #[test]
    fn without_arguments_every_step_runs_but_those_on_request() {
        assert_eq!(steps_of(&[]).len(), STEPS.len() - ON_REQUEST.len());
        assert_eq!(steps_of(&["--only", "openapi"]), ["postgres", "openapi"]);
    }

    #[test]
    fn a_choice_runs_in_the_steps_own_order() {
        assert_eq!(steps_of(&["--only", "tidy,fmt"]), ["fmt", "tidy"]);
        assert_eq!(steps_of(&["--only=doc"]), ["doc"]);
    }

    #[test]
    fn the_server_comes_with_nextest_and_only_then() {
        assert_eq!(steps_of(&["--only", "nextest"]), ["postgres", "nextest"]);
        assert_eq!(steps_of(&["--only", "postgres,fmt"]), ["fmt"]);
        assert!(parsed(&["--only", "postgres"]).is_err());
    }

    #[test]
    fn arguments_after_the_dashes_go_to_nextest() {
        let request = parsed(&["--only", "nextest", "--", "-p", "xtask", "--help"]).unwrap();
        let nextest_args = ["-p", "xtask", "--help"].map(str::to_owned).to_vec();
        assert_eq!(request, Request::Run { steps: vec!["postgres", "nextest"], nextest_args });
        assert!(parsed(&["--only", "fmt", "--", "lease"]).is_err());
        assert!(parsed(&["--only", "pages", "--", "hostile"]).is_ok());
    }

    #[test]
    fn an_unknown_word_is_refused_with_the_known_ones() {
        let error = parsed(&["--only", "fmt,lint"]).unwrap_err().to_string();
        assert!(error.contains("\"lint\"") && error.contains("clippy, tidy"), "{error}");
        assert!(parsed(&["--fast"]).is_err());
        assert_eq!(parsed(&["--help"]).unwrap(), Request::Help);
    }
}
