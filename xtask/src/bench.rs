//! `cargo xtask bench [--quick]`: builds the programs in release and runs the measurements.
//!
//! What is measured stands in the package `measure`, which links the product; this crate does
//! not. A missed target is an error, so that nobody overlooks it; benches are no part of `test`.

use anyhow::Result;

use crate::postgres::{Commits, TestServer, URL_VARIABLE};
use crate::{process, repository};

pub(crate) fn run(args: &[String]) -> Result<()> {
    let root = repository::root()?;
    let build = ["build", "--release", "--package", "punchlist-cli", "--package", "measure"];
    process::run_cargo(&root, &build, &[])?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder));
    let programs = target.join("release");
    let server = TestServer::get(Commits::Durable)?;
    let mut measure = process::bound(programs.join("measure"));
    measure.arg("all").arg(&programs).args(args).env(URL_VARIABLE, server.url());
    process::run(&mut measure, "measure")
}
