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
use crate::input::{Maybe, Past, Since};

/// How many completions are listed; all are counted.
const NAMED_MAX: usize = 200;
/// The default period.
const DEFAULT: Past = Past::Ago(Span::days(7));

/// List completions without evidence, by the agent that created the item, or in bursts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// How far back, e.g. 24h or 7d, or an RFC 3339 time; absent: 7d.
    #[serde(default)]
    pub since: Maybe<Since>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub project: String,
    pub since: Time,
    /// How many completions there were.
    pub completions: u64,
    pub counts: Counts,
    /// The completions that need a look, newest first.
    pub closes: Vec<CloseRow>,
    /// There are more than are listed.
    pub more: bool,
}

/// The number of completions for each reason.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub no_evidence: u64,
    pub own_work: u64,
    pub self_accepted: u64,
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
        let since =
            input.since.0.as_ref().map_or(DEFAULT, |since| since.0).before(call.envelope().now);
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
            })
            .collect();
        let reasons = judge(&closes);
        let mut output = Output {
            project,
            since,
            completions: completed.len() as u64,
            counts: Counts::default(),
            closes: Vec::new(),
            more: false,
        };
        for (done, reasons) in completed.into_iter().zip(reasons) {
            for reason in &reasons {
                *match reason {
                    Suspicion::NoEvidence => &mut output.counts.no_evidence,
                    Suspicion::OwnWork => &mut output.counts.own_work,
                    Suspicion::SelfAccepted => &mut output.counts.self_accepted,
                    Suspicion::Burst => &mut output.counts.burst,
                } += 1;
            }
            if reasons.is_empty() {
                continue;
            }
            if output.closes.len() == NAMED_MAX {
                output.more = true;
                continue;
            }
            let Completion { todo_id, title, actor, at, outcome, set_clock, .. } = done;
            let todo_id = todo_id.to_string();
            output.closes.push(CloseRow { todo_id, title, actor, at, outcome, reasons, set_clock });
        }
        Ok(output)
    }
}

struct Completion {
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
                todo_id: e.todo_id,
                title: String::new(),
                actor: recorded.actor.clone(),
                at: recorded.at,
                outcome: e.outcome,
                has_evidence: !e.evidence.is_empty(),
                is_self_accepted: e.self_accepted,
                set_clock: recorded.is_under_set_clock(),
                makers: Vec::new(),
            });
        }
        Ok(())
    })?;
    found.retain(|done| call.reach_todo(done.todo_id).is_ok());
    // Rows have the time at which an item was created; only events have its creator. So the log is
    // read from the creation of the oldest item on.
    let mut oldest = None;
    for done in &mut found {
        if let Some(brief) = call.tx().brief(done.todo_id)? {
            done.title = brief.title;
            done.makers.extend(brief.claimed_by);
            oldest = Some(oldest.map_or(brief.created_at, |at: Time| at.min(brief.created_at)));
        }
    }
    let mut creators = BTreeMap::new();
    if let Some(oldest) = oldest {
        let wanted: std::collections::BTreeSet<TodoId> =
            found.iter().map(|done| done.todo_id).collect();
        call.tx().look_back(project, oldest, &mut |recorded| {
            if let Some(Event::TodoCreated(e)) = recorded.event_of("todo_created")?
                && wanted.contains(&e.todo.id)
            {
                creators.insert(e.todo.id, recorded.actor.clone());
            }
            Ok(())
        })?;
    }
    for done in &mut found {
        done.makers.extend(creators.get(&done.todo_id).cloned());
    }
    Ok(found)
}
