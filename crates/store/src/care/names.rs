//! The names of backups: `punchlist.db.20261115T080000Z.backup`, next to the store or in a folder.
//!
//! Retention deletes only files that have such a name and the header of one of our stores.

use std::io;
use std::path::{Path, PathBuf};

use punchlist_core::Time;

use crate::{outside, sqlite};

/// The suffix of backups by `punch backup`, which retention may delete.
pub const BACKUP: &str = "backup";
/// The suffix of a store that a restore replaced. It is never deleted automatically.
pub const REPLACED: &str = "replaced";
/// The suffix of an unfinished copy.
const PARTIAL: &str = "partial";

/// The offset of the application id in the header of a SQLite file, and how many bytes are read.
const APPLICATION_AT: usize = 68;
const HEADER: usize = APPLICATION_AT + 4;

fn name_of(store: &Path) -> String {
    store.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The folder that contains a store.
#[must_use]
pub fn folder_of(store: &Path) -> &Path {
    match store.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A name in this folder that no file has yet.
#[must_use]
pub fn fresh(folder: &Path, store: &Path, at: Time, ending: &str) -> PathBuf {
    let (name, stamp) = (name_of(store), stamp(at));
    let first = folder.join(format!("{name}.{stamp}.{ending}"));
    let more = (2..).map(|n| folder.join(format!("{name}.{stamp}-{n}.{ending}")));
    std::iter::once(first.clone()).chain(more).find(|path| !path.exists()).unwrap_or(first)
}

/// `20261115T080000Z`: sorts by time, and is valid on every file system.
fn stamp(at: Time) -> String {
    let text = at.to_string();
    let seconds = text.split('.').next().unwrap_or_default();
    format!("{}Z", seconds.replace(['-', ':'], ""))
}

/// The time of a backup of this store, and its number within that second.
fn parse<'a>(name: &'a str, store: &str) -> Option<(&'a str, u32)> {
    let middle = name.strip_prefix(store)?.strip_prefix('.')?.strip_suffix(BACKUP)?;
    let middle = middle.strip_suffix('.')?;
    let (stamp, number) = match middle.split_once('-') {
        Some((stamp, number)) => (stamp, number.parse().ok().filter(|number| *number >= 2)?),
        None => (middle, 1),
    };
    let bytes = stamp.as_bytes();
    let fits = bytes.len() == 16
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 => *byte == b'T',
            15 => *byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
    fits.then_some((stamp, number))
}

/// The backups of this store in a folder, oldest first.
pub fn backups_of(folder: &Path, store: &Path) -> io::Result<Vec<PathBuf>> {
    let store = name_of(store);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if let Some((stamp, number)) = parse(&name, &store)
            && entry.file_type()?.is_file()
            && is_store(&entry.path())
        {
            found.push((stamp.to_owned(), number, entry.path()));
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, _, path)| path).collect())
}

/// Does the file have the header of one of our stores? The name alone proves nothing, because
/// anybody can write a file with that name.
fn is_store(path: &Path) -> bool {
    let Ok(header) = outside::beginning(path, HEADER) else { return false };
    let application = header.get(APPLICATION_AT..HEADER);
    header.starts_with(b"SQLite format 3\0")
        && application == Some(sqlite::APPLICATION_ID.to_be_bytes().as_slice())
}

/// Deletes the oldest backups of this store until `keep` are left. Returns the deleted ones.
pub fn retain(folder: &Path, store: &Path, keep: usize) -> io::Result<Vec<PathBuf>> {
    let mut backups = backups_of(folder, store)?;
    backups.truncate(backups.len().saturating_sub(keep.max(1)));
    for path in &backups {
        std::fs::remove_file(path)?;
    }
    Ok(backups)
}

/// The temporary name of an unfinished copy.
pub(super) fn partial(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".{}.{PARTIAL}", std::process::id()));
    name.into()
}

/// Deletes unfinished copies next to a target whose processes were killed. Works only where the
/// system shows whether a process still exists.
pub fn sweep(target: &Path, store: &Path) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    let Ok(entries) = std::fs::read_dir(folder_of(target)) else { return };
    let (store, target) = (name_of(store), name_of(target));
    for entry in entries.flatten() {
        let Ok(file) = entry.file_name().into_string() else { continue };
        // An unfinished copy may have side files, like every store.
        let name = file.strip_suffix("-wal").or_else(|| file.strip_suffix("-shm")).unwrap_or(&file);
        let Some(whole) = name.strip_suffix(PARTIAL).and_then(|name| name.strip_suffix('.')) else {
            continue;
        };
        let Some((whole, process)) = whole.rsplit_once('.') else { continue };
        let is_ours = whole == target || parse(whole, &store).is_some();
        let is_number = !process.is_empty() && process.bytes().all(|b| b.is_ascii_digit());
        if is_ours && is_number && !Path::new("/proc").join(process).exists() {
            // Another process may have removed it already.
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_contains_the_time_and_can_be_parsed() {
        let at = Time::parse("2026-11-15T08:00:00.123456Z").unwrap();
        let store = Path::new("/no/such/folder/my.db");
        let name = fresh(folder_of(store), store, at, BACKUP);
        assert_eq!(name, Path::new("/no/such/folder/my.db.20261115T080000Z.backup"));
        assert_eq!(parse("my.db.20261115T080000Z.backup", "my.db"), Some(("20261115T080000Z", 1)));
        assert_eq!(
            parse("my.db.20261115T080000Z-12.backup", "my.db"),
            Some(("20261115T080000Z", 12))
        );
    }

    #[test]
    fn no_other_name_is_taken_for_ours() {
        for name in [
            "my.db",
            "my.db.backup",
            "my.db.v1.bak",
            "my.db.20261115T080000Z.replaced",
            "my.db.20261115T080000Z.backup.gz",
            "my.db.20261115T080000Z-1.backup",
            "my.db.20261115T080000Z-x.backup",
            "my.db.2026-11-15T08:00Z.backup",
            "my.db.holiday-photos-Z.backup",
            "other.db.20261115T080000Z.backup",
            "my.db.old.20261115T080000Z.backup",
        ] {
            assert_eq!(parse(name, "my.db"), None, "{name}");
        }
    }
}
