//! JSON Schemas of inputs and outputs, made from the structs, in the plain form hosts like.
//!
//! Sub-schemas are inlined (`$ref` breaks weak clients), titles and formats go. In an input `null`
//! alternatives go too: what is optional is simply not required. In an output they stay: hosts
//! check answers against the schema, and throw away what does not fit.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// The schema of an input.
#[must_use]
pub fn of_input<T: JsonSchema>() -> Value {
    let mut schema = inlined::<T>();
    each(&mut schema, without_null);
    each(&mut schema, plain);
    schema
}

/// The schema of an output.
#[must_use]
pub fn of_output<T: JsonSchema>() -> Value {
    let mut schema = inlined::<T>();
    each(&mut schema, plain);
    schema
}

fn inlined<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema: Schema = settings.into_generator().into_root_schema_for::<T>();
    schema.to_value()
}

/// The text of a schema's own doc comment.
#[must_use]
pub fn description(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// Changes every schema there is in this one, from the outside in.
fn each(schema: &mut Value, change: fn(&mut Map<String, Value>)) {
    match schema {
        Value::Object(object) => {
            change(object);
            for (key, inner) in object.iter_mut() {
                match inner {
                    // Names of properties are not keywords.
                    Value::Object(properties) if key == "properties" => {
                        properties.values_mut().for_each(|inner| each(inner, change));
                    }
                    inner => each(inner, change),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| each(inner, change)),
        _ => {}
    }
}

fn plain(object: &mut Map<String, Value>) {
    object.remove("title");
    object.remove("format");
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    one_of_constants(object);
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

/// An enum whose variants have doc comments comes as `oneOf` constants; say it as one `enum`.
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
