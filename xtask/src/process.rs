//! Runs other programs: cargo with a clean environment, and children that do not outlive us.
//!
//! The callers decide which programs to run.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

/// A command that the kernel kills when xtask dies for any reason, if `setpriv` is available.
///
/// Ctrl-C reaches the children anyway, because they share our process group. This is for other
/// causes, such as a plain `kill` or the time limit of a CI runner.
pub(crate) fn bound(program: impl AsRef<OsStr>) -> Command {
    static HAS_PDEATHSIG: OnceLock<bool> = OnceLock::new();
    let prefix = ["--pdeathsig", "TERM", "--"];
    let can =
        HAS_PDEATHSIG.get_or_init(|| succeeds(Command::new("setpriv").args(prefix).arg("true")));
    if !can {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(prefix).arg(program);
    command
}

/// `cargo ARGS` in `root`, without standard input.
///
/// The variables that `cargo run` sets about its package are removed. The build scripts of the
/// nested cargo must see the same environment as a direct call, or the two would rebuild each
/// other's work.
pub(crate) fn cargo(root: &Path, args: &[&str]) -> Command {
    let mut command = bound(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs `cargo ARGS` with its output shown. A failure is an error that names the command.
pub(crate) fn run_cargo(root: &Path, args: &[&str], env: &[(&str, &str)]) -> Result<()> {
    let mut command = cargo(root, args);
    command.envs(env.iter().copied());
    run(&mut command, &format!("cargo {}", args.join(" ")))
}

/// Runs a command with its output shown. An error names it as `shown`.
pub(crate) fn run(command: &mut Command, shown: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Runs a command and returns its standard output; its standard error is shown.
pub(crate) fn output(command: &mut Command, shown: &str) -> Result<Vec<u8>> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed ({})", output.status);
    }
    Ok(output.stdout)
}

/// Can the command be started, and does it succeed? It runs silently.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_is_named_in_the_error() {
        let error = run(bound("sh").args(["-c", "exit 3"]), "the shown words").unwrap_err();
        assert_eq!(error.to_string(), "`the shown words` failed (exit status: 3)");
    }

    #[test]
    fn output_is_what_the_command_printed() {
        let text = output(bound("printf").arg("two words"), "printf").unwrap();
        assert_eq!(text, b"two words");
    }

    #[test]
    fn a_missing_program_does_not_succeed() {
        assert!(!succeeds(&mut Command::new("no-such-program-anywhere")));
        assert!(succeeds(&mut Command::new("true")));
    }

    #[test]
    fn nested_cargo_does_not_see_our_package() {
        let command = cargo(Path::new("/"), &["version"]);
        let removed = |name: &str| command.get_envs().any(|(n, v)| n == name && v.is_none());
        assert!(removed("CARGO_PKG_NAME") && removed("CARGO_MANIFEST_DIR"));
    }
}
