//! What operations need beyond the plain schema of their input: fields that an action requires,
//! context headers, 64-bit numbers. It is part of the OpenAPI document, so that generated clients
//! and the server agree.
//!
//! The rules themselves are in the operations. Schemathesis tests that this file agrees with them.

use punchlist_core::ListKind;
use punchlist_core::text::NOT_BLANK;
use punchlist_ops::Operation;
use punchlist_ops::access::Access;
use punchlist_ops::input::{BLANK, OR_BLANK};
use serde_json::{Value, json};

/// The fields that each action of a tool requires.
const ACTIONS: &[(&str, &str, &[&str])] = &[
    ("issue", "create", &["title"]),
    ("issue", "view", &["number"]),
    ("issue", "comment", &["number", "text"]),
    ("issue", "transition", &["number", "status"]),
    ("issue", "link", &["number", "kind", "to"]),
    ("mission_todo_update", "extend", &["deadline"]),
    ("mission_todo_update", "reprioritize", &["priority"]),
    ("plan", "import", &["planFile", "markdown"]),
    ("plan", "tree", &["planFile"]),
    ("plan", "current", &["planFile"]),
    ("plan", "render", &["planFile"]),
    ("plan", "assign", &["taskId", "agent"]),
    ("plan", "complete", &["taskId"]),
    ("plan", "add", &["taskId", "content"]),
    ("todo", "set", &["items"]),
    ("todo", "add", &["items"]),
    ("todo", "start", &["content"]),
    ("todo", "done", &["content"]),
    ("todo", "drop", &["content"]),
    ("todo", "note", &["content", "text"]),
    ("todo", "block", &["content", "text"]),
    ("todo", "unblock", &["content"]),
];

/// Fields that are required over HTTP, although a command line can leave them out.
const FIELDS: &[(&str, &[&str])] = &[
    ("plan_import", &["markdown"]),
    ("session_show", &["session"]),
    ("session_end", &["session"]),
    ("session_bind", &["session"]),
    ("session_unbind", &["session"]),
    ("session_promote", &["session"]),
    ("drive_pause", &["session"]),
    ("drive_resume", &["session"]),
];

/// Operations that need exactly one of these fields.
const ONE_OF: &[(&str, &[&str])] = &[
    ("delegation_report", &["result", "error"]),
    ("todo_next", &["number", "planFile", "session"]),
];

/// Operations that need at least one of these fields.
const ANY_OF: &[(&str, &[&str])] =
    &[("todo", &["action", "items"]), ("run_begin", &["conversationId", "delegationId"])];

/// The context headers that an operation requires.
pub(crate) fn headers(operation: &Operation) -> &'static [&'static str] {
    match (operation.access, operation.name) {
        (Access::List(ListKind::Turn, _), _) => &["Punchlist-Conversation", "Punchlist-Turn"],
        (_, "todo_read" | "todo_write") => &["Punchlist-Session"],
        _ => &[],
    }
}

/// Is this field required, even if the plain schema says otherwise?
pub(crate) fn is_required(operation: &Operation, field: &str) -> bool {
    let named = FIELDS.iter().filter(|(name, _)| *name == operation.name);
    named.flat_map(|(_, fields)| *fields).any(|name| *name == field)
}

/// The schema of a body, with all these requirements.
pub(crate) fn body(operation: &Operation, mut schema: Value) -> Value {
    bounded(&mut schema);
    let fields: Vec<String> = properties(&schema).into_iter().collect();
    let mut required = schema["required"].as_array().cloned().unwrap_or_default();
    for field in fields.iter().filter(|field| is_required(operation, field)) {
        required.push(json!(field));
        given(&mut schema["properties"][field]);
    }
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    let of_tool = ACTIONS.iter().filter(|(name, ..)| *name == operation.name);
    let rules: Vec<Value> = of_tool
        .map(|(_, action, fields)| {
            let is_action =
                json!({ "properties": { "action": { "const": action } }, "required": ["action"] });
            json!({ "if": is_action, "then": needing(&schema, fields) })
        })
        .collect();
    let choices = ONE_OF.iter().find(|(name, _)| *name == operation.name);
    if let Some((_, fields)) = choices {
        // The others are absent, null or blank.
        let one = |field: &&str| {
            let mut one = needing(&schema, &[field]);
            for other in fields.iter().filter(|other| *other != field) {
                one["properties"][other] = match takes(&schema["properties"][other], "string") {
                    true => json!({ "pattern": BLANK }),
                    false => json!({ "type": "null" }),
                };
            }
            one
        };
        schema["oneOf"] = fields.iter().map(one).collect();
    }
    if let Some((_, fields)) = ANY_OF.iter().find(|(name, _)| *name == operation.name) {
        schema["anyOf"] = fields.iter().map(|field| needing(&schema, &[field])).collect();
    }
    if !rules.is_empty() {
        schema["allOf"] = Value::Array(rules);
    }
    schema
}

fn properties(schema: &Value) -> Vec<String> {
    let fields = schema["properties"].as_object();
    fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}

/// A schema that requires these fields, neither null nor blank.
fn needing(schema: &Value, fields: &[&str]) -> Value {
    let mut needed = json!({});
    for field in fields {
        let mut copy = schema["properties"][field].clone();
        given(&mut copy);
        needed[field] = copy;
    }
    json!({ "required": fields, "properties": needed })
}

/// Does a schema accept this type?
fn takes(schema: &Value, name: &str) -> bool {
    let kind = &schema["type"];
    kind == name || kind.as_array().is_some_and(|all| all.iter().any(|one| one == name))
}

/// Changes a schema so that it accepts neither null nor a blank text.
pub(crate) fn given(schema: &mut Value) {
    if let Some(types) = schema["type"].as_array() {
        let kept: Vec<Value> = types.iter().filter(|name| *name != "null").cloned().collect();
        schema["type"] = if let [only] = kept.as_slice() { only.clone() } else { json!(kept) };
    }
    let is_none = |form: &Value| {
        form.is_null() || *form == json!({ "type": "null" }) || *form == json!({ "pattern": BLANK })
    };
    for forms in ["enum", "anyOf"] {
        if let Some(forms) = schema.get_mut(forms).and_then(Value::as_array_mut) {
            forms.retain(|form| !is_none(form));
        }
    }
    let is_text = takes(schema, "string") && schema.get("enum").is_none();
    if is_text {
        let pattern = schema["pattern"].as_str().unwrap_or(NOT_BLANK);
        schema["pattern"] = json!(pattern.strip_prefix(OR_BLANK).unwrap_or(pattern));
    }
    if schema.get("type").is_none() && schema.get("anyOf").is_none() {
        schema["not"] = json!({ "type": "null" });
    }
    if schema["type"] == "array" && schema.get("minItems").is_none() {
        schema["minItems"] = json!(1);
    }
}

/// Limits integers to 64 bits.
pub(crate) fn bounded(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let is_integer = fields.get("type").is_some_and(|kind| {
                kind == "integer"
                    || kind.as_array().is_some_and(|all| all.iter().any(|one| one == "integer"))
            });
            if is_integer {
                fields.entry("minimum").or_insert(json!(i64::MIN));
                fields.entry("maximum").or_insert(json!(i64::MAX));
            }
            fields.values_mut().for_each(bounded);
        }
        Value::Array(items) => items.iter_mut().for_each(bounded),
        _ => {}
    }
}
