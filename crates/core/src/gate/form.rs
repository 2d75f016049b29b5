//! Forms: a flat JSON Schema, and whether an answer fits it.
//!
//! Flat means: an object whose fields are texts, numbers or switches. A person answers them one by
//! one, in a terminal or on a page. Any other form is refused at once.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A form: the schema as its asker wrote it. `check` says whether it can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Form(pub Value);

impl Form {
    /// Is this a form we can ask? If not, what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        check(&self.0)
    }

    /// Does an answer fit? If not, what is wrong with each field.
    pub fn check_response(&self, response: &Value) -> Result<(), Vec<String>> {
        check_response(&self.0, response)
    }
}

/// The keywords a field may use.
const FIELD_WORDS: [&str; 12] = [
    "type",
    "title",
    "description",
    "enum",
    "enumNames",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "format",
    "examples",
];

/// The types of fields.
const FIELD_TYPES: [&str; 4] = ["string", "number", "integer", "boolean"];

/// The keywords a form may use besides its fields.
const FORM_WORDS: [&str; 6] =
    ["type", "title", "description", "properties", "required", "additionalProperties"];

/// The JSON Schema of the forms that `check` accepts. It cannot say that `required` names fields.
#[must_use]
pub fn meta_schema() -> Value {
    let words = |words: &[&str]| -> Map<String, Value> {
        words.iter().map(|word| ((*word).to_owned(), json!({}))).collect()
    };
    let mut field = words(&FIELD_WORDS);
    field.insert("type".to_owned(), json!({ "enum": FIELD_TYPES }));
    field.insert("enum".to_owned(), json!({ "type": "array", "minItems": 1 }));
    let mut form = words(&FORM_WORDS);
    form.insert("type".to_owned(), json!({ "const": "object" }));
    let names = json!({ "type": "array", "items": { "type": "string" } });
    form.insert("required".to_owned(), names);
    let field = json!({ "type": "object", "properties": field, "required": ["type"],
        "additionalProperties": false });
    let fields = json!({ "type": "object", "minProperties": 1, "additionalProperties": field });
    form.insert("properties".to_owned(), fields);
    json!({ "type": "object", "properties": form, "required": ["properties"],
        "additionalProperties": false })
}

/// The fields of a form, in the order they are asked.
#[must_use]
pub fn fields(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// Must this field be answered?
#[must_use]
pub fn is_required(schema: &Value, field: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|name| name == field))
}

/// Is this a form we can ask? If not, what is wrong with it.
pub fn check(schema: &Value) -> Result<(), String> {
    let Some(object) = schema.as_object() else {
        return Err("the schema must be an object".to_owned());
    };
    if object.get("type").is_some_and(|kind| kind != "object") {
        return Err("the schema's type must be \"object\"".to_owned());
    }
    known("the schema", object, &FORM_WORDS)?;
    let Some(fields) = fields(schema) else {
        return Err("the schema has no `properties`".to_owned());
    };
    if fields.is_empty() {
        return Err("the schema has no fields".to_owned());
    }
    for (name, field) in fields {
        let Some(field) = field.as_object() else {
            return Err(format!("field `{name}` must be an object"));
        };
        match field.get("type").and_then(Value::as_str) {
            Some(kind) if FIELD_TYPES.contains(&kind) => {}
            _ => {
                return Err(format!(
                    "field `{name}` must have the type string, number, integer or boolean"
                ));
            }
        }
        known(&format!("field `{name}`"), field, &FIELD_WORDS)?;
        if field.get("enum").is_some_and(|choices| choices.as_array().is_none_or(Vec::is_empty)) {
            return Err(format!("the enum of field `{name}` must be a list with something in it"));
        }
    }
    let required = object.get("required").map(|names| names.as_array().cloned());
    match required {
        None => Ok(()),
        Some(None) => Err("`required` must be a list of field names".to_owned()),
        Some(Some(names)) => {
            let unknown = names
                .iter()
                .find(|name| name.as_str().is_none_or(|name| !fields.contains_key(name)));
            unknown.map_or(Ok(()), |name| {
                Err(format!("`required` names {name}, which is not a field"))
            })
        }
    }
}

fn known(what: &str, object: &Map<String, Value>, words: &[&str]) -> Result<(), String> {
    match object.keys().find(|key| !words.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(format!("{what} uses `{key}`; a flat form knows {}", words.join(", "))),
    }
}

/// Does an answer fit? If not, what is wrong with each field.
pub fn check_response(schema: &Value, response: &Value) -> Result<(), Vec<String>> {
    let (Some(fields), Some(given)) = (fields(schema), response.as_object()) else {
        return Err(vec!["the response must be an object with the form's fields".to_owned()]);
    };
    let mut faults = Vec::new();
    for (name, field) in fields {
        match given.get(name) {
            None | Some(Value::Null) if is_required(schema, name) => {
                faults.push(format!("`{name}` is required"));
            }
            None | Some(Value::Null) => {}
            Some(value) => {
                faults.extend(fault(field, value).map(|what| format!("`{name}` {what}")));
            }
        }
    }
    let strangers = given.keys().filter(|name| !fields.contains_key(*name));
    faults.extend(strangers.map(|name| format!("`{name}` is not a field of the form")));
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// What is wrong with one answer.
fn fault(field: &Value, value: &Value) -> Option<String> {
    let kind = field.get("type").and_then(Value::as_str).unwrap_or("string");
    let fits = match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => value.is_boolean(),
    };
    if !fits {
        return Some(format!("must be of type {kind}"));
    }
    if let Some(choices) = field.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        let shown: Vec<String> = choices.iter().map(ToString::to_string).collect();
        return Some(format!("must be one of {}", shown.join(", ")));
    }
    let number = |word: &str| field.get(word).and_then(Value::as_f64);
    if let Some(given) = value.as_f64() {
        if let Some(least) = number("minimum").filter(|least| given < *least) {
            return Some(format!("must be at least {least}"));
        }
        if let Some(most) = number("maximum").filter(|most| given > *most) {
            return Some(format!("must be at most {most}"));
        }
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as f64;
        if let Some(least) = number("minLength").filter(|least| length < *least) {
            return Some(format!("must have at least {least} characters"));
        }
        if let Some(most) = number("maxLength").filter(|most| length > *most) {
            return Some(format!("must have at most {most} characters"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_flat_form_is_accepted_and_other_forms_are_refused_with_the_reason() {
        let form = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "maximum": 9},
            "size": {"type": "string", "enum": ["s", "m"]}, "sure": {"type": "boolean"}}});
        assert_eq!(check(&form), Ok(()));
        for (bad, word) in [
            (json!("x"), "object"),
            (json!({"type": "array"}), "type"),
            (json!({"properties": {}}), "no fields"),
            (json!({"properties": {"a": {"type": "object"}}}), "`a`"),
            (json!({"properties": {"a": {"type": "array", "items": {}}}}), "`a`"),
            (json!({"properties": {"a": {"type": "string", "$ref": "#"}}}), "$ref"),
            (json!({"properties": {"a": {"type": "string"}}, "required": ["b"]}), "\"b\""),
            (json!({"properties": {"a": {"type": "string", "enum": []}}}), "enum"),
            (json!({"properties": {"a": {"type": "string"}}, "allOf": []}), "allOf"),
        ] {
            let fault = check(&bad).unwrap_err();
            assert!(fault.contains(word), "{bad}: {fault}");
        }
        assert_eq!(check_response(&form, &json!({"name": "Ada", "age": 3, "size": "m"})), Ok(()));
        assert_eq!(
            check_response(&form, &json!({"age": 10, "size": "xl", "sure": "yes", "more": 1})),
            Err(vec![
                "`name` is required".to_owned(),
                "`age` must be at most 9".to_owned(),
                "`size` must be one of \"s\", \"m\"".to_owned(),
                "`sure` must be of type boolean".to_owned(),
                "`more` is not a field of the form".to_owned(),
            ])
        );
        assert!(check_response(&form, &json!("Ada")).is_err());
    }
}
