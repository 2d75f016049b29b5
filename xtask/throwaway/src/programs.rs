//! Finds PostgreSQL's server programs on this machine.

use std::fs;
use std::path::{Path, PathBuf};

const DEBIAN_VERSIONS: &str = "/usr/lib/postgresql";

/// The folder with `initdb`, `postgres` and `pg_isready` of the newest version, if one is installed.
#[must_use]
pub fn find() -> Option<PathBuf> {
    find_all().pop()
}

/// The folders of every installed version, the newest last.
#[must_use]
pub fn find_all() -> Vec<PathBuf> {
    let found = all_below(Path::new(DEBIAN_VERSIONS));
    if !found.is_empty() {
        return found;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find(|folder| has_server(folder)).into_iter().collect()
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
fn all_below(versions: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(versions).into_iter().flatten();
    let mut found: Vec<(u32, PathBuf)> = folders
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let major = name.to_str()?.split('.').next()?.parse::<u32>().ok()?;
            Some((major, entry.path().join("bin")))
        })
        .filter(|(_, folder)| has_server(folder))
        .collect();
    found.sort();
    found.into_iter().map(|(_, folder)| folder).collect()
}

fn has_server(folder: &Path) -> bool {
    ["initdb", "postgres", "pg_isready"].iter().all(|name| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_versions_are_found_the_newest_last() {
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
        let found = all_below(&versions);
        fs::remove_dir_all(&versions).unwrap();
        assert_eq!(found, ["9.6/bin", "15/bin"].map(|folder| versions.join(folder)));
        assert!(all_below(&versions).is_empty());
    }
}
