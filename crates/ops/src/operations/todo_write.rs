//! `todo_write`: the whole list of a session, as its model wants it now (X-10).

use punchlist_core::authority::Action;
use punchlist_core::command::{ListedTodo, ReplaceTodos};
use punchlist_core::text::{Content, Title};
use punchlist_core::todo::Priority;
use punchlist_core::{ListKind, Refusal, Status};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::{Maybe, count};
use crate::views::SessionListView;
use crate::{Envelope, Error};

/// Write your whole todo list for this session: it replaces the last one, in this order. The same
/// id is the same todo; what you leave out is cancelled. At most one is in_progress.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// All todos, also those that are done.
    #[serde(deserialize_with = "count::<0, 1000, _, _>")]
    #[schemars(length(max = 1000))]
    pub todos: Vec<Item>,
}

/// One todo.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Item {
    /// Your own; absent: one is made.
    #[serde(default)]
    pub id: Maybe<Title>,
    /// What to do. Without it a new todo is skipped.
    #[serde(default)]
    pub content: Maybe<Content>,
    /// Absent: as it was; new: pending.
    #[serde(default)]
    pub status: Option<WrittenStatus>,
    /// Which comes first; new: medium.
    #[serde(default)]
    pub priority: Option<WrittenPriority>,
    /// The id of a todo that excludes this one: the lesser is held.
    #[serde(default)]
    pub conflicts_with: Maybe<Title>,
}

/// Where a todo stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrittenStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

/// How much a todo matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrittenPriority {
    High,
    Medium,
    Low,
}

#[derive(Debug)]
pub struct TodoWrite;

impl Define for TodoWrite {
    const NAME: &'static str = "todo_write";
    const ACCESS: Access = Access::List(ListKind::Session, &[Action::Replace]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Session], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"todos":[{"id":"1","content":"Fix it","status":"in_progress","priority":"high"}]}"#;

    type Input = Input;
    type Output = SessionListView;

    fn check(envelope: &Envelope, _: &Input) -> Result<(), Error> {
        if envelope.agents.keeps_session_lists() {
            return Ok(());
        }
        Err(Refusal::SessionListsOff.into())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<SessionListView, Error> {
        let session = call.session_or_own(None, Lock::Row)?;
        let mut snapshot = call.open_session_list(&session)?;
        let items = input.todos.iter().map(listed).collect();
        let decision = call.decide(&mut snapshot, ReplaceTodos { items })?;
        Ok(SessionListView::of(&snapshot, &decision.warnings))
    }
}

fn listed(item: &Item) -> ListedTodo {
    let id = |given: &Maybe<Title>| given.0.clone().map(Title::into_string);
    ListedTodo {
        external_id: id(&item.id),
        title: item.content.0.clone(),
        phase: None,
        status: item.status.map(|status| match status {
            WrittenStatus::Pending => Status::Pending,
            WrittenStatus::InProgress => Status::InProgress,
            WrittenStatus::Completed => Status::Completed,
            WrittenStatus::Cancelled => Status::Cancelled,
        }),
        priority: item.priority.map(|priority| match priority {
            WrittenPriority::High => Priority::High,
            WrittenPriority::Medium => Priority::Medium,
            WrittenPriority::Low => Priority::Low,
        }),
        conflicts_with: id(&item.conflicts_with),
    }
}
