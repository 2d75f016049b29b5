//! Explains what is wrong with an input: finds the first fault by comparing the input with its
//! schema.
//!
//! It is used only for inputs that did not parse (ADR 0007). It also drops the context fields that
//! models like to add, if the schema has no such field.

use std::fmt;

use punchlist_core::text::Body;
use serde_json::{Map, Value, json};

/// Context fields that models write into inputs. They are not used, and are dropped silently.
const CONTEXT_FIELDS: [&str; 4] = ["turnId", "conversationId", "sessionId", "agentId"];

/// One thing wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text is not JSON.
    Json {
        detail: String,
    },
    /// The text is not TOML.
    Toml {
        detail: String,
    },
    /// The bytes are not UTF-8.
    Utf8,
    /// Larger than a request may be.
    TooLarge {
        limit: usize,
    },
    UnknownField {
        path: String,
        field: String,
        nearest: Option<String>,
        known: Vec<String>,
    },
    MissingField {
        path: String,
    },
    WrongType {
        path: String,
        expected: String,
        found: &'static str,
    },
    BadValue {
        path: String,
        found: String,
        expected: String,
    },
    TooLong {
        path: String,
        length: usize,
        limit: usize,
        unit: &'static str,
    },
    /// The parser's own message, when the schema explains nothing.
    Other {
        path: String,
        detail: String,
    },
}

impl Fault {
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Json { .. } => "invalid_json",
            Self::Toml { .. } => "invalid_toml",
            Self::Utf8 => "invalid_utf8",
            Self::TooLarge { .. } => "input_too_large",
            Self::UnknownField { .. } => "unknown_field",
            Self::MissingField { .. } => "missing_field",
            Self::WrongType { .. } => "wrong_type",
            Self::BadValue { .. } => "bad_value",
            Self::TooLong { .. } => "too_long",
            Self::Other { .. } => "invalid_input",
        }
    }

    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Json { .. } => Some("give one JSON object, or `-` to read it from stdin".into()),
            Self::Toml { .. } => Some("give one TOML document".into()),
            Self::Utf8 => Some("encode the input as UTF-8".into()),
            Self::TooLarge { .. } => Some("split the request".into()),
            Self::UnknownField { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            Self::UnknownField { known, .. } => {
                Some(format!("the fields are: {}", known.join(", ")))
            }
            Self::MissingField { path } => Some(format!("give `{path}`")),
            Self::WrongType { expected, .. } => Some(format!("give {expected}")),
            Self::BadValue { expected, .. } => Some(format!("it must be {expected}")),
            Self::TooLong { .. } => Some("shorten it".into()),
            Self::Other { .. } => None,
        }
    }

    /// The field with the fault, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Json { .. } | Self::Toml { .. } | Self::Utf8 | Self::TooLarge { .. } => None,
            Self::UnknownField { path, .. }
            | Self::MissingField { path }
            | Self::WrongType { path, .. }
            | Self::BadValue { path, .. }
            | Self::TooLong { path, .. }
            | Self::Other { path, .. } => Some(path),
        }
    }

    #[must_use]
    pub fn facts(&self) -> Value {
        match self {
            Self::Json { .. } | Self::Toml { .. } | Self::Utf8 => json!({}),
            Self::TooLarge { limit } => json!({ "limit": limit }),
            Self::UnknownField { path, field, nearest, .. } => {
                json!({ "path": path, "field": field, "nearest": nearest })
            }
            Self::MissingField { path } | Self::Other { path, .. } => json!({ "path": path }),
            Self::WrongType { path, expected, found } => {
                json!({ "path": path, "expected": expected, "found": found })
            }
            Self::BadValue { path, found, expected } => {
                json!({ "path": path, "expected": expected, "found": found })
            }
            Self::TooLong { path, length, limit, unit } => {
                json!({ "path": path, "length": length, "limit": limit, "unit": unit })
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json { detail } => write!(f, "the input is not JSON: {detail}"),
            Self::Toml { detail } => write!(f, "the input is not TOML: {detail}"),
            Self::Utf8 => f.write_str("the input is not UTF-8"),
            Self::TooLarge { limit } => write!(f, "the input is larger than {limit} bytes"),
            Self::UnknownField { path, .. } => write!(f, "unknown field `{path}`"),
            Self::MissingField { path } => write!(f, "`{path}` is missing or empty"),
            Self::WrongType { path, expected, found } => {
                write!(f, "`{path}` should be {expected}, not {found}")
            }
            Self::BadValue { path, found, .. } => write!(f, "`{path}` cannot be {found}"),
            Self::TooLong { path, length, limit, unit } => {
                write!(f, "`{path}` has {length} {unit}; the limit is {limit}")
            }
            Self::Other { path, detail } if path.is_empty() || path == "." => f.write_str(detail),
            Self::Other { path, detail } => write!(f, "`{path}`: {detail}"),
        }
    }
}

/// Drops context fields that the schema does not have. Returns true if there were any.
pub fn drop_context(schema: &Value, input: &mut Value) -> bool {
    match input {
        Value::Object(object) => {
            let known = properties(schema);
            let before = object.len();
            object.retain(|name, _| {
                known.is_some_and(|known| known.contains_key(name))
                    || !CONTEXT_FIELDS.contains(&name.as_str())
            });
            let mut dropped = object.len() != before;
            for (name, value) in object.iter_mut() {
                if let Some(inner) = known.and_then(|known| known.get(name)) {
                    dropped |= drop_context(inner, value);
                }
            }
            dropped
        }
        Value::Array(items) => {
            let Some(inner) = schema.get("items") else {
                return false;
            };
            items.iter_mut().fold(false, |dropped, item| drop_context(inner, item) | dropped)
        }
        _ => false,
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The first fault of an input, or of the part of it that is at this path; `None` if the schema
/// finds none.
#[must_use]
pub fn explain(schema: &Value, input: &Value, path: &str) -> Option<Fault> {
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| fits(name, input)) {
        let path = if path.is_empty() { "input" } else { path }.to_owned();
        let expected: Vec<String> = types.iter().map(|name| with_article(name)).collect();
        return Some(Fault::WrongType {
            path,
            expected: expected.join(" or "),
            found: match types.contains(&"integer") {
                true => inexact(input).unwrap_or(type_of(input)),
                false => type_of(input),
            },
        });
    }
    match input {
        Value::Object(object) => walk_object(schema, object, path),
        Value::Array(items) => walk_array(schema, items, path),
        Value::String(text) => walk_text(schema, text, path),
        Value::Number(_) => walk_number(schema, input, path),
        _ => None,
    }
}

/// Does the value have the JSON type with this name?
fn fits(name: &str, input: &Value) -> bool {
    match name {
        "object" => input.is_object(),
        "array" => input.is_array(),
        "string" => input.is_string(),
        "integer" => input.is_i64(),
        "number" => input.is_number(),
        "boolean" => input.is_boolean(),
        _ => true,
    }
}

fn walk_object(schema: &Value, object: &Map<String, Value>, path: &str) -> Option<Fault> {
    let empty = Map::new();
    let known = properties(schema).unwrap_or(&empty);
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        let stranger = object.keys().find(|name| !known.contains_key(*name));
        if let Some(field) = stranger {
            let nearest = nearest(field, known.keys().map(String::as_str)).map(str::to_owned);
            return Some(Fault::UnknownField {
                path: join(path, field),
                field: field.clone(),
                nearest,
                known: known.keys().cloned().collect(),
            });
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if object.get(name).is_none_or(Value::is_null) {
            return Some(Fault::MissingField { path: join(path, name) });
        }
    }
    known
        .iter()
        .filter_map(|(name, inner)| Some((name, inner, object.get(name)?)))
        .filter(|(_, _, value)| !value.is_null())
        .find_map(|(name, inner, value)| explain(inner, value, &join(path, name)))
}

fn walk_array(schema: &Value, items: &[Value], path: &str) -> Option<Fault> {
    let limit = |name: &str| schema.get(name).and_then(Value::as_u64).map(|n| n as usize);
    if limit("minItems").is_some_and(|min| items.len() < min) {
        return Some(Fault::MissingField { path: path.to_owned() });
    }
    if let Some(limit) = limit("maxItems").filter(|max| items.len() > *max) {
        let (path, length) = (path.to_owned(), items.len());
        return Some(Fault::TooLong { path, length, limit, unit: "items" });
    }
    let inner = schema.get("items")?;
    items.iter().enumerate().find_map(|(n, item)| explain(inner, item, &format!("{path}[{n}]")))
}

fn walk_text(schema: &Value, text: &str, path: &str) -> Option<Fault> {
    let path = path.to_owned();
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        if values.iter().any(|value| value == text) {
            return None;
        }
        let names: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        let found = format!("`{}`", text.chars().take(60).collect::<String>());
        let mut expected = names.join(", ");
        if let Some(nearest) = nearest(text, names.into_iter()) {
            expected.push_str(&format!("; the nearest is {nearest}"));
        }
        return Some(Fault::BadValue { path, found, expected });
    }
    let text = text.trim();
    let limit = |name: &str| schema.get(name).and_then(Value::as_u64).map(|n| n as usize);
    if text.is_empty() && limit("minLength").is_some_and(|min| min > 0) {
        return Some(Fault::MissingField { path });
    }
    if text.contains('\0') {
        let found = "a text with a NUL character".to_owned();
        return Some(Fault::BadValue { path, found, expected: "text without NUL".to_owned() });
    }
    let limit = limit("maxLength")?;
    // Long texts are limited in bytes (64 KiB), although a schema can count only characters.
    let (length, unit) = if limit == Body::LIMIT {
        (text.len(), "bytes")
    } else {
        (text.chars().count(), "characters")
    };
    (length > limit).then_some(Fault::TooLong { path, length, limit, unit })
}

fn walk_number(schema: &Value, input: &Value, path: &str) -> Option<Fault> {
    let number = input.as_f64()?;
    let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
    let expected = match (limit("minimum"), limit("maximum")) {
        (Some(min), Some(max)) if number < min || number > max => format!("{min} to {max}"),
        (Some(min), None) if number < min => format!("at least {min}"),
        (None, Some(max)) if number > max => format!("at most {max}"),
        _ => return None,
    };
    Some(Fault::BadValue { path: path.to_owned(), found: input.to_string(), expected })
}

/// The path of a field inside another.
pub(crate) fn join(path: &str, name: &str) -> String {
    let shown: String = name.chars().take(60).collect();
    if path.is_empty() { shown } else { format!("{path}.{shown}") }
}

fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {name}")
}

const fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Why a number is not an integer.
fn inexact(value: &Value) -> Option<&'static str> {
    let is_large = value.as_f64()?.abs() >= 9_223_372_036_854_775_808.0;
    Some(if is_large { "a number beyond 64 bits" } else { "a decimal number" })
}

/// The known name that is closest to a misspelt one, if any is close.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    known
        .map(|name| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
