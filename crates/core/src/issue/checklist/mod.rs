//! The checklist of an issue as markdown: written by us, edited by hand, read back.
//!
//! ```markdown
//! # Criteria
//! - [x] it is fast <!-- claimed by root:primary -->
//!
//! # Steps
//! - [ ] read the code
//!   - note: begin with the parser,\
//!     it is the oldest part
//!
//! # Second phase
//! - [ ] build it <!-- blocked: waiting for the key -->
//! ```
//!
//! - `# Criteria` is reserved and comes first; steps without a phase come next, under the heading
//!   `# Steps`, also reserved, if anything is above them; then one heading for each phase. A phase
//!   with a reserved name (in upper or lower case) is written `# \Criteria`.
//! - `[ ]` pending · `[/]` in progress · `[x]` completed, or claimed if a comment names the claimant ·
//!   `[-]` abandoned. A hold is a comment after the text. Also read: `[?]` claimed, `[!]` held.
//! - One item is one line: its white space is collapsed. A note keeps its lines: each but the last
//!   ends in a backslash (markdown's hard break), and the next is indented by four.
//! - Texts are escaped, so that none is read as markup: `escape`.
//!
//! Invariant (K-28): reading what was written gives the same lines, and writing those lines gives
//! the same text, for any item texts. What an edit changes is decided in `command::EditChecklist`.

mod comment;
mod escape;
mod pairing;
mod parse;
mod placing;
mod render;

pub(crate) use pairing::pair;
pub use parse::parse;
pub(crate) use placing::{Group, Seat, in_groups, in_order};
pub use render::{markdown, render};

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::{Body, Content, Title, normalised};
use crate::todo::{Hold, HoldKind, Note};
use crate::{Status, Todo, TodoId, TodoKind};

/// How long the markdown of a checklist may be, in bytes: 1 MiB.
pub const MARKDOWN_LIMIT: usize = 1 << 20;

const CRITERIA: &str = "Criteria";
const STEPS: &str = "Steps";

fn is_reserved(name: &str) -> bool {
    name.eq_ignore_ascii_case(CRITERIA) || name.eq_ignore_ascii_case(STEPS)
}

/// The notes of the items, in the order they were written; an item without an entry has none.
pub type Notes = BTreeMap<TodoId, Vec<Note>>;

/// One item of the markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The number of its line, from 1.
    pub at: usize,
    pub kind: TodoKind,
    /// Always `None` for a criterion.
    pub phase: Option<Title>,
    pub mark: Mark,
    pub content: Content,
    pub notes: Vec<Body>,
    /// The claimant named in the comment. Naming one makes no claim.
    pub claimed_by: Option<String>,
    /// Why it is held.
    pub hold: Option<HeldFor>,
}

impl Line {
    /// The phase it is shown under, normalised for comparison.
    pub(crate) fn shown_phase(&self) -> Option<String> {
        let phase = self.phase.as_ref().filter(|_| self.kind == TodoKind::Step);
        phase.map(Title::as_str).map(normalised)
    }
}

/// The reason of a hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldFor {
    pub kind: HoldKind,
    pub reason: Body,
}

impl HeldFor {
    /// Is this the hold, as it is rendered?
    pub(crate) fn is(&self, hold: Option<&Hold>) -> bool {
        hold.is_some_and(|hold| {
            let (ours, theirs) = (normalised(self.reason.as_str()), normalised(&hold.reason));
            (self.kind, ours) == (hold.kind, theirs)
        })
    }
}

/// The mark in the brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Pending,
    InProgress,
    Completed,
    Abandoned,
    /// Held, whatever its status is. Read, but never written.
    Held,
    /// Claimed, but not accepted. Read, but never written.
    Claimed,
}

impl Mark {
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::InProgress,
        Self::Completed,
        Self::Abandoned,
        Self::Held,
        Self::Claimed,
    ];

    /// The mark of an item: one of K-28's four.
    #[must_use]
    pub const fn of(todo: &Todo) -> Self {
        if todo.claim.is_some() && todo.status.is_active() {
            return Self::Completed;
        }
        match todo.status {
            Status::Backlog | Status::Pending => Self::Pending,
            Status::InProgress => Self::InProgress,
            Status::Completed => Self::Completed,
            Status::Cancelled => Self::Abandoned,
        }
    }

    #[must_use]
    pub const fn sign(self) -> char {
        match self {
            Self::Pending => ' ',
            Self::InProgress => '/',
            Self::Completed => 'x',
            Self::Abandoned => '-',
            Self::Held => '!',
            Self::Claimed => '?',
        }
    }

    /// Neither completed nor abandoned.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress | Self::Held | Self::Claimed)
    }
}

/// Why a line could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineFault {
    /// Its number, from 1.
    pub line: usize,
    pub what: String,
}

impl fmt::Display for LineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// The status an item is shown with: a claimed criterion is shown as completed, although it is open
/// until sign-off.
#[must_use]
pub const fn shown_status(todo: &Todo) -> Status {
    match (todo.kind, todo.status) {
        (TodoKind::Criterion, Status::Pending | Status::InProgress) if todo.claim.is_some() => {
            Status::Completed
        }
        (_, status) => status,
    }
}
