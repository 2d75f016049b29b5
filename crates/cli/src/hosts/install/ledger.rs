//! Keeps each file as it was before we edited it, so that `--remove` restores its exact bytes.
//!
//! Each edited file has an entry in the user's data folder, which is also its backup. If others
//! changed the file since, only our edits are removed, and their changes stay.

use std::fs;
use std::io::{Error, Result, Write};
use std::path::{Path, PathBuf};

use punchlist_store::outside;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Change;

/// The longest entry that is read.
const ENTRY_MAX: usize = 16 << 20;

/// Folders of hosts that are made for our files, besides those whose name begins with a dot.
const FOLDERS: [&str; 6] = ["plugins", "hooks", "punchlist", "skills", "commands", "prompts"];

/// The entries of one user.
#[derive(Debug)]
pub(crate) struct Ledger {
    folder: PathBuf,
}

/// One file: its text before our first edit, and after our last.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

impl Ledger {
    pub(crate) const fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Where the entry of a file is: its backup.
    pub(crate) fn entry_of(&self, path: &Path) -> PathBuf {
        let digest = Sha256::digest(path.to_string_lossy().as_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        self.folder.join(format!("{name}-{file}.json"))
    }

    fn entry(&self, path: &Path) -> Option<Entry> {
        let text = outside::text(&self.entry_of(path), ENTRY_MAX).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The original file, if nobody changed it after us.
    pub(crate) fn restored(&self, change: Change) -> Change {
        match self.entry(&change.path) {
            Some(entry) if entry.after == change.before => Change { after: entry.before, ..change },
            _ => change,
        }
    }

    /// Writes a change. The original is saved first, so that an interruption loses nothing.
    pub(crate) fn install(&self, change: &Change) -> Result<()> {
        let before = match self.entry(&change.path) {
            Some(entry) if entry.after == change.before => entry.before,
            _ => change.before.clone(),
        };
        let (path, after) = (change.path.clone(), change.after.clone());
        let entry = serde_json::to_vec_pretty(&Entry { path, before, after })?;
        let backup = self.entry_of(&change.path);
        let kept = fs::create_dir_all(&self.folder).and_then(|()| write(&backup, &entry));
        kept.map_err(|error| {
            let message = format!("its backup {} cannot be written: {error}", backup.display());
            Error::new(error.kind(), message)
        })?;
        apply(change)
    }
}

/// Writes a change as it is, without saving the original.
pub(crate) fn apply(change: &Change) -> Result<()> {
    match &change.after {
        Some(text) => {
            if let Some(folder) = change.path.parent() {
                fs::create_dir_all(folder)?;
            }
            write(&change.path, text.as_bytes())
        }
        None => {
            fs::remove_file(&change.path)?;
            // Removes empty folders that were made for the file; other folders are not empty and
            // stay.
            for folder in change.path.ancestors().skip(1).take(4) {
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                let is_ours = name.starts_with('.') || FOLDERS.contains(&name.as_ref());
                if !is_ours || fs::remove_dir(folder).is_err() {
                    break;
                }
            }
            Ok(())
        }
    }
}

/// Replaces a file completely, or not at all. A link stays a link.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    match path.metadata() {
        Ok(known) => fs::set_permissions(file.path(), known.permissions())?,
        #[cfg(unix)]
        Err(_) => {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644))?;
        }
        #[cfg(not(unix))]
        Err(_) => {}
    }
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
