//! The configuration in `punchlist.toml`: agents, the user's tools, MCP servers, prices.
//!
//! The surface finds the files; this module defines their contents. Everything is validated when it
//! is read, so that a mistake is reported at its line and not in the middle of a run. An agent can
//! edit a project's file, so that file grants nothing: no role above `root` and no permission. If
//! both files have the same table, the project's replaces the user's as a whole, so that it does
//! not inherit what the user's file granted.

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
use punchlist_core::named;
pub(crate) use read::TYPES as TABLES;
pub use roster::{AgentConfig, Overrides, PROVIDERS, Roster};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use server::{Server, outside_name};
pub use tool::UserTool;

use crate::explain::nearest;
use crate::written::{Form, Misplaced, Written};
use crate::{CATALOGUE, catalogue};

/// The largest configuration file, and the largest schema file that it may name, in bytes.
pub const FILE_MAX: usize = 1 << 20;

/// A sample file with the useful settings, for `punch config sample`.
pub const SAMPLE: &str = include_str!("config/sample.toml");

named! {
    /// Which of the two files a table came from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum Origin {
        User = "user",
        Project = "project",
    }
}

/// Whether an outside tool may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Ask a person, who may answer once, always or no.
    #[default]
    Ask,
    Allow,
    Deny,
}

/// The contents of both files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    pub agents: Arc<Roster>,
    /// The user's own tools, by the name that the model calls them by.
    pub tools: BTreeMap<String, UserTool>,
    /// MCP servers, by name.
    pub servers: BTreeMap<String, Server>,
    /// The project's name, if its file sets one.
    pub project: Option<String>,
    /// The file that each named table came from, e.g. `agents.coder`.
    pub origins: BTreeMap<String, Origin>,
    /// The project whose file is part of this, and the user's own configuration for all others.
    elsewhere: Option<Arc<(String, Self)>>,
}

/// A tool that an agent lists but nothing provides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    pub agent: String,
    pub tool: String,
    pub nearest: Option<String>,
}

impl Config {
    /// Reads a file and merges it over these settings. Paths in the file are relative to `folder`,
    /// the folder of the file.
    pub fn read(&self, text: &str, origin: Origin, folder: &Path) -> Result<Self, Misplaced> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let written = Written::parse(text, Form::Toml)?;
        read::onto(self, &written.input, origin, folder)
            .map_err(|fault| written.blame(fault.into()))
    }

    /// Limits what a project's file says to that project. A process that works for several projects
    /// uses `user`, the user's own configuration, for all others.
    #[must_use]
    pub fn only_for(mut self, project: &str, user: Self) -> Self {
        Arc::make_mut(&mut self.agents).set_elsewhere(project, Arc::clone(&user.agents));
        self.elsewhere = Some(Arc::new((project.to_owned(), user)));
        self
    }

    /// The configuration that applies in a project.
    #[must_use]
    pub fn in_project(&self, project: &str) -> &Self {
        match self.elsewhere.as_deref() {
            Some((home, user)) if home != project => user,
            _ => self,
        }
    }

    /// Tools that agents list but nothing provides. This is a warning and not an error, because a
    /// server may provide them later, or on another machine.
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
