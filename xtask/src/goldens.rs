//! Checks that no golden waits to be accepted: insta puts such files next to the accepted ones.
//!
//! They are ignored by git, so this walks the folders instead of asking git.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Build output and foreign trees, which contain no goldens of ours.
const SKIPPED_FOLDERS: [&str; 3] = ["target", ".git", "node_modules"];

pub(crate) fn check(root: &Path) -> Result<()> {
    let pending = pending_below(root)?;
    for path in &pending {
        println!("{}: a golden that is not accepted", path.strip_prefix(root)?.display());
    }
    if !pending.is_empty() {
        bail!("{} goldens wait: accept them (`cargo insta review`) or delete them", pending.len());
    }
    Ok(())
}

fn pending_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut pending = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() {
                if !SKIPPED_FOLDERS.contains(&name.as_str()) {
                    folders.push(entry.path());
                }
            } else if is_pending(&name) {
                pending.push(entry.path());
            }
        }
    }
    pending.sort();
    Ok(pending)
}

fn is_pending(name: &str) -> bool {
    name.ends_with(".snap.new") || name.ends_with(".pending-snap")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_pending_golden_are_recognised() {
        assert!(is_pending("surface__help.snap.new"));
        assert!(is_pending(".surface.rs.pending-snap"));
        assert!(!is_pending("surface__help.snap"));
    }

    #[test]
    fn build_output_is_not_searched() {
        let folder = std::env::temp_dir().join(format!("xtask-goldens-{}", std::process::id()));
        for below in ["a/snapshots", "target/a"] {
            fs::create_dir_all(folder.join(below)).unwrap();
            fs::write(folder.join(below).join("x.snap.new"), "").unwrap();
        }
        let found = pending_below(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.unwrap(), [folder.join("a/snapshots/x.snap.new")]);
    }
}
