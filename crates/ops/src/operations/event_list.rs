//! `event_list`: the log of a project, from a cursor on or its newest part.

use std::collections::BTreeMap;

use memchr::memmem::Finder;
use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_core::{
    ConversationId, DelegationId, Event, GateId, IssueId, MetricId, ProjectId, RunId, SessionId,
    Time, TodoId,
};
use punchlist_store::Recorded;
use punchlist_store::rows::events::is_set_clock;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::clock;
use crate::input::{Limit, Maybe, Since};

/// Show what happened in this project, oldest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Only events after this number, which must be that of an event you have seen, or 0 for all.
    /// If the log no longer has it, the error is `reset_required`. Absent: the newest events.
    #[serde(default)]
    pub after: Option<i64>,
    /// Only events before this number; without `after`, the newest of them.
    #[serde(default)]
    pub before: Option<i64>,
    /// Only events recorded since then by the real clock, e.g. 90m, 24h or 7d, or an RFC 3339 time;
    /// without `after` and `before`, the oldest of them first.
    #[serde(default)]
    pub since: Maybe<Since>,
    /// Leave out each step of a run and each message.
    #[serde(default)]
    pub brief: Option<bool>,
    /// Also return the names of the items, issues, sessions and runs of the events.
    #[serde(default)]
    pub names: Option<bool>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// Whose events to show; absent: the project's (workers see only their own).
    #[serde(default)]
    pub visibility: Option<Visibility>,
}

/// Frequent events of little use to a reader, which `brief` leaves out.
pub const NOISE: [&str; 2] = ["run_stepped", "message_posted"];

/// Whose events to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    Project,
    Own,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub events: Vec<EventRow>,
    /// What ids in the events are called, where it was asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// Pass as `after` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventRow {
    pub seq: i64,
    /// The version of the data's format.
    pub v: i64,
    pub r#type: String,
    pub project: String,
    /// The subject: the id of a list, an issue or the project.
    pub aggregate: String,
    pub actor: String,
    /// The role that the actor took, if not its own.
    pub r#as: Option<String>,
    /// The operation that caused it.
    pub cause: String,
    pub at: Time,
    /// The real time when it was recorded: `at` may come from PUNCHLIST_NOW.
    #[serde(rename = "recordedAt")]
    pub recorded_at: Time,
    /// What proved the actor's identity: terminal, none, http, token:ID, run:ID or engine;
    /// absent in older logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    #[schemars(with = "Value")]
    pub data: Data,
}

// The JSON of an event as it is stored. Most readers pass it on or parse it as an event, so it is
// checked only when it is written into an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data(String);

impl Data {
    #[must_use]
    pub fn get(&self) -> &str {
        &self.0
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer)
            .map(|raw| Self(String::from(Box::<str>::from(raw))))
    }
}

impl EventRow {
    /// Was it recorded with an overridden clock (`PUNCHLIST_NOW`)?
    #[must_use]
    pub const fn is_under_set_clock(&self) -> bool {
        is_set_clock(self.at, self.recorded_at)
    }

    /// The event itself; `None` if this build does not know it.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        Event::read(&self.r#type, self.data.get()).ok().flatten()
    }
}

#[derive(Debug)]
pub struct EventList;

impl Define for EventList {
    const NAME: &'static str = "event_list";
    const ACCESS: Access = Access::On(Subject::Project, Action::ReadLog);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["log"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"after":0,"limit":100}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let home = call.home_of_log()?;
        let project = home.as_ref().map(|home| home.id);
        let (actor, name) = (&call.envelope().actor, &call.envelope().project);
        let all = may_any(actor.role, Subject::Project, Action::ReadLog);
        let own = !all || input.visibility == Some(Visibility::Own);
        let actor = own.then_some(actor.principal.as_str());
        let since = input.since.0.as_ref().map(|since| since.0.before(clock::now()));
        if let Some(after) = input.after.filter(|after| *after > 0)
            && !call.tx().has_event(after)?
        {
            let last = project
                .map(|project| call.tx().events_last(project, actor, None, 1))
                .transpose()?;
            let last = last.and_then(|events| events.last().map(|event| event.seq));
            return Err(Error::ResetRequired { after, last_seq: Some(last.unwrap_or(0)) });
        }
        let Some(project) = project else {
            return Ok(Output { events: Vec::new(), names: BTreeMap::new(), next_cursor: None });
        };
        let after = match (since, input.after, input.before) {
            (Some(since), None, None) => Some(before_first(call, project, since)?),
            (_, after, _) => after,
        };
        let (mut events, next_cursor) = match after {
            Some(after) => oldest(call, (project, actor), after, input)?,
            None => (newest(call, (project, actor), input)?, None),
        };
        events.retain(|event| since.is_none_or(|since| event.recorded_at >= since));
        let events: Vec<EventRow> = events.into_iter().map(|event| row(event, name)).collect();
        let names = match (input.names, home.and_then(|home| home.merged_into)) {
            (Some(true), None) => names(call, project, &events)?,
            // Its work is elsewhere, and the names it has there are for those who reach it there.
            (Some(true), Some(into)) if call.envelope().actor.reach.is_everything() => {
                names(call, into, &events)?
            }
            _ => BTreeMap::new(),
        };
        Ok(Output { events, names, next_cursor })
    }
}

/// The position before the first event that was recorded since a time.
fn before_first(call: &mut Call<'_, '_>, project: ProjectId, since: Time) -> Result<i64, Error> {
    let mut first = None;
    call.tx().look_back(project, since, &mut |event| {
        first = Some(event.seq - 1);
        Ok(())
    })?;
    Ok(first.unwrap_or(i64::MAX))
}

/// How many events are read at a time, and how often, where some of them are left out.
const PAGE: i64 = 1_000;
const PAGES_MAX: usize = 40;

/// How much the next read grows. Mostly few events are left out, and the first read is enough.
const GROWTH: i64 = 4;

/// The first events after a number, and the number to continue after. If steps and messages are left
/// out, the log is read further.
fn oldest(
    call: &mut Call<'_, '_>,
    (project, actor): (ProjectId, Option<&str>),
    mut after: i64,
    input: &Input,
) -> Result<(Vec<Recorded>, Option<i64>), Error> {
    let limit = usize::try_from(input.limit.get()).unwrap_or(usize::MAX);
    let (mut found, mut size) = (Vec::new(), input.limit.get());
    let pages = if input.brief == Some(true) { PAGES_MAX } else { 1 };
    for _ in 0..pages {
        // One row more than requested shows whether there is another page.
        let mut events = call.tx().events_after(project, actor, after, size.saturating_add(1))?;
        events.retain(|event| input.before.is_none_or(|before| event.seq < before));
        let has_more = i64::try_from(events.len()).is_ok_and(|count| count > size);
        if has_more {
            events.pop();
        }
        after = events.last().map_or(after, |last| last.seq);
        found.extend(wanted(call, events, input)?);
        if found.len() > limit {
            found.truncate(limit);
            let last = found.last().map(|last| last.seq);
            return Ok((found, last));
        }
        if !has_more {
            return Ok((found, None));
        }
        if found.len() == limit {
            break;
        }
        size = size.saturating_mul(GROWTH).min(PAGE);
    }
    Ok((found, Some(after)))
}

/// The newest events within the caller's reach, oldest first. Where some are left out, the log is
/// read back further; a narrowed token may reach few of them.
fn newest(
    call: &mut Call<'_, '_>,
    (project, actor): (ProjectId, Option<&str>),
    input: &Input,
) -> Result<Vec<Recorded>, Error> {
    let is_narrowed = call.envelope().actor.reach.is_narrowed();
    let limit = usize::try_from(input.limit.get()).unwrap_or(usize::MAX);
    let mut size = if is_narrowed { PAGE } else { input.limit.get() };
    let pages = if is_narrowed || input.brief == Some(true) { PAGES_MAX } else { 1 };
    let (mut found, mut before) = (Vec::new(), input.before);
    for _ in 0..pages {
        let events = call.tx().events_last(project, actor, before, size)?;
        let Some(oldest) = events.first() else { break };
        before = Some(oldest.seq);
        let mut kept = wanted(call, events, input)?;
        kept.append(&mut found);
        found = kept;
        if found.len() >= limit {
            break;
        }
        size = size.saturating_mul(GROWTH).min(PAGE);
    }
    found.drain(..found.len().saturating_sub(limit));
    Ok(found)
}

/// The events that are asked for and within the caller's reach.
fn wanted(
    call: &mut Call<'_, '_>,
    mut events: Vec<Recorded>,
    input: &Input,
) -> Result<Vec<Recorded>, Error> {
    if input.brief == Some(true) {
        events.retain(|event| !NOISE.contains(&event.type_name.as_str()));
    }
    within_reach(call, events)
}

/// A narrowed token sees only events on subjects that it reaches.
fn within_reach(call: &mut Call<'_, '_>, events: Vec<Recorded>) -> Result<Vec<Recorded>, Error> {
    if !call.envelope().actor.reach.is_narrowed() {
        return Ok(events);
    }
    let mut known = BTreeMap::<String, bool>::new();
    let mut seen = Vec::new();
    for event in events {
        let reached = match known.get(&event.aggregate) {
            Some(reached) => *reached,
            None => {
                let reached = call.reaches_aggregate(&event.aggregate)?;
                known.insert(event.aggregate.clone(), reached);
                reached
            }
        };
        if reached {
            seen.push(event);
        }
    }
    Ok(seen)
}

pub(crate) fn row(event: Recorded, project: &str) -> EventRow {
    EventRow {
        seq: event.seq,
        v: event.v,
        r#type: event.type_name,
        project: project.to_owned(),
        aggregate: event.aggregate,
        actor: event.actor,
        r#as: event.acting_as,
        cause: event.cause,
        at: event.at,
        recorded_at: event.recorded_at,
        proof: event.proof,
        data: Data(event.data),
    }
}

/// The names of the ids in the events.
fn names(
    call: &mut Call<'_, '_>,
    project: ProjectId,
    events: &[EventRow],
) -> Result<BTreeMap<String, String>, Error> {
    let mut names = BTreeMap::new();
    let finder = Finder::new(ID);
    for event in events {
        for (field, id) in ids(&finder, &event.r#type, event.data.get()) {
            if !names.contains_key(id)
                && reaches(call, (field, id))?
                && let Some(name) = name_of(call, project, (field, id))?
            {
                names.insert(id.to_owned(), name);
            }
        }
    }
    Ok(names)
}

/// The fields that hold an id which has a name.
const NAMED: [&str; 8] = [
    "todoId",
    "issueId",
    "sessionId",
    "runId",
    "gateId",
    "delegationId",
    "conversationId",
    "metricId",
];

/// The events with a field that holds several ids: the field, and that of one of them.
const NAMED_LISTS: [(&str, &str, &str); 3] = [
    ("todo_created", "\"after\":[\"", "todoId"),
    ("todo_chained", "\"after\":[\"", "todoId"),
    ("collection_queued", "\"metricIds\":[\"", "metricId"),
];

/// What comes before an id: the end of its field's name.
const ID: &str = "Id\":\"";

/// The ids in an event's data, each with its field. The JSON is searched and not parsed, which is
/// exact: inside of a string every quotation mark has a backslash before it.
fn ids<'a>(
    finder: &Finder<'_>,
    of: &str,
    data: &'a str,
) -> impl Iterator<Item = (&'static str, &'a str)> {
    let lists = NAMED_LISTS.iter().filter(move |(known, ..)| *known == of);
    let listed = lists.flat_map(move |(_, start, field)| {
        let list = data.split_once(start).and_then(|(_, rest)| rest.split_once("\"]"));
        list.into_iter().flat_map(|(ids, _)| ids.split("\",\"")).map(|id| (*field, id))
    });
    let alone = finder.find_iter(data.as_bytes()).filter_map(|at| {
        let (before, after) = (&data[..at + 2], &data[at + ID.len()..]);
        let name = &before[before.rfind('"')? + 1..];
        let field = NAMED.iter().find(|field| **field == name)?;
        Some((*field, after.split('"').next()?))
    });
    alone.chain(listed)
}

/// An event that the caller reaches may name a thing that it does not reach.
fn reaches(call: &mut Call<'_, '_>, (field, id): (&str, &str)) -> Result<bool, Error> {
    match TodoId::parse(id).filter(|_| field == "todoId") {
        Some(id) => Ok(call.reach_todo(id).is_ok()),
        None => call.reaches_aggregate(id),
    }
}

fn name_of(
    call: &mut Call<'_, '_>,
    project: ProjectId,
    (field, id): (&str, &str),
) -> Result<Option<String>, Error> {
    Ok(match field {
        "todoId" => match TodoId::parse(id) {
            Some(id) => call.tx().brief(id)?.map(|brief| brief.title),
            None => None,
        },
        "issueId" => match IssueId::parse(id) {
            Some(id) => call.tx().issue_number(id)?.map(|number| format!("#{number}")),
            None => None,
        },
        "sessionId" => match SessionId::parse(id) {
            Some(id) => call.tx().session_by_id(id)?.map(|session| session.title),
            None => None,
        },
        "gateId" => match GateId::parse(id) {
            Some(id) => call.tx().gate(project, id, Lock::No)?.map(|gate| gate.text),
            None => None,
        },
        "delegationId" => match DelegationId::parse(id) {
            Some(id) => call.tx().delegation(project, id, Lock::No)?.map(|(handed, _)| handed.kind),
            None => None,
        },
        "conversationId" => match ConversationId::parse(id) {
            Some(id) => call.tx().conversation(project, id)?.map(|chat| chat.title),
            None => None,
        },
        "metricId" => match MetricId::parse(id) {
            Some(id) => call.tx().metric_to_collect(id)?.map(|(_, metric)| metric.slug),
            None => None,
        },
        _ => match RunId::parse(id) {
            Some(id) => call.tx().run(project, id, Lock::No)?.map(|(run, _)| run.agent.to_string()),
            None => None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(of: &str, data: &'a str) -> Vec<(&'static str, &'a str)> {
        ids(&Finder::new(ID), of, data).collect()
    }

    #[test]
    fn ids_are_found_by_their_fields_and_not_in_texts() {
        let data = serde_json::json!({
            "todoId": "A", "note": { "sessionId": "B", "text": "\"todoId\":\"C\" and \\\"runId\":\"D" },
            "issueId": null, "myrunId": "E", "listId": "F", "runId": "G",
        });
        let mut shown: Vec<_> = found("todo_noted", &data.to_string())
            .iter()
            .map(|(f, id)| format!("{f} {id}"))
            .collect();
        shown.sort_unstable();
        assert_eq!(shown, ["runId G", "sessionId B", "todoId A"]);
        let chained = serde_json::json!({ "todoId": "A", "after": ["B", "C"] }).to_string();
        assert_eq!(
            found("todo_chained", &chained),
            [("todoId", "A"), ("todoId", "B"), ("todoId", "C")]
        );
        assert_eq!(found("todo_started", r#"{"todoId":"#), []);
    }
}
