//! The first commits of repositories, remembered in the user's cache folder.
//!
//! The first commit identifies a repository without an origin, so every command there needs it, and
//! git walks the whole history to find it. It depends only on the commit that is checked out, so
//! each line of the file has such a commit and the first commit of its history. A lost or useless
//! file only costs time.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use punchlist_store::outside;

use crate::settings::user_folder;

/// How many commits are remembered. The ones that were added last stay.
const KEPT_MAX: usize = 100;
/// The size limit of the file: two commits of 64 digits per line, and room for other versions.
const FILE_MAX: usize = 64 * 1024;

/// The first commit in the history of this one, if it is remembered.
pub(crate) fn recall(commit: &str) -> Option<String> {
    let text = outside::text(&file()?, FILE_MAX).ok()?;
    let found =
        text.lines().rev().filter_map(|line| line.split_once(' ')).find(|(of, _)| *of == commit);
    found.map(|(_, first)| first.to_owned()).filter(|first| is_id(first))
}

/// Remembers the first commit in the history of this one. Of two processes that write at the same
/// time, one loses its line.
pub(crate) fn remember(commit: &str, first: &str) {
    if let Some(file) = file() {
        // If it cannot be written, git is asked again.
        drop(add(&file, commit, first));
    }
}

fn add(file: &Path, commit: &str, first: &str) -> io::Result<()> {
    let known = outside::text(file, FILE_MAX).unwrap_or_default();
    let line = format!("{commit} {first}");
    let mut lines: Vec<&str> = known.lines().chain([line.as_str(), ""]).collect();
    lines.drain(..lines.len().saturating_sub(KEPT_MAX + 1));
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(lines.join("\n").as_bytes())?;
    new.persist(file)?;
    Ok(())
}

fn file() -> Option<PathBuf> {
    Some(user_folder("XDG_CACHE_HOME", ".cache")?.join("punchlist").join("first-commits"))
}

/// Is this the full id of a commit (SHA-1 or SHA-256)?
pub(crate) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
