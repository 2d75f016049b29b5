//! What comes out of `decide`: events, effects and warnings, or a refusal.

use crate::authority::Action;
use crate::effect::Effect;
use crate::{Event, Refusal, TodoId};

/// A yes: what happened, what to do outside, what to tell the caller.
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
    /// An open item says this already; it was passed over.
    AlreadyListed { text: String },
    /// It says nothing and stands for no item; the first item is number 1.
    Blank { number: usize },
    /// Two items exclude each other; the one that comes first stands, this one is held.
    Conflict { title: String, with: String },
    /// The change was kept as a recommendation, nothing else changed.
    Recommended { todo_id: TodoId, action: Action },
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
                write!(f, "Kept as a recommendation: whoever leads may {action} it.")
            }
        }
    }
}

/// A no: the reason, and the line it leaves in the log where it leaves one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub refusal: Refusal,
    /// A try at something grave (a denied approval) is remembered though nothing changed.
    pub audit: Option<Box<Event>>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, audit: None }
    }
}
