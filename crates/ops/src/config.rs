//! What `punchlist.toml` says: agents, the tools of the user, servers of tools, prices.
//!
//! The surface finds the files; here is what they may say. Everything is judged when it is read, so
//! that a wrong word is an error where it is written and not in the middle of a run. A project's
//! file can be edited by an agent: it grants nothing, neither a role above `root` nor a permission.
//! Where both files name the same thing the project's counts, as a whole, so that it takes over
//! nothing that the user's file granted.

pub mod drive;
mod effort;
mod pattern;
mod price;
mod read;
mod roster;
mod server;
mod tool;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use effort::Effort;
pub use pattern::ToolPattern;
pub use price::Price;
pub use roster::{AgentConfig, Overrides, PROVIDERS, Roster};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use server::{Server, outside_name};
pub use tool::UserTool;

use crate::explain::nearest;
use crate::written::{Form, Misplaced, Written};
use crate::{CATALOGUE, catalogue};

/// The longest configuration file, and the longest schema that one may name, in bytes.
pub const FILE_MAX: usize = 1 << 20;

/// A file with everything that is worth setting up, for `punch config sample`.
pub const SAMPLE: &str = include_str!("config/sample.toml");

/// Where a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    User,
    Project,
}

impl Origin {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Whether an outside tool may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// A person is asked, and may say once, always or no.
    #[default]
    Ask,
    Allow,
    Deny,
}

/// All that the files say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    pub agents: Arc<Roster>,
    /// The user's own tools, by the name the model calls them.
    pub tools: BTreeMap<String, UserTool>,
    /// MCP servers, by name.
    pub servers: BTreeMap<String, Server>,
    /// The project's name, where its file gives one.
    pub project: Option<String>,
    /// The file that each named table came from, e.g. `agents.coder`.
    pub origins: BTreeMap<String, Origin>,
}

/// A tool that an agent lists and nobody offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    pub agent: String,
    pub tool: String,
    pub nearest: Option<String>,
}

impl Config {
    /// Reads a file on top of what another said. `folder` is the file's own, for what it names
    /// beside it.
    pub fn read(&self, text: &str, origin: Origin, folder: &Path) -> Result<Self, Misplaced> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let written = Written::parse(text, Form::Toml)?;
        read::onto(self, &written.input, origin, folder)
            .map_err(|fault| written.blame(fault.into()))
    }

    /// What is listed as a tool and is none: not wrong, for a server may offer it later or another
    /// machine may have it, but worth a word.
    #[must_use]
    pub fn strangers(&self) -> Vec<Stranger> {
        let known = || {
            let operations = CATALOGUE.iter().map(|operation| operation.name);
            operations.chain(self.tools.keys().map(String::as_str))
        };
        let mut strangers = Vec::new();
        for (agent, config) in self.agents.iter() {
            let exact = config.tools.iter().flatten().filter_map(ToolPattern::exact);
            for tool in exact.filter(|tool| catalogue::find(tool).is_err()) {
                let of_server = server::split(tool)
                    .is_some_and(|(server, _)| self.servers.contains_key(server));
                if !self.tools.contains_key(tool) && !of_server {
                    let nearest = nearest(tool, known()).map(str::to_owned);
                    let (agent, tool) = (agent.to_owned(), tool.to_owned());
                    strangers.push(Stranger { agent, tool, nearest });
                }
            }
        }
        strangers
    }
}

#[cfg(test)]
mod tests;
