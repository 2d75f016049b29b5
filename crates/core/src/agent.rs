//! Agents as far as rules look at them: what each says of itself, and who has gone silent.
//!
//! Whether an agent is silent depends on a clock, so whoever has one says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AgentPath;

/// What an agent says of itself (O-23).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    Idle,
    Busy,
    Blocked,
    Failed,
    Complete,
    Archived,
}

impl AgentStatus {
    pub const ALL: [Self; 6] =
        [Self::Idle, Self::Busy, Self::Blocked, Self::Failed, Self::Complete, Self::Archived];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Complete => "complete",
            Self::Archived => "archived",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == text)
    }
}

impl fmt::Display for AgentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The agents of a project. Of one that is in neither nothing is known, which is no fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agents {
    pub status: BTreeMap<AgentPath, AgentStatus>,
    /// Not heard of for too long.
    pub silent: BTreeSet<AgentPath>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parsing_agree() {
        for status in AgentStatus::ALL {
            assert_eq!(AgentStatus::parse(status.name()), Some(status));
        }
        assert_eq!(AgentStatus::parse("sleepy"), None);
    }
}
