//! The folder in which programs run for a run: the one of its project, never that of another one.
//!
//! A session and a project name folders, but a caller on another machine may have named them. So a
//! folder counts only if it is here and is recognised as the project's (`Place::is`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use punchlist_core::{Run, SessionId};
use punchlist_ops::Ops;

use crate::{caller, repository};

/// How many answers are remembered. A worker may live for months.
const KNOWN_MAX: usize = 1_000;

/// The folders of the projects that this process works for.
pub(crate) struct RunFolders<'a> {
    ops: &'a Ops,
    /// The project that this process was started for.
    home: &'a str,
    /// The folder that it was started in.
    here: PathBuf,
    is_here_first: bool,
    known: Mutex<HashMap<(String, Option<SessionId>), PathBuf>>,
}

impl<'a> RunFolders<'a> {
    pub(crate) fn new(ops: &'a Ops, home: &'a str) -> Self {
        let (here, known) = (caller::folder(), Mutex::default());
        Self { ops, home, here, is_here_first: false, known }
    }

    /// For a run that somebody starts here: this folder has priority over that of its session.
    pub(crate) fn here_first(self) -> Self {
        Self { is_here_first: true, ..self }
    }

    /// The folder for a run: that of its session, else this one or another of its project; `None` if
    /// none is on this machine.
    pub(crate) fn folder(&self, project: &str, run: &Run) -> Option<PathBuf> {
        let key = (project.to_owned(), run.session_id);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&key).filter(|folder| folder.is_dir()).cloned();
        if found.is_some() {
            return found;
        }
        let found = self.find(project, run)?;
        let mut known = known();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(key, found.clone());
        Some(found)
    }

    fn find(&self, project: &str, run: &Run) -> Option<PathBuf> {
        let is_home = project == self.home;
        let here = Some(self.here.clone()).filter(|_| is_home);
        let places = self.ops.places_of(project).ok()?;
        if places.is_empty() {
            // Nothing recognises a project that is known by its name only.
            return here;
        }
        let session: Vec<String> = run.session_id.iter().map(ToString::to_string).collect();
        // First those of the session, then the project's.
        let named = self.ops.folders(project, &session).ok()?;
        let mut folders: Vec<PathBuf> = named.iter().map(|named| tree(Path::new(named))).collect();
        if let Some(here) = here {
            let last = folders.len().saturating_sub(1);
            folders.insert(if self.is_here_first { 0 } else { last }, here);
        }
        let is_its = |folder: &PathBuf| {
            let mut found = repository::place(folder).0;
            // An origin alone decides nothing where the project has none.
            if found.root_commit.is_none() && places.iter().any(|place| place.origin.is_none()) {
                found.root_commit = repository::root_commit(folder);
            }
            folder.is_dir() && places.iter().any(|place| place.is(&found))
        };
        folders.into_iter().find(is_its)
    }
}

/// The working tree of a folder that may be inside it, or be its git directory.
fn tree(folder: &Path) -> PathBuf {
    match folder.parent() {
        Some(parent) if folder.ends_with(".git") => parent.to_owned(),
        _ => repository::root(folder).unwrap_or(folder).to_owned(),
    }
}
