//! `cargo xtask test --clients`: clients of other vendors, installed from npm and PyPI into
//! `target/clients`, and the tests that run them on loopback.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::run_cargo;
use crate::repository;

/// The packages, each with the version that its recorded payloads come from, and the script that
/// finishes its installation.
const PACKAGES: [(&str, &str, Option<&str>); 6] = [
    ("@anthropic-ai/claude-code", "2.1.197", Some("install.cjs")),
    ("@openai/codex", "0.166.0", None),
    ("opencode-ai", "1.18.33", Some("postinstall.mjs")),
    // The MCP suite and inspector need a newer Node than the system may have.
    ("node", "24.21.0", None),
    ("@modelcontextprotocol/inspector", "2.12.0", None),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12", None),
];

/// Python packages, each in its own environment.
const PYTHON: [(&str, &str); 2] = [("mcp", "2.3.0"), ("fastmcp", "4.1.2")];

pub(crate) fn run(nextest_args: &[String]) -> Result<()> {
    let root = repository::root()?;
    let folder = root.join("target/clients");
    install(&folder)?;
    install_python(&folder)?;
    let mut args = vec!["nextest", "run", "-p", "punchlist-cli", "--test", "clients"];
    // Each client needs a core.
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

fn install_python(folder: &Path) -> Result<()> {
    for (package, version) in PYTHON {
        let home = folder.join(format!("python-{package}"));
        let stamp = home.join("installed");
        let wanted = format!("{package}=={version}");
        if std::fs::read_to_string(&stamp).unwrap_or_default() == wanted {
            continue;
        }
        println!("installing {wanted}");
        done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        done(Command::new(home.join("bin/python")).args(pip).arg(&wanted))?;
        std::fs::write(stamp, wanted)?;
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
