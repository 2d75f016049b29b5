//! The tool list: a loop over the catalogue, trimmed by profile and by authority.
//!
//! A profile only trims what is listed; a tool the role may use answers by name all the same.

use std::sync::Arc;

use punchlist_core::Role;
use punchlist_ops::catalogue::{CATALOGUE, Effect, Operation, Profile};
use punchlist_ops::{Error, schema};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Which tools to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The profile of the role; everything it may use while that profile has no tool yet.
    Default,
    Only(Profile),
    All,
}

impl Choice {
    /// Reads a profile's name; `all` lists everything the role may use.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if name == "all" {
            return Some(Self::All);
        }
        Profile::ALL.into_iter().find(|profile| profile.name() == name).map(Self::Only)
    }
}

const fn profile_of(role: Role) -> Profile {
    match role {
        Role::Operator => Profile::Inbox,
        Role::Lead | Role::Owner => Profile::Mission,
        Role::Root | Role::System => Profile::Issue,
        Role::Worker => Profile::Plan,
    }
}

/// The operations to list as tools for a role.
#[must_use]
pub fn listed(role: Role, choice: Choice) -> Vec<&'static Operation> {
    let usable = || CATALOGUE.iter().filter(move |operation| is_tool(operation, role));
    // A lead completes; a claim is for those who may not.
    let wanted = move |o: &&Operation| role != Role::Lead || o.name != "todo_claim";
    let of = |profile: Profile| {
        let listed = |o: &&Operation| o.surfaces.profiles.contains(&profile) && wanted(o);
        usable().filter(listed).collect()
    };
    match choice {
        Choice::All => usable().collect(),
        Choice::Only(profile) => of(profile),
        Choice::Default => {
            let own: Vec<_> = of(profile_of(role));
            if own.is_empty() { usable().collect() } else { own }
        }
    }
}

fn is_tool(operation: &Operation, role: Role) -> bool {
    operation.access.allows(role)
}

/// The tool of a name; who may use it is asked when it is called.
pub fn find(name: &str) -> Result<&'static Operation, Error> {
    punchlist_ops::catalogue::find(name)
}

/// An operation in the words of the protocol.
#[must_use]
pub fn tool(operation: &Operation) -> Tool {
    let mut input = object((operation.input_schema)());
    // The description stands on the tool; saying it twice only costs tokens.
    let description = schema::description(&Value::Object(input.clone())).to_owned();
    input.remove("description");
    for property in input.get_mut("properties").into_iter().filter_map(Value::as_object_mut) {
        property.values_mut().for_each(without_lengths);
    }
    let read_only = operation.effect != Effect::Write;
    let annotations =
        ToolAnnotations::new().read_only(read_only).destructive(false).open_world(false);
    Tool::new(operation.name, description, Arc::new(input))
        .with_raw_output_schema(Arc::new(or_refusal(object((operation.output_schema)()))))
        .with_annotations(annotations)
}

/// A model does not count characters, and every session pays for the words: how long a text may be
/// is said when it is too long.
fn without_lengths(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    for word in ["minLength", "maxLength", "maxItems"] {
        schema.remove(word);
    }
    schema.get_mut("items").into_iter().for_each(without_lengths);
}

/// Hosts check every structured answer against the output schema, refusals too (the official
/// TypeScript client does), and show the model a broken protocol instead of what does not fit.
/// So the schema says both: the answer, or the error.
fn or_refusal(mut schema: JsonObject) -> JsonObject {
    let required = schema.remove("required").unwrap_or_else(|| json!([]));
    let text = || json!({ "type": "string" });
    let error = json!({
        "type": "object",
        "description": "Instead of the answer, where the call was refused.",
        "properties": { "code": text(), "message": text(), "hint": text() },
        "required": ["code", "message"],
    });
    if let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({})) {
        properties.insert("error".into(), error);
    }
    let either = json!([{ "required": required }, { "required": ["error"] }]);
    schema.insert("anyOf".into(), either);
    schema
}

fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
