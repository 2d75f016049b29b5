//! The OpenAPI document and the operations agree on which input is well-formed: every field of
//! every operation is tried with values of every kind.
//!
//! Schemathesis tries the same with generated input (`cargo xtask test --only openapi`).

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

use std::collections::BTreeSet;

use jsonschema::Validator;
use punchlist_core::Role;
use punchlist_ops::Envelope;
use punchlist_ops::catalogue::{CATALOGUE, Operation};
use punchlist_testkit::examples::{caller, working_input};
use punchlist_testkit::{Backend, World};
use serde_json::{Map, Value, json};

/// One step from a value into a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Into {
    Field(String),
    Item,
}

type Path = Vec<Into>;

/// The schemas that a value may have at one place: the schema itself and its alternatives.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let inner = ["anyOf", "oneOf"].into_iter().filter_map(|name| schema[name].as_array());
    std::iter::once(schema).chain(inner.flatten()).collect()
}

/// Every place of a schema, from the outside in.
fn places(schema: &Value, at: &Path, found: &mut Vec<Path>) {
    found.push(at.clone());
    for schema in alternatives(schema) {
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            let mut path = at.clone();
            path.push(Into::Field(name.clone()));
            places(inner, &path, found);
        }
        if let Some(inner) = schema.get("items") {
            let mut path = at.clone();
            path.push(Into::Item);
            places(inner, &path, found);
        }
    }
}

/// A value that fits a schema, as small as possible. Texts with a syntax get one that fits.
fn least(schema: &Value) -> Value {
    let options = ["anyOf", "oneOf"].into_iter().find_map(|name| schema[name].as_array());
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").unwrap(),
        kind => kind,
    };
    match kind.as_str() {
        _ if schema["enum"].is_array() => schema["enum"][0].clone(),
        _ if schema.get("const").is_some() => schema["const"].clone(),
        Some("object") => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let field = |name: &Value| {
                let name = name.as_str().unwrap().to_owned();
                (name.clone(), least(&schema["properties"][name]))
            };
            Value::Object(required.iter().map(field).collect())
        }
        Some("array") => {
            let count = usize::from(schema["minItems"].as_u64().unwrap_or(0) > 0);
            Value::Array(vec![least(&schema["items"]); count])
        }
        Some("integer" | "number") => json!(schema["minimum"].as_i64().unwrap_or(1).max(1)),
        Some("boolean") => json!(true),
        None if options.is_some() => least(&options.unwrap()[0]),
        _ => {
            let validator = validator(schema);
            let texts = ["x", "01JCQ0000000000000000000AB", "1", "7d", "2099-01-31", "note:x"];
            let fitting = texts.into_iter().find(|text| validator.is_valid(&json!(text)));
            match (fitting, options) {
                (Some(text), _) => json!(text),
                (None, Some(options)) => least(&options[0]),
                (None, None) => panic!("no text for {schema}"),
            }
        }
    }
}

/// A copy of a value with another one at this place. What is missing on the way is made.
fn with(schema: &Value, old: Option<&Value>, path: &[Into], new: &Value) -> Value {
    let Some((step, rest)) = path.split_first() else { return new.clone() };
    let fitting = |schema: &&&Value| match step {
        Into::Field(name) => schema["properties"].get(name).is_some(),
        Into::Item => schema.get("items").is_some(),
    };
    let alternatives = alternatives(schema);
    let schema = alternatives.iter().find(fitting).unwrap();
    match step {
        Into::Field(name) => {
            let one_only = schema["maxProperties"] == 1;
            let made = if one_only { json!({}) } else { least(schema) };
            let mut fields: Map<String, Value> =
                old.filter(|_| !one_only).unwrap_or(&made).as_object().cloned().unwrap_or_default();
            let inner = with(&schema["properties"][name], fields.get(name), rest, new);
            fields.insert(name.clone(), inner);
            Value::Object(fields)
        }
        Into::Item => json!([with(&schema["items"], None, rest, new)]),
    }
}

fn validator(schema: &Value) -> Validator {
    jsonschema::options().should_validate_formats(true).build(schema).unwrap()
}

/// Values of every kind, at the borders of what is usual.
fn values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(1.5),
        json!(9_223_372_036_854_775_807_i64),
        json!(9_223_372_036_854_775_808_u64),
        json!(""),
        json!(" "),
        json!("x"),
        json!("A b: ü"),
        json!("01JCQ0000000000000000000AB"),
        json!("81JCQ0000000000000000000AB"),
        json!("0"),
        json!("1"),
        json!("7d"),
        json!("2099-01-31"),
        json!("2099-01-31T09:00:00Z"),
        json!([]),
        json!([[]]),
        json!([null]),
        json!(["x"]),
        json!({}),
        json!({ "x": 1 }),
    ]
}

/// What no schema can say, so that an input which fits it may be malformed: texts with a grammar of
/// their own (checklists, plans, missions), fields of a form that are required but not there, and
/// what depends on the time of day or on another field.
const BEYOND_SCHEMAS: &[(&str, &str)] = &[
    ("issue_checklist_edit", "markdown"),
    ("issue_checklist_import", "markdown"),
    ("plan", "markdown"),
    ("plan_import", "markdown"),
    ("plan_sync", "markdown"),
    ("mission_init", "cadence"),
    ("mission_init", "pillars"),
    ("metric_record", "at"),
    ("token_new", "number"),
];

fn is_beyond_schemas(operation: &str, path: &Path) -> bool {
    let first = path.first().map_or("", |step| match step {
        Into::Field(name) => name.as_str(),
        Into::Item => "",
    });
    BEYOND_SCHEMAS.contains(&(operation, first))
}

/// A caller on another machine, whose input names all that the schema requires.
fn over_http(world: &World, operation: &Operation, schema: &Value) -> Envelope {
    let mut by = caller(world, operation);
    if operation.access.allows(Role::Operator) {
        by.actor = world.envelope(Role::Operator).actor;
    }
    by.context.is_remote = true;
    if schema["required"].as_array().is_some_and(|names| names.contains(&json!("session"))) {
        by.context.session = None;
    }
    by
}

/// Is an input malformed, as opposed to refused by a rule, unknown or not permitted?
fn is_malformed(world: &World, operation: &Operation, by: &Envelope, input: &Value) -> bool {
    let answer = world.ops.call(operation, by, input.clone());
    answer.is_err_and(|error| error.meaning().http == 400)
}

#[test]
fn the_document_says_for_every_field_what_is_accepted() {
    let document = punchlist_server::http::document();
    let mut wrong: BTreeSet<String> = BTreeSet::new();
    let mut tried = 0;
    for operation in CATALOGUE {
        let world = World::new(Backend::SqliteMemory);
        let mut base = working_input(&world, operation);
        let post = &document["paths"][format!("/v1/{}", operation.name)]["post"];
        let schema = &post["requestBody"]["content"]["application/json"]["schema"];
        let by = over_http(&world, operation, schema);
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let fields = base.as_object_mut().unwrap();
            fields.entry(name).or_insert_with(|| least(&schema["properties"][name]));
        }
        let validator = validator(schema);
        let mut paths = Vec::new();
        places(schema, &Vec::new(), &mut paths);
        for path in paths {
            for value in values() {
                let input = with(schema, Some(&base), &path, &value);
                let (fits, malformed) =
                    (validator.is_valid(&input), is_malformed(&world, operation, &by, &input));
                tried += 1;
                if fits == malformed && !(fits && is_beyond_schemas(operation.name, &path)) {
                    let said = if fits { "fits, but is refused" } else { "is accepted" };
                    wrong.insert(format!("{} {path:?} {said}: {input}", operation.name));
                }
            }
        }
    }
    assert!(tried > 10_000, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), Vec::from_iter(wrong).join("\n"));
}
