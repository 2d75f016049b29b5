//! `mission_todo_create`: create an item for a pillar, if the mission has room for it.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::{CreateTodos, NewTodo};
use punchlist_core::mission::fill;
use punchlist_core::text::{Body, Content, Title};
use punchlist_core::todo::Priority;
use punchlist_core::{Event, Mission, Refusal, Status, Warning};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::{Call, Counts};
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::{Due, Maybe, Name};
use crate::views::MissionTodoView;

/// Create a todo for a pillar. A full active list puts it into the backlog; a full backlog refuses.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The mission.
    pub mission_slug: Name,
    /// The pillar.
    pub pillar_slug: Name,
    /// Concise and actionable, verb first.
    pub title: Title,
    /// What needs to be done.
    #[serde(default)]
    pub description: Maybe<Body>,
    /// Why this, why now: the metric or strategy it serves.
    #[serde(default)]
    pub justification: Maybe<Body>,
    /// How to judge that it is done: measurable.
    #[serde(default)]
    pub completion_criteria: Maybe<Body>,
    /// YYYY-MM-DD or a time.
    #[serde(default)]
    pub deadline: Maybe<Due>,
    /// Absent: medium.
    #[serde(default)]
    pub priority: Option<Priority>,
    /// For the record only.
    #[serde(default)]
    pub assigned_agent: Maybe<Title>,
    /// Absent: pending.
    #[serde(default)]
    pub target_status: Option<TargetStatus>,
    /// Fills empty fields: profiling, audit, migration-eval or one of the mission's.
    #[serde(default)]
    pub template: Maybe<Title>,
    /// Other pillars it concerns.
    #[serde(default)]
    pub related_pillars: Option<Vec<String>>,
}

/// The status that a new item should get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetStatus {
    Pending,
    Backlog,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub todo: MissionTodoView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    pub counts: Counts,
}

#[derive(Debug)]
pub struct MissionTodoCreate;

impl Define for MissionTodoCreate {
    const NAME: &'static str = "mission_todo_create";
    const ACCESS: Access = Access::List(ListKind::Pillar, &[Action::Create]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[Profile::Mission],
        command: &["mission", "add"],
        positional: &["missionSlug", "pillarSlug", "title"],
    };
    const EXAMPLE: &'static str = r#"{
        "missionSlug": "developer-experience",
        "pillarSlug": "build-performance",
        "title": "Profile the build",
        "justification": "Build time is 72 s, the target 60 s",
        "completionCriteria": "The three slowest plugins are named",
        "deadline": "2027-02-21"
    }"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let mission = call.mission(&input.mission_slug, Lock::Row)?;
        let item = new_todo(&mission, input)?;
        let advice = advice(&item);
        let mut list = call.open_pillar(&mission, &input.pillar_slug)?;
        let decision = call.decide(&mut list, CreateTodos { items: vec![item] })?;
        let made = decision.events.iter().find_map(|event| match event {
            Event::TodoCreated(created) => Some(&created.todo),
            _ => None,
        });
        let made = made.ok_or_else(|| Error::Internal { detail: "nothing was created".into() })?;
        let pillar = input.pillar_slug.trim();
        Ok(Output {
            todo: MissionTodoView::new(&mission, pillar, made, call.envelope().now),
            warning: decision.warnings.first().map(Warning::to_string).or(advice),
            counts: Counts::new(&mission, &list.tally),
        })
    }
}

/// The requested item, with empty fields filled from its template.
fn new_todo(mission: &Mission, input: &Input) -> Result<NewTodo, Error> {
    let template = match &input.template.0 {
        None => None,
        Some(name) => Some(fill(&mission.todo.templates, name.as_str()).map_err(|known| {
            Error::from(Refusal::UnknownTemplate { name: name.as_str().to_owned(), known })
        })?),
    };
    let text = |given: &Maybe<Body>, of: fn(&punchlist_core::mission::Template) -> &String| {
        let filled = || template.as_ref().and_then(|template| Body::new(of(template)).ok());
        given.0.clone().or_else(filled)
    };
    let related = input.related_pillars.clone().unwrap_or_default();
    let mut related_pillars: Vec<String> = Vec::new();
    for slug in related.iter().map(|slug| slug.trim()) {
        let pillar = mission.pillar(slug).ok_or_else(|| mission.unknown_pillar(slug))?;
        let new =
            !related_pillars.contains(&pillar.slug) && pillar.slug != input.pillar_slug.trim();
        if new {
            related_pillars.push(pillar.slug.clone());
        }
    }
    Ok(NewTodo {
        description: text(&input.description, |template| &template.description),
        justification: text(&input.justification, |template| &template.justification),
        completion_criteria: text(&input.completion_criteria, |t| &t.completion_criteria),
        agent_type: input.assigned_agent.0.clone(),
        status: match input.target_status {
            Some(TargetStatus::Backlog) => Status::Backlog,
            _ => Status::Pending,
        },
        priority: input.priority.unwrap_or_default(),
        deadline: input.deadline.0.clone().map(|due| due.0),
        related_pillars,
        ..NewTodo::titled(Content::from(input.title.clone()))
    })
}

/// The fields an item lacks that make it hard to judge (D-7), as advice.
fn advice(item: &NewTodo) -> Option<String> {
    let lacks = match (&item.justification, &item.completion_criteria) {
        (Some(_), Some(_)) => return None,
        (None, Some(_)) => "justification",
        (Some(_), None) => "completionCriteria",
        (None, None) => "justification and completionCriteria",
    };
    Some(format!("Created without {lacks}: say why this matters now and how to judge it done."))
}
