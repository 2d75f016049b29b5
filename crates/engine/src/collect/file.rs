//! A file of the project: below the folder, also through links, and no more than a figure needs.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{Fault, OUTPUT_MAX, text};

pub(super) fn read(path: &str, directory: Option<&Path>) -> Result<String, Fault> {
    let folder = directory.ok_or_else(|| Fault::failed("has no folder to look for its file in"))?;
    let folder = folder.canonicalize().map_err(|_| {
        Fault::Failed(format!("has no folder `{}` on this machine", folder.display()))
    })?;
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Fault::Failed(format!("has no file `{path}`")),
        _ => Fault::Failed(format!("cannot read `{path}`: {error}")),
    };
    let found = folder.join(path).canonicalize().map_err(cannot)?;
    if !found.starts_with(&folder) {
        return Err(Fault::Failed(format!("`{path}` leads out of the project's folder")));
    }
    // Not a pipe or a device: those may have no end, or none to come.
    if !found.metadata().map_err(cannot)?.is_file() {
        return Err(Fault::Failed(format!("`{path}` is not a plain file")));
    }
    let mut bytes = Vec::new();
    let file = File::open(&found).map_err(cannot)?;
    file.take(OUTPUT_MAX as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    text(bytes)
}
