//! Parses a configuration file: each table by its own schema, then checks that span all tables.

use std::path::Path;
use std::sync::Arc;

use punchlist_core::text::Title;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::roster::{AGENT_NAME, is_agent_name};
use super::server::ServerTable;
use super::tool::ToolTable;
use super::{AgentConfig, Config, Origin, Price};
use crate::explain::{Fault, explain, join, nearest};
use crate::schema;
use crate::schema::generate::{self, Write};
use crate::strict;

/// The top-level keys: the tables, the switch for session lists, and the project's name.
const TABLES: [&str; 6] = ["agents", "tools", "mcp", "prices", "session_lists", "project"];

/// A table of the file, and the text of its schema.
trait Table: DeserializeOwned {
    const SCHEMA: &'static str;
}

impl Table for AgentConfig {
    const SCHEMA: &'static str = include_str!("../../schemas/config.agents.json");
}

impl Table for ToolTable {
    const SCHEMA: &'static str = include_str!("../../schemas/config.tools.json");
}

impl Table for ServerTable {
    const SCHEMA: &'static str = include_str!("../../schemas/config.mcp.json");
}

impl Table for Price {
    const SCHEMA: &'static str = include_str!("../../schemas/config.prices.json");
}

/// The types of the tables, from which their schemas are written.
pub(crate) static TYPES: [(&str, Write); 4] = [
    ("agents", generate::of_input::<AgentConfig>),
    ("tools", generate::of_input::<ToolTable>),
    ("mcp", generate::of_input::<ServerTable>),
    ("prices", generate::of_input::<Price>),
];

const PROJECT_NAME: &str = "a name, in the file of the project";

pub(super) fn onto(
    config: &Config,
    file: &Value,
    origin: Origin,
    folder: &Path,
) -> Result<Config, Fault> {
    let empty = Map::new();
    let file = file.as_object().unwrap_or(&empty);
    if let Some(field) = file.keys().find(|name| !TABLES.contains(&name.as_str())) {
        return Err(Fault::UnknownField {
            path: field.clone(),
            field: field.clone(),
            nearest: nearest(field, TABLES.into_iter()).map(str::to_owned),
            known: TABLES.map(str::to_owned).to_vec(),
        });
    }
    let mut read = config.clone();
    let roster = Arc::make_mut(&mut read.agents);
    match file.get("session_lists") {
        None => {}
        Some(Value::Bool(keeps)) => {
            roster.keep_session_lists(*keeps);
            read.origins.insert("session_lists".to_owned(), origin);
        }
        Some(other) => {
            let (path, expected) = ("session_lists".to_owned(), "true or false".to_owned());
            let found = format!("{other}").chars().take(60).collect();
            return Err(Fault::BadValue { path, found, expected });
        }
    }
    if let Some(value) = file.get("project") {
        let name = value.as_str().and_then(|name| Title::new(name).ok());
        let Some(name) = name.filter(|_| origin == Origin::Project) else {
            let (path, expected) = ("project".to_owned(), PROJECT_NAME.to_owned());
            let found = format!("{value}").chars().take(60).collect();
            return Err(Fault::BadValue { path, found, expected });
        };
        read.project = Some(name.into_string());
        read.origins.insert("project".to_owned(), origin);
    }
    for (name, value) in entries(file, "agents")? {
        let path = join("agents", name);
        if !is_agent_name(name) {
            let (found, expected) = (format!("`{name}`"), AGENT_NAME.to_owned());
            return Err(Fault::BadValue { path, found, expected });
        }
        let agent: AgentConfig = table(&path, value)?;
        agent.check(&path, origin)?;
        let agent = match roster.get(name) {
            Some(user)
                if read.origins.get(&path) == Some(&Origin::User) && origin == Origin::Project =>
            {
                agent.within(user)
            }
            _ => agent,
        };
        roster.insert(name.clone(), agent);
        read.origins.insert(path, origin);
    }
    for (name, value) in entries(file, "tools")? {
        let path = join("tools", name);
        let tool = table::<ToolTable>(&path, value)?.check(name, origin, folder)?;
        read.tools.insert(name.clone(), tool);
        read.origins.insert(path, origin);
    }
    for (name, value) in entries(file, "mcp")? {
        let path = join("mcp", name);
        let server = table::<ServerTable>(&path, value)?.check(name, origin)?;
        read.servers.insert(name.clone(), server);
        read.origins.insert(path, origin);
    }
    for (name, value) in entries(file, "prices")? {
        let path = join("prices", name);
        roster.set_price(name.clone(), table(&path, value)?);
        read.origins.insert(path, origin);
    }
    read.agents.check()?;
    Ok(read)
}

/// The tables under a key, by name.
fn entries<'f>(
    file: &'f Map<String, Value>,
    word: &str,
) -> Result<impl Iterator<Item = (&'f String, &'f Value)>, Fault> {
    let found = match file.get(word) {
        None => None,
        Some(Value::Object(entries)) => Some(entries),
        Some(_) => {
            let (path, expected) = (word.to_owned(), format!("tables [{word}.NAME]"));
            return Err(Fault::WrongType { path, expected, found: "a value" });
        }
    };
    Ok(found.into_iter().flatten())
}

/// Parses one table. An error is explained by the table's schema if possible.
fn table<T: Table>(path: &str, value: &Value) -> Result<T, Fault> {
    strict::read(value).map_err(|(at, error)| {
        explain(&schema::parsed(T::SCHEMA), value, path).unwrap_or_else(|| {
            let (inner, detail) = (strict::path(value, at), error.to_string());
            let path = if inner == "." { path.to_owned() } else { format!("{path}.{inner}") };
            Fault::Other { path, detail }
        })
    })
}
