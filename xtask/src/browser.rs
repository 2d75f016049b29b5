//! The pages in a real browser: Debian's Chromium, driven by the scripts in `crates/server/tests/browser`.
//!
//! The browser comes from Debian and the driver from npm, into a folder below the target folder.
//! The checks are in the scripts; this file only provides what they need to run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{self, run_cargo, succeeds};
use crate::{debian, repository};

const SCRIPTS: &str = "crates/server/tests/browser";
const PACKAGE_FILES: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

/// The oldest version of Node that the driver supports.
const NODE_MIN: u32 = 20;

/// Environment variables for the scripts.
const PUNCH: &str = "PUNCHLIST_BROWSER_PUNCH";
const MODULES: &str = "PUNCHLIST_BROWSER_MODULES";
const CHROMIUM: &str = "PUNCHLIST_BROWSER_CHROMIUM";
const LATENCY: &str = "PUNCHLIST_BROWSER_LATENCY";
const PICTURES: &str = "PUNCHLIST_BROWSER_PICTURES";
const README_PICTURES: &str = "PUNCHLIST_BROWSER_README_PICTURES";

/// `cargo xtask test --only pages [-- NAME…]`: runs all test files, or those whose name contains
/// one of the words.
pub(crate) fn test(root: &Path, words: &[String]) -> Result<()> {
    let tools = Tools::built(root)?;
    let mut files = test_files(&root.join(SCRIPTS))?;
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        words.is_empty() || words.iter().any(|word| name.contains(word.as_str()))
    });
    ensure!(!files.is_empty(), "no test file of the pages is named like {words:?}");
    // Each browser needs a core.
    let mut node = tools.node(root);
    node.args(["--test", "--test-concurrency", "2", "--test-timeout", "300000"]);
    node.args(["--test-reporter", "spec"]).args(files);
    process::run(&mut node, "node --test")
}

/// `cargo xtask screenshots`: see the help.
pub(crate) fn screenshots(args: &[String]) -> Result<()> {
    if let Some(arg) = args.iter().find(|arg| arg.starts_with('-')) {
        bail!("`cargo xtask screenshots` takes names of pages, not {arg:?}");
    }
    let root = repository::root()?;
    let tools = Tools::built(&root)?;
    let mut node = tools.node(&root);
    node.arg(root.join(SCRIPTS).join("screenshots.mjs")).args(args);
    node.env(PICTURES, target(&root).join("screenshots"));
    node.env(README_PICTURES, root.join("docs/pictures"));
    process::run(&mut node, "node screenshots.mjs")
}

/// Passes the settings for the browser latency test to the measurements.
pub(crate) fn to_measure(root: &Path, punch: &Path, measure: &mut Command) -> Result<()> {
    Tools::ready(root, punch.to_owned())?.tell(measure);
    measure.env(LATENCY, root.join(SCRIPTS).join("latency.mjs"));
    Ok(())
}

/// Everything the scripts need.
struct Tools {
    punch: PathBuf,
    modules: PathBuf,
    chromium: PathBuf,
}

impl Tools {
    /// Everything the scripts need, with a fresh build of the program.
    fn built(root: &Path) -> Result<Self> {
        run_cargo(root, &["build", "--package", "punchlist-cli"], &[])?;
        Self::ready(root, target(root).join("debug/punch"))
    }

    fn ready(root: &Path, punch: PathBuf) -> Result<Self> {
        let chromium = chromium()?;
        let modules = modules(&root.join(SCRIPTS), &target(root).join("browser"))?;
        Ok(Self { punch, modules, chromium })
    }

    fn tell(&self, command: &mut Command) {
        command.env(PUNCH, &self.punch).env(MODULES, &self.modules).env(CHROMIUM, &self.chromium);
    }

    fn node(&self, root: &Path) -> Command {
        let mut node = process::bound("node");
        node.current_dir(root).stdin(Stdio::null());
        self.tell(&mut node);
        node
    }
}

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |to| root.join(to))
}

fn chromium() -> Result<PathBuf> {
    if found_chromium().is_none() {
        debian::install(&["chromium"])?;
    }
    found_chromium().context("Chromium was installed, but is not where it belongs")
}

/// The driver needs the full path.
fn found_chromium() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| succeeds(Command::new(path).arg("--version")))
}

/// The folder with the packages in the lock file. They are reinstalled when it changes.
fn modules(scripts: &Path, folder: &Path) -> Result<PathBuf> {
    if !succeeds(Command::new("npm").arg("--version")) {
        debian::install(&["nodejs", "npm"])?;
    }
    let version = process::output(Command::new("node").arg("--version"), "node --version")?;
    let version = String::from_utf8_lossy(&version).trim().to_owned();
    ensure!(
        major(&version).is_some_and(|major| major >= NODE_MIN),
        "the tests of the pages need Node {NODE_MIN}; this machine has {version}"
    );
    let modules = folder.join("node_modules");
    let wanted = fs::read(scripts.join("package-lock.json")).context("package-lock.json")?;
    // Written when the installation is complete, so an interrupted one is repeated.
    let installed = folder.join("installed.json");
    if fs::read(&installed).is_ok_and(|here| here == wanted) {
        return Ok(modules);
    }
    fs::create_dir_all(folder)?;
    for name in PACKAGE_FILES {
        fs::copy(scripts.join(name), folder.join(name)).with_context(|| name.to_owned())?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts"]).current_dir(folder).stdin(Stdio::null());
    process::run(&mut npm, "npm ci")?;
    fs::write(&installed, wanted)?;
    Ok(modules)
}

fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn test_files(scripts: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(scripts).with_context(|| scripts.display().to_string())? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_node_is_read() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("20.1"), None);
    }

    #[test]
    fn test_files_are_found_by_their_ending() {
        let scripts = repository::root().unwrap().join(SCRIPTS);
        let files = test_files(&scripts).unwrap();
        assert!(files.len() > 1 && !files.contains(&scripts.join("world.mjs")));
    }

    #[test]
    fn the_lock_file_contains_no_download_addresses() {
        let lock = repository::root().unwrap().join(SCRIPTS).join("package-lock.json");
        let text = fs::read_to_string(lock).unwrap();
        assert!(text.contains("\"integrity\"") && !text.contains("\"resolved\""));
    }
}
