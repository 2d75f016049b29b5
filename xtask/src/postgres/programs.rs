//! How Debian installs PostgreSQL's server programs, a pooler for them and OpenSSL, where they are
//! absent.
//!
//! Nothing is started here, and the installation is held from starting anything either.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;

const START_POLICY: &str = "/usr/sbin/policy-rc.d";

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
    if !throwaway::are_we_root()? || !Path::new("/etc/debian_version").exists() {
        bail!(
            "these are not on this machine: {}. Install them (the tests start servers of their own)",
            missing.join(", ")
        );
    }
    install(&missing)?;
    throwaway::find()
        .context("PostgreSQL was installed, but its server programs are not where they belong")
}

fn install(packages: &[&str]) -> Result<()> {
    println!("not on this machine: {}. Installing Debian's packages", packages.join(", "));
    let _no_start = NoStart::new()?;
    let install = [&["install", "-y", "--no-install-recommends"][..], packages].concat();
    for args in [&["update"][..], &install] {
        // Not bound to our life: an installation that is cut in the middle breaks the machine.
        let mut command = Command::new("apt-get");
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        process::run(&mut command, &format!("apt-get {}", args.join(" ")))?;
    }
    Ok(())
}

/// While this lives, installing a package starts no service: Debian's package would start a
/// default cluster, which we never use and nobody asked for.
///
/// The policy holds only while our process lives, so that one left behind by a `kill -9` denies
/// nothing. A policy that the machine already has is left alone.
struct NoStart {
    is_ours: bool,
}

impl NoStart {
    fn new() -> Result<Self> {
        let policy =
            format!("#!/bin/sh\n[ -d /proc/{} ] && exit 101\nexit 0\n", std::process::id());
        let file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(START_POLICY);
        match file {
            Ok(mut file) => {
                let made = Self { is_ours: true };
                file.write_all(policy.as_bytes()).context(START_POLICY)?;
                Ok(made)
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Ok(Self { is_ours: false })
            }
            Err(error) => Err(error).context(START_POLICY),
        }
    }
}

impl Drop for NoStart {
    fn drop(&mut self) {
        if self.is_ours
            && let Err(error) = fs::remove_file(START_POLICY)
        {
            eprintln!("cannot remove {START_POLICY}: {error}");
        }
    }
}
