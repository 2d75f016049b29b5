//! JSON Schemas of inputs and outputs, generated from the structs, in the simple form that hosts
//! handle well.
//!
//! Sub-schemas are inlined (`$ref` breaks weak clients), and titles and formats of numbers are
//! removed. In an input, an optional field is simply not required. In an output, a field that may be
//! null says so, because clients validate answers against the schema.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::catalogue::CATALOGUE;

/// Generates the schema of a type; contained types go into the generator's definitions.
pub(crate) type Generate = fn(&mut SchemaGenerator) -> Schema;

/// The schema of an input.
#[must_use]
pub fn of_input<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings());
    plain(&mut schema, Form::Plain);
    schema
}

/// The schema of everything that is accepted: null, and how texts are written.
#[must_use]
pub fn of_request<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings());
    plain(&mut schema, Form::Request);
    schema
}

/// Removes null from the schema of a request, for query parameters, which cannot be null.
pub fn without_nulls(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            without_null(object);
            object.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// The schema of an output.
#[must_use]
pub fn of_output<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings().for_serialize());
    plain(&mut schema, Form::Output);
    schema
}

fn settings() -> SchemaSettings {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Rewrites an enum, whose variants are objects with one property, as one object with exactly one
/// property given. Weak clients do not understand `oneOf`.
pub(crate) fn one_property(schema: &mut schemars::Schema) {
    let Some(Value::Array(options)) = schema.remove("oneOf") else { return };
    let mut properties = Map::new();
    for mut option in options {
        let description = option.get("description").cloned();
        let Some(Value::Object(found)) = option.get_mut("properties").map(Value::take) else {
            continue;
        };
        for (name, mut property) in found {
            if let (Some(text), Some(property)) = (&description, property.as_object_mut()) {
                property.insert("description".into(), text.clone());
            }
            properties.insert(name, property);
        }
    }
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    schema.insert("additionalProperties".into(), false.into());
    schema.insert("minProperties".into(), 1.into());
    schema.insert("maxProperties".into(), 1.into());
}

/// Rewrites an enum, whose variants are words or objects, so that the types stand in front. Weak
/// clients do not understand `oneOf`, and go without the details.
pub(crate) fn word_or_object(schema: &mut schemars::Schema) {
    let Some(options) = schema.remove("oneOf") else { return };
    schema.insert("type".into(), vec!["string", "object"].into());
    schema.insert("anyOf".into(), options);
}

/// The schemas of all operations. Each shared type appears once, and others refer to it by name.
#[derive(Debug)]
pub struct Shared {
    /// Name, input and output of each operation, in the order of the catalogue.
    pub operations: Vec<(&'static str, Value, Value)>,
    /// The types that inputs share.
    pub inputs: Map<String, Value>,
    /// The types that outputs share: the views.
    pub outputs: Map<String, Value>,
}

/// The schemas of the whole catalogue with `$ref`, for people who review them.
#[must_use]
pub fn shared() -> Shared {
    let mut readers = SchemaSettings::draft2020_12().into_generator();
    let mut writers = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let operations = CATALOGUE.iter().map(|operation| {
        let mut input = (operation.input_type)(&mut readers).to_value();
        let mut output = (operation.output_type)(&mut writers).to_value();
        plain(&mut input, Form::Plain);
        plain(&mut output, Form::Output);
        (operation.name, input, output)
    });
    let operations = operations.collect();
    let (mut inputs, mut outputs) =
        (readers.take_definitions(true), writers.take_definitions(true));
    inputs.values_mut().for_each(|schema| plain(schema, Form::Plain));
    outputs.values_mut().for_each(|schema| plain(schema, Form::Output));
    Shared { operations, inputs, outputs }
}

/// The text of a schema's own doc comment.
#[must_use]
pub fn description(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// How exact a schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// An input as models and command lines see it: types and names. Its description says how a
    /// text is written, and a wrong one is refused with its spelling.
    Plain,
    /// An input with everything that is accepted.
    Request,
    Output,
}

/// Keywords that only narrow a type.
const NARROWING: [&str; 2] = ["anyOf", "allOf"];

fn plain(schema: &mut Value, form: Form) {
    let drop_null = form == Form::Plain;
    match schema {
        Value::Object(object) => {
            object.remove("title");
            let is_kept =
                |format: &Value| format == "date-time" || format == "date" && form == Form::Request;
            if object.get("format").is_some_and(|format| !is_kept(format)) {
                object.remove("format");
            }
            if form != Form::Request {
                object.shift_remove("pattern");
                narrowed(object);
            }
            // The description says what an absent field means; a default in an input only costs
            // tokens.
            if drop_null || object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if drop_null {
                without_null(object);
                narrowed(object);
            }
            one_of_constants(object);
            // Join the lines: line breaks in a doc comment have no meaning.
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            for (key, inner) in object.iter_mut() {
                // The names of properties are not schema keywords.
                if key == "properties" {
                    if let Value::Object(properties) = inner {
                        properties.values_mut().for_each(|inner| plain(inner, form));
                        // Claude Code lists no tool at all if the schema of one property is `true`.
                        let any = properties.values_mut().filter(|inner| **inner == true);
                        any.for_each(|inner| *inner = Value::Object(Map::new()));
                    }
                } else {
                    plain(inner, form);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| plain(item, form)),
        _ => {}
    }
}

/// Removes what only narrows a type.
fn narrowed(object: &mut Map<String, Value>) {
    if object.contains_key("type") {
        NARROWING.iter().for_each(|word| drop(object.shift_remove(*word)));
    }
}

fn without_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(mut options)) = object.remove("anyOf") else {
        return;
    };
    options.retain(|option| option.get("type").is_none_or(|name| name != "null"));
    if let [Value::Object(only)] = options.as_slice() {
        for (key, value) in only.clone() {
            object.entry(key).or_insert(value);
        }
    } else {
        object.insert("anyOf".into(), options.into());
    }
}

/// An enum whose variants have doc comments is generated as `oneOf` constants; rewrite it as one
/// `enum`.
fn one_of_constants(object: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = object.get("oneOf") else {
        return;
    };
    let mut names = Vec::new();
    for option in options {
        match (option.get("const"), option.get("enum")) {
            (Some(name), _) => names.push(name.clone()),
            (None, Some(Value::Array(values))) => names.extend(values.iter().cloned()),
            _ => return,
        }
    }
    object.remove("oneOf");
    object.insert("type".into(), "string".into());
    object.insert("enum".into(), names.into());
}
