//! `cargo xtask test --clients`: the clients of other makers, installed from npm into `target/clients`,
//! and the tests that drive them against a fake model on loopback.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::run_cargo;
use crate::repository;

/// The packages, each with the version its recorded payloads are of, and the script that finishes its
/// installation.
const PACKAGES: [(&str, &str, Option<&str>); 3] = [
    ("@anthropic-ai/claude-code", "2.1.197", Some("install.cjs")),
    ("@openai/codex", "0.166.0", None),
    ("opencode-ai", "1.18.33", Some("postinstall.mjs")),
];

pub(crate) fn run(nextest_args: &[String]) -> Result<()> {
    let root = repository::root()?;
    let folder = root.join("target/clients");
    install(&folder)?;
    let mut args = vec!["nextest", "run", "-p", "punchlist-cli", "--test", "clients"];
    // Each client takes a core for itself.
    args.extend(["--test-threads", "1", "--no-fail-fast"]);
    args.extend(nextest_args.iter().map(String::as_str));
    let folder = folder.to_string_lossy().into_owned();
    run_cargo(&root, &args, &[("PUNCHLIST_CLIENTS", folder.as_str())])
}

fn install(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (package, version, script) in PACKAGES {
        let at = folder.join("node_modules").join(package);
        let known = std::fs::read_to_string(at.join("package.json")).unwrap_or_default();
        if known.contains(&format!("\"version\": \"{version}\"")) {
            continue;
        }
        println!("installing {package} {version}");
        let wanted = format!("{package}@{version}");
        let npm = ["install", "--no-fund", "--no-audit", "--save-exact", "--prefix", "."];
        done(Command::new("npm").args(npm).arg(&wanted).current_dir(folder))?;
        if let Some(script) = script {
            done(Command::new("node").arg(script).current_dir(&at))?;
        }
    }
    Ok(())
}

fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}
