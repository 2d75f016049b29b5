//! `cargo xtask mutants`: changes the core's rules one at a time and checks whether its tests
//! notice. It tries a sample, chosen by a seed, because all mutants take most of a day.
//!
//! It is not part of `cargo xtask test`. Mutants that are equivalent to the code are listed in
//! `docs/mutants.md`, by their names without line and column, and do not count.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::repository;

const HELP: &str = "\
cargo xtask mutants [--sample N] [--seed S] [--only TEXT] [--list]

  --sample N   how many mutants to try, chosen at random [default: 150]
  --seed S     which ones: the same seed chooses the same [default: 1]
  --only TEXT  only mutants whose name contains TEXT, e.g. src/gate/answer.rs
  --list       print the chosen ones and do not run them
";

/// The modules of the core with rules, whose mutants are tried.
const RULES: [&str; 10] = [
    "driver",
    "command",
    "authority",
    "issue",
    "gate",
    "delegation",
    "lease",
    "capacity",
    "plan",
    "select",
];

const PACKAGE: &str = "punchlist-core";
const EQUIVALENTS: &str = "docs/mutants.md";
const OUTPUT: &str = "target/mutants";

/// The highest allowed percentage of viable mutants that survive.
const ALIVE_MAX: usize = 5;

struct Wanted {
    sample: usize,
    seed: u64,
    only: Option<String>,
    list: bool,
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    let Some(wanted) = parse(args)? else {
        print!("{HELP}");
        return Ok(());
    };
    let root = repository::root()?;
    std::env::set_current_dir(&root)?;
    install()?;
    let mut names = all()?;
    names.retain(|name| wanted.only.as_ref().is_none_or(|only| name.contains(only)));
    let found = names.len();
    let chosen = sample(names, wanted.sample, wanted.seed);
    println!("{} of {found} mutants, seed {}", chosen.len(), wanted.seed);
    if wanted.list {
        chosen.iter().for_each(|name| println!("{name}"));
        return Ok(());
    }
    try_all(&chosen)?;
    report()
}

fn parse(args: &[String]) -> Result<Option<Wanted>> {
    let mut wanted = Wanted { sample: 150, seed: 1, only: None, list: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().with_context(|| format!("{arg} takes a value"));
        match arg.as_str() {
            "--sample" => wanted.sample = value()?.parse().context("--sample takes a number")?,
            "--seed" => wanted.seed = value()?.parse().context("--seed takes a number")?,
            "--only" => wanted.only = Some(value()?.clone()),
            "--list" => wanted.list = true,
            "--help" | "-h" => return Ok(None),
            other => bail!("unknown argument {other:?}\n{HELP}"),
        }
    }
    Ok(Some(wanted))
}

/// Installs the tool if it is missing.
fn install() -> Result<()> {
    let version = Command::new("cargo").args(["mutants", "--version"]).output();
    if version.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    println!("installing cargo-mutants");
    let mut command = Command::new("cargo");
    command.args(["install", "--locked", "cargo-mutants"]);
    process::run(&mut command, "cargo install cargo-mutants")
}

fn cargo_mutants() -> Command {
    let mut command = Command::new("cargo");
    command.args(["mutants", "--package", PACKAGE]);
    for module in RULES {
        command.args(["--file", &format!("crates/core/src/{module}.rs")]);
        command.args(["--file", &format!("crates/core/src/{module}/**/*.rs")]);
    }
    command
}

/// The names of all mutants.
fn all() -> Result<Vec<String>> {
    let output = cargo_mutants().args(["--list", "--colors", "never"]).output()?;
    if !output.status.success() {
        bail!("cargo mutants --list failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// A sample of this many names; the same seed gives the same sample.
fn sample(mut names: Vec<String>, count: usize, seed: u64) -> Vec<String> {
    names.sort_unstable();
    let mut state = seed;
    // SplitMix64: small, and the same on every machine.
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut chosen = Vec::new();
    while chosen.len() < count && !names.is_empty() {
        let at = usize::try_from(next() % names.len() as u64).unwrap_or_default();
        chosen.push(names.swap_remove(at));
    }
    chosen
}

/// Runs the core's own tests against each mutant, in a copy of the repository.
fn try_all(chosen: &[String]) -> Result<()> {
    fs::create_dir_all(OUTPUT)?;
    let mut command = Command::new("nice");
    command.args(["-n", "19"]);
    let mutants = cargo_mutants();
    command.arg(mutants.get_program()).args(mutants.get_args());
    for name in chosen {
        command.args(["--re", &format!("^{}$", escaped(name))]);
    }
    command.args(["--test-tool", "nextest", "--no-shuffle", "--colors", "never"]);
    command.args(["--minimum-test-timeout", "300", "--output", OUTPUT]);
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_TEST_DEBUG", "0");
    // It fails if a mutant survives; the outcome is evaluated below.
    let status = command.status().context("cargo mutants starts")?;
    match status.code() {
        Some(0 | 2 | 3) => Ok(()),
        _ => bail!("cargo mutants ended with {status}"),
    }
}

/// Escapes a name, so that it is a regular expression that matches only itself.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if r".+*?()|[]{}^$\".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// The name without line and column, which stays the same when lines move.
fn unplaced(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    match (parts.next(), parts.nth(2)) {
        (Some(file), Some(what)) => format!("{file}:{what}"),
        _ => name.to_owned(),
    }
}

fn report() -> Result<()> {
    let known = fs::read_to_string(EQUIVALENTS).with_context(|| EQUIVALENTS.to_owned())?;
    let lines = |outcome: &str| -> Vec<String> {
        let path = format!("{OUTPUT}/mutants.out/{outcome}.txt");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let (caught, late) = (lines("caught").len(), lines("timeout").len());
    let (same, alive): (Vec<_>, Vec<_>) =
        lines("missed").into_iter().partition(|name| known.contains(&unplaced(name)));
    let viable = caught + late + alive.len();
    println!(
        "{viable} viable: {caught} caught, {late} timed out, {} alive; {} equivalent, {} unviable",
        alive.len(),
        same.len(),
        lines("unviable").len(),
    );
    alive.iter().for_each(|name| println!("alive: {name}"));
    if alive.len() * 100 >= viable.max(1) * ALIVE_MAX {
        bail!("{} of {viable} mutants are alive; fewer than {ALIVE_MAX} % may be", alive.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_chooses_the_same_and_each_once() {
        let names: Vec<String> = (0..100).map(|n| format!("m{n}")).collect();
        let first = sample(names.clone(), 20, 7);
        assert_eq!(sample(names.clone(), 20, 7), first);
        assert_ne!(sample(names.clone(), 20, 8), first);
        let mut all = sample(names.clone(), 200, 7);
        all.sort_unstable();
        let mut sorted = names;
        sorted.sort_unstable();
        assert_eq!(all, sorted);
    }

    #[test]
    fn names_lose_their_place_and_nothing_else() {
        let name = "crates/core/src/a.rs:99:26: replace || with && in A<'a>::b -> Option<&'a T>";
        let expected = "crates/core/src/a.rs: replace || with && in A<'a>::b -> Option<&'a T>";
        assert_eq!(unplaced(name), expected);
        assert_eq!(escaped("a.rs:1: ||->(b)"), r"a\.rs:1: \|\|->\(b\)");
    }
}
