//! Writes the schemas of operations and of configuration tables from their types.
//!
//! It runs only in tests, which also write the files. The program contains the result as text, and
//! nothing of this module (ADR 0033).

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::share::Sharing;
use super::{Form, plain};
use crate::catalogue::{Define, TYPES};
use crate::config::TABLES;

/// Generates the schema of a type; contained types go into the generator's definitions.
type Generate = fn(&mut SchemaGenerator) -> Schema;

/// Generates the schema of a type as it is written.
pub(crate) type Write = fn() -> Value;

/// The types of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types {
    name: &'static str,
    /// The schema that models and command lines see.
    input: Write,
    /// The schema of everything that is accepted: null, and how texts are written.
    request: Write,
    output: Write,
    input_type: Generate,
    output_type: Generate,
}

impl Types {
    pub(crate) const fn of<D: Define>() -> Self {
        Self {
            name: D::NAME,
            input: of_input::<D::Input>,
            request: of_request::<D::Input>,
            output: of_output::<D::Output>,
            input_type: <D::Input as JsonSchema>::json_schema,
            output_type: <D::Output as JsonSchema>::json_schema,
        }
    }
}

/// The schemas of all operations: of the input as models and command lines see it, of the request,
/// and of the output.
pub fn whole() -> impl Iterator<Item = (&'static str, [Value; 3])> {
    TYPES.iter().map(|types| (types.name, [(types.input)(), (types.request)(), (types.output)()]))
}

/// The files in `crates/ops/schemas`: their names and contents.
#[must_use]
pub fn files() -> BTreeMap<String, String> {
    // Only of outputs: a request is read by every command, and is short.
    let mut sharing = Sharing::default();
    whole().for_each(|(_, [_, _, output])| sharing.count(&output));
    let operations = whole().map(|(name, [_, request, output])| {
        let output = sharing.named(&output);
        (format!("{name}.jsonl"), format!("{request}\n{output}\n"))
    });
    let parts = [("parts.txt".to_owned(), sharing.file())];
    let tables = TABLES
        .iter()
        .map(|(name, schema)| (format!("config.{name}.json"), format!("{}\n", schema())));
    operations.chain(tables).chain(parts).collect()
}

fn of_request<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings());
    plain(&mut schema, Form::Request);
    schema
}

/// The schema of an input as models and command lines see it.
pub(crate) fn of_input<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings());
    plain(&mut schema, Form::Plain);
    schema
}

fn of_output<T: JsonSchema>() -> Value {
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
pub(crate) fn one_property(schema: &mut Schema) {
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
pub(crate) fn word_or_object(schema: &mut Schema) {
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
    let operations = TYPES.iter().map(|types| {
        let mut input = (types.input_type)(&mut readers).to_value();
        let mut output = (types.output_type)(&mut writers).to_value();
        plain(&mut input, Form::Plain);
        plain(&mut output, Form::Output);
        (types.name, input, output)
    });
    let operations = operations.collect();
    let (mut inputs, mut outputs) =
        (readers.take_definitions(true), writers.take_definitions(true));
    inputs.values_mut().for_each(|schema| plain(schema, Form::Plain));
    outputs.values_mut().for_each(|schema| plain(schema, Form::Output));
    Shared { operations, inputs, outputs }
}
