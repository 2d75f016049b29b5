//! `cargo xtask bench [--quick]`: builds the programs in release and runs the measurements.
//!
//! The measurements are in the package `measure`, which links the product; this crate does not. A
//! missed target is an error, so that it is noticed. Benchmarks are not part of `test`.

use anyhow::Result;

use crate::postgres::{TestServer, URL_VARIABLE};
use crate::{browser, debian, process, repository};

pub(crate) fn run(args: &[String]) -> Result<()> {
    if args.iter().any(|arg| matches!(arg.as_str(), "--help" | "-h")) {
        print!("{}", crate::HELP);
        return Ok(());
    }
    let root = repository::root()?;
    let build = ["build", "--release", "--package", "punchlist-cli", "--package", "measure"];
    process::run_cargo(&root, &build, &[])?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder));
    let programs = target.join("release");
    install("task", "taskwarrior")?;
    let server = TestServer::to_measure()?;
    install("curl", "curl")?;
    // The build's output is still being written to the disk, and would slow down the measured
    // commits.
    process::run(&mut std::process::Command::new("sync"), "sync")?;
    let mut measure = process::bound(programs.join("measure"));
    measure.arg("all").arg(&programs).args(args).env(URL_VARIABLE, server.url());
    browser::to_measure(&root, &programs.join("punch"), &mut measure)?;
    process::run(&mut measure, "measure")
}

/// Installs a program that we compare with from Debian's packages, if it is missing.
fn install(program: &str, package: &str) -> Result<()> {
    if process::succeeds(std::process::Command::new(program).arg("--version")) {
        return Ok(());
    }
    debian::install(&[package])
}
