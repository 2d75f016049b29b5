//! The API as an OpenAPI 3.1 document, generated from the same schemas and doc comments as all
//! other surfaces.

use punchlist_core::AgentPath;
use punchlist_ops::catalogue::{CATALOGUE, Effect, Operation};
use punchlist_ops::error::TABLE;
use punchlist_ops::schema;
use serde_json::{Map, Value, json};

use super::needs;

/// Headers that every call accepts: name and description.
const HEADERS: [(&str, &str); 6] = [
    ("Punchlist-Project", "The project that is meant; absent: the server's own."),
    ("Punchlist-Session", "The session the caller is in."),
    ("Punchlist-Conversation", "The conversation the caller is in."),
    ("Punchlist-Turn", "The turn the caller is in."),
    ("Punchlist-Agent", "Act as this agent, where the token allows it."),
    ("Punchlist-As", "Act in this role, where the token allows it."),
];

/// Generates the document.
#[must_use]
pub fn document() -> Value {
    let mut paths = Map::new();
    for operation in CATALOGUE {
        let mut methods = json!({ "post": post(operation) });
        if operation.effect != Effect::Write {
            methods["get"] = get(operation);
        }
        paths.insert(format!("/v1/{}", operation.name), methods);
    }
    paths.insert("/v1/events".to_owned(), json!({ "get": events() }));
    for (path, summary) in
        [("/healthz", "Is the server alive?"), ("/readyz", "Is its store reachable?")]
    {
        let ok = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
        let mut responses = responses(&ok);
        responses["503"] = json!({ "$ref": "#/components/responses/Problem" });
        let name = path.trim_start_matches('/');
        let about = json!({
            "operationId": name, "summary": summary, "security": [], "responses": responses,
        });
        paths.insert(path.to_owned(), json!({ "get": about }));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "punchlist",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A durable work ledger and execution engine for AI agents.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        // A token is optional if the store is open and the server listens on loopback.
        "security": [{}, { "token": [] }],
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "parameters": parameters(),
            "responses": { "Problem": problem() },
        },
    })
}

fn parameters() -> Value {
    let mut parameters = Map::new();
    for (name, about) in HEADERS {
        let schema = match name {
            "Punchlist-As" => json!({
                "type": "string",
                "enum": ["", "operator", "lead", "owner", "root", "worker", "system"],
            }),
            "Punchlist-Agent" => json!({
                "type": "string", "maxLength": AgentPath::LIMIT,
                // White space around a header is not part of it, so a blank one is empty.
                "pattern": format!("^$|{}", AgentPath::PATTERN),
            }),
            _ => json!({ "type": "string", "maxLength": 500 }),
        };
        let parameter =
            json!({ "name": name, "in": "header", "description": about, "schema": schema });
        parameters.insert(name.to_owned(), parameter);
    }
    let key = json!({
        "name": "Idempotency-Key", "in": "header", "schema": { "type": "string", "maxLength": 500 },
        "description": "The same key with the same input has one effect (kept 7 days).",
    });
    parameters.insert("Idempotency-Key".to_owned(), key);
    Value::Object(parameters)
}

fn header_refs(operation: &Operation) -> Vec<Value> {
    let needed = needs::headers(operation);
    let named = HEADERS.iter().map(|(name, about)| match needed.contains(name) {
        true => json!({
            "name": name, "in": "header", "required": true, "description": about,
            "schema": { "type": "string", "minLength": 1, "maxLength": 500 },
        }),
        false => json!({ "$ref": format!("#/components/parameters/{name}") }),
    });
    named.collect()
}

fn post(operation: &Operation) -> Value {
    let input = needs::body(operation, operation.request_schema());
    let mut parameters = header_refs(operation);
    if operation.effect == Effect::Write && operation.keeps_answers {
        parameters.push(json!({ "$ref": "#/components/parameters/Idempotency-Key" }));
    }
    // Without a body, the input is an empty object.
    let is_required = ["required", "anyOf", "oneOf"].iter().any(|key| input.get(key).is_some());
    let example: Value = serde_json::from_str(operation.example).unwrap_or_default();
    json!({
        "operationId": operation.name,
        "summary": summary(&input),
        "parameters": parameters,
        "requestBody": {
            "required": is_required,
            "content": { "application/json": { "schema": input, "example": example } },
        },
        "responses": responses(&operation.output_schema()),
    })
}

fn get(operation: &Operation) -> Value {
    let mut input = operation.request_schema();
    schema::without_nulls(&mut input);
    let required = input["required"].as_array().cloned().unwrap_or_default();
    let fields = input["properties"].as_object().cloned().unwrap_or_default();
    let mut parameters = header_refs(operation);
    for (name, mut field) in fields {
        needs::bounded(&mut field);
        let is_needed = needs::is_required(operation, &name);
        if is_needed {
            needs::given(&mut field);
        }
        let is_required = is_needed || required.iter().any(|one| *one == name.as_str());
        let about = schema::description(&field).to_owned();
        let mut parameter = json!({
            "name": name, "in": "query", "required": is_required, "description": about,
        });
        match field["type"] == "object" {
            true => parameter["content"] = json!({ "application/json": { "schema": field } }),
            false => parameter["schema"] = field,
        }
        parameters.push(parameter);
    }
    let mut responses = responses(&operation.output_schema());
    responses["304"] = json!({ "description": "The client has it already." });
    json!({
        "operationId": format!("{}_get", operation.name),
        "summary": summary(&input),
        "parameters": parameters,
        "responses": responses,
    })
}

fn summary(input: &Value) -> String {
    schema::description(input).to_owned()
}

/// A query parameter.
fn query(name: &str, about: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "description": about, "schema": schema })
}

fn events() -> Value {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer", "minimum": 0 });
    let types = json!({ "type": "string", "pattern": "^[a-z_,]*$" });
    let mut responses = responses(&json!({}));
    responses["200"] = json!({
        "description": "Server-sent events: the id is the event's number, data is JSON.",
        "content": { "text/event-stream": { "schema": text } },
    });
    json!({
        "operationId": "events",
        "summary": "Follow what happens, resumable by the number of the last event seen.",
        "parameters": [
            query("after", "Events with a higher number; absent: from now on.", &number),
            query("project", "Only this project; absent: all that the caller may see.", &text),
            query("types", "Only these types, separated by commas.", &types),
            {
                "name": "Last-Event-ID", "in": "header", "schema": number,
                "description": "As `after`; the later of both counts.",
            },
        ],
        "responses": responses,
    })
}

/// The successful response, and one for every status in the error table.
fn responses(output: &Value) -> Value {
    let mut statuses: Vec<u16> = TABLE.iter().map(|meaning| meaning.http).collect();
    statuses.sort_unstable();
    statuses.dedup();
    let mut responses = json!({
        "200": {
            "description": "The answer.",
            "content": { "application/json": { "schema": output } },
        },
    });
    for status in statuses {
        responses[status.to_string()] = json!({ "$ref": "#/components/responses/Problem" });
    }
    responses
}

fn problem() -> Value {
    json!({
        "description": "It did not happen: a stable code, what is true now, and what to do next.",
        "content": { "application/problem+json": { "schema": {
            "type": "object",
            "required": ["type", "title", "status", "detail", "code"],
            "properties": {
                "type": { "type": "string" },
                "title": { "type": "string" },
                "status": { "type": "integer" },
                "detail": { "type": "string" },
                "code": {
                    "type": "string",
                    "enum": TABLE.iter().map(|meaning| meaning.code).collect::<Vec<_>>(),
                },
                "hint": { "type": "string" },
            },
        } } },
    })
}
