//! Deserializers for input fields: blank texts, ranges, counts. Fields with a spelling of their own
//! are in `spelled`.
//!
//! Each field repeats its limits in its schema attribute; a catalogue test checks that both agree.

mod cursor;
mod spelled;

use std::borrow::Cow;
use std::fmt;

use punchlist_core::text::{Body, Content, MUST_BE, NOT_BLANK, TextFault, Title};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use cursor::AFTER;
pub use cursor::{Cursor, Key, Slug};
use spelled::Written;
pub use spelled::{
    Agent, Due, Expires, Lasting, Limit, Name, Past, PlanFile, Recorded, Reference, Since, When,
    Words,
};

/// An optional text: absent, null and blank all mean none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Maybe<T>(pub Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// Why a text is not a value of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclean {
    /// Nothing but white space: the same as absent.
    Blank,
    /// The fault, as a sentence without its subject.
    Wrong(String),
}

impl Unclean {
    fn must_be(expected: &str) -> Self {
        Self::Wrong(format!("{MUST_BE}{expected}"))
    }
}

impl From<TextFault> for Unclean {
    fn from(fault: TextFault) -> Self {
        match fault {
            TextFault::Blank => Self::Blank,
            fault => Self::Wrong(fault.to_string()),
        }
    }
}

impl fmt::Display for Unclean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => TextFault::Blank.fmt(f),
            Self::Wrong(detail) => f.write_str(detail),
        }
    }
}

/// The pattern of a blank text.
pub const BLANK: &str = r"^\s*$";

/// The beginning of the pattern of a text that may be blank.
pub const OR_BLANK: &str = r"^\s*$|";

/// A text type that trims and validates its input.
pub trait Clean: Sized {
    fn clean(raw: &str) -> Result<Self, Unclean>;
}

impl Clean for Title {
    fn clean(raw: &str) -> Result<Self, Unclean> {
        Ok(Self::new(raw)?)
    }
}

impl Clean for Content {
    fn clean(raw: &str) -> Result<Self, Unclean> {
        Ok(Self::new(raw)?)
    }
}

impl Clean for Body {
    fn clean(raw: &str) -> Result<Self, Unclean> {
        Ok(Self::new(raw)?)
    }
}

impl<'de, T: Clean> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(raw) = Option::<Cow<'de, str>>::deserialize(deserializer)? else {
            return Ok(Self(None));
        };
        match T::clean(&raw) {
            Ok(text) => Ok(Self(Some(text))),
            Err(Unclean::Blank) => Ok(Self(None)),
            Err(fault) => Err(D::Error::custom(fault)),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Maybe<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Maybe{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.remove("minLength");
        let mut types = match schema.get("type") {
            Some(Value::Array(types)) => types.clone(),
            _ => vec!["string".into()],
        };
        types.push("null".into());
        schema.insert("type".into(), types.into());
        match schema.get("pattern").and_then(Value::as_str) {
            Some(NOT_BLANK) => drop(schema.remove("pattern")),
            Some(pattern) => {
                let pattern = format!("{OR_BLANK}{pattern}");
                schema.insert("pattern".into(), pattern.into());
            }
            None => {}
        }
        if let Some(Value::Array(forms)) = schema.get_mut("anyOf") {
            forms.push(json!({ "pattern": BLANK }));
        }
        schema
    }
}

/// A number in its range, or none.
pub fn range<'de, const MIN: i64, const MAX: i64, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i64>, D::Error> {
    let number = Option::<i64>::deserialize(deserializer)?;
    if number.is_none_or(|number| (MIN..=MAX).contains(&number)) {
        return Ok(number);
    }
    Err(D::Error::custom(Unclean::must_be(&format!("{MIN} to {MAX}"))))
}

/// A number from 0 that fits into 63 bits, as the store keeps numbers, or none.
pub fn natural<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<u64>::deserialize(deserializer)?;
    if number.is_none_or(|number| i64::try_from(number).is_ok()) {
        return Ok(number);
    }
    Err(D::Error::custom(Unclean::must_be(&format!("0 to {}", i64::MAX))))
}

/// A list with `MIN` to `MAX` items.
pub fn count<'de, const MIN: usize, const MAX: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let items = Vec::<T>::deserialize(deserializer)?;
    if (MIN..=MAX).contains(&items.len()) {
        return Ok(items);
    }
    Err(D::Error::custom(format!("give {MIN} to {MAX} items")))
}

/// A list with at most `MAX` items; null is read as an empty one.
pub fn up_to_or_none<'de, const MAX: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    up_to::<MAX, T, D>(deserializer).map(Option::unwrap_or_default)
}

/// An optional list with at most `MAX` items.
pub fn up_to<'de, const MAX: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let items = Option::<Vec<T>>::deserialize(deserializer)?;
    if items.as_ref().is_none_or(|items| items.len() <= MAX) {
        return Ok(items);
    }
    Err(D::Error::custom(format!("give at most {MAX} items")))
}

/// Cuts the rows to one page and returns the cursor of the next. The query reads one row more than
/// `limit`, which shows whether there is another page.
pub fn page<T, K>(found: &mut Vec<T>, limit: Limit, key: impl Fn(&T) -> K) -> Option<K> {
    let limit = usize::try_from(limit.get()).unwrap_or(usize::MAX);
    if found.len() <= limit {
        return None;
    }
    found.truncate(limit);
    found.last().map(key)
}

/// Converts a text from our own code to an input type.
pub fn text<T: Clean>(path: &str, text: &str) -> Result<T, crate::Error> {
    let path = path.to_owned();
    T::clean(text).map_err(|fault| match fault {
        Unclean::Blank => crate::explain::Fault::MissingField { path }.into(),
        Unclean::Wrong(detail) => match detail.strip_prefix(MUST_BE) {
            Some(expected) => {
                let found = format!("`{}`", text.chars().take(60).collect::<String>());
                crate::explain::Fault::BadValue { path, found, expected: expected.to_owned() }
                    .into()
            }
            None => crate::explain::Fault::Other { path, detail }.into(),
        },
    })
}

/// Reads an optional reference: absent, null and blank mean none.
pub fn maybe_named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Maybe<Title>, D::Error> {
    let given = Option::<Written>::deserialize(deserializer)?;
    match given.map(|given| Title::new(&given.0)) {
        Some(Ok(text)) => Ok(Maybe(Some(text))),
        None | Some(Err(TextFault::Blank)) => Ok(Maybe(None)),
        Some(Err(fault)) => Err(D::Error::custom(fault)),
    }
}
