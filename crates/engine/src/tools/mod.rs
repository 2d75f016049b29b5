//! The tools an agent has beyond the catalogue: the user's own programs, and those of MCP servers.
//!
//! What they say is text from outside: it is handed on, cut where it is too long, and never read
//! for meaning. Who may call what is the configuration's and the person's to say ([`Guard`]).

mod agent_tools;
mod guard;
mod mcp;
mod user;

pub use agent_tools::AgentTools;
pub use guard::{Guard, Verdict, Wanted};
use punchlist_ops::config::Permission;
use serde_json::Value;

/// The most that one call may answer, in bytes.
pub const ANSWER_MAX: usize = 1 << 20;

/// What is known of a tool besides what a model sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub permission: Permission,
    /// What a permission to call it is about.
    pub definition: Value,
    /// Does it change anything? Then its success is progress.
    pub mutates: bool,
}

/// What came of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolAnswer {
    pub text: String,
    pub is_error: bool,
}

impl ToolAnswer {
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: cut(text.into()), is_error: true }
    }
}

/// A text that is not longer than an answer may be, cut between two characters, with a note.
fn cut(mut text: String) -> String {
    if text.len() > ANSWER_MAX {
        text.truncate(text.floor_char_boundary(ANSWER_MAX));
        text.push_str(CUT);
    }
    text
}

/// What stands at the end of an answer that was too long.
const CUT: &str = "\n[cut here: an answer has at most 1 MiB]";
