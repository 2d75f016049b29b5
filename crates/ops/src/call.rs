//! One call in its transaction: it finds or creates the list, decides, and records.
//!
//! All handlers use this, so projects and lists are created on first use in one way, and only
//! decisions of the core are written.

mod checklist;
mod conversations;
mod cycle;
mod delegations;
mod drive;
mod follows;
mod gates;
mod host_brief;
mod hosts;
mod issues;
mod metrics;
mod missions;
mod naming;
mod permissions;
mod plans;
mod projects;
mod reach;
mod runs;
mod session_lists;
mod sessions;
mod wakes;

pub use drive::Scene;
pub use missions::Counts;
pub use plans::BRANCH as DEFAULT_BRANCH;
pub(crate) use reach::or_unknown;
pub(crate) use runs::NewRun;
pub(crate) use session_lists::scope_of as scope_of_session;
pub(crate) use sessions::NewSession;

use std::fmt;

use punchlist_core::authority::Action;
use punchlist_core::command::{Command, denied_try};
use punchlist_core::event::{ListOpened, ProjectOpened};
use punchlist_core::follow;
use punchlist_core::issue::address::{self, Precision};
use punchlist_core::policy::{Wip, policy};
use punchlist_core::text::{TextFault, Title};
use punchlist_core::{
    Actor, By, Decide, Decision, Event, Ids, IssueId, List, ListId, ProjectId, Refusal, Refused,
    Scope, Snapshot, TodoId, decide,
};
use punchlist_store::rows::lists::{Lock, TodoKey};
use punchlist_store::{Dialect, Load, Stamp, Tx};

use crate::explain::Fault;
use crate::{Envelope, Error, Place, clock};

/// A call inside its transaction.
#[derive(Debug)]
pub struct Call<'a, 't> {
    tx: &'a mut Tx<'t>,
    envelope: &'a Envelope,
    cause: &'static str,
    ids: Ids,
    /// The event that a refusal adds to the log: project, aggregate, event.
    audit: Option<(ProjectId, String, Box<Event>)>,
}

impl<'a, 't> Call<'a, 't> {
    pub(crate) const fn new(
        tx: &'a mut Tx<'t>,
        envelope: &'a Envelope,
        cause: &'static str,
        ids: Ids,
    ) -> Self {
        Self { tx, envelope, cause, ids, audit: None }
    }

    #[must_use]
    pub const fn envelope(&self) -> &'a Envelope {
        self.envelope
    }

    pub const fn tx(&mut self) -> &mut Tx<'t> {
        self.tx
    }

    /// The project, if anything was ever written to it. Refuses one that was merged into another.
    pub fn project(&mut self) -> Result<Option<ProjectId>, Error> {
        Ok(self.home()?.map(|home| home.id))
    }

    /// Loads an item for a change, by its id or number, with everything its rules depend on. If the
    /// list allows only one item in progress, the whole list is locked and loaded; otherwise only
    /// the item.
    pub fn todo(&mut self, named: &str) -> Result<(Snapshot, TodoId), Error> {
        let (list, id) = self.find_todo(named)?;
        let snapshot = self.with_todo(list, id)?;
        Ok((snapshot, id))
    }

    /// Finds the id of an item by its id or number. Refuses an unknown one.
    pub(crate) fn todo_named(&mut self, named: &str) -> Result<TodoId, Error> {
        self.find_todo(named).map(|(_, id)| id)
    }

    /// Finds an item and its list. Neither is locked.
    pub(crate) fn find_todo(&mut self, named: &str) -> Result<(List, TodoId), Error> {
        let unknown = || {
            let (todo_id, list) = (named.to_owned(), None);
            Error::from(Refusal::UnknownTodo { todo_id, list })
        };
        let project = self.project()?.ok_or_else(unknown)?;
        let by_key = match TodoKey::parse(named) {
            Some(key) => self.tx.list_of(project, key)?,
            None => None,
        };
        let (list, id) = match by_key {
            Some(found) => found,
            // A short id may be digits alone and look like a number.
            None => match self.find_by_text(named) {
                Ok(Some(found)) => found,
                missed => {
                    let meant = self.todo_meant(named)?;
                    let key = meant.as_deref().and_then(TodoKey::parse);
                    let Some(key) = key else { return missed?.ok_or_else(unknown) };
                    self.tx.list_of(project, key)?.ok_or_else(unknown)?
                }
            },
        };
        or_unknown(self.reach_scope(&list.scope), unknown)?;
        Ok((list, id))
    }

    /// How exactly the caller must name an item.
    pub(crate) fn precision(&self) -> Precision {
        Precision::of(self.envelope.actor.role)
    }

    /// Finds an item by its text, in the issue that the caller names, else in that of its session.
    /// `None` if there is none or it has no checklist.
    fn find_by_text(&mut self, text: &str) -> Result<Option<(List, TodoId)>, Error> {
        let issue = match self.named_issue(Lock::No)? {
            Some(issue) => Some(issue),
            None => match self.session_if_clear()? {
                Some(session) => self.bound_issue(&session, Lock::No)?,
                None => None,
            },
        };
        let Some(issue) = issue else { return Ok(None) };
        let precision = self.precision();
        let Some(checklist) = self.checklist(&issue)? else { return Ok(None) };
        let id = address::find(&checklist, text, precision)?;
        Ok(Some((checklist.list, id)))
    }

    /// Locks and loads as much of a list as a decision about this item needs.
    fn with_todo(&mut self, list: List, id: TodoId) -> Result<Snapshot, Error> {
        self.lock_todo(&list, id)?;
        self.with_locked_todo(list, id)
    }

    /// Locks an item as a change of it does: its list, or the item alone if many may be in progress.
    pub(crate) fn lock_todo(&mut self, list: &List, id: TodoId) -> Result<(), Error> {
        self.lock_owner(&list.scope)?;
        match policy(list.kind()).wip {
            Wip::Many => self.tx.lock_todo(id)?,
            Wip::AtMostOne | Wip::ExactlyOneStep => self.tx.lock_list(list.id)?,
        }
        Ok(())
    }

    /// Like `with_todo`, for an item or a list that is already locked.
    pub(crate) fn with_locked_todo(&mut self, list: List, id: TodoId) -> Result<Snapshot, Error> {
        let list_id = list.id;
        let load = match policy(list.kind()).wip {
            Wip::Many => Load::Item(id),
            Wip::AtMostOne => Load::Open,
            Wip::ExactlyOneStep => Load::All,
        };
        let mut snapshot = self.snapshot(list, load)?;
        if !snapshot.todos.contains_key(&id) {
            // A settled item is not among the open ones, but its refusal should say that it is
            // settled.
            snapshot.todos.extend(self.tx.todo(list_id, id)?.map(|todo| (id, todo)));
        }
        self.bring_terms(&mut snapshot)?;
        Ok(snapshot)
    }

    /// Loads a list, if it exists and is not archived. Creates nothing.
    pub fn look(&mut self, scope: &Scope, load: Load) -> Result<Option<Snapshot>, Error> {
        match self.find(scope)?.filter(|list| list.archived_at.is_none()) {
            Some(list) => Ok(Some(self.snapshot(list, load)?)),
            None => Ok(None),
        }
    }

    /// The current state of a list: holds whose time is over are lifted.
    pub(crate) fn snapshot(&mut self, list: List, load: Load) -> Result<Snapshot, Error> {
        let mut snapshot = self.tx.snapshot(list, load)?;
        snapshot.lift_holds(self.envelope.now);
        Ok(snapshot)
    }

    /// Finds the list of a scope, even if it is archived.
    pub(crate) fn find(&mut self, scope: &Scope) -> Result<Option<List>, Error> {
        self.reach_scope(scope)?;
        match self.project()? {
            Some(project) => Ok(self.tx.list(project, scope, Lock::No)?),
            None => Ok(None),
        }
    }

    /// Locks the owner of a list before the list itself. Everything locks in this order.
    pub(crate) fn lock_owner(&mut self, scope: &Scope) -> Result<(), Error> {
        match scope {
            // SQLite has only one writer, so it needs no lock.
            Scope::Issue { .. } if self.tx.dialect() == Dialect::Postgres => {
                if let Some(id) = issue_of(scope) {
                    self.tx.issue_by_id(id, Lock::Row)?;
                }
            }
            Scope::Pillar { mission, .. } => {
                if let Some(project) = self.project()? {
                    self.tx.mission_head(project, mission, Lock::Row)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Loads the limits and terms of a pillar's list from its mission, with the counts they apply
    /// to.
    fn bring_terms(&mut self, snapshot: &mut Snapshot) -> Result<(), Error> {
        let Scope::Pillar { mission: slug, pillar } = &snapshot.list.scope else { return Ok(()) };
        let project = snapshot.list.project_id;
        let Some(mission) = self.tx.mission_head(project, slug, Lock::No)? else { return Ok(()) };
        let counted = mission.counted(pillar);
        snapshot.tally = self.tx.open_tally(project, slug, counted)?;
        snapshot.limits = Some(mission.todo.limits);
        snapshot.terms = mission.terms();
        Ok(())
    }

    /// Locks and loads a list for a change, if it exists.
    pub fn lock(&mut self, scope: &Scope, load: Load) -> Result<Option<Snapshot>, Error> {
        self.reach_scope(scope)?;
        let Some(project) = self.project()? else {
            return Ok(None);
        };
        self.lock_owner(scope)?;
        let Some(list) = self.tx.list(project, scope, Lock::Row)? else {
            return Ok(None);
        };
        let mut snapshot = self.snapshot(list, load)?;
        self.bring_terms(&mut snapshot)?;
        Ok(Some(snapshot))
    }

    /// Locks and loads a list for a change. Creates the project and the list on first use.
    pub fn open(&mut self, scope: Scope, load: Load) -> Result<Snapshot, Error> {
        self.reach_scope(&scope)?;
        let project = self.ensure_project()?;
        self.lock_owner(&scope)?;
        if let Some(list) = self.tx.list(project, &scope, Lock::Row)? {
            let mut snapshot = self.snapshot(list, load)?;
            self.bring_terms(&mut snapshot)?;
            return Ok(snapshot);
        }
        let id = ListId::from(self.ids.ulid());
        let list = List::new(id, project, scope, self.envelope.now);
        let mut snapshot = Snapshot::empty(list.clone());
        let opened = Decision { events: vec![ListOpened { list }.into()], ..Decision::default() };
        self.record(&mut snapshot, &opened)?;
        self.bring_terms(&mut snapshot)?;
        Ok(snapshot)
    }

    pub(crate) const fn ids(&mut self) -> &mut Ids {
        &mut self.ids
    }

    /// Logs an event about something that is not a list, in the caller's project.
    pub(crate) fn log(&mut self, aggregate: &str, event: impl Into<Event>) -> Result<(), Error> {
        let project = self.ensure_project()?;
        let stamp = self.stamp(project);
        self.tx.append(&stamp, aggregate, &event.into())?;
        Ok(())
    }

    /// The project, created on first use.
    pub fn ensure_project(&mut self) -> Result<ProjectId, Error> {
        let place = self.envelope.context.place.as_ref();
        let Some(home) = self.home()? else { return self.new_project(place) };
        let Some(place) = place else { return Ok(home.id) };
        let completed = match home.place.as_deref() {
            // A project of an older version has no stored place. It gets the place of its first
            // writer.
            None if self.came_by_a_merge()? => None,
            None => Some(place.clone()),
            Some(known) => Place::read(known).and_then(|known| known.completed_by(place)),
        };
        if let Some(completed) = completed {
            self.tx.place_project(home.id, home.place.as_deref(), &as_stored(&completed)?)?;
        }
        Ok(home.id)
    }

    fn new_project(&mut self, place: Option<&Place>) -> Result<ProjectId, Error> {
        let name = host_id("project", Some(&self.envelope.project))?
            .ok_or(Error::MissingContext { missing: vec!["project"] })?;
        let (project_id, created_at) = (ProjectId::from(self.ids.ulid()), self.envelope.now);
        self.tx.insert_project(project_id, &name, created_at)?;
        if let Some(place) = place {
            self.tx.place_project(project_id, None, &as_stored(place)?)?;
        }
        let event = ProjectOpened { project_id, name, created_at }.into();
        let stamp = self.stamp(project_id);
        self.tx.append(&stamp, &project_id.to_string(), &event)?;
        Ok(project_id)
    }

    /// Decides a command on a list and records the result (steps 5 to 7).
    pub fn decide(
        &mut self,
        snapshot: &mut Snapshot,
        command: impl Into<Command>,
    ) -> Result<Decision, Error> {
        let actor =
            Actor { proof: self.envelope.proof.credential(), ..self.envelope.actor.clone() };
        self.decide_as(&actor, snapshot, &command.into())
    }

    /// Like `decide`, for an actor other than the caller, such as the engine acting by policy.
    pub(crate) fn decide_as(
        &mut self,
        actor: &Actor,
        snapshot: &mut Snapshot,
        command: &Command,
    ) -> Result<Decision, Error> {
        match decide(snapshot, command, actor, self.envelope.now, &mut self.ids) {
            Ok(decision) => {
                self.record(snapshot, &decision)?;
                if let Some(issue) = issue_of(&snapshot.list.scope) {
                    self.follow(issue, actor, snapshot, command, &decision)?;
                }
                let then = follow::delegation::settled(&snapshot.list, &decision, actor);
                self.then(snapshot.list.project_id, then)?;
                let then = follow::mission::changed(snapshot, &decision, actor);
                self.then(snapshot.list.project_id, then)?;
                let then = follow::delegation::reassigned(&snapshot.list, &decision, actor);
                self.then(snapshot.list.project_id, then)?;
                Ok(decision)
            }
            Err(refused) => Err(self.refuse(snapshot.list.project_id, &snapshot.list.id, refused)),
        }
    }

    /// Lets the core decide a command on something that is not a list, as the caller. If a refusal
    /// is to be logged, it is logged under `aggregate`.
    pub(crate) fn decided<C: Decide>(
        &mut self,
        command: &C,
        on: C::On<'_>,
        aggregate: (ProjectId, &dyn fmt::Display),
    ) -> Result<C::Out, Error> {
        self.decided_by(&self.envelope.actor, command, on, aggregate)
    }

    /// The caller, the time and fresh ids.
    const fn by(&mut self) -> By<'_> {
        By { actor: &self.envelope.actor, now: self.envelope.now, ids: &mut self.ids }
    }

    /// Like `decided`, for an actor other than the caller.
    pub(crate) fn decided_by<C: Decide>(
        &mut self,
        actor: &Actor,
        command: &C,
        on: C::On<'_>,
        (project, id): (ProjectId, &dyn fmt::Display),
    ) -> Result<C::Out, Error> {
        let by = By { actor, ..self.by() };
        command.decide(on, by).map_err(|refused| self.refuse(project, id, refused))
    }

    /// Logs that the caller tried to judge an item although its role never may.
    pub(crate) fn keep_try(&mut self, action: Action, named: &str) -> Result<(), Error> {
        let Some(project) = self.tx.project(&self.envelope.project)? else { return Ok(()) };
        let Some(key) = TodoKey::parse(named) else { return Ok(()) };
        let Some((list, todo_id)) = self.tx.list_of(project, key)? else { return Ok(()) };
        let role = self.envelope.actor.role;
        let Some(tried) = denied_try(role, list.kind(), action, todo_id) else { return Ok(()) };
        let stamp = self.stamp(project);
        Ok(self.tx.append(&stamp, &list.id.to_string(), &tried.into())?)
    }

    /// Remembers the event that a refusal adds to the log, if it adds one.
    fn refuse(
        &mut self,
        project: ProjectId,
        aggregate: &dyn fmt::Display,
        refused: Refused,
    ) -> Error {
        self.audit = refused.audit.map(|event| (project, aggregate.to_string(), event));
        refused.refusal.into()
    }

    /// Adds the caller's report to the remembered event of a refusal.
    pub(crate) fn keep_words(&mut self, words: Option<&str>) {
        let Some((_, _, event)) = &mut self.audit else { return };
        let words = words.map(str::to_owned);
        match &mut **event {
            Event::CommandRefused(refused) => refused.said = words,
            Event::DelegationRefused(refused) => refused.said = words,
            _ => {}
        }
    }

    /// Logs the remembered event of a refusal. Returns false if there is none.
    pub(crate) fn record_audit(&mut self) -> Result<bool, Error> {
        let Some((project, aggregate, event)) = self.audit.take() else {
            return Ok(false);
        };
        let stamp = self.stamp(project);
        self.tx.append(&stamp, &aggregate, &event)?;
        Ok(true)
    }

    fn record(&mut self, snapshot: &mut Snapshot, decision: &Decision) -> Result<(), Error> {
        let stamp = self.stamp(snapshot.list.project_id);
        Ok(self.tx.record(snapshot, decision, &stamp, &mut self.ids)?)
    }

    fn stamp(&self, project: ProjectId) -> Stamp {
        let (actor, at) = (self.envelope.actor.clone(), self.envelope.now);
        let recorded_at = clock::now();
        let proof = match self.envelope.context.client_answer {
            // The user's answer comes from the caller's client, and the client is its only proof.
            Some(_) => "client".to_owned(),
            None => self.envelope.proof.to_string(),
        };
        Stamp { project, actor, cause: self.cause, at, proof, recorded_at }
    }
}

/// A place in its stored form.
fn as_stored(place: &Place) -> Result<String, Error> {
    serde_json::to_string(place).map_err(|error| Error::Internal { detail: error.to_string() })
}

/// The issue that a checklist belongs to.
fn issue_of(scope: &Scope) -> Option<IssueId> {
    match scope {
        Scope::Issue { issue_id } => IssueId::parse(issue_id),
        _ => None,
    }
}

/// The caller's turn, from the envelope alone (T-19, T-20).
pub(crate) fn turn(envelope: &Envelope) -> Result<Scope, Error> {
    let context = &envelope.context;
    let conversation = host_id("conversation", context.conversation.as_deref())?;
    let turn = host_id("turn", context.turn.as_deref())?;
    match (conversation, turn) {
        (Some(conversation_id), Some(turn_id)) => Ok(Scope::Turn { conversation_id, turn_id }),
        (conversation, turn) => {
            let absent = [("conversation", conversation.is_none()), ("turn", turn.is_none())];
            let missing = absent.into_iter().filter(|(_, gone)| *gone).map(|(n, _)| n);
            Err(Error::MissingContext { missing: missing.collect() })
        }
    }
}

/// Checks an id or a name that a host gave: any text, but not blank and not too long.
pub(crate) fn host_id(name: &str, given: Option<&str>) -> Result<Option<String>, Error> {
    let path = name.to_owned();
    match given.map(Title::new) {
        None | Some(Err(TextFault::Blank)) => Ok(None),
        Some(Ok(id)) => Ok(Some(id.into_string())),
        Some(Err(TextFault::TooLong { limit, length, .. })) => {
            Err(Fault::TooLong { path, length, limit, unit: "characters" }.into())
        }
        Some(Err(TextFault::Nul)) => {
            let (found, expected) = ("a text with a NUL character", "text without NUL");
            Err(Fault::BadValue { path, found: found.into(), expected: expected.into() }.into())
        }
    }
}
