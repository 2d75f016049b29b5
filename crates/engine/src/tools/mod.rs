//! The tools an agent has beyond the catalogue: the user's own programs, and those of MCP servers.
//!
//! What they say is text from outside: it is handed on, cut where it is too long, and never read
//! for meaning. Who may call what is the configuration's and the person's to say ([`Guard`]).

mod guard;
mod mcp;
mod outside;
mod user;

pub use guard::{Guard, Verdict, Wanted};
pub use outside::Outside;
use punchlist_ops::config::Permission;
use serde_json::Value;

use crate::model::{Cancel, Tool};

/// The most that one call may answer, in bytes.
pub const ANSWER_MAX: usize = 1 << 20;

/// What an agent can call besides operations.
pub trait Toolbox: Send + Sync {
    /// The tools there are now, each under its own name.
    fn list(&self, cancel: &Cancel) -> Vec<Tool>;

    /// What is known of a tool; none: there is no such tool.
    fn about(&self, name: &str) -> Option<About>;

    /// Calls it. Whatever goes wrong is an answer that says so. Whether it may be called was asked
    /// before.
    fn call(&self, name: &str, input: &Value, cancel: &Cancel) -> ToolAnswer;
}

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
    pub structured: Option<Value>,
    pub is_error: bool,
}

impl ToolAnswer {
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: cut(text.into()), structured: None, is_error: true }
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
