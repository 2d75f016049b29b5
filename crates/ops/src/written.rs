//! A file written by people (a mission or the configuration), JSON or TOML, with the position of
//! every field, so that errors can point at it.
//!
//! Like `plan_file`, this runs before any transaction. It does not validate the fields.

mod json;
mod toml;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::Error;
use crate::explain::Fault;

/// The largest size of such a file, in bytes.
pub const BYTES_MAX: usize = 1 << 20;

/// Editors write this key to find the schema; it is ignored.
const SCHEMA_KEY: &str = "$schema";

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    Toml,
}

impl Form {
    /// Decided by the file's extension, otherwise by its first character: only JSON starts with a
    /// brace.
    #[must_use]
    pub fn of(file: &Path, text: &str) -> Self {
        let extension = file.extension().map(|extension| extension.to_ascii_lowercase());
        match extension.as_ref().and_then(|extension| extension.to_str()) {
            Some("json") => Self::Json,
            Some("toml") => Self::Toml,
            _ if text.trim_start().starts_with('{') => Self::Json,
            _ => Self::Toml,
        }
    }
}

/// A position in a text, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// The position of the byte at this offset.
    fn at(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Self { line, column: before[start..].chars().count() + 1 }
    }
}

/// An error in a file, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    pub error: Error,
    pub place: Option<Place>,
}

impl Misplaced {
    fn new(fault: Fault, place: Place) -> Self {
        Self { error: fault.into(), place: Some(place) }
    }
}

/// A parsed file.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its contents as JSON.
    pub input: Value,
    text: String,
    /// The offset of each field, by its path.
    offsets: BTreeMap<String, usize>,
}

impl Written {
    pub fn read(bytes: Vec<u8>, file: &Path) -> Result<Self, Misplaced> {
        let nowhere = |fault: Fault| Misplaced { error: fault.into(), place: None };
        if bytes.len() > BYTES_MAX {
            return Err(nowhere(Fault::TooLarge { limit: BYTES_MAX }));
        }
        let text = String::from_utf8(bytes).map_err(|_| nowhere(Fault::Utf8))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
        if text.trim().is_empty() {
            let detail = "the file is empty".to_owned();
            return Err(nowhere(Fault::Other { path: String::new(), detail }));
        }
        let form = Form::of(file, &text);
        Self::parse(text, form)
    }

    /// Parses a text of a known format, which may be empty.
    pub fn parse(text: String, form: Form) -> Result<Self, Misplaced> {
        let (mut input, offsets) = match form {
            Form::Json => json::read(&text)?,
            Form::Toml => toml::read(&text)?,
        };
        if let Value::Object(fields) = &mut input {
            fields.shift_remove(SCHEMA_KEY);
        }
        Ok(Self { input, text, offsets })
    }

    /// The position of a field. For a missing field, the position of the object that should contain
    /// it.
    #[must_use]
    pub fn place(&self, path: &str) -> Place {
        let mut path = path;
        loop {
            if let Some(offset) = self.offsets.get(path) {
                return Place::at(&self.text, *offset);
            }
            match path.rfind(['.', '[']) {
                Some(at) => path = &path[..at],
                None => return Place::at(&self.text, 0),
            }
        }
    }

    /// Adds the position to an error that is about a field.
    #[must_use]
    pub fn blame(&self, error: Error) -> Misplaced {
        let place = match &error {
            Error::Input(fault) => fault.path().map(|path| self.place(path)),
            _ => None,
        };
        Misplaced { error, place }
    }
}

/// The path of a field, written as in `Fault`.
fn below(path: &str, name: &str) -> String {
    crate::explain::join(path, name)
}

fn twice(path: String, place: Place) -> Misplaced {
    Misplaced::new(Fault::Other { path, detail: "the field is given twice".to_owned() }, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Written, Misplaced> {
        Written::read(text.as_bytes().to_vec(), Path::new(name))
    }

    fn line(file: &Written, path: &str) -> usize {
        file.place(path).line
    }

    #[test]
    fn every_json_field_has_a_position() {
        let text = "{ \"$schema\": \"x\",\n \"name\": \"a \\\" { [ b\",\n \"pillars\": [ {\n\
                    \"name\": 1 },\n  { \"metrics\": [\n[], {\"t\\u0061rget\":\n {\"v\": -1.5e3}}] } ] }";
        let file = read("m.json", text).unwrap();
        assert!(file.input.get("$schema").is_none());
        assert_eq!(file.place("name"), Place { line: 2, column: 2 });
        assert_eq!(line(&file, "pillars"), 3);
        assert_eq!(line(&file, "pillars[0].name"), 4);
        assert_eq!(line(&file, "pillars[1]"), 5);
        assert_eq!(line(&file, "pillars[1].name"), 5, "where it is missing");
        assert_eq!(line(&file, "pillars[1].metrics[1].target"), 6);
        assert_eq!(line(&file, "pillars[1].metrics[1].target.v"), 7);
        assert_eq!(line(&file, "input"), 1);
    }

    #[test]
    fn every_toml_field_has_a_position() {
        let text = "\"$schema\" = \"x\"\nname = \"a\"\ncadence.cron = \"* * * * *\"\n[todo]\n\
                    activeTodoLimit = 0x0A\n[[pillars]]\nname = 'p'\n[[pillars.metrics]]\n\
                    target = { operator = \"<\",\n  value = 6e1 }\n[[pillars]]\nname = 2027-01-02\n";
        let file = read("m.toml", text).unwrap();
        let expected = serde_json::json!({
            "name": "a",
            "cadence": { "cron": "* * * * *" },
            "todo": { "activeTodoLimit": 10 },
            "pillars": [
                { "name": "p", "metrics": [{ "target": { "operator": "<", "value": 60.0 } }] },
                { "name": "2027-01-02" },
            ],
        });
        assert_eq!(file.input, expected);
        assert_eq!(line(&file, "name"), 2);
        assert_eq!(line(&file, "cadence.cron"), 3);
        assert_eq!(line(&file, "todo.activeTodoLimit"), 5);
        assert_eq!(line(&file, "pillars[0].slug"), 6);
        assert_eq!(line(&file, "pillars[0].metrics[0].target.value"), 10);
        assert_eq!(line(&file, "pillars[1]"), 11);
        assert_eq!(line(&file, "pillars[1].name"), 12);
    }

    #[test]
    fn syntax_errors_have_a_position() {
        let at = |name: &str, text: &str| {
            let fault = read(name, text).unwrap_err();
            let place = fault.place.map(|place| (place.line, place.column));
            (fault.error.code(), place, fault.error.to_string())
        };
        let (code, place, words) = at("m.json", "{\n  \"name\": }");
        assert_eq!((code, place), ("invalid_json", Some((2, 11))), "{words}");
        assert!(!words.contains("at line"), "{words}");
        let (code, place, _) = at("m.toml", "name = \"a\"\npillars = [\n");
        assert_eq!((code, place.unwrap().0 >= 2), ("invalid_toml", true));
        let (code, place, words) = at("m.json", "{\"a\": {\"b\": 1,\n\"b\": 2}}");
        assert_eq!((code, place), ("invalid_input", Some((2, 1))), "{words}");
        let (code, place, _) = at("m.toml", "value = nan\n");
        assert_eq!((code, place), ("bad_value", Some((1, 1))));
        assert_eq!(at("m.toml", "a = 99999999999999999999").0, "bad_value");
        assert_eq!(at("m.json", " \n").0, "invalid_input");
        assert_eq!(read("m.json", "\u{feff}{}").unwrap().input, serde_json::json!({}));
        assert_eq!(
            Written::read(vec![0xff], Path::new("m")).unwrap_err().error.code(),
            "invalid_utf8"
        );
        let long = vec![b' '; BYTES_MAX + 1];
        assert_eq!(
            Written::read(long, Path::new("m")).unwrap_err().error.code(),
            "input_too_large"
        );
    }

    #[test]
    fn the_extension_decides_the_format_otherwise_the_content_does() {
        assert_eq!(Form::of(Path::new("a.JSON"), "x = 1"), Form::Json);
        assert_eq!(Form::of(Path::new("a.toml"), "{"), Form::Toml);
        assert_eq!(Form::of(Path::new("-"), " \n {"), Form::Json);
        assert_eq!(Form::of(Path::new("mission"), "[[pillars]]"), Form::Toml);
    }
}
