//! Finds the repository and lists its files. The callers read them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::process;

/// The root of the workspace: the folder above this crate, as cargo reports it at run time.
///
/// The compile-time value is not used, because a checkout may be moved together with its build
/// directory.
pub(crate) fn root() -> Result<PathBuf> {
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set: run this as `cargo xtask …`")?;
    let root = Path::new(&crate_dir).parent().context("the xtask crate has no parent folder")?;
    Ok(root.to_path_buf())
}

/// The repository's files, relative to `root` with forward slashes: tracked ones and new ones that
/// are not ignored. Only files that exist; symbolic links are left out.
pub(crate) fn files(root: &Path) -> Result<Vec<String>> {
    let mut git = process::bound("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let listing = process::output(&mut git, "git ls-files")?;
    let listing = String::from_utf8(listing).context("a file name is not UTF-8")?;
    let mut files: Vec<String> = listing
        .split_terminator('\0')
        .filter(|path| root.join(path).symlink_metadata().is_ok_and(|meta| meta.is_file()))
        .map(str::to_owned)
        .collect();
    files.sort();
    // An unmerged path is listed once per side.
    files.dedup();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_file_is_among_the_repositorys_files() {
        let files = files(&root().unwrap()).unwrap();
        assert!(files.iter().any(|path| path == "xtask/src/repository.rs"));
        assert!(!files.iter().any(|path| path.starts_with("target/")));
    }
}
