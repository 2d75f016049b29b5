//! `mission_todo_list`: the items of a mission, oldest first.

use punchlist_core::authority::Action;
use punchlist_core::text::Title;
use punchlist_core::{ListKind, Status, TodoId};
use punchlist_store::rows::lists::Lock;
use punchlist_store::rows::mission_todos::WantedTodos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::{Call, Counts};
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::{Cursor, Limit, Maybe, Name, page};
use crate::views::MissionTodoView;

/// List the todos of a mission, oldest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The mission.
    pub mission_slug: Name,
    /// Only this pillar.
    #[serde(default)]
    pub pillar_slug: Maybe<Title>,
    /// Only this status.
    #[serde(default)]
    pub status: Option<Status>,
    /// Also archived ones.
    #[serde(default)]
    pub include_archived: Option<bool>,
    /// Absent: 50.
    #[serde(default)]
    pub limit: Limit,
    /// From the previous page.
    #[serde(default)]
    pub cursor: Cursor<TodoId>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub todos: Vec<MissionTodoView>,
    pub counts: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<TodoId>,
}

#[derive(Debug)]
pub struct MissionTodoList;

impl Define for MissionTodoList {
    const NAME: &'static str = "mission_todo_list";
    const ACCESS: Access = Access::List(ListKind::Pillar, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[Profile::Mission],
        command: &["mission", "todos"],
        positional: &["missionSlug"],
    };
    const EXAMPLE: &'static str = r#"{"missionSlug":"developer-experience","status":"pending"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let limit = input.limit;
        let mission = call.mission(&input.mission_slug, Lock::No)?;
        call.sees_mission(&mission)?;
        // A token narrowed to one pillar sees only that pillar.
        let narrowed = call.envelope().actor.reach.pillar.clone();
        let named = input.pillar_slug.0.as_ref().map(|slug| slug.as_str().to_owned());
        let pillar = named.or(narrowed);
        if let Some(slug) = &pillar {
            mission.pillar(slug).ok_or_else(|| mission.unknown_pillar(slug))?;
            call.reach_pillar(&mission, slug)?;
        }
        let wanted = WantedTodos {
            pillar: pillar.clone(),
            status: input.status,
            include_archived: input.include_archived == Some(true),
            above: input.cursor.text(),
        };
        let (project, now) = (mission.project_id, call.envelope().now);
        let mut found =
            call.tx().mission_todos(project, &mission.slug, &wanted, limit.and_one())?;
        let next_cursor = page(&mut found, limit, |(_, todo)| todo.id);
        let counts = call.counts(&mission, pillar.as_deref())?;
        let view = |(pillar, todo): &(String, punchlist_core::Todo)| {
            MissionTodoView::new(&mission, pillar, todo, now)
        };
        Ok(Output { todos: found.iter().map(view).collect(), counts, next_cursor })
    }
}
