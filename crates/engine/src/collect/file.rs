//! A file of the project. It must be below the project's folder after links are resolved.

use std::path::Path;

use punchlist_store::outside;

use super::{Fault, OUTPUT_MAX, text};

pub(super) fn read(path: &str, directory: Option<&Path>) -> Result<String, Fault> {
    let folder = directory.ok_or_else(|| Fault::failed("has no folder to look for its file in"))?;
    let folder = folder.canonicalize().map_err(|_| {
        Fault::Failed(format!("has no folder `{}` on this machine", folder.display()))
    })?;
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Fault::Failed(format!("has no file `{path}`")),
        std::io::ErrorKind::InvalidInput => Fault::Failed(format!("`{path}` is not a plain file")),
        _ => Fault::Failed(format!("cannot read `{path}`: {error}")),
    };
    let found = folder.join(path).canonicalize().map_err(cannot)?;
    if !found.starts_with(&folder) {
        return Err(Fault::Failed(format!("`{path}` leads out of the project's folder")));
    }
    text(outside::beginning(&found, OUTPUT_MAX + 1).map_err(cannot)?)
}
