//! Finds PostgreSQL's server programs on this machine.

use std::fs;
use std::path::{Path, PathBuf};

const DEBIAN_VERSIONS: &str = "/usr/lib/postgresql";

/// The folder with `initdb`, `postgres` and `pg_isready`, if they are installed.
#[must_use]
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    newest_below(Path::new(DEBIAN_VERSIONS))
        .or_else(|| std::env::split_paths(&path).find(|folder| has_server(folder)))
}

/// The program `pgbouncer`, if it is installed.
#[must_use]
pub fn find_pooler() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| program.is_file())
}

/// Debian installs each major version in a folder named by its number, which is not on the PATH.
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
