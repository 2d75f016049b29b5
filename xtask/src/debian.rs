//! Installs packages of Debian if a program that a step needs is missing.
//!
//! Nothing is started here, and the installation is prevented from starting services.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;

const START_POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs the packages. If we may not, the error says which packages to install.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if !throwaway::are_we_root()? || !Path::new("/etc/debian_version").exists() {
        bail!("these are not on this machine: {}. Install them", packages.join(", "));
    }
    println!("not on this machine: {}. Installing Debian's packages", packages.join(", "));
    let _no_start = NoStart::new()?;
    let install = [&["install", "-y", "--no-install-recommends"][..], packages].concat();
    for args in [&["update"][..], &install] {
        // Not bound to our process: an interrupted installation would break the machine.
        let mut command = Command::new("apt-get");
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        process::run(&mut command, &format!("apt-get {}", args.join(" ")))?;
    }
    Ok(())
}

/// While this exists, installing a package starts no service. Debian's package would start a
/// default cluster, which nobody uses.
///
/// The policy applies only while our process runs, so that a policy left behind by a `kill -9`
/// denies nothing. An existing policy of the machine is not changed.
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
