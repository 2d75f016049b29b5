//! What happened: a closed list of facts in the past tense, with full new values.
//!
//! Events are what the log keeps and what `apply` folds. A stored event is never changed; when a
//! shape grows, its version goes up and the old one is upcast on reading, here.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::authority::Action;
use crate::command::Command;
use crate::deadline::Deadline;
use crate::evidence::Evidence;
use crate::issue::{Issue, IssueStatus};
use crate::list::List;
use crate::todo::{Claim, Hold, Note, Priority, SettledBy, Todo};
use crate::{AgentPath, IssueId, Lease, ProjectId, Reach, Refusal, Role, Time, TodoId, TokenId};

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $wire:literal { $($field:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $name { $(pub $field: $type),* }

            impl From<$name> for Event {
                fn from(event: $name) -> Self {
                    Self::$name(event)
                }
            }
        )*

        /// One thing that happened.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Event { $($name($name)),* }

        impl Event {
            /// Every type there is, by the name the log keeps.
            pub const TYPES: &'static [&'static str] = &[$($wire),*];

            /// The name the log keeps.
            #[must_use]
            pub const fn type_name(&self) -> &'static str {
                match self { $(Self::$name(_) => $wire),* }
            }

            /// Reads the data of a stored event; `None` for a type this build does not know.
            pub fn read<'de, D: Deserializer<'de>>(
                type_name: &str,
                data: D,
            ) -> Result<Option<Self>, D::Error> {
                match type_name {
                    $($wire => $name::deserialize(data).map(|event| Some(Self::$name(event))),)*
                    _ => Ok(None),
                }
            }
        }

        /// The data alone; the type stands beside it.
        impl Serialize for Event {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$name(event) => event.serialize(serializer)),* }
            }
        }
    };
}

events! {
    /// A project came to be, on first use.
    ProjectOpened = "project_opened" { project_id: ProjectId, name: String, created_at: Time }
    /// A list came to be, on first use.
    ListOpened = "list_opened" { list: List }
    /// An item came to be.
    TodoCreated = "todo_created" { todo: Box<Todo> }
    /// Work began.
    TodoStarted = "todo_started" { todo_id: TodoId, started_at: Time }
    /// Back to pending: released, or yielded to another item.
    TodoYielded = "todo_yielded" { todo_id: TodoId, reason: Option<String> }
    /// Done, says who may say so.
    TodoCompleted = "todo_completed" {
        todo_id: TodoId,
        outcome: Option<String>,
        evidence: Vec<Evidence>,
        started_at: Time,
        settled_at: Time,
        settled_by: SettledBy,
    }
    /// Not to be done.
    TodoCancelled = "todo_cancelled" {
        todo_id: TodoId,
        outcome: Option<String>,
        settled_at: Time,
        settled_by: SettledBy,
    }
    /// Backlog to pending.
    TodoPromoted = "todo_promoted" { todo_id: TodoId, reason: Option<String> }
    /// Pending to backlog.
    TodoDemoted = "todo_demoted" { todo_id: TodoId, reason: Option<String> }
    /// Settled to pending, by the operator.
    TodoReopened = "todo_reopened" { todo_id: TodoId, reason: Option<String> }
    /// A note was added.
    TodoNoted = "todo_noted" { note: Note }
    /// The words or the place of an item changed; all of these are its new values.
    TodoRevised = "todo_revised" {
        todo_id: TodoId,
        title: String,
        phase: Option<String>,
        priority: Priority,
        position: i64,
        deadline: Option<Deadline>,
        reason: Option<String>,
    }
    /// Open, but not actionable.
    TodoHeld = "todo_held" { todo_id: TodoId, hold: Hold }
    /// Actionable again.
    TodoUnheld = "todo_unheld" { todo_id: TodoId }
    /// Rests until a date; none lets it come back at once.
    TodoDeferred = "todo_deferred" { todo_id: TodoId, until: Option<Time> }
    /// Done, says the maker.
    TodoClaimed = "todo_claimed" { todo_id: TodoId, claim: Claim }
    /// Not yet, says the reviewer.
    ClaimReturned = "claim_returned" { todo_id: TodoId, feedback: String }
    /// Given to an agent, or to nobody.
    TodoAssigned = "todo_assigned" { todo_id: TodoId, assignee: Option<AgentPath> }
    /// Somebody holds it now, until the lease ends.
    TodoTaken = "todo_taken" { todo_id: TodoId, lease: Lease }
    /// A token was made; its secret stands nowhere.
    TokenIssued = "token_issued" {
        token_id: TokenId,
        role: Role,
        agent: Option<AgentPath>,
        reach: Reach,
        expires_at: Option<Time>,
    }
    /// A token was taken back.
    TokenRevoked = "token_revoked" { token_id: TokenId }
    /// A backup was put in place of the store, and so many events went for it (none: it could not
    /// be told). What the log had after the event before this one is gone.
    StoreRestored = "store_restored" { file: String, lost: Option<i64> }
    /// A wish of someone who may not do it outright, with the command that would.
    ChangeRecommended = "change_recommended" { todo_id: TodoId, command: Box<Command> }
    /// A grave command was refused; nothing changed.
    CommandRefused = "command_refused" { todo_id: TodoId, action: Action, refusal: Refusal }
    /// An issue was filed.
    IssueCreated = "issue_created" { issue: Box<Issue> }
    /// An issue moved.
    IssueTransitioned = "issue_transitioned" {
        issue_id: IssueId,
        number: i64,
        from: IssueStatus,
        status: IssueStatus,
        reason: Option<String>,
        revision: i64,
    }
    /// Somebody who may not tried to close or reopen an issue; nothing changed.
    IssueTransitionRefused = "issue_transition_refused" {
        issue_id: IssueId,
        number: i64,
        refusal: Refusal,
    }
}

impl Event {
    /// The version new events are written with.
    pub const VERSION: i64 = 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ids;

    #[test]
    fn an_event_comes_back_from_its_type_and_data() {
        let todo_id = TodoId::from(Ids::new(Time::from_micros(0), 7).ulid());
        let event = Event::from(TodoStarted { todo_id, started_at: Time::from_micros(1) });
        let data = serde_json::to_string(&event).unwrap();
        assert_eq!(
            data,
            format!(r#"{{"todoId":"{todo_id}","startedAt":"1970-01-01T00:00:00.000001Z"}}"#)
        );
        let mut reader = serde_json::Deserializer::from_str(&data);
        assert_eq!(Event::read(event.type_name(), &mut reader).unwrap(), Some(event));
        let mut reader = serde_json::Deserializer::from_str("{}");
        assert_eq!(Event::read("todo_dreamt", &mut reader).unwrap(), None);
    }
}
