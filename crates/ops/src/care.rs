//! Care of the store, for every surface: what may be done to it as a whole.
//!
//! These are no operations of the catalogue: they need no project and no transaction, and they
//! must work where the store cannot be opened.

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

/// How many sessions of hosts are looked at.
const HOSTS_SEEN: i64 = 200;

/// A backup, and which older ones went for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    #[serde(flatten)]
    pub backup: Backup,
    pub deleted: Vec<PathBuf>,
}

/// What a restore is asked for with.
#[derive(Clone, Debug)]
pub struct Restore<'a> {
    pub from: &'a Path,
    /// Events that the backup does not have may go.
    pub overwrite: bool,
    /// What the surface saw of its caller, and the token that came with it.
    pub facts: Facts,
    pub token: Option<&'a str>,
    /// The project it is asked for in.
    pub project: &'a str,
    pub now: Time,
}

impl Ops {
    /// The newest hooks of hosts in a project; a store that is not there has none.
    pub fn hosts_seen(&self, project: &str) -> Result<Vec<HostRecord>, Error> {
        if let Target::File(path) = self.target()
            && !path.exists()
        {
            return Ok(Vec::new());
        }
        let project = project.to_owned();
        Ok(self.store()?.read(move |tx| tx.host_records(&project, HOSTS_SEEN))?)
    }

    /// Looks the store over and changes nothing.
    #[must_use]
    pub fn examine(&self) -> Report {
        care::examine(self.target(), self.options())
    }

    /// Copies the store: to a file that does not exist yet, or under a name that says when, into
    /// a folder or beside the store. With `keep`, the oldest of those names go.
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
                let detail = format!("{}: an old backup cannot go: {error}", folder.display());
                punchlist_store::Error::new(ErrorKind::Backend, detail)
            })?,
            _ => Vec::new(),
        };
        Ok(BackedUp { backup, deleted })
    }

    /// Puts a backup back. What the store has and the backup has not is lost only if told.
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

    /// A backup brings its own tokens along, so only the operator of the store that goes may put
    /// one there. Where there is no store yet, nobody has anything to lose. Says whether there is
    /// one to be replaced.
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
            // A store that cannot be read knows no token: the facts must do.
            Err(Error::Store(error)) if cannot_be_read(error.kind) => prove(facts)?,
            identified => identified?,
        };
        // One that cannot be read has no rule.
        match self.admits_writing(proof) {
            Err(Error::Store(error)) if cannot_be_read(error.kind) => {}
            admitted => admitted?,
        }
        for_the_whole_store(&actor, Action::Restore, "restore")?;
        Ok((actor, proof, true))
    }

    /// The file of the store; a server has tools of its own for all its databases.
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

/// What is done to a store as a whole is not for one whose token reaches a part of it.
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

/// Do both name one file?
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

const fn cannot_be_read(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Corrupt | ErrorKind::NotOurs | ErrorKind::Newer)
}

/// Writes down in the log of every project that the store was restored. A backup without a project
/// gets the one it was asked for in: a log without an event has no number to go on from.
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
    // Or the bootstrap of a backup from before its first operator would be open again.
    if may_any(actor.role, Subject::Store, Action::Govern) {
        operator_seen(tx, now)
    } else {
        Ok(())
    }
}
