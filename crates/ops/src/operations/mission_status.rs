//! `mission_status`: the state of a mission, for its lead.

use punchlist_core::authority::Action;
use punchlist_core::conversation::MessageKind;
use punchlist_core::mission::{Standing, Strategy};
use punchlist_core::{ListKind, Mission, Scope, Time};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::{Call, Counts};
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::Name;
use crate::views::mission::{MetricStanding, Recommendation};
use crate::views::{MissionTodoView, MissionView};

/// Show a mission: counts, metrics, reviews, overdue todos.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its slug.
    pub mission: Name,
    /// Also open todos and cycles.
    #[serde(default)]
    pub open: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub mission: MissionView,
    pub counts: Counts,
    pub pillars: Vec<PillarStanding>,
    /// Claimed todos that wait for the lead.
    pub review_queue: Vec<MissionTodoView>,
    /// Changes that owners recommend; apply one with the usual call.
    pub recommendations: Vec<Recommendation>,
    pub overdue: Vec<MissionTodoView>,
    /// All open todos, oldest first, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<MissionTodoView>,
    /// The last cycles, newest first, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<CycleView>,
    /// Open questions to a person about overdue todos.
    pub escalations: Vec<Escalation>,
    pub next_cycle_at: Option<Time>,
}

/// A cycle that was run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CycleView {
    pub at: Time,
    /// How many todos were completed from then until the next one.
    pub completed: i64,
}

/// A pillar and its state.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PillarStanding {
    pub slug: String,
    pub name: String,
    pub status: Standing,
    pub counts: Counts,
    pub metrics: Vec<MetricStanding>,
    pub strategies: Vec<Strategy>,
}

/// A question about an overdue todo.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Escalation {
    pub gate_id: String,
    pub todo_id: String,
    pub text: String,
    pub created_at: Time,
}

#[derive(Debug)]
pub struct MissionStatus;

impl Define for MissionStatus {
    const NAME: &'static str = "mission_status";
    const ACCESS: Access = Access::List(ListKind::Pillar, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[Profile::Mission, Profile::Inbox],
        command: &["mission", "status"],
        positional: &["mission"],
    };
    const EXAMPLE: &'static str = r#"{"mission":"developer-experience"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let mission = call.mission(&input.mission, Lock::No)?;
        call.sees_mission(&mission)?;
        let now = call.envelope().now;
        let tally = call.tx().open_tally(mission.project_id, &mission.slug, None)?;
        let open = call.open_todos(&mission)?;
        let shown = open.iter().filter(|(pillar, _)| call.reach_pillar(&mission, pillar).is_ok());
        let shown: Vec<_> = shown.collect();
        let view = |pillar: &str, todo| MissionTodoView::new(&mission, pillar, todo, now);
        let claimed = shown.iter().filter(|(_, todo)| todo.claim.is_some());
        let late = shown.iter().filter(|(_, todo)| mission.is_overdue(todo, now));
        let review_queue = claimed.map(|(pillar, todo)| view(pillar, todo)).collect();
        let overdue = late.map(|(pillar, todo)| view(pillar, todo)).collect();
        let is_open_wanted = input.open == Some(true);
        let all = shown.iter().filter(|_| is_open_wanted);
        let open_views = all.map(|(pillar, todo)| view(pillar, todo)).collect();
        let wishes = shown.iter().flat_map(|(pillar, todo)| {
            todo.wishes.iter().map(|wish| Recommendation::new(pillar, todo, wish))
        });
        let recommendations = wishes.collect();
        let asked = call.tx().open_escalations(mission.project_id, &mission.slug)?;
        let mine = |id| shown.iter().any(|(_, todo)| todo.id == id);
        let escalations = asked
            .into_iter()
            .filter_map(|gate| Some((gate.todo_id.filter(|id| mine(*id))?, gate)))
            .map(|(todo_id, gate)| Escalation {
                gate_id: gate.id.to_string(),
                todo_id: todo_id.to_string(),
                text: gate.text,
                created_at: gate.created_at,
            });
        let escalations = escalations.collect();
        let mut pillars = Vec::new();
        for pillar in &mission.pillars {
            if pillar.status == Standing::Archived
                || call.reach_pillar(&mission, &pillar.slug).is_err()
            {
                continue;
            }
            let own =
                call.tx().open_tally(mission.project_id, &mission.slug, Some(&pillar.slug))?;
            pillars.push(PillarStanding {
                slug: pillar.slug.clone(),
                name: pillar.name.clone(),
                status: pillar.status,
                counts: Counts::new(&mission, &own),
                metrics: call.metric_standings(pillar)?,
                strategies: pillar.strategies.clone(),
            });
        }
        let cycles = if is_open_wanted { cycles(call, &mission)? } else { Vec::new() };
        Ok(Output {
            open: open_views,
            cycles,
            counts: Counts::new(&mission, &tally),
            pillars,
            review_queue,
            recommendations,
            overdue,
            escalations,
            next_cycle_at: mission.next_cycle_at,
            mission: MissionView::from(&mission),
        })
    }
}

/// How many cycles are shown, and how many completed todos are counted at most.
const CYCLES: usize = 5;
const COMPLETED_MAX: i64 = 1_000;

/// How many messages of a pillar's chat are searched for the prompts of its cycles.
const MESSAGES: i64 = 200;

/// The last cycles. Each one posts a prompt in the chats of the pillars. The completed todos of a
/// cycle are those between its prompt and the next.
fn cycles(call: &mut Call<'_, '_>, mission: &Mission) -> Result<Vec<CycleView>, Error> {
    let mut times: Vec<Time> = mission.last_cycle_at.into_iter().collect();
    if let Some(pillar) = mission.pillars.iter().find(|one| one.status != Standing::Archived) {
        let said = call.tx().newest_messages(pillar.conversation_id, MESSAGES)?;
        let prompts = said.iter().filter(|message| message.kind == MessageKind::Synthetic);
        times.extend(prompts.map(|message| message.created_at));
    }
    times.sort_unstable();
    times.reverse();
    times.dedup_by_key(|time| time.micros() / 60_000_000);
    times.truncate(CYCLES);
    let Some(oldest) = times.last().copied() else { return Ok(Vec::new()) };
    let mut completed = Vec::new();
    for pillar in &mission.pillars {
        let scope = Scope::Pillar { mission: mission.slug.clone(), pillar: pillar.slug.clone() };
        if let Some(list) = call.tx().list(mission.project_id, &scope, Lock::No)? {
            completed.extend(call.tx().completed_since(list.id, oldest, COMPLETED_MAX)?);
        }
    }
    let mut until = None;
    let mut cycles = Vec::new();
    for at in times {
        let within = |time: &&Time| **time >= at && until.is_none_or(|until| **time < until);
        let completed = i64::try_from(completed.iter().filter(within).count()).unwrap_or(0);
        cycles.push(CycleView { at, completed });
        until = Some(at);
    }
    Ok(cycles)
}
