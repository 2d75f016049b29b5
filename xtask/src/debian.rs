//! How Debian's packages are installed, where a program that a step needs is absent.
//!
//! Nothing is started here, and the installation is kept from starting anything either.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;

const START_POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs the packages, or says that they must be installed where we may not do it.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if !throwaway::are_we_root()? || !Path::new("/etc/debian_version").exists() {
        bail!("these are not on this machine: {}. Install them", packages.join(", "));
    }
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
