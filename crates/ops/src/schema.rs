//! JSON Schemas of inputs and outputs, made from the structs, in the plain form hosts like.
//!
//! Sub-schemas are inlined (`$ref` breaks weak clients), titles and formats go. In an input what
//! is optional is simply not required; in an output a field that may be null says so, because
//! clients check answers against it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of what is read.
#[must_use]
pub fn of_input<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings());
    plain(&mut schema, true);
    schema
}

/// The schema of all that is accepted, null where null is taken.
#[must_use]
pub fn of_request<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings());
    plain(&mut schema, false);
    schema
}

/// The schema of what is answered.
#[must_use]
pub fn of_output<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings().for_serialize());
    plain(&mut schema, false);
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

/// The text of a schema's own doc comment.
#[must_use]
pub fn description(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or_default()
}

fn plain(schema: &mut Value, drop_null: bool) {
    match schema {
        Value::Object(object) => {
            object.remove("title");
            object.remove("format");
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if drop_null {
                without_null(object);
            }
            one_of_constants(object);
            // Where a comment breaks its lines is a matter of the source.
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            for (key, inner) in object.iter_mut() {
                // Names of properties are not keywords.
                if key == "properties" {
                    if let Value::Object(properties) = inner {
                        properties.values_mut().for_each(|inner| plain(inner, drop_null));
                    }
                } else {
                    plain(inner, drop_null);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| plain(item, drop_null)),
        _ => {}
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
