//! Commands as data, and `decide`, which accepts or refuses them.
//!
//! One command, one file, with its own `decide`. Commands can be logged, replayed and generated.
//! Shared checks (finding the item, asking the authority table, the one-in-progress rule) are in
//! `draft`.

mod accept_todo;
mod adopt_todos;
mod archive_list;
mod assign_todo;
mod cancel_todo;
mod chain_todo;
mod claim_todo;
mod complete_todo;
mod create_todos;
mod defer_todo;
mod demote_todo;
mod draft;
mod edit_checklist;
mod hand_on_todos;
mod heartbeat_todo;
mod hold_todo;
mod import_mission_todos;
mod import_plan;
mod import_todos;
mod move_todo;
mod note_todo;
mod promote_todo;
mod ratify_todo;
mod refuse_sign_off;
mod release_todo;
mod reopen_todo;
mod replace_todos;
mod return_todo;
mod revise_todo;
mod sign_off;
mod start_todo;
mod sweep_todos;
mod take_todo;
mod texts;
mod unhold_todo;

pub use accept_todo::AcceptTodo;
pub use adopt_todos::AdoptTodos;
pub use archive_list::ArchiveList;
pub use assign_todo::AssignTodo;
pub use cancel_todo::CancelTodo;
pub use chain_todo::ChainTodo;
pub use claim_todo::ClaimTodo;
pub use complete_todo::CompleteTodo;
pub use create_todos::{CreateTodos, NewTodo};
pub use defer_todo::DeferTodo;
pub use demote_todo::DemoteTodo;
pub use edit_checklist::{Basis, EditChecklist};
pub use hand_on_todos::HandOnTodos;
pub use heartbeat_todo::HeartbeatTodo;
pub use hold_todo::HoldTodo;
pub use import_mission_todos::{ImportMissionTodos, OldStatus, OldTodo};
pub use import_plan::ImportPlan;
pub use import_todos::ImportTodos;
pub use move_todo::MoveTodo;
pub use note_todo::NoteTodo;
pub use promote_todo::PromoteTodo;
pub use ratify_todo::RatifyTodo;
pub use refuse_sign_off::RefuseSignOff;
pub use release_todo::ReleaseTodo;
pub use reopen_todo::ReopenTodo;
pub use replace_todos::{ListedTodo, ReplaceTodos};
pub use return_todo::ReturnTodo;
pub use revise_todo::ReviseTodo;
pub use sign_off::SignOff;
pub use start_todo::StartTodo;
pub use sweep_todos::SweepTodos;
pub use take_todo::TakeTodo;
pub use unhold_todo::UnholdTodo;

use serde::{Deserialize, Serialize};

use crate::authority::{Action, Verdict, authority};
use crate::event::CommandRefused;
use crate::{
    Actor, Decision, Ids, ListKind, Refusal, Refused, Role, Snapshot, Time, TodoId, TodoKind,
};
use draft::Draft;

macro_rules! commands {
    ($($name:ident => $action:ident),* $(,)?) => {
        /// All commands.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "command", rename_all = "snake_case")]
        pub enum Command { $($name($name)),* }

        $(impl From<$name> for Command {
            fn from(command: $name) -> Self {
                Self::$name(command)
            }
        })*

        impl Command {
            /// The action the authority table is asked about.
            #[must_use]
            pub const fn action(&self) -> Action {
                match self { $(Self::$name(_) => Action::$action),* }
            }

            fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
                match self { $(Self::$name(command) => command.decide(draft)),* }
            }
        }
    };
}

commands! {
    CreateTodos => Create,
    StartTodo => Start,
    ReleaseTodo => Release,
    CompleteTodo => Complete,
    CancelTodo => Cancel,
    PromoteTodo => Promote,
    DemoteTodo => Demote,
    ReopenTodo => Reopen,
    RatifyTodo => Ratify,
    NoteTodo => Note,
    ReplaceTodos => Replace,
    HandOnTodos => Replace,
    ReviseTodo => Revise,
    MoveTodo => Reorder,
    ChainTodo => Revise,
    HoldTodo => Hold,
    UnholdTodo => Unhold,
    DeferTodo => Defer,
    ClaimTodo => Claim,
    AcceptTodo => Accept,
    ReturnTodo => Return,
    AssignTodo => Assign,
    TakeTodo => Take,
    HeartbeatTodo => Take,
    AdoptTodos => Adopt,
    ImportTodos => Create,
    ImportMissionTodos => Create,
    SignOff => Accept,
    RefuseSignOff => Return,
    EditChecklist => Edit,
    ImportPlan => Create,
    SweepTodos => Sweep,
    ArchiveList => Archive,
}

impl Command {
    /// Does it only move an item between tiers, or change its priority or position? A mission may
    /// leave that to its owners, but not an item's text and deadline (D-2).
    #[must_use]
    pub const fn is_rebalancing(&self) -> bool {
        match self {
            Self::PromoteTodo(_) | Self::DemoteTodo(_) => true,
            Self::ReviseTodo(revise) => revise.title.is_none() && revise.deadline.is_none(),
            _ => false,
        }
    }
}

/// Decides a command. Pure: the same arguments give the same answer.
pub fn decide(
    snapshot: &Snapshot,
    command: &Command,
    actor: &Actor,
    now: Time,
    ids: &mut Ids,
) -> Result<Decision, Refused> {
    // An archived list cannot be changed; only importing its file brings it back.
    if let Some(at) = snapshot.list.archived_at
        && !matches!(command, Command::ImportPlan(_))
    {
        return Err(Refusal::Archived { at }.into());
    }
    let mut draft = Draft::new(snapshot, actor, now, ids, command);
    command.decide(&mut draft)?;
    draft.check_room(&snapshot.tally)?;
    // After every accepted command, because an item may have become ready just by time.
    draft.keep_one_in_progress();
    Ok(draft.finish())
}

/// The log entry for an attempt to judge an item by a role that may never do so.
#[must_use]
pub fn denied_try(
    role: Role,
    list: ListKind,
    action: Action,
    todo_id: TodoId,
) -> Option<CommandRefused> {
    let todo_kind = TodoKind::Step;
    let Verdict::Deny(denial) = authority(role, list, todo_kind, action, false) else {
        return None;
    };
    let refusal = Refusal::NotPermitted { role, action, list, todo_kind, denial };
    Some(CommandRefused { todo_id, action, refusal, said: None })
}

impl Command {
    /// The result that the caller reports with this command.
    #[must_use]
    pub fn reported(&self) -> Option<&str> {
        match self {
            Self::CompleteTodo(command) => command.outcome.as_deref(),
            Self::ClaimTodo(command) => command.outcome.as_deref(),
            _ => None,
        }
    }
}
