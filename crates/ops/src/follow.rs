//! Follows the log of a project: the existing events, then new ones, as far as the caller may see
//! them.
//!
//! Every read uses the operation `event_list`, so its access rules apply, and a position that the
//! log does not continue from is refused (P-29).

use std::time::{Duration, Instant};

use punchlist_core::{Event, Span, Time};
use punchlist_store::watch::Watch;
use serde_json::{Value, json};

use crate::catalogue::{Operation, find};
use crate::explain::{Fault, nearest};
use crate::{Envelope, Error, Ops};

/// How many events one read requests.
const PAGE: i64 = 1_000;

/// A position in the log of a project, and a watch for later events.
#[derive(Debug)]
pub struct Follow<'o> {
    ops: &'o Ops,
    operation: &'static Operation,
    envelope: Envelope,
    visibility: Value,
    watch: Watch<'o>,
    cursor: i64,
    /// There may be events that were not read yet.
    look: bool,
}

impl<'o> Follow<'o> {
    /// Starts with an input of `event_list`. Returns its answer, and continues after the last event
    /// in it.
    pub fn from_list(
        ops: &'o Ops,
        envelope: &Envelope,
        input: Value,
    ) -> Result<(Self, Value), Error> {
        let operation = find("event_list")?;
        let visibility = input["visibility"].clone();
        let after = input["after"].as_i64();
        // Start the watch first, so that no event between the two is missed.
        let watch = ops.store()?.watch()?;
        let answer = ops.call(operation, envelope, input)?;
        let last = answer["events"].as_array().and_then(|events| events.last());
        let cursor = last.and_then(|event| event["seq"].as_i64()).or(after).unwrap_or(0);
        let envelope = envelope.clone();
        let follow = Self { ops, operation, envelope, visibility, watch, cursor, look: true };
        Ok((follow, answer))
    }

    /// Starts after this event, or after the newest event if none is given.
    pub fn after(ops: &'o Ops, envelope: &Envelope, seq: Option<i64>) -> Result<Self, Error> {
        let (mut follow, _) = Self::from_list(ops, envelope, json!({ "limit": 1 }))?;
        follow.cursor = seq.unwrap_or(follow.cursor);
        Ok(follow)
    }

    /// The next events, in order; empty on timeout.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<Value>, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            if self.look {
                let mut input = json!({ "after": self.cursor, "limit": PAGE });
                if !self.visibility.is_null() {
                    input["visibility"] = self.visibility.clone();
                }
                let mut answer = self.ops.call(self.operation, &self.envelope, input)?;
                // There is more than one page: read the rest without waiting.
                self.look = answer["nextCursor"].is_i64();
                if let Value::Array(events) = answer["events"].take()
                    && let Some(last) = events.last().and_then(|event| event["seq"].as_i64())
                {
                    self.cursor = last;
                    return Ok(events);
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.look = self.watch.wait(left)?;
            if self.watch.is_astray() {
                return Err(Error::ResetRequired { after: self.cursor, last_seq: None });
            }
            if !self.look && Instant::now() >= deadline {
                return Ok(Vec::new());
            }
        }
    }

    /// Waits for the next events of these types (any type if empty), or fails with `timeout`.
    pub fn wait(&mut self, types: &[String], timeout: Span) -> Result<Value, Error> {
        let deadline = Instant::now() + Duration::from_secs(timeout.as_seconds());
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut events = self.next(left)?;
            if events.is_empty() {
                return Err(Error::Timeout { after: timeout, cursor: self.cursor });
            }
            if !types.is_empty() {
                events.retain(|event| types.iter().any(|name| event["type"] == name.as_str()));
            }
            if !events.is_empty() {
                return Ok(json!({ "events": events, "cursor": self.cursor }));
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

/// Parses `since`: a span before now, or a time.
pub fn since(given: Option<&str>, default: Span, now: Time) -> Result<Time, Error> {
    let Some(text) = given.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(before(now, default));
    };
    if let Some(span) = Span::parse(text) {
        return Ok(before(now, span));
    }
    Time::parse(text).ok_or_else(|| {
        let expected = format!("{}, or an RFC 3339 time", Span::SPELLING);
        Fault::BadValue { path: "since".into(), found: format!("`{text}`"), expected }.into()
    })
}

fn before(now: Time, span: Span) -> Time {
    now.plus_seconds(-i64::try_from(span.as_seconds()).unwrap_or(i64::MAX))
}
