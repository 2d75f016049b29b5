//! The result of `decide`: events, effects and warnings, or a refusal.

use crate::authority::Action;
use crate::effect::Effect;
use crate::{Event, Refusal, TodoId};

/// An accepted command: its events, its effects, and warnings for the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub events: Vec<Event>,
    pub effects: Vec<Effect>,
    pub warnings: Vec<Warning>,
}

/// Something the caller should know about a change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Wanted active, got backlog.
    SpilledToBacklog { limit: u32 },
    /// Taken inside the soft margin.
    OverActiveLimit { limit: u32, active: u64 },
    /// An open item has this text already; the new one was skipped.
    AlreadyListed { text: String },
    /// The entry has no text and matches no item; entries are numbered from 1.
    Blank { number: usize },
    /// Two items exclude each other; this one is held, the other goes first.
    Conflict { title: String, with: String },
    /// The change was kept as a recommendation, nothing else changed.
    Recommended { todo_id: TodoId, action: Action },
    /// The work on a pillar's item was delegated, and the item is not started.
    NotStarted { title: String },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SpilledToBacklog { limit } => {
                write!(f, "Active TODO limit ({limit}) reached. Created in backlog instead.")
            }
            Self::OverActiveLimit { limit, active } => write!(
                f,
                "Active TODO limit ({limit}) exceeded: {active} are active. Complete or cancel some."
            ),
            Self::AlreadyListed { text } => write!(f, "Already on the list: {text}"),
            Self::Blank { number } => write!(f, "Item {number} has no content. Skipped."),
            Self::Conflict { title, with } => {
                write!(f, "`{title}` conflicts with `{with}`, which comes first. Held.")
            }
            Self::Recommended { action, .. } => {
                write!(f, "Kept as a recommendation: the lead may {action} it.")
            }
            Self::NotStarted { title } => write!(
                f,
                "`{title}` is not started, so the report will not become a claim: start it first \
                 (mission_todo_update, action start)"
            ),
        }
    }
}

/// A refused command: the reason, and a log entry if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub refusal: Refusal,
    /// A serious attempt (such as a denied approval) is logged although nothing changed.
    pub audit: Option<Box<Event>>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, audit: None }
    }
}
