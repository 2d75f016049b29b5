//! The log of the whole store for its followers: one reader, many viewers.
//!
//! A viewer sees in each project what `event_list` would show it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_core::{ProjectId, Refusal};

use crate::call::Call;
use crate::catalogue::Define;
use crate::dispatch::new_ids;
use crate::operations::event_list::{EventList, row};
use crate::token::needs_token;
use crate::{Envelope, Error, Ops};

/// An event as it is sent to viewers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    pub seq: i64,
    pub type_name: String,
    /// The project's name.
    pub project: String,
    pub aggregate: String,
    pub actor: String,
    /// The event as `event_list` shows it, JSON in one line.
    pub json: String,
}

/// A follower of the log, and the events it may see.
#[derive(Clone, Debug)]
pub struct Viewer {
    envelope: Envelope,
    /// Show only this project; `None`: all projects.
    project: Option<String>,
    /// Show only these types of events; empty: all types.
    types: Vec<String>,
    own: bool,
}

/// May a viewer see an event?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    Yes,
    No,
    /// Only the store can tell, because the viewer's token reaches only a part of the project.
    Ask,
}

impl Viewer {
    /// Refuses a caller that may not read any log, or not the log of the project it names.
    pub fn new(
        envelope: Envelope,
        project: Option<String>,
        types: Vec<String>,
    ) -> Result<Self, Error> {
        EventList::ACCESS.check(envelope.actor.role, EventList::NAME)?;
        crate::follow::check_types(&types)?;
        if let Some(name) = &project {
            let covered = envelope.actor.reach.covers_project(name);
            covered.map_err(|missing| Error::from(Refusal::OutOfReach { missing }))?;
        }
        let own = !may_any(envelope.actor.role, Subject::Project, Action::ReadLog);
        Ok(Self { envelope, project, types, own })
    }

    #[must_use]
    pub fn sees(&self, event: &Logged) -> Sight {
        let actor = &self.envelope.actor;
        let hidden = self.project.as_ref().is_some_and(|name| *name != event.project)
            || !self.types.is_empty() && !self.types.contains(&event.type_name)
            || self.own && event.actor != actor.principal
            || actor.reach.covers_project(&event.project).is_err();
        match (hidden, actor.reach.is_narrowed()) {
            (true, _) => Sight::No,
            (false, true) => Sight::Ask,
            (false, false) => Sight::Yes,
        }
    }
}

impl Ops {
    /// The number of the newest event; 0 if there is none.
    pub fn log_end(&self) -> Result<i64, Error> {
        Ok(self.store()?.read(|tx| tx.last_event())?)
    }

    /// Does the log contain this event? If not, a follower cannot continue after it.
    pub fn log_has(&self, seq: i64) -> Result<bool, Error> {
        if seq <= 0 {
            return Ok(true);
        }
        Ok(self.store()?.read(move |tx| tx.has_event(seq))?)
    }

    /// The events of all projects after this number, in order and without gaps.
    pub fn log_after(&self, after: i64, limit: i64) -> Result<Vec<Logged>, Error> {
        self.store()?.read(move |tx| {
            let events = tx.all_events_after(after, limit)?;
            let mut names = BTreeMap::<ProjectId, String>::new();
            let mut logged = Vec::with_capacity(events.len());
            for event in events {
                let project = match names.entry(event.project) {
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(new) => {
                        let name = tx.project_name(event.project)?.unwrap_or_default();
                        new.insert(name).clone()
                    }
                };
                let (seq, type_name) = (event.seq, event.type_name.clone());
                let (aggregate, actor) = (event.aggregate.clone(), event.actor.clone());
                let json = serde_json::to_string(&row(event, &project))
                    .map_err(punchlist_store::Error::from)?;
                logged.push(Logged { seq, type_name, project, aggregate, actor, json });
            }
            Ok::<_, Error>(logged)
        })
    }

    /// For each event: does the viewer's token reach the subject of the event?
    pub fn log_reach(&self, viewer: &Viewer, events: Vec<Arc<Logged>>) -> Result<Vec<bool>, Error> {
        let envelope = viewer.envelope.clone();
        let ids = new_ids(&envelope)?;
        self.store()?.read(move |tx| {
            needs_token(tx, envelope.proof)?;
            let mut known = BTreeMap::<&str, bool>::new();
            let mut seen = Vec::with_capacity(events.len());
            for event in &events {
                let reached = match known.get(event.aggregate.as_str()) {
                    Some(reached) => *reached,
                    None => {
                        let there = Envelope { project: event.project.clone(), ..envelope.clone() };
                        let mut call = Call::new(tx, &there, EventList::NAME, ids.clone());
                        call.reaches_aggregate(&event.aggregate)?
                    }
                };
                known.insert(&event.aggregate, reached);
                seen.push(reached);
            }
            Ok::<_, Error>(seen)
        })
    }
}
