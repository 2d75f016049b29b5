//! `status`: a project at a glance, at any size.
//!
//! It shows the newest lists with their counts and never counts the whole store, so a project with
//! a million items answers as fast as a small one.

use punchlist_core::authority::{Action, Subject, may_ever};
use punchlist_core::{IssueId, List, ListKind, ProjectId, Role, Scope, Time};
use punchlist_store::rows::issue_lists::Wanted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gate_list::{self, ReviewView};
use super::list_todo::Summary;
use super::mission_list;
use super::plan_list::{self, PlanRow};
use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Limit, page};
use crate::views::IssueView;
use crate::views::home::{
    self, FailedRow, HeldRow, LOOKED_AT, OffTargetRow, RunningRow, UngovernedRow, WaitingRow,
};

/// How many lists are shown.
const LISTS_SHOWN: i64 = 10;

/// How many issues and plans are shown.
const SHOWN: i64 = 10;

/// Show what matters now: what waits for you, what runs, open issues, plans and missions.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only these parts, the others stay empty: lists, waiting, reviews, running, issues, plans,
    /// missions, failed, held, ungoverned. Absent: all.
    #[serde(default)]
    pub only: Option<Vec<Part>>,
}

/// A part of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Lists,
    Waiting,
    Reviews,
    Running,
    Issues,
    Plans,
    // With the metrics that miss their targets.
    Missions,
    Failed,
    Held,
    Ungoverned,
}

impl Input {
    #[must_use]
    pub fn only(parts: &[Part]) -> Self {
        Self { only: Some(parts.to_vec()) }
    }

    fn wants(&self, part: Part) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&part))
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub project: String,
    /// The caller, with its role.
    pub actor: String,
    pub role: Role,
    /// Newest first.
    pub lists: Vec<ListRow>,
    /// There are older lists.
    pub more: bool,
    /// Questions that wait for a person, the oldest first.
    #[serde(default)]
    pub waiting: Vec<WaitingRow>,
    /// Items that wait for their reviewer.
    #[serde(default)]
    pub reviews: Vec<ReviewView>,
    /// Runs that are running or waiting.
    #[serde(default)]
    pub running: Vec<RunningRow>,
    /// The newest open issues.
    #[serde(default)]
    pub issues: Vec<IssueView>,
    /// There are older open issues.
    #[serde(default)]
    pub more_issues: bool,
    #[serde(default)]
    pub plans: Vec<PlanRow>,
    #[serde(default)]
    pub missions: Vec<mission_list::Row>,
    /// What failed in the last days, the newest first.
    #[serde(default)]
    pub failed: Vec<FailedRow>,
    /// Open items that are on hold, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldRow>,
    /// Metrics of missions that miss their targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub off_target: Vec<OffTargetRow>,
    /// Sessions in hosts whose hooks do not fire, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ungoverned: Vec<UngovernedRow>,
    /// The time of the last event.
    pub last_event_at: Option<Time>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListRow {
    pub id: String,
    pub kind: ListKind,
    /// What the list belongs to, in words.
    pub about: String,
    pub summary: Summary,
    pub created_at: Time,
}

#[derive(Debug)]
pub struct Status;

impl Define for Status {
    const NAME: &'static str = "status";
    const ACCESS: Access = Access::On(Subject::Project, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["status"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"only":["waiting","running"]}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let envelope = call.envelope();
        let mut output = Output {
            project: envelope.project.clone(),
            actor: envelope.actor.principal.clone(),
            role: envelope.actor.role,
            lists: Vec::new(),
            more: false,
            waiting: Vec::new(),
            reviews: Vec::new(),
            running: Vec::new(),
            issues: Vec::new(),
            more_issues: false,
            plans: Vec::new(),
            missions: Vec::new(),
            failed: Vec::new(),
            held: Vec::new(),
            off_target: Vec::new(),
            ungoverned: Vec::new(),
            last_event_at: None,
        };
        let Some(project) = call.project()? else {
            return Ok(output);
        };
        if input.wants(Part::Lists) {
            (output.lists, output.more) = lists(call, project)?;
        }
        if input.wants(Part::Waiting) {
            output.waiting = home::waiting(call, project)?;
        }
        if input.wants(Part::Running) {
            output.running = home::running(call, project)?;
        }
        if input.wants(Part::Failed) {
            output.failed = home::failed(call, project)?;
        }
        if input.wants(Part::Plans) && may_ever(output.role, ListKind::Plan, Action::View) {
            let looked_at = home::looked_at(call, SHOWN);
            output.plans = plan_list::plans(call, project, looked_at)?;
            output.plans.truncate(usize::try_from(SHOWN).unwrap_or(usize::MAX));
        }
        if input.wants(Part::Missions) && may_ever(output.role, ListKind::Pillar, Action::View) {
            output.missions = mission_list::missions(call, project)?;
            output.off_target = home::off_target(call, project, &output.missions)?;
        }
        let reaches_all = call.reach_project().is_ok();
        let sees_gates = reaches_all && home::sees(call, Subject::Gate);
        if input.wants(Part::Reviews) && sees_gates {
            output.reviews = gate_list::reviews(call, project)?;
        }
        if input.wants(Part::Held) && sees_gates {
            output.held = home::held(call, project)?;
        }
        if input.wants(Part::Ungoverned) && reaches_all && home::sees(call, Subject::Session) {
            output.ungoverned = home::ungoverned(call, project)?;
        }
        if input.wants(Part::Issues) && reaches_all && home::sees(call, Subject::Issue) {
            let wanted = Wanted { open: true, ..Wanted::default() };
            let mut issues = call.tx().issues(project, &wanted, SHOWN + 1)?;
            output.more_issues = page(&mut issues, Limit::of(SHOWN), |_| ()).is_some();
            output.issues = IssueView::listed(call, project, issues)?;
        }
        if reaches_all {
            let last = call.tx().events_last(project, None, None, 1)?;
            output.last_event_at = last.first().map(|event| event.at);
        }
        Ok(output)
    }
}

/// The newest lists with their counts, and whether there are older ones.
fn lists(call: &mut Call<'_, '_>, project: ProjectId) -> Result<(Vec<ListRow>, bool), Error> {
    let mut lists = newest(call, project, LISTS_SHOWN + 1)?;
    if lists.len() <= usize::try_from(LISTS_SHOWN).unwrap_or_default() {
        // The caller may see only some of the newest, so older ones are looked at.
        lists = newest(call, project, LOOKED_AT)?;
    }
    let more = page(&mut lists, Limit::of(LISTS_SHOWN), |_| ()).is_some();
    let mut rows = Vec::with_capacity(lists.len());
    for list in &lists {
        let (tally, _) = call.tx().tally(list.id)?;
        rows.push(ListRow {
            id: list.id.to_string(),
            kind: list.kind(),
            about: about(call, list)?,
            summary: tally.into(),
            created_at: list.created_at,
        });
    }
    Ok((rows, more))
}

/// Those of the newest lists that the caller may see.
fn newest(call: &mut Call<'_, '_>, project: ProjectId, limit: i64) -> Result<Vec<List>, Error> {
    let role = call.envelope().actor.role;
    let mut lists = call.tx().recent_lists(project, limit)?;
    lists.retain(|list| {
        may_ever(role, list.kind(), Action::View) && call.reach_scope(&list.scope).is_ok()
    });
    Ok(lists)
}

fn about(call: &mut Call<'_, '_>, list: &List) -> Result<String, Error> {
    Ok(match &list.scope {
        Scope::Turn { conversation_id, turn_id } => {
            format!("turn {turn_id} of conversation {conversation_id}")
        }
        Scope::Plan { branch, plan_file } => format!("{plan_file} on {branch}"),
        Scope::Session { session_id } => format!("session {session_id}"),
        Scope::Issue { issue_id } => {
            let id = IssueId::parse(issue_id);
            let number = id.map(|id| call.tx().issue_number(id)).transpose()?.flatten();
            number.map_or_else(|| format!("issue {issue_id}"), |number| format!("issue #{number}"))
        }
        Scope::Pillar { mission, pillar } => format!("{pillar} of mission {mission}"),
    })
}
