//! Forms: a flat JSON Schema, and whether an answer fits it.
//!
//! Flat means: an object whose fields are texts, numbers or switches. A person answers them one by
//! one, in a terminal or on a page. Any other form is refused at once. Only this module reads the
//! schema: every surface takes its `fields`.

mod field;

pub use field::{Bounds, Choice, Field, FieldKind, Format, plain};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A form: the schema as its asker wrote it. `check` says whether it can be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Form(pub Value);

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

/// The keywords of a field whose values are texts.
const TEXTS: [&str; 3] = ["title", "description", "format"];

/// The keywords a form may use besides its fields.
const FORM_WORDS: [&str; 6] =
    ["type", "title", "description", "properties", "required", "additionalProperties"];

/// The JSON Schema of the forms that `check` accepts. It cannot say that `required` names fields, or
/// that a value fits its field.
#[must_use]
pub fn meta_schema() -> Value {
    let words = |words: &[&str]| -> Map<String, Value> {
        words.iter().map(|word| ((*word).to_owned(), json!({}))).collect()
    };
    let mut field = words(&FIELD_WORDS);
    field.insert("type".to_owned(), json!({ "enum": FieldKind::NAMES }));
    field.insert("enum".to_owned(), json!({ "type": "array", "minItems": 1 }));
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    field.insert("enumNames".to_owned(), texts.clone());
    for word in TEXTS {
        field.insert(word.to_owned(), json!({ "type": "string" }));
    }
    for word in ["minimum", "maximum"] {
        field.insert(word.to_owned(), json!({ "type": "number" }));
    }
    for word in ["minLength", "maxLength"] {
        field.insert(word.to_owned(), json!({ "type": "integer", "minimum": 0 }));
    }
    let mut form = words(&FORM_WORDS);
    form.insert("type".to_owned(), json!({ "const": "object" }));
    form.insert("required".to_owned(), texts);
    for word in ["title", "description"] {
        form.insert(word.to_owned(), json!({ "type": "string" }));
    }
    let field = json!({ "type": "object", "properties": field, "required": ["type"],
        "additionalProperties": false });
    let fields = json!({ "type": "object", "minProperties": 1, "additionalProperties": field });
    form.insert("properties".to_owned(), fields);
    json!({ "type": "object", "properties": form, "required": ["properties"],
        "additionalProperties": false })
}

impl Form {
    /// What the form as a whole is about.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.0.get("description").and_then(Value::as_str)
    }

    /// The fields, in the order they are asked.
    #[must_use]
    pub fn fields(&self) -> Vec<Field<'_>> {
        let fields = self.properties().into_iter().flatten();
        fields.map(|(name, schema)| Field::of(name, schema, self.requires(name))).collect()
    }

    /// The schema of the fields without the words about the whole form, for a client that shows a
    /// message of its own above them. `None` if there are no fields.
    #[must_use]
    pub fn only_fields(&self) -> Option<Value> {
        let mut schema = json!({ "type": "object", "properties": self.0.get("properties")? });
        if let Some(required) = self.0.get("required") {
            schema["required"] = required.clone();
        }
        Some(schema)
    }

    /// Is this a form we can ask? If not, what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let Some(object) = self.0.as_object() else {
            return Err("the schema must be an object".to_owned());
        };
        if object.get("type").is_some_and(|kind| kind != "object") {
            return Err("the schema's type must be \"object\"".to_owned());
        }
        known("the schema", object, &FORM_WORDS)?;
        are_texts("the schema", object, &["title", "description"])?;
        let Some(fields) = self.properties() else {
            return Err("the schema has no `properties`".to_owned());
        };
        if fields.is_empty() {
            return Err("the schema has no fields".to_owned());
        }
        fields.iter().try_for_each(|(name, field)| check_field(name, field))?;
        self.fields().iter().try_for_each(Field::check)?;
        let required = object.get("required").map(Value::as_array);
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

    /// Does an answer fit? If not, what is wrong with each field.
    pub fn check_response(&self, response: &Value) -> Result<(), Vec<String>> {
        let (Some(properties), Some(given)) = (self.properties(), response.as_object()) else {
            return Err(vec!["the response must be an object with the form's fields".to_owned()]);
        };
        let fields = self.fields();
        let of_field = |field: &Field<'_>| field.fault(given.get(field.name));
        let mut faults: Vec<String> = fields.iter().filter_map(of_field).collect();
        let strangers = given.keys().filter(|name| !properties.contains_key(*name));
        faults.extend(strangers.map(|name| format!("`{name}` is not a field of the form")));
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    fn properties(&self) -> Option<&Map<String, Value>> {
        self.0.get("properties").and_then(Value::as_object)
    }

    fn requires(&self, field: &str) -> bool {
        let required = self.0.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|name| name == field))
    }
}

fn check_field(name: &str, schema: &Value) -> Result<(), String> {
    let Some(field) = schema.as_object() else {
        return Err(format!("field `{name}` must be an object"));
    };
    match field.get("type").and_then(Value::as_str) {
        Some(kind) if FieldKind::NAMES.contains(&kind) => {}
        _ => {
            return Err(format!(
                "field `{name}` must have the type string, number, integer or boolean"
            ));
        }
    }
    let what = format!("field `{name}`");
    known(&what, field, &FIELD_WORDS)?;
    are_texts(&what, field, &TEXTS)?;
    if let Some(word) =
        ["minimum", "maximum"].into_iter().find(|word| is_not(field, word, Value::is_number))
    {
        return Err(format!("the {word} of {what} must be a number"));
    }
    if let Some(word) =
        ["minLength", "maxLength"].into_iter().find(|word| is_not(field, word, is_length))
    {
        return Err(format!("the {word} of {what} must be an integer from 0"));
    }
    let is_texts =
        |names: &Value| names.as_array().is_some_and(|names| names.iter().all(Value::is_string));
    if is_not(field, "enumNames", is_texts) {
        return Err(format!("the enumNames of {what} must be a list of texts"));
    }
    if field.get("enum").is_some_and(|choices| choices.as_array().is_none_or(Vec::is_empty)) {
        return Err(format!("the enum of field `{name}` must be a list with something in it"));
    }
    Ok(())
}

fn is_length(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}

/// Is this keyword there, with a value that is not as it must be?
fn is_not(object: &Map<String, Value>, word: &str, fits: impl Fn(&Value) -> bool) -> bool {
    object.get(word).is_some_and(|value| !fits(value))
}

fn are_texts(what: &str, object: &Map<String, Value>, words: &[&str]) -> Result<(), String> {
    match words.iter().find(|word| is_not(object, word, Value::is_string)) {
        None => Ok(()),
        Some(word) => Err(format!("the {word} of {what} must be a text")),
    }
}

fn known(what: &str, object: &Map<String, Value>, words: &[&str]) -> Result<(), String> {
    match object.keys().find(|key| !words.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(format!("{what} uses `{key}`; a flat form knows {}", words.join(", "))),
    }
}
