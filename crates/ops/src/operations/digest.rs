//! `digest`: who did what in a project in a period, from the log.

use std::collections::BTreeMap;

use punchlist_core::authority::{Action, Subject};
use punchlist_core::{Event, Span, Time, TodoId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::clock;
use crate::input::{Maybe, Past, Since};

/// How many deeds of one actor are listed; all are counted.
const NAMED_MAX: usize = 50;
/// The default period.
const DEFAULT: Past = Past::Ago(Span::hours(24));

/// Show who did what in this project: completed, cancelled, returned, held, escalated, claimed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// How far back, e.g. 90m, 24h or 7d, or an RFC 3339 time; absent: 24h.
    #[serde(default)]
    pub since: Maybe<Since>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub project: String,
    pub since: Time,
    pub total: Counts,
    /// The most active first.
    pub actors: Vec<ActorRow>,
}

/// The number of deeds of each kind.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    pub completed: u64,
    pub cancelled: u64,
    pub returned: u64,
    pub held: u64,
    /// Overdue items that were brought to the lead.
    #[serde(default)]
    #[schemars(default)]
    pub escalated: u64,
    pub claimed: u64,
}

impl Counts {
    fn add(&mut self, kind: Kind) {
        *match kind {
            Kind::Completed => &mut self.completed,
            Kind::Cancelled => &mut self.cancelled,
            Kind::Returned => &mut self.returned,
            Kind::Held => &mut self.held,
            Kind::Escalated => &mut self.escalated,
            Kind::Claimed => &mut self.claimed,
        } += 1;
    }

    const fn all(&self) -> u64 {
        self.completed + self.cancelled + self.returned + self.held + self.escalated + self.claimed
    }
}

/// A kind of deed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Completed,
    Cancelled,
    Returned,
    Held,
    Escalated,
    Claimed,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActorRow {
    pub actor: String,
    pub counts: Counts,
    /// The newest deeds, oldest first.
    pub deeds: Vec<Deed>,
    /// There are more than are listed.
    pub more: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deed {
    pub deed: Kind,
    pub todo_id: String,
    /// The item's current title.
    pub title: String,
    /// The outcome, the feedback or the reason.
    pub said: Option<String>,
    pub at: Time,
    /// It was recorded with an overridden clock (PUNCHLIST_NOW).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub set_clock: bool,
}

#[derive(Debug)]
pub struct Digest;

impl Define for Digest {
    const NAME: &'static str = "digest";
    const ACCESS: Access = Access::On(Subject::Project, Action::Audit);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["digest"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"since":"24h"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let since = input.since.0.as_ref().map_or(DEFAULT, |since| since.0).before(clock::now());
        let project = call.envelope().project.clone();
        let (mut total, mut by_actor) = (Counts::default(), BTreeMap::<String, Doings>::new());
        if let Some(id) = call.project()? {
            let mut found = Vec::new();
            call.tx().look_back(id, since, &mut |recorded| {
                if let Some(deed) = deed(recorded.event()?) {
                    found.push((recorded.clone(), deed));
                }
                Ok(())
            })?;
            for (recorded, (deed, todo_id, said)) in found {
                if call.reach_todo(todo_id).is_ok() {
                    let doings = by_actor.entry(recorded.actor.clone()).or_default();
                    total.add(deed);
                    doings.counts.add(deed);
                    if doings.newest.len() < NAMED_MAX {
                        let set_clock = recorded.is_under_set_clock();
                        doings.newest.push((deed, todo_id, said, (recorded.at, set_clock)));
                    }
                }
            }
        }
        let mut actors = Vec::new();
        for (actor, Doings { counts, newest }) in by_actor {
            let mut deeds = Vec::new();
            for (deed, todo_id, said, (at, set_clock)) in newest.into_iter().rev() {
                let title = call.tx().brief(todo_id)?.map_or(String::new(), |brief| brief.title);
                let todo_id = todo_id.to_string();
                deeds.push(Deed { deed, todo_id, title, said, at, set_clock });
            }
            let more = counts.all() > deeds.len() as u64;
            actors.push(ActorRow { actor, counts, deeds, more });
        }
        actors.sort_by_key(|row| std::cmp::Reverse(row.counts.all()));
        Ok(Output { project, since, total, actors })
    }
}

/// One deed: its kind, its item, its text, its time, and whether the clock was overridden.
type Done = (Kind, TodoId, Option<String>, (Time, bool));

#[derive(Default)]
struct Doings {
    counts: Counts,
    newest: Vec<Done>,
}

/// The deed that an event records, if it records one.
fn deed(event: Option<Event>) -> Option<(Kind, TodoId, Option<String>)> {
    Some(match event? {
        Event::TodoCompleted(e) => (Kind::Completed, e.todo_id, e.outcome),
        Event::TodoCancelled(e) => (Kind::Cancelled, e.todo_id, e.outcome),
        Event::ClaimReturned(e) => (Kind::Returned, e.todo_id, Some(e.feedback)),
        Event::TodoHeld(e) => (Kind::Held, e.todo_id, Some(e.hold.reason)),
        Event::TodoEscalated(e) => {
            (Kind::Escalated, e.todo_id, Some(format!("due {}", e.deadline)))
        }
        Event::TodoClaimed(e) => (Kind::Claimed, e.todo_id, e.claim.outcome),
        _ => return None,
    })
}
