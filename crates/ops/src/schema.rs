//! JSON Schemas of inputs and outputs, in the simple form that hosts handle well.
//!
//! They are generated from the structs, and are in the program as text (ADR 0033). Sub-schemas are
//! inlined (`$ref` breaks weak clients), and titles and formats of numbers are removed. In an input,
//! an optional field is simply not required. In an output, a field that may be null says so, because
//! clients validate answers against the schema.

pub mod generate;
mod parts;
mod share;

use serde_json::{Map, Value};

/// The schemas of an operation as text: a line for its request and a line for its output.
#[derive(Clone, Copy, Debug)]
pub struct Texts(pub(crate) &'static str);

impl Texts {
    /// An input as models and command lines see it.
    pub(crate) fn input(self) -> Value {
        let mut schema = self.request();
        plain(&mut schema, Form::Plain);
        schema
    }

    pub(crate) fn request(self) -> Value {
        parsed(self.0.lines().next().unwrap_or_default())
    }

    pub(crate) fn output(self) -> Value {
        let mut schema = parsed(self.0.lines().nth(1).unwrap_or_default());
        parts::put_in(&mut schema);
        schema
    }
}

/// A schema that is in the program. A test compares each with its type, so each is valid.
pub(crate) fn parsed(text: &str) -> Value {
    text.parse().unwrap_or_default()
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
