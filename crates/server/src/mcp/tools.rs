//! Operations as tools of the protocol. `ops::tools` decides which of them a role sees.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use punchlist_ops::catalogue::{Effect, Operation};
pub use punchlist_ops::tools::{Choice, listed};
use punchlist_ops::tools::{DESTRUCTIVE, IDEMPOTENT};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// A cache of tools, because generating a schema takes longer than a call.
static MADE: Mutex<BTreeMap<&str, Tool>> = Mutex::new(BTreeMap::new());

/// Like [`tool`], for a server with many clients, which list the same tools.
pub(crate) fn cached(operation: &Operation) -> Tool {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(operation.name).or_insert_with(|| tool(operation)).clone()
}

/// An operation as a tool.
#[must_use]
pub fn tool(operation: &Operation) -> Tool {
    let (description, input) = punchlist_ops::tools::shown(operation);
    let read_only = operation.effect != Effect::Write;
    let annotations = ToolAnnotations::new()
        .read_only(read_only)
        .destructive(DESTRUCTIVE.contains(&operation.name))
        .idempotent(read_only || IDEMPOTENT.contains(&operation.name))
        .open_world(false);
    Tool::new(operation.name, description, Arc::new(object(input)))
        .with_raw_output_schema(Arc::new(or_refusal(object(operation.output_schema()))))
        .with_annotations(annotations)
}

/// Adds the error to an output schema. Hosts such as the official TypeScript client check every
/// structured result against the schema, even a refusal, and report a protocol error if it does not
/// fit.
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
        // The protocol requires an object for each property, even if any value is allowed.
        properties.values_mut().filter(|any| any.is_boolean()).for_each(|any| *any = json!({}));
        let error = match properties.remove("error") {
            // The answer itself also has a field with this name.
            Some(own) => json!({ "anyOf": [own, error] }),
            None => error,
        };
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
