//! Follows the log of a project: the existing events, then new ones, as far as the caller may see
//! them.
//!
//! Every read uses the operation `event_list`, so its access rules apply, and a position that the
//! log does not continue from is refused (P-29).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use punchlist_core::{Event, Span};
use punchlist_store::watch::Watch;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::catalogue::{Define, find};
use crate::explain::{Fault, nearest};
use crate::input::{Limit, Maybe};
use crate::operations::event_list::{self, EventList, EventRow, Visibility};
use crate::remote::Hints;
use crate::{Envelope, Error, Ops};

/// How often a follower checks whether its token is still valid.
const ROUND: Duration = Duration::from_secs(1);

/// How many events one read requests.
const PAGE: Limit = Limit::MAX;

/// The matching events, and the position after them.
#[derive(Debug, Serialize)]
pub struct Waited {
    pub events: Vec<EventRow>,
    pub cursor: i64,
}

/// A position in the log of a project, and a watch for later events.
#[derive(Debug)]
pub struct Follow<'o> {
    ops: &'o Ops,
    envelope: Envelope,
    visibility: Option<Visibility>,
    /// What ids in the events of the last read are called, where that was asked for.
    names: Option<BTreeMap<String, String>>,
    watch: Eye<'o>,
    cursor: i64,
    /// There may be events that were not read yet.
    look: bool,
}

/// A watch that reports possible writes, in the local store or on a server.
#[derive(Debug)]
pub enum Eye<'o> {
    Store(Watch<'o>),
    Remote(Box<dyn Hints>),
}

impl<'o> Eye<'o> {
    /// Watches from now on.
    pub fn open(ops: &'o Ops, envelope: &Envelope) -> Result<Self, Error> {
        Ok(match ops.remote() {
            Some(remote) => Self::Remote(remote.watch(envelope)?),
            None => Self::Store(ops.store()?.watch()?),
        })
    }

    /// Waits up to `timeout`. Returns false if nothing was written in that time.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, Error> {
        match self {
            Self::Store(watch) => Ok(watch.wait(timeout)?),
            Self::Remote(hints) => hints.wait(timeout),
        }
    }

    /// Was the store replaced by another one? Then this watch sees no more changes.
    #[must_use]
    pub fn is_astray(&self) -> bool {
        match self {
            Self::Store(watch) => watch.is_astray(),
            Self::Remote(_) => false,
        }
    }
}

/// Returns what a follower found, or `reset_required` if the store's file was replaced: the log of
/// another file does not go on from here, and replacing a file causes errors in a read that is under
/// way. So `is_astray` must be asked after the read.
pub fn unless_replaced<T>(
    is_astray: bool,
    after: i64,
    found: Result<T, Error>,
) -> Result<T, Error> {
    if is_astray { Err(Error::ResetRequired { after, last_seq: None }) } else { found }
}

impl<'o> Follow<'o> {
    /// Starts with an input of `event_list`. Returns its answer, and continues after the last event
    /// in it.
    pub fn from_list(
        ops: &'o Ops,
        envelope: &Envelope,
        input: Value,
    ) -> Result<(Self, Vec<EventRow>), Error> {
        let after = input["after"].as_i64();
        let visibility = Option::<Visibility>::deserialize(&input["visibility"]).ok().flatten();
        // Start the watch first, so that no event between the two is missed.
        let watch = Eye::open(ops, envelope)?;
        let is_named = input["names"] == true;
        let page = ops.answer(find(EventList::NAME)?, envelope, input)?;
        let event_list::Output { events, names, .. } = page.into_output()?;
        let names = is_named.then_some(names);
        let cursor = events.last().map(|event| event.seq).or(after).unwrap_or(0);
        let envelope = envelope.clone();
        let follow = Self { ops, envelope, visibility, names, watch, cursor, look: true };
        Ok((follow, events))
    }

    /// Starts after this event, or after the newest event if none is given.
    pub fn after(ops: &'o Ops, envelope: &Envelope, seq: Option<i64>) -> Result<Self, Error> {
        Self::from_list(ops, envelope, json!({ "limit": 1 })).map(|(follow, _)| follow.at(seq))
    }

    /// The same, and learns what ids in the events are called.
    pub fn named_after(ops: &'o Ops, envelope: &Envelope, seq: Option<i64>) -> Result<Self, Error> {
        let input = json!({ "limit": 1, "names": true });
        Self::from_list(ops, envelope, input).map(|(follow, _)| follow.at(seq))
    }

    fn at(mut self, seq: Option<i64>) -> Self {
        self.cursor = seq.unwrap_or(self.cursor);
        self
    }

    /// What ids in the events of the last read are called; empty where it was not asked for.
    pub fn names(&self) -> BTreeMap<String, String> {
        self.names.clone().unwrap_or_default()
    }

    /// The next events, in order; empty after the timeout.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<EventRow>, Error> {
        match self.read(timeout) {
            Ok(events) if !events.is_empty() => Ok(events),
            read => unless_replaced(self.watch.is_astray(), self.cursor, read),
        }
    }

    fn read(&mut self, timeout: Duration) -> Result<Vec<EventRow>, Error> {
        let deadline = Instant::now() + timeout;
        while !self.watch.is_astray() {
            if self.look {
                let input = event_list::Input {
                    after: Some(self.cursor),
                    before: None,
                    since: Maybe(None),
                    brief: None,
                    names: self.names.is_some().then_some(true),
                    limit: PAGE,
                    visibility: self.visibility,
                };
                let page = self.ops.run::<EventList>(&self.envelope, input)?;
                // Check the token after the read, so that events written after a revocation are not
                // shown.
                self.ops.still_admits(self.envelope.proof)?;
                // There is more than one page: read the rest without waiting.
                self.look = page.next_cursor.is_some();
                if let Some(last) = page.events.last() {
                    self.cursor = last.seq;
                    self.names = self.names.is_some().then_some(page.names);
                    return Ok(page.events);
                }
                // A narrowed token may reach nothing on a whole page.
                if let Some(next) = page.next_cursor {
                    self.cursor = next;
                    continue;
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.look = self.watch.wait(left.min(ROUND))?;
            if !self.look {
                self.ops.still_admits(self.envelope.proof)?;
                if Instant::now() >= deadline {
                    break;
                }
            }
        }
        Ok(Vec::new())
    }

    /// The next events of these types (of any, if none is named), or `timeout`.
    pub fn wait(&mut self, types: &[String], timeout: Span) -> Result<Waited, Error> {
        let deadline = Instant::now() + Duration::from_secs(timeout.as_seconds());
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut events = self.next(left)?;
            if events.is_empty() {
                return Err(Error::Timeout { after: timeout, cursor: self.cursor });
            }
            if !types.is_empty() {
                events.retain(|event| types.contains(&event.r#type));
            }
            if !events.is_empty() {
                return Ok(Waited { events, cursor: self.cursor });
            }
        }
    }

    /// The number of the last event that was read.
    #[must_use]
    pub const fn cursor(&self) -> i64 {
        self.cursor
    }
}

/// Refuses an unknown type of event and names the closest one.
pub fn check_types(types: &[String]) -> Result<(), Error> {
    for name in types {
        if !Event::TYPES.contains(&name.as_str()) {
            let (path, found) = ("types".to_owned(), format!("`{name}`"));
            let expected = match nearest(name, Event::TYPES.iter().copied()) {
                Some(nearest) => format!("a type of event, perhaps `{nearest}`"),
                None => format!("a type of event: {}", Event::TYPES.join(", ")),
            };
            return Err(Fault::BadValue { path, found, expected }.into());
        }
    }
    Ok(())
}
