//! Replaces a file of the person's in one step: a new file beside it takes its name.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use punchlist_core::plan::BYTES_MAX;
use punchlist_store::outside;

use crate::failure::Failure;

/// Puts new bytes in the place of the old ones, unless somebody wrote meanwhile. The new file is on the
/// disk, and has the same permissions, before it takes the name. `name` is how people call the file.
pub(super) fn replace(path: &Path, name: &str, before: &[u8], after: &[u8]) -> Result<(), Failure> {
    let io = |error: std::io::Error| fault(path, &error);
    // The target of a link is written, and the link stays.
    let path = fs::canonicalize(path).map_err(io)?;
    let own = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{own}.{}.punch", std::process::id()));
    let written = write_beside(&path, &beside, name, before, after);
    if written.is_err() {
        drop(fs::remove_file(&beside));
    }
    written?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        // The name is kept through a loss of power, where the system can promise that.
        drop(File::open(folder).and_then(|folder| folder.sync_all()));
    }
    Ok(())
}

fn write_beside(
    path: &Path,
    beside: &Path,
    name: &str,
    before: &[u8],
    after: &[u8],
) -> Result<(), Failure> {
    let io = |error: std::io::Error| fault(path, &error);
    let mut file = File::options().write(true).create_new(true).open(beside).map_err(io)?;
    file.set_permissions(fs::metadata(path).map_err(io)?.permissions()).map_err(io)?;
    file.write_all(after).and_then(|()| file.sync_all()).map_err(io)?;
    if outside::read(path, BYTES_MAX).map_err(io)? != before {
        return Err(changed(name));
    }
    fs::rename(beside, path).map_err(io)
}

pub(super) fn changed(name: &str) -> Failure {
    let message = format!("{name} was changed by somebody else meanwhile, so nothing was written");
    let hint = Some("check the file, then run the command again".to_owned());
    Failure::Declined { code: "file_changed", message, hint }
}

fn fault(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Io(format!("{}: {error}", path.display()))
}
