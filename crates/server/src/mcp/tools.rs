//! Operations as tools of the protocol. Which of them a role sees is decided in `ops::tools`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use punchlist_ops::catalogue::{Effect, Operation};
pub use punchlist_ops::tools::{Choice, listed};
use punchlist_ops::tools::{DESTRUCTIVE, IDEMPOTENT};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// The tools that were listed before: making their schemas takes longer than a call.
static MADE: Mutex<BTreeMap<&str, Tool>> = Mutex::new(BTreeMap::new());

/// An operation in the words of the protocol.
#[must_use]
pub fn tool(operation: &Operation) -> Tool {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(operation.name).or_insert_with(|| make(operation)).clone()
}

fn make(operation: &Operation) -> Tool {
    let (description, input) = punchlist_ops::tools::shown(operation);
    let read_only = operation.effect != Effect::Write;
    let annotations = ToolAnnotations::new()
        .read_only(read_only)
        .destructive(DESTRUCTIVE.contains(&operation.name))
        .idempotent(read_only || IDEMPOTENT.contains(&operation.name))
        .open_world(false);
    Tool::new(operation.name, description, Arc::new(object(input)))
        .with_raw_output_schema(Arc::new(or_refusal(object((operation.output_schema)()))))
        .with_annotations(annotations)
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
        // The protocol's own schema wants an object for each property, also where anything goes.
        properties.values_mut().filter(|any| any.is_boolean()).for_each(|any| *any = json!({}));
        let error = match properties.remove("error") {
            // The answer has a field of this name, too.
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
