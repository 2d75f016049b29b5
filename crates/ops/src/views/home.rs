//! The current work of a project: what waits for a person, what runs, and what failed.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::driver::StopReason;
use punchlist_core::gate::{GateKind, GateState, Purpose};
use punchlist_core::host;
use punchlist_core::metric::{Figure, MetricKind, MetricStatus, status};
use punchlist_core::mission::Standing;
use punchlist_core::run::RunState;
use punchlist_core::select::ordered;
use punchlist_core::{IssueId, ProjectId, Run, Scope, Session, Status, Time, TodoId};
use punchlist_store::Load;
use punchlist_store::rows::gates::WantedGates;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::operations::mission_list;
use crate::views::issue::ProgressView;
use crate::views::metric::TargetView;
use crate::views::run::WaitView;
use crate::views::todo::HoldView;

/// How many of each kind are shown.
const SHOWN: i64 = 10;
const SHOWN_ROWS: usize = 10;

/// How many are looked at where not all are shown: a narrowed token may reach few of the newest, and
/// a role may not see all kinds of lists.
pub(crate) const LOOKED_AT: i64 = 500;

/// How many rows are read to show that many of them to this caller.
pub(crate) fn looked_at(call: &Call<'_, '_>, shown: i64) -> i64 {
    if call.envelope().actor.reach.is_narrowed() { LOOKED_AT.max(shown) } else { shown }
}

/// How many ended runs are searched for failures.
const RUNS_LOOKED_AT: i64 = 30;

/// How many metrics are compared with their targets.
const METRICS_LOOKED_AT: usize = 50;

/// How many days a failure is shown.
const FAILURE_DAYS: i64 = 7;

/// A question that waits for a person.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRow {
    /// The gate's id.
    pub id: String,
    pub kind: GateKind,
    pub purpose: Option<Purpose>,
    /// The issue it is about.
    pub number: Option<i64>,
    pub text: String,
    pub asked_by: String,
    pub created_at: Time,
}

/// A run that goes on or waits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningRow {
    pub id: String,
    pub agent: String,
    /// The agent host that executes it; absent: we do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The title of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub state: RunState,
    /// What it waits for: gate, delegations, cooldown, pause; or worker, if no process executes it.
    pub waits_for: Option<String>,
    /// The issue it works on.
    pub number: Option<i64>,
    /// The item in progress.
    pub item: Option<String>,
    /// How far its issue is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressView>,
    pub cost_usd: Option<f64>,
    pub created_at: Time,
}

/// An open item that cannot go on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldRow {
    pub todo_id: TodoId,
    pub title: String,
    pub hold: HoldView,
    /// The issue it belongs to.
    pub number: Option<i64>,
}

/// The items on hold, newest first.
pub(crate) fn held(call: &mut Call<'_, '_>, project: ProjectId) -> Result<Vec<HeldRow>, Error> {
    let (mut rows, now) = (Vec::new(), call.envelope().now);
    for item in call.tx().held(project, now, SHOWN)? {
        if call.reach_scope(&item.scope).is_err() {
            continue;
        }
        let number = match &item.scope {
            Scope::Issue { issue_id } => match IssueId::parse(issue_id) {
                Some(id) => call.tx().issue_number(id)?,
                None => None,
            },
            _ => None,
        };
        let hold = HoldView::from(&item.hold);
        rows.push(HeldRow { todo_id: item.id, title: item.title, hold, number });
    }
    Ok(rows)
}

/// A metric that misses its target.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OffTargetRow {
    pub mission: String,
    pub mission_name: String,
    pub pillar: String,
    pub pillar_name: String,
    pub metric: String,
    pub name: String,
    pub kind: MetricKind,
    pub current: Figure,
    pub unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetView>,
    /// When it was read.
    pub at: Time,
}

/// The metrics of active missions whose newest reading misses the target.
pub(crate) fn off_target(
    call: &mut Call<'_, '_>,
    project: ProjectId,
    missions: &[mission_list::Row],
) -> Result<Vec<OffTargetRow>, Error> {
    let (mut rows, mut left) = (Vec::new(), METRICS_LOOKED_AT);
    for row in missions.iter().filter(|row| row.status == Standing::Active) {
        let Some(mission) = call.tx().mission(project, &row.slug, Lock::No)? else { continue };
        for pillar in mission.pillars.iter().filter(|one| one.status == Standing::Active) {
            let scope = Scope::Pillar { mission: row.slug.clone(), pillar: pillar.slug.clone() };
            if call.reach_scope(&scope).is_err() {
                continue;
            }
            for metric in pillar.metrics.iter().filter(|metric| metric.archived_at.is_none()) {
                if left == 0 {
                    return Ok(rows);
                }
                left -= 1;
                let newest = call.tx().readings(metric.id, 1)?.pop();
                let status = status(metric.target.as_ref(), newest.as_ref().map(|one| one.value));
                let Some(newest) = newest.filter(|_| status == MetricStatus::OffTarget) else {
                    continue;
                };
                rows.push(OffTargetRow {
                    mission: row.slug.clone(),
                    mission_name: row.name.clone(),
                    pillar: pillar.slug.clone(),
                    pillar_name: pillar.name.clone(),
                    metric: metric.slug.clone(),
                    name: metric.name.clone(),
                    kind: metric.kind,
                    current: newest.value,
                    unit: metric.unit.clone(),
                    target: metric.target.as_ref().map(|one| TargetView::of(metric, one)),
                    at: newest.at,
                });
            }
        }
    }
    Ok(rows)
}

/// A session in a host whose hooks do not fire, so no stop of it is held.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UngovernedRow {
    pub session_id: String,
    pub title: String,
    /// The host, if it is known.
    pub host: Option<String>,
    /// The issue it works on.
    pub number: Option<i64>,
    pub created_at: Time,
}

/// The ungoverned sessions, newest first.
pub(crate) fn ungoverned(
    call: &mut Call<'_, '_>,
    project: ProjectId,
) -> Result<Vec<UngovernedRow>, Error> {
    let mut rows = Vec::new();
    for session in call.tx().sessions_without_hooks(project, SHOWN)? {
        if !session.is_ungoverned(false) || call.reach_session(&session).is_err() {
            continue;
        }
        let number = match session.bound_issue {
            Some(id) => call.tx().issue_number(id)?,
            None => None,
        };
        let (session_id, created_at) = (session.id.to_string(), session.created_at);
        let Session { title, host, .. } = session;
        rows.push(UngovernedRow { session_id, title, host, number, created_at });
    }
    Ok(rows)
}

/// Something that failed lately.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedRow {
    pub kind: FailedKind,
    pub id: String,
    /// The agent, or the type of agent, that failed.
    pub agent: String,
    pub error: String,
    pub at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailedKind {
    Run,
    Delegation,
}

/// May the caller's role see this kind of thing at all?
pub(crate) fn sees(call: &Call<'_, '_>, subject: Subject) -> bool {
    Access::On(subject, Action::View).allows(call.envelope().actor.role)
}

/// The open gates, oldest first.
pub(crate) fn waiting(
    call: &mut Call<'_, '_>,
    project: ProjectId,
) -> Result<Vec<WaitingRow>, Error> {
    let mut rows = Vec::new();
    if !sees(call, Subject::Gate) {
        return Ok(rows);
    }
    let open = WantedGates { state: Some(GateState::Open), ..WantedGates::default() };
    let looked_at = looked_at(call, SHOWN);
    for gate in call.tx().gates(project, &open, looked_at)? {
        if rows.len() >= SHOWN_ROWS {
            break;
        }
        if call.reach_gate(&gate).is_err() {
            continue;
        }
        let number = match gate.issue_id {
            Some(id) => call.tx().issue_by_id(id, Lock::No)?.map(|issue| issue.number),
            None => None,
        };
        rows.push(WaitingRow {
            id: gate.id.to_string(),
            kind: gate.kind(),
            purpose: gate.purpose,
            number,
            text: gate.text,
            asked_by: gate.asked_by,
            created_at: gate.created_at,
        });
    }
    Ok(rows)
}

/// The runs that have not ended, newest first.
pub(crate) fn running(
    call: &mut Call<'_, '_>,
    project: ProjectId,
) -> Result<Vec<RunningRow>, Error> {
    let mut rows = Vec::new();
    if !sees(call, Subject::Run) {
        return Ok(rows);
    }
    let looked_at = looked_at(call, SHOWN);
    for state in [RunState::Running, RunState::Waiting] {
        let mut runs = call.tx().runs(project, Some(state), None, None, looked_at)?;
        runs.retain(|run| call.reach_run(run).is_ok());
        for run in runs.iter().take(SHOWN_ROWS) {
            rows.push(one_running(call, run)?);
        }
    }
    Ok(rows)
}

fn one_running(call: &mut Call<'_, '_>, run: &Run) -> Result<RunningRow, Error> {
    let session = match run.session_id {
        Some(id) => call.tx().session_by_id(id)?,
        None => None,
    };
    let issue = session.as_ref().and_then(|session| session.bound_issue);
    let number = issue.map(|id| call.tx().issue_number(id)).transpose()?.flatten();
    let now = call.envelope().now;
    let progress = match number {
        Some(number) => {
            call.tx().issue_counts(run.project_id, (number, number), now)?.remove(&number)
        }
        None => None,
    };
    let lists = call.lists_of(run, session.as_ref(), Load::Open)?;
    let item = lists.iter().flat_map(ordered).find(|todo| todo.status == Status::InProgress);
    let (input, output) = (run.counters.input_tokens, run.counters.output_tokens);
    let host = host::of_model(&run.settings.model).map(|host| host.name().to_owned());
    let waits_for = WaitView::of(call, run)?.map(|wait| wait.kind.into());
    Ok(RunningRow {
        id: run.id.to_string(),
        agent: run.agent.to_string(),
        host,
        state: run.state,
        waits_for,
        number,
        item: item.map(|todo| todo.title.clone()),
        title: session.map(|session| session.title),
        progress: progress.map(ProgressView::from),
        cost_usd: call.envelope().agents().cost_usd(&run.settings.model, input, output),
        created_at: run.created_at,
    })
}

/// The failures of the last days, newest first.
pub(crate) fn failed(call: &mut Call<'_, '_>, project: ProjectId) -> Result<Vec<FailedRow>, Error> {
    let mut rows = Vec::new();
    let since = call.envelope().now.plus_seconds(-FAILURE_DAYS * 86_400);
    if sees(call, Subject::Run) {
        let ended = Some(RunState::Ended);
        let looked_at = looked_at(call, RUNS_LOOKED_AT);
        for run in call.tx().runs(project, ended, None, None, looked_at)? {
            let is_failed = run.stop_reason == Some(StopReason::Error) && run.updated_at >= since;
            if is_failed && call.reach_run(&run).is_ok() {
                rows.push(FailedRow {
                    kind: FailedKind::Run,
                    id: run.id.to_string(),
                    agent: run.agent.to_string(),
                    error: run.stop_detail.unwrap_or_default(),
                    at: run.updated_at,
                });
            }
        }
    }
    if sees(call, Subject::Delegation) {
        let looked_at = looked_at(call, SHOWN);
        for (delegation, _) in call.tx().failed_delegations(project, looked_at)? {
            if delegation.updated_at >= since && call.reach_delegation(&delegation).is_ok() {
                rows.push(FailedRow {
                    kind: FailedKind::Delegation,
                    id: delegation.id.to_string(),
                    agent: delegation.kind,
                    error: delegation.error.unwrap_or_default(),
                    at: delegation.updated_at,
                });
            }
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.at));
    rows.truncate(SHOWN_ROWS);
    Ok(rows)
}
