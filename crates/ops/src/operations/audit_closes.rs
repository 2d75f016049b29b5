//! `audit_closes`: completions that need a second look, with the reasons.

use std::collections::BTreeMap;

use punchlist_core::audit::{Close, Suspicion, judge};
use punchlist_core::authority::{Action, Subject};
use punchlist_core::{Event, ProjectId, Span, Time, TodoId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::clock;
use crate::input::{Cursor, Limit, Maybe, Past, Since, page};

/// The default period.
const DEFAULT: Past = Past::Ago(Span::days(7));

/// List completions without evidence, by the agent that created the item, or in bursts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// How far back, e.g. 24h or 7d, or an RFC 3339 time; absent: 7d.
    #[serde(default)]
    pub since: Maybe<Since>,
    /// Only completions with this reason; absent: all that have one.
    #[serde(default)]
    pub reason: Option<Suspicion>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<i64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub project: String,
    pub since: Time,
    /// How many completions there were in all.
    pub completions: u64,
    /// How many of all completions have each reason.
    pub counts: Counts,
    /// The completions that need a look, newest first.
    pub closes: Vec<CloseRow>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// The number of completions for each reason.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub no_evidence: u64,
    pub own_work: u64,
    pub self_accepted: u64,
    pub returned: u64,
    pub burst: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloseRow {
    pub todo_id: String,
    pub title: String,
    pub actor: String,
    pub at: Time,
    pub outcome: Option<String>,
    pub reasons: Vec<Suspicion>,
    /// It was recorded with an overridden clock (PUNCHLIST_NOW).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub set_clock: bool,
}

#[derive(Debug)]
pub struct AuditCloses;

impl Define for AuditCloses {
    const NAME: &'static str = "audit_closes";
    const ACCESS: Access = Access::On(Subject::Project, Action::Audit);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["audit", "closes"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"since":"7d"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let since = input.since.0.as_ref().map_or(DEFAULT, |since| since.0).before(clock::now());
        let below = input.cursor.0.unwrap_or(i64::MAX);
        let project = call.envelope().project.clone();
        let completed = match call.project()? {
            Some(id) => completions(call, id, since)?,
            None => Vec::new(),
        };
        let closes: Vec<Close<'_>> = completed
            .iter()
            .map(|done| Close {
                actor: &done.actor,
                at: done.at,
                has_evidence: done.has_evidence,
                is_maker: done.makers.contains(&done.actor),
                is_self_accepted: done.is_self_accepted,
                was_returned: done.was_returned,
            })
            .collect();
        let reasons = judge(&closes);
        let completions = completed.len() as u64;
        let mut counts = Counts::default();
        for reason in reasons.iter().flatten() {
            *counts.of(*reason) += 1;
        }
        let is_wanted =
            |said: &[Suspicion]| input.reason.map_or(!said.is_empty(), |one| said.contains(&one));
        let mut found: Vec<_> = completed
            .into_iter()
            .zip(reasons)
            .filter(|(done, reasons)| done.seq < below && is_wanted(reasons))
            .collect();
        let next_cursor = page(&mut found, input.limit, |(last, _)| last.seq.to_string());
        let closes = found.into_iter().map(|(done, reasons)| done.row(reasons)).collect();
        Ok(Output { project, since, completions, counts, closes, next_cursor })
    }
}

impl Counts {
    const fn of(&mut self, reason: Suspicion) -> &mut u64 {
        match reason {
            Suspicion::NoEvidence => &mut self.no_evidence,
            Suspicion::OwnWork => &mut self.own_work,
            Suspicion::SelfAccepted => &mut self.self_accepted,
            Suspicion::Returned => &mut self.returned,
            Suspicion::Burst => &mut self.burst,
        }
    }
}

struct Completion {
    seq: i64,
    todo_id: TodoId,
    title: String,
    actor: String,
    at: Time,
    outcome: Option<String>,
    has_evidence: bool,
    is_self_accepted: bool,
    set_clock: bool,
    /// Who created or claimed the item.
    makers: Vec<String>,
    /// A claim on the item was returned before.
    was_returned: bool,
}

impl Completion {
    fn row(self, reasons: Vec<Suspicion>) -> CloseRow {
        let Self { todo_id, title, actor, at, outcome, set_clock, .. } = self;
        let todo_id = todo_id.to_string();
        CloseRow { todo_id, title, actor, at, outcome, reasons, set_clock }
    }
}

/// The completions since a time, newest first, with the agents that created their items.
fn completions(
    call: &mut Call<'_, '_>,
    project: ProjectId,
    since: Time,
) -> Result<Vec<Completion>, Error> {
    let mut found = Vec::new();
    call.tx().look_back(project, since, &mut |recorded| {
        if let Some(Event::TodoCompleted(e)) = recorded.event_of("todo_completed")? {
            found.push(Completion {
                seq: recorded.seq,
                todo_id: e.todo_id,
                title: String::new(),
                actor: recorded.actor.clone(),
                at: recorded.at,
                outcome: e.outcome,
                has_evidence: !e.evidence.is_empty(),
                is_self_accepted: e.self_accepted,
                set_clock: recorded.is_under_set_clock(),
                makers: Vec::new(),
                was_returned: false,
            });
        }
        Ok(())
    })?;
    found.retain(|done| call.reach_todo(done.todo_id).is_ok());
    // Rows have the time at which an item was created; only events have its creator, and the claims
    // that were returned. So the log is read from the creation of the oldest item on.
    let mut oldest = None;
    for done in &mut found {
        if let Some(brief) = call.tx().brief(done.todo_id)? {
            done.title = brief.title;
            done.makers.extend(brief.claimed_by);
            oldest = Some(oldest.map_or(brief.created_at, |at: Time| at.min(brief.created_at)));
        }
    }
    let (mut creators, mut returns) = (BTreeMap::new(), BTreeMap::new());
    if let Some(oldest) = oldest {
        let wanted: std::collections::BTreeSet<TodoId> =
            found.iter().map(|done| done.todo_id).collect();
        call.tx().look_back(project, oldest, &mut |recorded| {
            if let Some(Event::TodoCreated(e)) = recorded.event_of("todo_created")?
                && wanted.contains(&e.todo.id)
            {
                creators.insert(e.todo.id, recorded.actor.clone());
            }
            if let Some(Event::ClaimReturned(e)) = recorded.event_of("claim_returned")?
                && wanted.contains(&e.todo_id)
            {
                // The log is read backwards, so the first return stays.
                returns.insert(e.todo_id, recorded.seq);
            }
            Ok(())
        })?;
    }
    for done in &mut found {
        done.makers.extend(creators.get(&done.todo_id).cloned());
        done.was_returned = returns.get(&done.todo_id).is_some_and(|seq| *seq < done.seq);
    }
    Ok(found)
}
