//! Plans: a markdown file becomes a tree of tasks, and the tree shows the state of the work.
//!
//! A plan is an ordinary list of the kind `plan`; its tasks are ordinary todos with a parent. Here
//! is what only plans have: the grammar of the file (`parse`), the tree in pre-order (`tree`), the
//! state of a task from its facts and its agent's status (`state`), the current task (`position`),
//! which tasks wait for others (`after`), the text for an agent that resumes (`render`), the ticks
//! that a file lacks (`sync`), and the line of a backlog that a plan may come from (`todo_file`).
//! `command::ImportPlan` decides what an import changes.
//!
//! Invariant: nothing here is stored. State and position are derived from the facts each time.

mod after;
mod budget;
mod changes;
mod complete;
mod dropped;
pub(crate) mod fault;
mod line;
pub(crate) mod pairing;
mod parse;
mod position;
mod purge;
mod render;
mod state;
mod sync;
mod todo_file;
mod tree;

pub(crate) use after::{circle, in_file};
pub use after::{named as named_after, open_before, waiting};
pub use changes::Changes;
pub use complete::Completion;
pub use dropped::{cancelled_above, dropped};
pub use fault::PlanFault;
pub use parse::{parse, text};
pub use position::{Position, Reason, badge, first_leaf_by_depth, open_below, position};
pub use purge::{ArchivedPlan, Purge, PurgePlans, PurgedPlan};
pub use render::{Form, Rendered, render, render_whole};
pub use state::{Need, State, need, state};
pub use sync::{Tick, Ticks, to_sync};
pub use todo_file::{
    Origin, TODO_FILE, TodoLine, TodoLineFault, opening, pick, plan_file_for, to_tick, todo_lines,
};
pub use tree::{Branch, Tree};

use serde::{Deserialize, Serialize};

use crate::text::Content;

/// How deep a plan may nest, in a file and in the store; the root is the first level.
pub const LEVELS_MAX: usize = 50;

/// How many lines a plan file may have.
pub const LINES_MAX: usize = 100_000;

/// How many bytes a plan file may have: 4 MiB, as much as a request.
pub const BYTES_MAX: usize = 4 << 20;

/// A parsed plan file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The text between the two `---` at the top, as written.
    pub front_matter: Option<String>,
    pub root: Node,
}

/// A task of the file, with its nested tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its text, white space collapsed, without number, bullet and mark.
    pub content: Content,
    /// The paragraphs, plain bullets and code that follow it.
    pub description: String,
    pub mark: Mark,
    pub children: Vec<Node>,
    /// The number of its line, from 1.
    pub line: usize,
}

/// The state of a task in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    #[default]
    Open,
    Done,
    Dropped,
}
