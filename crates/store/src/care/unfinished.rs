//! A file that is being written: readable only by its owner, under a temporary name until it is
//! complete.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use super::backup::io;
use super::names;
use super::restore::is_there;
use crate::Error;

/// A file under its temporary name. It is deleted when dropped.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    target: PathBuf,
}

impl Unfinished {
    /// Creates an empty file next to the target.
    pub fn create(target: &Path) -> Result<(Self, File), Error> {
        let path = names::partial(target);
        let mut create = OpenOptions::new();
        create.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut create, 0o600);
        let file = create.open(&path).map_err(|error| io(target, &error))?;
        Ok((Self { path, target: target.to_owned() }, file))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Renames the file to its final name and keeps it, even after a power cut. It replaces what is
    /// there.
    pub fn keep(self) -> Result<(), Error> {
        self.name(|path, target| fs::rename(path, target))
    }

    /// Like `keep`, but fails if the name is taken by a file that is not empty.
    pub fn keep_new(self) -> Result<(), Error> {
        // A link is never made over an existing name; the old name is removed on drop. An empty file
        // is replaced, and not every file system has links.
        self.name(|path, target| match fs::hard_link(path, target) {
            Err(_) if !is_there(target) => fs::rename(path, target),
            linked => linked,
        })
    }

    fn name(&self, name: impl FnOnce(&Path, &Path) -> std::io::Result<()>) -> Result<(), Error> {
        File::open(&self.path)
            .and_then(|file| file.sync_all())
            .and_then(|()| name(&self.path, &self.target))
            .map_err(|error| io(&self.target, &error))?;
        // Not every file system can sync a folder, so errors are ignored.
        if let Ok(folder) = File::open(names::folder_of(&self.target)) {
            drop(folder.sync_all());
        }
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}
