//! `todo_write`: replace the whole list of a session by the one that its model sends (X-10).

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
    /// All todos, including done ones.
    #[serde(deserialize_with = "count::<0, 10_000, _, _>")]
    #[schemars(length(max = 10_000))]
    pub todos: Vec<Item>,
}

/// One todo.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Item {
    /// Your id; absent: generated.
    #[serde(default)]
    pub id: Maybe<Title>,
    /// What to do. A new todo without it is skipped.
    #[serde(default)]
    pub content: Maybe<Content>,
    /// Absent: unchanged; new: pending.
    #[serde(default)]
    pub status: Option<WrittenStatus>,
    /// Sort order; new: medium.
    #[serde(default)]
    pub priority: Option<WrittenPriority>,
    /// The id of a todo that excludes this one: the lower-ranked one is held.
    #[serde(default)]
    pub conflicts_with: Maybe<Title>,
}

/// The status of a todo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrittenStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

/// The priority of a todo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrittenPriority {
    High,
    Medium,
    Low,
}

impl From<WrittenStatus> for Status {
    fn from(status: WrittenStatus) -> Self {
        match status {
            WrittenStatus::Pending => Self::Pending,
            WrittenStatus::InProgress => Self::InProgress,
            WrittenStatus::Completed => Self::Completed,
            WrittenStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<WrittenPriority> for Priority {
    fn from(priority: WrittenPriority) -> Self {
        match priority {
            WrittenPriority::High => Self::High,
            WrittenPriority::Medium => Self::Medium,
            WrittenPriority::Low => Self::Low,
        }
    }
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

    /// The configuration in the envelope may have turned session lists off, and without a session
    /// there is no list.
    fn check(envelope: &Envelope, _: &Input) -> Result<(), Error> {
        if !envelope.agents().keeps_session_lists() {
            return Err(Refusal::SessionListsOff.into());
        }
        match envelope.context.leads_to_session() {
            true => Ok(()),
            false => Err(Error::MissingContext { missing: vec!["session"] }),
        }
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
        status: item.status.map(Status::from),
        priority: item.priority.map(Priority::from),
        conflicts_with: id(&item.conflicts_with),
    }
}
