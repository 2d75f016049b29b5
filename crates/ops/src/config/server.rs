//! A server of tools that speaks MCP over its standard input and output.

use punchlist_core::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::tool::{command, environment, is_name, permission, shown, timeout};
use super::{Origin, Permission, ToolPattern};
use crate::explain::Fault;

/// What the tools of servers begin with.
const PREFIX: &str = "mcp__";

/// As it stands in the file.
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
    /// The program and its arguments; no shell looks at them.
    pub command: Vec<String>,
    /// The variables of our environment that it gets.
    pub env: Vec<String>,
    /// How long a call may take, and the start.
    #[serde(serialize_with = "shown")]
    pub timeout: Span,
    pub permission: Permission,
    /// Which of its tools are used, by its own names; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolPattern>>,
}

impl Server {
    /// Is this tool of it used?
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|entry| entry.matches(tool)))
    }

    /// What a permission to call a tool of it is about.
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
            let detail = "servers over HTTP are not spoken to: give `command`, a program that \
                          speaks MCP over its standard input and output";
            return Err(Fault::Other { path: format!("{path}.url"), detail: detail.to_owned() });
        }
        Ok(Server {
            command: command(&path, self.command.unwrap_or_default())?,
            env: environment(&path, self.env)?,
            timeout: timeout(&path, self.timeout.as_deref())?,
            permission: permission(&path, self.permission, origin)?,
            tools: self.tools,
        })
    }
}

/// What a model calls a tool of a server.
#[must_use]
pub fn outside_name(server: &str, tool: &str) -> String {
    format!("{PREFIX}{server}__{tool}")
}

/// The server and its tool that a name means.
pub(super) fn split(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(PREFIX)?.split_once("__")
}
