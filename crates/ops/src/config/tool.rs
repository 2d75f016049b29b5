//! A user's tool: a program that reads its input from standard input and prints its result.

use std::path::Path;

use punchlist_core::Span;
use punchlist_store::outside;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::{Origin, Permission};
use crate::catalogue;
use crate::explain::Fault;

/// The default time limit of a call.
const TIMEOUT: Span = Span::seconds(60);

/// The longest time limit of a call.
const TIMEOUT_MAX: Span = Span::hours(1);

/// The syntax of a tool's or server's name: what the models of every provider accept.
pub(super) const NAME: &str = "1 to 48 letters, digits, - and _ (and no catalogue operation's)";

/// A variable that an outside program must never inherit: with it an agent could answer its own
/// gates.
pub(super) const SECRET: &str = "PUNCHLIST_TOKEN";

/// The table as it is in the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolTable {
    #[schemars(length(min = 1))]
    command: Vec<String>,
    #[schemars(length(min = 1))]
    description: String,
    #[serde(default)]
    schema: Option<serde_json::Map<String, Value>>,
    #[serde(default)]
    schema_file: Option<String>,
    #[serde(default)]
    timeout: Option<String>,
    #[serde(default)]
    directory: Option<String>,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    permission: Option<Permission>,
    #[serde(default)]
    mutates: Option<bool>,
}

/// A user's tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserTool {
    /// The program and its arguments; they are not passed through a shell.
    pub command: Vec<String>,
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
    #[serde(serialize_with = "shown")]
    pub timeout: Span,
    /// The folder it runs in, relative to the project's folder; absent: the project's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The environment variables that it inherits.
    pub env: Vec<String>,
    pub permission: Permission,
    /// Does it change anything? If so, its success counts as progress.
    pub mutates: bool,
}

impl UserTool {
    /// The definition that a permission for this tool is tied to. When it changes, a person is
    /// asked again.
    #[must_use]
    pub fn definition(&self) -> Value {
        let mut definition = json!({ "command": self.command });
        if let Some(directory) = &self.directory {
            definition["directory"] = directory.as_str().into();
        }
        if !self.env.is_empty() {
            definition["env"] = self.env.clone().into();
        }
        definition
    }
}

impl ToolTable {
    pub(super) fn check(
        self,
        name: &str,
        origin: Origin,
        folder: &Path,
    ) -> Result<UserTool, Fault> {
        let path = format!("tools.{name}");
        let is_operation = catalogue::find(name).is_ok();
        if !is_name(name) || is_operation || name.starts_with("mcp__") {
            let found = format!("`{}`", name.chars().take(60).collect::<String>());
            let expected = if is_operation {
                "another name: an operation of the catalogue has this one".to_owned()
            } else if name.starts_with("mcp__") {
                "another name: `mcp__…` are the tools of servers".to_owned()
            } else {
                format!("called with {NAME}")
            };
            return Err(Fault::BadValue { path, found, expected });
        }
        let schema = self.schema(&path, folder)?;
        Ok(UserTool {
            command: command(&path, self.command)?,
            description: self.description.trim().to_owned(),
            schema,
            timeout: timeout(&path, self.timeout.as_deref())?,
            directory: self.directory,
            env: environment(&path, self.env)?,
            permission: permission(&path, self.permission, origin)?,
            mutates: self.mutates.unwrap_or(true),
        })
    }

    fn schema(&self, path: &str, folder: &Path) -> Result<Value, Fault> {
        let (field, schema) = match (&self.schema, &self.schema_file) {
            (Some(_), Some(_)) => {
                let detail = "give `schema` or `schema_file`, not both".to_owned();
                return Err(Fault::Other { path: format!("{path}.schema_file"), detail });
            }
            (None, None) => return Ok(json!({ "type": "object" })),
            (Some(schema), None) => ("schema", Value::Object(schema.clone())),
            (None, Some(file)) => ("schema_file", of_file(path, folder, file)?),
        };
        let path = format!("{path}.{field}");
        if schema.get("type") != Some(&Value::from("object")) {
            let (found, expected) = ("anything but an object", "a schema with type = \"object\"");
            let (found, expected) = (found.to_owned(), expected.to_owned());
            return Err(Fault::BadValue { path, found, expected });
        }
        if let Err(error) = jsonschema::validator_for(&schema) {
            return Err(Fault::Other { path, detail: format!("it is not a JSON Schema: {error}") });
        }
        Ok(schema)
    }
}

fn of_file(path: &str, folder: &Path, file: &str) -> Result<Value, Fault> {
    let path = format!("{path}.schema_file");
    let text = outside::text(&folder.join(file), super::FILE_MAX)
        .map_err(|error| format!("`{file}` cannot be read: {error}"));
    let read = text.and_then(|text| {
        serde_json::from_str(&text).map_err(|error| format!("`{file}` is not JSON: {error}"))
    });
    read.map_err(|detail| Fault::Other { path, detail })
}

/// Is this a name that the models of every provider accept?
pub(super) fn is_name(name: &str) -> bool {
    (1..=48).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

pub(super) fn command(path: &str, words: Vec<String>) -> Result<Vec<String>, Fault> {
    if words.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(Fault::MissingField { path: format!("{path}.command") });
    }
    Ok(words)
}

pub(super) fn timeout(path: &str, given: Option<&str>) -> Result<Span, Fault> {
    let Some(text) = given else { return Ok(TIMEOUT) };
    let span = Span::parse(text).filter(|span| (Span::seconds(1)..=TIMEOUT_MAX).contains(span));
    span.ok_or_else(|| Fault::BadValue {
        path: format!("{path}.timeout"),
        found: format!("`{}`", text.chars().take(60).collect::<String>()),
        expected: format!("1s to {TIMEOUT_MAX}, as {}", Span::SPELLING),
    })
}

pub(super) fn environment(path: &str, names: Vec<String>) -> Result<Vec<String>, Fault> {
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match names.iter().find(|name| !is_name(name) || *name == SECRET) {
        None => Ok(names),
        Some(name) => {
            let expected = if name == SECRET {
                "anything but our own token, which can answer gates".to_owned()
            } else {
                "names of variables, whose values are taken from the environment".to_owned()
            };
            let found = format!("`{}`", name.chars().take(60).collect::<String>());
            Err(Fault::BadValue { path: format!("{path}.env"), found, expected })
        }
    }
}

/// Checks that a project's file, which an agent can edit, does not grant a permission.
pub(super) fn permission(
    path: &str,
    given: Option<Permission>,
    origin: Origin,
) -> Result<Permission, Fault> {
    let permission = given.unwrap_or_default();
    if (permission, origin) == (Permission::Allow, Origin::Project) {
        return Err(Fault::BadValue {
            path: format!("{path}.permission"),
            found: "`allow`".to_owned(),
            expected: "ask or deny: a project file grants nothing; put it into the user's file, \
                       or answer the gate"
                .to_owned(),
        });
    }
    Ok(permission)
}

pub(super) fn shown<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(span)
}
