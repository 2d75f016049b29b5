//! `mission_import`: import missions from elsewhere, with their items (M-20).

use punchlist_core::authority::{Action, Subject};
use punchlist_core::command::{ImportMissionTodos, NewTodo, OldStatus, OldTodo};
use punchlist_core::mission::{InitMission, MissionSpec, PillarSpec, SLUG_PATTERN, TodoSpec};
use punchlist_core::text::{Body, Content, Title};
use punchlist_core::todo::Priority;
use punchlist_core::{Event, Mission, Scope, Warning};
use punchlist_store::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mission_init::check_spec;
use crate::access::Access;
use crate::call::{Call, Counts};
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Due, Maybe, Recorded};
use crate::{Envelope, Error};

/// Import missions from elsewhere. Existing ones stay as they are; todos completed there become
/// claims.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The missions with their pillars and todos.
    pub missions: Vec<OldMission>,
    /// Import completed todos as completed, not as claims.
    #[serde(default)]
    pub accept_completed: Option<bool>,
}

/// A mission to import.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OldMission {
    /// Its display name.
    pub name: Title,
    /// Absent: derived from the name.
    #[serde(default)]
    #[schemars(regex(pattern = SLUG_PATTERN))]
    pub slug: Option<String>,
    /// Its goal.
    #[serde(default)]
    pub description: Maybe<Body>,
    /// Its limits; an existing mission keeps its own.
    #[serde(default)]
    pub todo: Option<TodoSpec>,
    /// Its pillars.
    pub pillars: Vec<OldPillar>,
}

/// A pillar to import.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OldPillar {
    /// Its display name.
    pub name: Title,
    /// Absent: derived from the name.
    #[serde(default)]
    #[schemars(regex(pattern = SLUG_PATTERN))]
    pub slug: Option<String>,
    /// Its goals.
    #[serde(default)]
    pub description: Maybe<Body>,
    /// Its todos, oldest first.
    pub todos: Vec<OldItem>,
}

/// A todo to import.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OldItem {
    /// Its id there; an id that was imported before is skipped.
    pub external_id: Title,
    /// Its title.
    pub title: Title,
    /// What needs to be done.
    #[serde(default)]
    pub description: Maybe<Body>,
    /// Why.
    #[serde(default)]
    pub justification: Maybe<Body>,
    /// How to judge that it is done.
    #[serde(default)]
    pub completion_criteria: Maybe<Body>,
    /// YYYY-MM-DD or a time.
    #[serde(default)]
    pub deadline: Maybe<Due>,
    /// blocked becomes pending, completed a claim.
    pub status: OldStatus,
    /// Its priority; absent: medium.
    #[serde(default)]
    pub priority: Option<Priority>,
    /// Who should do it; for the record only.
    #[serde(default)]
    pub assigned_agent: Maybe<Title>,
    /// Its outcome.
    #[serde(default)]
    pub outcome: Maybe<Body>,
    /// When it was created there.
    #[serde(default)]
    pub created_at: Maybe<Recorded>,
    /// When it was started there.
    #[serde(default)]
    pub started_at: Maybe<Recorded>,
    /// When it was completed there.
    #[serde(default)]
    pub completed_at: Maybe<Recorded>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub missions: Vec<Imported>,
}

/// The result for one mission.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    pub slug: String,
    /// Changes to the mission itself, in words.
    pub changes: Vec<String>,
    /// New todos.
    pub created: usize,
    /// New todos that are claimed and wait for review.
    pub claimed: usize,
    /// New todos that are completed.
    pub completed: usize,
    /// New todos that are cancelled.
    pub cancelled: usize,
    /// Todos that were imported before.
    pub skipped: usize,
    pub counts: Counts,
    /// Limits that are exceeded. The todos stay; no new ones are accepted until there is room.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug)]
pub struct MissionImport;

impl Define for MissionImport {
    const NAME: &'static str = "mission_import";
    const ACCESS: Access = Access::On(Subject::Mission, Action::Import);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = r#"{
        "missions": [{
            "name": "Developer Experience",
            "pillars": [{
                "name": "Build Performance",
                "todos": [{ "externalId": "t-1", "title": "Profile the build", "status": "blocked" }]
            }]
        }]
    }"#;

    type Input = Input;
    type Output = Output;

    /// The rules of a mission compare its parts with one another.
    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        let mut missions = input.missions.iter().enumerate();
        missions
            .try_for_each(|(m, mission)| check_spec(&mission.spec(), &format!("missions[{m}].")))
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let mut output = Output::default();
        for mission in &input.missions {
            output.missions.push(import(
                call,
                mission,
                input.accept_completed.unwrap_or_default(),
            )?);
        }
        Ok(output)
    }
}

fn import(call: &mut Call<'_, '_>, old: &OldMission, accept: bool) -> Result<Imported, Error> {
    let directory = call.envelope().context.directory.clone();
    let made =
        call.init_mission(&InitMission { spec: old.spec(), directory, only_missing: true })?;
    let mission = made.mission;
    let (mut events, mut warned) = (Vec::new(), 0);
    for (old, spec) in old.pillars.iter().zip(old.spec().pillars) {
        let slug = spec.slug().unwrap_or_default();
        let pillar = mission.takes_work(&slug)?.slug.clone();
        let items: Vec<OldTodo> = old.todos.iter().map(OldItem::read).collect();
        if items.is_empty() {
            continue;
        }
        let mut list =
            call.open(Scope::Pillar { mission: mission.slug.clone(), pillar }, Load::All)?;
        let decided = call.decide(&mut list, ImportMissionTodos { items, accept })?;
        let known = |warning: &&Warning| matches!(warning, Warning::AlreadyListed { .. });
        warned += decided.warnings.iter().filter(known).count();
        events.extend(decided.events);
    }
    let tally = call.tx().open_tally(mission.project_id, &mission.slug, None)?;
    let counts = Counts::new(&mission, &tally);
    let count = |is: fn(&Event) -> bool| events.iter().filter(|event| is(event)).count();
    let completed = count(|event| matches!(event, Event::TodoCompleted(_)));
    Ok(Imported {
        slug: mission.slug.clone(),
        changes: made.changes,
        created: count(|event| matches!(event, Event::TodoCreated(_))),
        claimed: count(|event| matches!(event, Event::TodoClaimed(_))) - completed,
        completed,
        cancelled: count(|event| matches!(event, Event::TodoCancelled(_))),
        skipped: warned,
        warnings: over(call, &mission)?,
        counts,
    })
}

/// The limits that are exceeded now, each counted for the mission or per pillar as it is defined.
fn over(call: &mut Call<'_, '_>, mission: &Mission) -> Result<Vec<String>, Error> {
    let mut said = Vec::new();
    let mut seen = Vec::new();
    for pillar in &mission.pillars {
        let counted = mission.counted(&pillar.slug);
        if seen.contains(&counted) {
            continue;
        }
        seen.push(counted);
        let counts = call.counts(mission, Some(&pillar.slug))?;
        let place = counted.map_or(String::new(), |pillar| format!(" in `{pillar}`"));
        let tiers = [
            ("Active TODO", counts.active, counts.active_limit),
            ("Backlog", counts.backlog, counts.backlog_limit),
        ];
        for (tier, count, limit) in tiers {
            if count > i64::from(limit) {
                said.push(format!(
                    "{tier} limit ({limit}) exceeded{place}: {count} are there and stay. Nothing \
                     new goes in until there is room."
                ));
            }
        }
    }
    Ok(said)
}

impl OldMission {
    fn spec(&self) -> MissionSpec {
        let pillars = self.pillars.iter().map(|pillar| PillarSpec {
            name: pillar.name.clone(),
            slug: pillar.slug.clone(),
            description: pillar.description.0.clone(),
            status: None,
            metrics: Vec::new(),
            strategies: Vec::new(),
        });
        MissionSpec {
            name: self.name.clone(),
            slug: self.slug.clone(),
            description: self.description.0.clone(),
            status: None,
            cadence: None,
            todo: self.todo.clone(),
            pillars: pillars.collect(),
        }
    }
}

impl OldItem {
    fn read(&self) -> OldTodo {
        let item = NewTodo {
            description: self.description.0.clone(),
            justification: self.justification.0.clone(),
            completion_criteria: self.completion_criteria.0.clone(),
            agent_type: self.assigned_agent.0.clone(),
            priority: self.priority.unwrap_or_default(),
            deadline: self.deadline.0.clone().map(|due| due.0),
            external_id: Some(self.external_id.as_str().to_owned()),
            ..NewTodo::titled(Content::from(self.title.clone()))
        };
        OldTodo {
            item,
            status: self.status,
            outcome: self.outcome.0.clone(),
            created_at: self.created_at.0.as_ref().map(|at| at.0),
            started_at: self.started_at.0.as_ref().map(|at| at.0),
            completed_at: self.completed_at.0.as_ref().map(|at| at.0),
        }
    }
}
