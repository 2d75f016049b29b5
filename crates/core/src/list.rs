//! A list, the container of todos: its kind, and what it belongs to.
//!
//! What a kind allows is not here but in `policy` (how it behaves) and `authority` (who may).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::named;
use crate::{ListId, ProjectId, Time};

named! {
    /// The five kinds of list. They share one todo, one state machine and one log.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum ListKind {
        /// One user message and the work to answer it.
        Turn = "turn",
        /// A plan file on a branch: a tree of tasks.
        Plan = "plan",
        /// An agent's list for one session.
        Session = "session",
        /// The checklist of an issue: steps and criteria.
        Issue = "issue",
        /// The work of one pillar of a mission.
        Pillar = "pillar",
    }
}

impl fmt::Display for ListKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a list belongs to. Together with the project it identifies the list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Scope {
    Turn { conversation_id: String, turn_id: String },
    Plan { branch: String, plan_file: String },
    Session { session_id: String },
    Issue { issue_id: String },
    Pillar { mission: String, pillar: String },
}

impl Scope {
    #[must_use]
    pub const fn kind(&self) -> ListKind {
        match self {
            Self::Turn { .. } => ListKind::Turn,
            Self::Plan { .. } => ListKind::Plan,
            Self::Session { .. } => ListKind::Session,
            Self::Issue { .. } => ListKind::Issue,
            Self::Pillar { .. } => ListKind::Pillar,
        }
    }

    /// The two keys that a store finds a list by: the outer key groups lists, the inner one is
    /// unique within the group.
    #[must_use]
    pub fn keys(&self) -> (&str, &str) {
        match self {
            Self::Turn { conversation_id, turn_id } => (conversation_id, turn_id),
            Self::Plan { branch, plan_file } => (branch, plan_file),
            Self::Session { session_id } => (session_id, ""),
            Self::Issue { issue_id } => (issue_id, ""),
            Self::Pillar { mission, pillar } => (mission, pillar),
        }
    }

    /// The inverse of [`Scope::keys`].
    #[must_use]
    pub fn from_keys(kind: ListKind, outer: String, inner: String) -> Self {
        match kind {
            ListKind::Turn => Self::Turn { conversation_id: outer, turn_id: inner },
            ListKind::Plan => Self::Plan { branch: outer, plan_file: inner },
            ListKind::Session => Self::Session { session_id: outer },
            ListKind::Issue => Self::Issue { issue_id: outer },
            ListKind::Pillar => Self::Pillar { mission: outer, pillar: inner },
        }
    }
}

named! {
    /// Why a list was archived.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum ArchiveReason {
        /// Somebody wants it out of view, whatever is open in it.
        ByHand = "by hand",
        /// Its work is over: the branch was merged.
        Finished = "finished",
    }
}

/// Which turn a message belongs to: the one its metadata names, else the message itself (T-7).
#[must_use]
pub fn turn_of_message<'a>(metadata_turn_id: Option<&'a str>, message_id: &'a str) -> &'a str {
    metadata_turn_id.map(str::trim).filter(|id| !id.is_empty()).unwrap_or(message_id)
}

/// A list as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct List {
    pub id: ListId,
    pub project_id: ProjectId,
    pub scope: Scope,
    pub created_at: Time,
    /// When it was archived with all its items; the rows stay until they are purged (Q-O1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Time>,
    /// The highest number among its purged items, so that no number is used twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<i64>,
}

impl List {
    /// A new list.
    #[must_use]
    pub const fn new(id: ListId, project_id: ProjectId, scope: Scope, created_at: Time) -> Self {
        Self { id, project_id, scope, created_at, archived_at: None, last_seq: None }
    }

    #[must_use]
    pub const fn kind(&self) -> ListKind {
        self.scope.kind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_named_by_the_metadata_else_by_the_message() {
        // T-7
        assert_eq!(turn_of_message(Some("turn-1"), "message-9"), "turn-1");
        assert_eq!(turn_of_message(None, "message-9"), "message-9");
        assert_eq!(turn_of_message(Some("  "), "message-9"), "message-9");
    }

    #[test]
    fn keys_and_scope_are_inverse() {
        for kind in ListKind::ALL {
            let inner = match kind {
                ListKind::Session | ListKind::Issue => "",
                _ => "inner",
            };
            let scope = Scope::from_keys(kind, "outer".into(), inner.into());
            assert_eq!(scope.kind(), kind);
            assert_eq!(scope.keys(), ("outer", inner));
        }
    }
}
