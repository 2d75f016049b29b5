//! The outside tools of one agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use punchlist_ops::config::{AgentConfig, Config, Permission, Server, outside_name};
use serde_json::Value;

use super::mcp::Client;
use super::user::Prepared;
use super::{About, ToolAnswer};
use crate::model::{Cancel, Tool};

/// The outside tools of one agent. MCP servers are started when they are first needed, and stopped
/// when this is dropped.
#[derive(Debug)]
pub struct AgentTools {
    agent: AgentConfig,
    /// The project's folder.
    folder: PathBuf,
    tools: BTreeMap<String, Prepared>,
    servers: Vec<Client>,
    faults: Mutex<Vec<String>>,
}

impl AgentTools {
    /// The tools of an agent; an agent without configuration has all of them. Programs run in `folder`,
    /// the project's.
    #[must_use]
    pub fn new(config: &Config, agent: Option<&AgentConfig>, folder: &Path) -> Self {
        let agent = agent.cloned().unwrap_or_default();
        let chosen = config.tools.iter().filter(|(name, _)| agent.has(name));
        let prepared = |(name, tool)| {
            let name: &String = name;
            Some((name.clone(), Prepared::new(tool, folder)?))
        };
        let tools = chosen.filter_map(prepared).collect();
        let is_meant = |name: &str| agent.may_have_below(&outside_name(name, ""));
        let servers = config.servers.iter().filter(|(name, _)| is_meant(name));
        let servers =
            servers.map(|(name, server)| Client::new(name, server, folder.to_owned())).collect();
        Self { agent, folder: folder.to_owned(), tools, servers, faults: Mutex::default() }
    }

    /// The servers that did not start when the tools were last listed, with reasons.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The server of a tool, the server's own name for the tool, and whether the tool changes
    /// anything.
    fn of_server(&self, name: &str) -> Option<(&Client, String, bool)> {
        let client = self.servers.iter().find(|client| {
            client.server.permission != Permission::Deny
                && name.starts_with(&outside_name(&client.name, ""))
        })?;
        if !self.agent.has(name) {
            return None;
        }
        let offered = client.known()?;
        let found = offered.iter().find(|offered| offered.tool.name == name)?;
        Some((client, found.own_name.clone(), found.mutates))
    }
}

impl AgentTools {
    /// The current tools, each under its own name. Servers that `may_start` refuses are not
    /// started.
    pub fn list(&self, cancel: &Cancel, may_start: &dyn Fn(&str, &Server) -> bool) -> Vec<Tool> {
        let mut listed = Vec::new();
        for (name, prepared) in &self.tools {
            if prepared.tool.permission != Permission::Deny {
                let (description, input) =
                    (prepared.tool.description.clone(), prepared.tool.schema.clone());
                listed.push(Tool { name: name.clone(), description, input });
            }
        }
        let is_wanted = |one: &&Client| {
            one.server.permission != Permission::Deny && may_start(&one.name, &one.server)
        };
        let wanted: Vec<&Client> = self.servers.iter().filter(is_wanted).collect();
        // In parallel: a server may be slow to start.
        let offered: Vec<_> = std::thread::scope(|scope| {
            let started: Vec<_> =
                wanted.iter().map(|client| scope.spawn(|| client.offered(cancel))).collect();
            let crashed = |_| Err("a server's thread crashed".to_owned());
            started.into_iter().map(|one| one.join().unwrap_or_else(crashed)).collect()
        });
        let mut faults = Vec::new();
        for found in offered {
            match found {
                Ok(tools) => listed.extend(tools.iter().map(|one| one.tool.clone())),
                Err(why) => faults.push(why),
            }
        }
        listed.retain(|tool| self.agent.has(&tool.name));
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults;
        listed
    }

    /// The properties of a tool; `None` if there is no such tool.
    #[must_use]
    pub fn about(&self, name: &str) -> Option<About> {
        if let Some(prepared) = self.tools.get(name) {
            let tool = &prepared.tool;
            let (permission, definition) = (tool.permission, self.placed(tool.definition()));
            return Some(About { permission, definition, mutates: tool.mutates });
        }
        let (client, own_name, mutates) = self.of_server(name)?;
        let definition = self.placed(client.server.definition(&own_name));
        Some(About { permission: client.server.permission, definition, mutates })
    }

    /// A definition with the folder, which decides what a program works on: the person who permits a
    /// call sees it, and a permission counts only there.
    #[must_use]
    pub fn placed(&self, mut definition: Value) -> Value {
        let folder = match definition["directory"].as_str() {
            Some(below) => self.folder.join(below),
            None => self.folder.clone(),
        };
        definition["directory"] = folder.to_string_lossy().into();
        definition
    }

    /// Calls a tool. An error is returned as an answer. The caller must have asked the
    /// [`Guard`](super::Guard).
    #[must_use]
    pub fn call(&self, name: &str, input: &Value, cancel: &Cancel) -> ToolAnswer {
        if let Some(prepared) = self.tools.get(name) {
            return prepared.call(name, input, cancel);
        }
        match self.of_server(name) {
            Some((client, own_name, _)) => client.call(&own_name, input, cancel),
            None => ToolAnswer::error(format!("there is no tool `{name}`")),
        }
    }
}
