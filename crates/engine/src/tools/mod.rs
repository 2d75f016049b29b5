//! The tools an agent has beyond the catalogue: the user's own programs, and those of MCP servers.
//!
//! Their output is text from outside: it is passed on, cut if it is too long, and never
//! interpreted. The configuration and a person decide which calls are allowed ([`Guard`]).

mod agent_tools;
mod guard;
mod mcp;
mod user;

pub use agent_tools::AgentTools;
pub use guard::{Guard, Verdict, Wanted};
use punchlist_ops::config::Permission;
use serde_json::Value;

/// The longest answer of one call, in bytes.
pub const ANSWER_MAX: usize = 1 << 20;

/// The properties of a tool that a model does not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub permission: Permission,
    /// What a permission covers: if it changes, the permission no longer holds.
    pub definition: Value,
    /// Does it change anything? Then a success counts as progress.
    pub mutates: bool,
}

/// The result of a call.
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

/// Cuts a text that is too long between two characters, and adds a note.
fn cut(mut text: String) -> String {
    if text.len() > ANSWER_MAX {
        text.truncate(text.floor_char_boundary(ANSWER_MAX));
        text.push_str(CUT);
    }
    text
}

/// The end of an answer that was too long.
const CUT: &str = "\n[cut here: an answer has at most 1 MiB]";
