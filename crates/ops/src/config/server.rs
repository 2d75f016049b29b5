//! An MCP server: a program that offers tools over its standard input and output.

use punchlist_core::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::tool::{command, environment, is_name, permission, shown, timeout};
use super::{Origin, Permission, ToolPattern};
use crate::explain::Fault;

/// The prefix of every tool that an MCP server offers.
const PREFIX: &str = "mcp__";

/// The table as it is in the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerTable {
    #[serde(default)]
    command: Option<Vec<String>>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    timeout: Option<String>,
    #[serde(default)]
    permission: Option<Permission>,
    #[serde(default)]
    tools: Option<Vec<ToolPattern>>,
}

/// An MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Server {
    /// The program and its arguments; they are not passed through a shell.
    pub command: Vec<String>,
    /// The environment variables that it inherits.
    pub env: Vec<String>,
    /// The time limit for a call, and for its start.
    #[serde(serialize_with = "shown")]
    pub timeout: Span,
    pub permission: Permission,
    /// Does a project's file define it? Then the operator is asked before it is started.
    #[serde(skip)]
    pub from_project: bool,
    /// Which of its tools are used, by the server's own names; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolPattern>>,
}

impl Server {
    /// Is this tool of the server used?
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|entry| entry.matches(tool)))
    }

    /// The definition that a permission to start it is tied to.
    #[must_use]
    pub fn start(&self) -> Value {
        json!({ "command": self.command, "env": self.env })
    }

    /// The definition that a permission for this tool is tied to.
    #[must_use]
    pub fn definition(&self, tool: &str) -> Value {
        let mut definition = json!({ "command": self.command, "tool": tool });
        if !self.env.is_empty() {
            definition["env"] = self.env.clone().into();
        }
        definition
    }
}

impl ServerTable {
    pub(super) fn check(self, name: &str, origin: Origin) -> Result<Server, Fault> {
        let path = format!("mcp.{name}");
        let joins = name.contains("__") || name.starts_with('_') || name.ends_with('_');
        if !is_name(name) || name.len() > 24 || joins {
            let found = format!("`{}`", name.chars().take(60).collect::<String>());
            let expected =
                "called with 1 to 24 letters, digits, - and _, but no __ and no _ at an end"
                    .to_owned();
            return Err(Fault::BadValue { path, found, expected });
        }
        if self.url.is_some() {
            let detail = "HTTP servers are not supported; set `command` to a program that speaks \
                          MCP over its standard input and output";
            return Err(Fault::Other { path: format!("{path}.url"), detail: detail.to_owned() });
        }
        Ok(Server {
            command: command(&path, self.command.unwrap_or_default())?,
            env: environment(&path, self.env)?,
            timeout: timeout(&path, self.timeout.as_deref())?,
            permission: permission(&path, self.permission, origin)?,
            from_project: origin == Origin::Project,
            tools: self.tools,
        })
    }
}

/// The name by which a model calls a server's tool.
#[must_use]
pub fn outside_name(server: &str, tool: &str) -> String {
    format!("{PREFIX}{server}__{tool}")
}

/// Splits a tool's name into the server and the server's own name for the tool.
pub(super) fn split(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(PREFIX)?.split_once("__")
}
