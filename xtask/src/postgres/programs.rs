//! PostgreSQL's server programs, a pooler and OpenSSL: finds them, or installs them.
//!
//! Nothing is started here. `debian` installs packages.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{debian, process};

/// The folder with `initdb`, `postgres` and `pg_isready`.
pub(super) fn find_or_install() -> Result<PathBuf> {
    let openssl = || process::succeeds(Command::new("openssl").arg("version"));
    let missing: Vec<&str> = [
        ("postgresql", throwaway::find().is_some()),
        ("pgbouncer", throwaway::find_pooler().is_some()),
        ("openssl", openssl()),
    ]
    .into_iter()
    .filter_map(|(package, is_here)| (!is_here).then_some(package))
    .collect();
    if let (Some(folder), true) = (throwaway::find(), missing.is_empty()) {
        return Ok(folder);
    }
    debian::install(&missing)?;
    throwaway::find()
        .context("PostgreSQL was installed, but its server programs are not where they belong")
}
