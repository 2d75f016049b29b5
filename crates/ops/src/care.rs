//! Maintenance of the whole store, for every surface: check, backup, restore.
//!
//! These are not operations of the catalogue: they need no project and no transaction, and they
//! must work when the store cannot be opened.

use std::path::{Path, PathBuf};

use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_core::event::{ProjectOpened, StoreRestored};
use punchlist_core::{Actor, Event, Ids, ProjectId, Refusal, Time};
use punchlist_store::care::backup::Progress;
use punchlist_store::care::{self, Backup, Outcome, Report, Request, Restored, names};
use punchlist_store::rows::hosts::HostRecord;
use punchlist_store::{ErrorKind, Stamp, Target, Tx};
use serde::Serialize;

use crate::access::Access;
use crate::call::host_id;
use crate::explain::Fault;
use crate::identity::{Facts, prove};
use crate::token::operator_seen;
use crate::{Error, Ops, Proof, clock};

/// The highest number of host sessions that `hosts_seen` returns.
const HOSTS_SEEN: i64 = 200;

/// A new backup, and the older backups that were deleted to make room for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    #[serde(flatten)]
    pub backup: Backup,
    pub deleted: Vec<PathBuf>,
}

/// A request to restore a backup.
#[derive(Clone, Debug)]
pub struct Restore<'a> {
    pub from: &'a Path,
    /// Allow the loss of events that the backup does not contain.
    pub overwrite: bool,
    /// The facts that the surface collected about the caller. The caller's token is in `token`.
    pub facts: Facts,
    pub token: Option<&'a str>,
    /// The caller's project.
    pub project: &'a str,
    pub now: Time,
}

impl Ops {
    /// The newest hooks of hosts in a project; none if the store does not exist.
    pub fn hosts_seen(&self, project: &str) -> Result<Vec<HostRecord>, Error> {
        if let Target::File(path) = self.target()
            && !path.exists()
        {
            return Ok(Vec::new());
        }
        let project = project.to_owned();
        Ok(self.store()?.read(move |tx| tx.host_records(&project, HOSTS_SEEN))?)
    }

    /// Checks the store and changes nothing.
    #[must_use]
    pub fn examine(&self) -> Report {
        care::examine(self.target(), self.options())
    }

    /// Copies the store, either to a new file or, under a name with the time, into a folder or next
    /// to the store. With `keep`, deletes the oldest backups that have such a name.
    pub fn back_up(
        &self,
        to: Option<&Path>,
        keep: Option<usize>,
        now: Time,
        progress: &mut Progress<'_>,
    ) -> Result<BackedUp, Error> {
        let store = self.file("backup")?;
        let folder = match to {
            None => Some(names::folder_of(store)),
            Some(path) => path.is_dir().then_some(path),
        };
        let file = match (folder, to) {
            (Some(folder), _) => names::fresh(folder, store, now, names::BACKUP),
            (None, Some(file)) if keep.is_some() => {
                let (path, found) = ("keep".into(), file.display().to_string());
                let expected = "a folder, or no FILE at all, for several backups".into();
                return Err(Fault::BadValue { path, found, expected }.into());
            }
            (None, to) => to.unwrap_or(store).to_owned(),
        };
        if file.exists() {
            let instead = "name a file that does not exist, or a folder";
            return Err(Error::FileExists { file, instead });
        }
        let backup = care::backup(store, &file, self.options(), progress)?;
        let deleted = match (folder, keep) {
            (Some(folder), Some(keep)) => names::retain(folder, store, keep).map_err(|error| {
                let detail = format!("{}: cannot delete an old backup: {error}", folder.display());
                punchlist_store::Error::new(ErrorKind::Backend, detail)
            })?,
            _ => Vec::new(),
        };
        Ok(BackedUp { backup, deleted })
    }

    /// Restores a backup. Refuses to lose events that the backup does not contain, unless
    /// `overwrite` is set.
    pub fn restore(
        &self,
        wish: Restore<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Restored, Error> {
        let store = self.file("restore")?;
        let Restore { from, overwrite, facts, token, project, now } = wish;
        let project = host_id("project", Some(project))?
            .ok_or(Error::MissingContext { missing: vec!["project"] })?;
        let (actor, proof, replace) = self.who_restores(store, facts, token)?;
        if is_same(store, from) {
            let (path, found) = ("FILE".into(), "the store itself".into());
            return Err(Fault::BadValue { path, found, expected: "a backup of it".into() }.into());
        }
        let ids = clock::ids(now)
            .map_err(|error| Error::Internal { detail: format!("no randomness: {error}") })?;
        let file = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut record = |tx: &mut Tx<'_>, lost| {
            let restored = StoreRestored { file: file.clone(), lost };
            write_down(tx, &restored.into(), &actor, &project, (now, proof), ids.clone())
        };
        let request = Request { from, replace, overwrite, at: now };
        match care::restore(store, request, self.options(), &mut record, progress)? {
            Outcome::Done(restored) => Ok(restored),
            Outcome::WouldLose(loss) => Err(Error::WouldLose { loss }),
        }
    }

    /// Decides who may restore, and whether a store is replaced. A backup brings its own tokens, so
    /// only the operator of the replaced store may restore one over it. If no store exists yet,
    /// nothing can be lost, so everybody may.
    fn who_restores(
        &self,
        store: &Path,
        facts: Facts,
        token: Option<&str>,
    ) -> Result<(Actor, Proof, bool), Error> {
        if !care::is_there(store) {
            let (actor, proof) = prove(facts)?;
            return Ok((actor, proof, false));
        }
        let (actor, proof) = match self.identify(facts.clone(), token) {
            // The tokens of an unreadable store are unknown, so the facts must be enough.
            Err(Error::Store(error)) if cannot_be_read(error.kind) => prove(facts)?,
            identified => identified?,
        };
        // The identity rule of an unreadable store is unknown, so none applies.
        match self.admits_writing(proof) {
            Err(Error::Store(error)) if cannot_be_read(error.kind) => {}
            admitted => admitted?,
        }
        for_the_whole_store(&actor, Action::Restore, "restore")?;
        Ok((actor, proof, true))
    }

    /// The path of the store's file. PostgreSQL is refused: it has its own tools for backups.
    fn file(&self, what: &'static str) -> Result<&Path, Error> {
        match self.target() {
            Target::File(path) => Ok(path),
            Target::Postgres(_) => Err(Error::NotForPostgres { what }),
            Target::Memory => {
                let (path, found) = ("--db".into(), ":memory:".into());
                Err(Fault::BadValue { path, found, expected: "the path of a file".into() }.into())
            }
        }
    }
}

/// Checks the role, and refuses a token that reaches only a part of the store.
pub(crate) fn for_the_whole_store(
    actor: &Actor,
    action: Action,
    what: &'static str,
) -> Result<(), Error> {
    Access::On(Subject::Store, action).check(actor.role, what)?;
    if !actor.reach.is_everything() {
        return Err(Refusal::OutOfReach { missing: "the whole store".to_owned() }.into());
    }
    Ok(())
}

/// Do both paths name the same file?
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

const fn cannot_be_read(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Corrupt | ErrorKind::NotOurs | ErrorKind::Newer)
}

/// Records the restore in the log of every project. A backup without projects gets the caller's
/// project, because an empty log has no last event number to continue from.
fn write_down(
    tx: &mut Tx<'_>,
    restored: &Event,
    actor: &Actor,
    project: &str,
    (now, proof): (Time, Proof),
    mut ids: Ids,
) -> Result<(), punchlist_store::Error> {
    let stamp = |project| Stamp {
        project,
        actor: actor.clone(),
        cause: "restore",
        at: now,
        proof: proof.to_string(),
        recorded_at: clock::now(),
    };
    let mut projects = tx.projects()?;
    if projects.is_empty() {
        let (project_id, name) = (ProjectId::from(ids.ulid()), project.to_owned());
        tx.insert_project(project_id, &name, now)?;
        let opened = ProjectOpened { project_id, name, created_at: now }.into();
        tx.append(&stamp(project_id), &project_id.to_string(), &opened)?;
        projects.push(project_id);
    }
    for project in projects {
        tx.append(&stamp(project), &project.to_string(), restored)?;
    }
    // Otherwise a backup that is older than the first operator would allow the bootstrap again.
    if may_any(actor.role, Subject::Store, Action::Govern) {
        operator_seen(tx, now)
    } else {
        Ok(())
    }
}
