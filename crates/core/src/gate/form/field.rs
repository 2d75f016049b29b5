//! One field of a form: what it asks, what fits it, and what a person typed into it.

use serde_json::{Number, Value};

use crate::{Time, text};

/// A field of a form, as its schema describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Field<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
    /// Must it be answered?
    pub is_required: bool,
    pub kind: FieldKind<'a>,
    /// What kind of text it is, if only that fits.
    pub format: Option<Format>,
    /// The only values that fit; empty: any value of the kind.
    pub choices: Vec<Choice<'a>>,
    /// The answer unless the person gives another one.
    pub default: Option<&'a Value>,
}

/// What kind of value a field takes, with the bounds that apply to the kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldKind<'a> {
    /// A text; the bounds count characters.
    Text(Bounds<'a>),
    Number(Bounds<'a>),
    Integer(Bounds<'a>),
    Boolean,
}

/// The kinds of text that an answer is checked for. Any other `format` is only for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Date,
    DateTime,
    Email,
    Uri,
}

impl Format {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "date" => Some(Self::Date),
            "date-time" => Some(Self::DateTime),
            "email" => Some(Self::Email),
            "uri" => Some(Self::Uri),
            _ => None,
        }
    }

    fn fits(self, text: &str) -> bool {
        let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        match self {
            // The parser also takes a date with a time behind it.
            Self::Date => {
                text.len() == "2026-11-18".len() && text.parse::<jiff::civil::Date>().is_ok()
            }
            Self::DateTime => Time::parse(text).is_some(),
            Self::Email => text.split_once('@').is_some_and(|(local, domain)| {
                is_word(local) && is_word(domain) && !domain.contains('@')
            }),
            Self::Uri => text.split_once(':').is_some_and(|(scheme, rest)| {
                let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
                scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                    && scheme.chars().all(is_scheme)
                    && is_word(rest)
            }),
        }
    }

    const fn must_be(self) -> &'static str {
        match self {
            Self::Date => "must be a date, e.g. 2026-11-18",
            Self::DateTime => "must be a time with its zone, e.g. 2026-11-18T09:00:00Z",
            Self::Email => "must be an e-mail address",
            Self::Uri => "must be an address, e.g. https://example.org",
        }
    }
}

/// The smallest and the largest value, both allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds<'a> {
    pub least: Option<&'a Number>,
    pub most: Option<&'a Number>,
}

/// A value to choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice<'a> {
    pub value: &'a Value,
    /// How the asker calls it for people.
    pub title: Option<&'a str>,
}

impl<'a> FieldKind<'a> {
    /// The types of JSON Schema that a field may have.
    pub(super) const NAMES: [&'static str; 4] = ["string", "number", "integer", "boolean"];

    fn of(schema: &'a Value) -> Self {
        let number = |word: &str| schema.get(word).and_then(Value::as_number);
        let bounds = |least: &str, most: &str| Bounds { least: number(least), most: number(most) };
        match schema.get("type").and_then(Value::as_str) {
            Some("boolean") => Self::Boolean,
            Some("integer") => Self::Integer(bounds("minimum", "maximum")),
            Some("number") => Self::Number(bounds("minimum", "maximum")),
            // `Form::check` refuses every other type.
            _ => Self::Text(bounds("minLength", "maxLength")),
        }
    }

    const fn name(self) -> &'static str {
        let [text, number, integer, boolean] = Self::NAMES;
        match self {
            Self::Text(_) => text,
            Self::Number(_) => number,
            Self::Integer(_) => integer,
            Self::Boolean => boolean,
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text(_) => value.is_string(),
            Self::Number(_) => value.is_number(),
            // As JSON Schema has it, 3.0 is an integer.
            Self::Integer(_) => {
                let is_whole = |number: f64| number.fract() == 0.0;
                value.is_i64() || value.is_u64() || value.as_f64().is_some_and(is_whole)
            }
            Self::Boolean => value.is_boolean(),
        }
    }

    /// What is wrong with the size of a value of this kind.
    fn out_of_bounds(self, value: &Value) -> Option<String> {
        let (bounds, size, unit) = match self {
            Self::Text(bounds) => (bounds, value.as_str()?.chars().count() as f64, " characters"),
            Self::Number(bounds) | Self::Integer(bounds) => (bounds, value.as_f64()?, ""),
            Self::Boolean => return None,
        };
        let must = if unit.is_empty() { "must be" } else { "must have" };
        let bound = |number: Option<&Number>| number.and_then(Number::as_f64);
        if let Some(least) = bound(bounds.least).filter(|least| size < *least) {
            return Some(format!("{must} at least {least}{unit}"));
        }
        let most = bound(bounds.most).filter(|most| size > *most)?;
        Some(format!("{must} at most {most}{unit}"))
    }
}

impl<'a> Field<'a> {
    pub(super) fn of(name: &'a str, schema: &'a Value, is_required: bool) -> Self {
        let text = |word: &str| schema.get(word).and_then(Value::as_str);
        let titles = schema.get("enumNames").and_then(Value::as_array);
        let title = |n: usize| titles.and_then(|titles| titles.get(n)).and_then(Value::as_str);
        let choices = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        Self {
            name,
            title: text("title"),
            description: text("description"),
            is_required,
            kind: FieldKind::of(schema),
            format: match schema.get("type") {
                Some(kind) if kind == "string" => text("format").and_then(Format::parse),
                _ => None,
            },
            choices: choices
                .enumerate()
                .map(|(n, value)| Choice { value, title: title(n) })
                .collect(),
            default: schema.get("default").filter(|value| !value.is_null()),
        }
    }

    /// Can it be answered? If not, what is wrong with it.
    pub(super) fn check(&self) -> Result<(), String> {
        let name = self.name;
        if let FieldKind::Text(bounds) | FieldKind::Number(bounds) | FieldKind::Integer(bounds) =
            self.kind
            && let (Some(least), Some(most)) = (bounds.least, bounds.most)
            && least.as_f64() > most.as_f64()
        {
            return Err(format!(
                "no value of field `{name}` is at least {least} and at most {most}"
            ));
        }
        for choice in &self.choices {
            if let Some(what) = self.misfit(choice.value) {
                return Err(format!("{} in the enum of field `{name}` {what}", choice.value));
            }
        }
        match self.default.and_then(|default| self.misfit(default)) {
            None => Ok(()),
            Some(what) => Err(format!("the default of field `{name}` {what}")),
        }
    }

    /// What is wrong with an answer. `None` for a field that is left out and may be.
    #[must_use]
    pub fn fault(&self, given: Option<&Value>) -> Option<String> {
        let what = match given.filter(|value| !value.is_null()) {
            None => self.is_required.then(|| "is required".to_owned()),
            Some(value) => self.misfit(value),
        };
        what.map(|what| format!("`{}` {what}", self.name))
    }

    fn misfit(&self, value: &Value) -> Option<String> {
        if !self.kind.fits(value) {
            return Some(format!("must be of type {}", self.kind.name()));
        }
        if !self.choices.is_empty()
            && !self.choices.iter().any(|choice| is_same(choice.value, value))
        {
            let shown: Vec<String> =
                self.choices.iter().map(|choice| choice.value.to_string()).collect();
            return Some(format!("must be one of {}", shown.join(", ")));
        }
        let is_other = |format: &Format| value.as_str().is_some_and(|text| !format.fits(text));
        match self.format.filter(is_other) {
            Some(format) => Some(format.must_be().to_owned()),
            None => self.kind.out_of_bounds(value),
        }
    }

    /// The value a person typed, by the field's kind; `None` if nothing was typed. What cannot be
    /// converted stays text, so that `fault` explains what is wrong with it.
    #[must_use]
    pub fn read(&self, typed: &str) -> Option<Value> {
        if let Some(choice) = self.choices.iter().find(|choice| plain(choice.value) == typed) {
            return Some(choice.value.clone());
        }
        let word = typed.trim();
        if word.is_empty() {
            return None;
        }
        let value = match self.kind {
            FieldKind::Text(_) => None,
            FieldKind::Number(_) | FieldKind::Integer(_) => {
                serde_json::from_str(word).ok().filter(Value::is_number)
            }
            FieldKind::Boolean => text::yes_or_no(word).map(Value::Bool),
        };
        // Blanks around a date or an address are never meant.
        let text = if self.format.is_some() { word } else { typed };
        Some(value.unwrap_or_else(|| text.into()))
    }
}

/// Are two values equal? `3` and `3.0` are.
fn is_same(one: &Value, other: &Value) -> bool {
    one == other || one.is_number() && other.is_number() && one.as_f64() == other.as_f64()
}

/// A value in the words that `Field::read` takes for it: a text without quotes.
#[must_use]
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
