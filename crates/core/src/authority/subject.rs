//! The things that acts are done to.

use std::fmt;

use crate::{ListKind, TodoKind};

/// A block of the authority table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// An item of a list, or the list itself.
    Todo(ListKind, TodoKind),
    Issue,
    Session,
    Gate,
    /// Permission to call an external tool.
    Permission,
    Delegation,
    Conversation,
    Run,
    Mission,
    Metric,
    Agent,
    Token,
    /// The files that name agents.
    Configuration,
    Project,
    /// The store as a whole.
    Store,
}

impl Subject {
    pub const ALL: [Self; 20] = [
        Self::Todo(ListKind::Turn, TodoKind::Step),
        Self::Todo(ListKind::Plan, TodoKind::Step),
        Self::Todo(ListKind::Session, TodoKind::Step),
        Self::Todo(ListKind::Issue, TodoKind::Step),
        Self::Todo(ListKind::Issue, TodoKind::Criterion),
        Self::Todo(ListKind::Pillar, TodoKind::Step),
        Self::Issue,
        Self::Session,
        Self::Gate,
        Self::Permission,
        Self::Delegation,
        Self::Conversation,
        Self::Run,
        Self::Mission,
        Self::Metric,
        Self::Agent,
        Self::Token,
        Self::Configuration,
        Self::Project,
        Self::Store,
    ];

    /// The word it is printed under.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Todo(ListKind::Turn, _) => "turn list",
            Self::Todo(ListKind::Plan, _) => "plan task",
            Self::Todo(ListKind::Session, _) => "session list",
            Self::Todo(ListKind::Issue, TodoKind::Step) => "issue step",
            Self::Todo(ListKind::Issue, TodoKind::Criterion) => "issue criterion",
            Self::Todo(ListKind::Pillar, _) => "mission todo",
            Self::Issue => "issue",
            Self::Session => "session",
            Self::Gate => "gate",
            Self::Permission => "permission",
            Self::Delegation => "delegation",
            Self::Conversation => "conversation",
            Self::Run => "run",
            Self::Mission => "mission",
            Self::Metric => "metric",
            Self::Agent => "agent",
            Self::Token => "token",
            Self::Configuration => "configuration",
            Self::Project => "project",
            Self::Store => "store",
        }
    }

    /// What `own` means in its rows; `None` if no row uses it.
    #[must_use]
    pub const fn own_means(self) -> Option<&'static str> {
        match self {
            Self::Todo(ListKind::Plan, _) => Some("a task assigned to the agent, or one below it"),
            Self::Todo(ListKind::Pillar, _) => {
                Some("lead: its mission; owner: its pillar; worker: a todo assigned to it")
            }
            Self::Issue => Some("granted: the operator granted the sign-off its session asked for"),
            Self::Session => Some("a pause that no operator made"),
            Self::Permission => Some("for the agent itself or one below it"),
            Self::Delegation => Some("what the caller delegated"),
            Self::Conversation => {
                Some("lead: its mission's; owner: its pillar's; root: a session's")
            }
            Self::Run => Some(
                "as the agent itself or one below it; a model for its own process; its own run",
            ),
            Self::Mission | Self::Metric => Some("the mission it leads or has a pillar of"),
            Self::Agent => Some("itself"),
            Self::Project => Some("what the caller itself did"),
            _ => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
