//! Where PostgreSQL's server programs are, and how Debian installs them when they are absent.
//!
//! Nothing is started here, and the installation is held from starting anything either.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;

const DEBIAN_VERSIONS: &str = "/usr/lib/postgresql";
const START_POLICY: &str = "/usr/sbin/policy-rc.d";

/// The folder with `initdb`, `postgres` and `pg_isready`.
pub(super) fn find_or_install() -> Result<PathBuf> {
    if let Some(folder) = find() {
        return Ok(folder);
    }
    if !super::throwaway::are_we_root()? || !Path::new("/etc/debian_version").exists() {
        bail!(
            "PostgreSQL's server programs (initdb, postgres) are not on this machine. Install \
             them, or set {} to the URL of a server",
            super::URL_VARIABLE
        );
    }
    install()?;
    find().context("PostgreSQL was installed, but its server programs are not where they belong")
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    newest_below(Path::new(DEBIAN_VERSIONS))
        .or_else(|| std::env::split_paths(&path).find(|folder| has_server(folder)))
}

/// Debian keeps each major version in a folder of its number, none of them on the PATH.
fn newest_below(versions: &Path) -> Option<PathBuf> {
    fs::read_dir(versions)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let major = name.to_str()?.split('.').next()?.parse::<u32>().ok()?;
            Some((major, entry.path().join("bin")))
        })
        .filter(|(_, folder)| has_server(folder))
        .max_by_key(|(major, _)| *major)
        .map(|(_, folder)| folder)
}

fn has_server(folder: &Path) -> bool {
    ["initdb", "postgres", "pg_isready"].iter().all(|name| folder.join(name).is_file())
}

fn install() -> Result<()> {
    println!("PostgreSQL is not on this machine: installing Debian's package");
    let _no_start = NoStart::new()?;
    for args in [&["update"][..], &["install", "-y", "--no-install-recommends", "postgresql"][..]] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_complete_version_is_taken() {
        let versions = std::env::temp_dir().join(format!("xtask-versions-{}", std::process::id()));
        for (version, programs) in [
            ("9.6", &["initdb", "postgres", "pg_isready"][..]),
            ("15", &["initdb", "postgres", "pg_isready"][..]),
            ("17", &["pg_isready"][..]),
        ] {
            let folder = versions.join(version).join("bin");
            fs::create_dir_all(&folder).unwrap();
            for program in programs {
                fs::write(folder.join(program), "").unwrap();
            }
        }
        let found = newest_below(&versions);
        fs::remove_dir_all(&versions).unwrap();
        assert_eq!(found, Some(versions.join("15/bin")));
        assert_eq!(newest_below(&versions), None);
    }
}
