//! `cargo xtask test --clients`: clients of other vendors, installed from npm and PyPI into the user's
//! cache, and the tests that run them on loopback.
//!
//! A test that fails fails the command. If the clients cannot be downloaded, the command says that
//! nothing was tested, and succeeds: that is no fault of the change that is tested.

use std::env;
use std::path::{Path, PathBuf};
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
    let folder = cache()?;
    if let Err(error) = install(&folder).and_then(|()| install_python(&folder)) {
        println!("NOT TESTED: the clients of other vendors could not be installed: {error:#}");
        return Ok(());
    }
    let mut args = vec!["nextest", "run", "-p", "punchlist-cli", "--test", "clients"];
    // Each client needs a core.
    args.extend(["--test-threads", "1", "--no-fail-fast"]);
    args.extend(nextest_args.iter().map(String::as_str));
    let folder = folder.to_string_lossy().into_owned();
    run_cargo(&root, &args, &[("PUNCHLIST_CLIENTS", folder.as_str())])
}

/// The folder of the installed clients, outside the clone, so that the next one finds them.
fn cache() -> Result<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let cache = cache.context("neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join("punchlist/clients"))
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
