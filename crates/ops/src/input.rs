//! Deserializers for input fields: blank texts, ranges, counts.
//!
//! Each field repeats its limits in its schema attribute; a catalogue test checks that both agree.

use std::borrow::Cow;

use punchlist_core::deadline::Deadline;
use punchlist_core::evidence::Evidence;
use punchlist_core::text::{Body, Content, TextFault, Title};
use punchlist_core::{AgentPath, Span, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

/// An optional text: absent, null and blank all mean none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Maybe<T>(pub Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// A core text type that trims and validates its input.
pub trait Clean: Sized {
    fn clean(raw: &str) -> Result<Self, TextFault>;
}

impl Clean for Title {
    fn clean(raw: &str) -> Result<Self, TextFault> {
        Self::new(raw)
    }
}

impl Clean for Content {
    fn clean(raw: &str) -> Result<Self, TextFault> {
        Self::new(raw)
    }
}

impl Clean for Body {
    fn clean(raw: &str) -> Result<Self, TextFault> {
        Self::new(raw)
    }
}

impl<'de, T: Clean> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(raw) = Option::<Cow<'de, str>>::deserialize(deserializer)? else {
            return Ok(Self(None));
        };
        match T::clean(&raw) {
            Ok(text) => Ok(Self(Some(text))),
            Err(TextFault::Blank) => Ok(Self(None)),
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
    Err(D::Error::custom(format!("it must be {MIN} to {MAX}")))
}

/// A list with `MIN` to `MAX` items.
pub fn count<'de, const MIN: usize, const MAX: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let items = Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default();
    if (MIN..=MAX).contains(&items.len()) {
        return Ok(items);
    }
    Err(D::Error::custom(format!("give {MIN} to {MAX} items")))
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

/// The page size of a list: 50 by default, at most 1,000.
pub fn limit(given: Option<i64>) -> Result<i64, crate::Error> {
    match given {
        None => Ok(50),
        Some(limit) if limit < 1 => Err(crate::explain::Fault::BadValue {
            path: "limit".into(),
            found: limit.to_string(),
            expected: "at least 1".into(),
        }
        .into()),
        Some(limit) => Ok(limit.min(1000)),
    }
}

/// Cuts the rows to one page and returns the cursor of the next. The query reads one row more than
/// `limit`, which shows whether there is another page.
pub fn page<T, K>(found: &mut Vec<T>, limit: i64, key: impl Fn(&T) -> K) -> Option<K> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if found.len() <= limit {
        return None;
    }
    found.truncate(limit);
    found.last().map(key)
}

/// A text of our own code that becomes part of an input.
pub fn text<T: Clean>(path: &str, text: &str) -> Result<T, crate::Error> {
    T::clean(text).map_err(|fault| {
        let (path, detail) = (path.to_owned(), fault.to_string());
        crate::explain::Fault::Other { path, detail }.into()
    })
}

/// Parses a time in RFC 3339.
pub fn when(path: &str, text: &str) -> Result<Time, crate::Error> {
    Time::parse(text).ok_or_else(|| {
        let found = format!("`{}`", text.chars().take(60).collect::<String>());
        let expected = "a time in RFC 3339, e.g. 2030-01-01T00:00:00Z".to_owned();
        crate::explain::Fault::BadValue { path: path.to_owned(), found, expected }.into()
    })
}

/// Parses a length of time.
pub fn span(path: &str, text: &str) -> Result<Span, crate::Error> {
    Span::parse(text).ok_or_else(|| {
        let found = format!("`{}`", text.chars().take(60).collect::<String>());
        let expected = Span::SPELLING.to_owned();
        crate::explain::Fault::BadValue { path: path.to_owned(), found, expected }.into()
    })
}

/// Parses a deadline: a date or a time.
pub fn deadline(path: &str, text: &str) -> Result<Deadline, crate::Error> {
    Deadline::parse(text).ok_or_else(|| {
        let found = format!("`{}`", text.chars().take(60).collect::<String>());
        let expected = "a date, e.g. 2030-01-31, or a time in RFC 3339".to_owned();
        crate::explain::Fault::BadValue { path: path.to_owned(), found, expected }.into()
    })
}

/// Parses the path of an agent.
pub fn agent(path: &str, text: &str) -> Result<AgentPath, crate::Error> {
    AgentPath::parse(text.trim()).ok_or_else(|| {
        let found = format!("`{}`", text.chars().take(60).collect::<String>());
        let expected = "words of letters, digits, - and _, joined by dots".to_owned();
        crate::explain::Fault::BadValue { path: path.to_owned(), found, expected }.into()
    })
}

/// Parses evidence, each piece by the syntax of its kind.
pub fn evidence(texts: &[String]) -> Result<Vec<Evidence>, crate::Error> {
    let read = |(n, text): (usize, &String)| {
        Evidence::parse(text).ok_or_else(|| {
            let found = format!("`{}`", text.chars().take(60).collect::<String>());
            let expected = match text.trim().split_once(':') {
                Some(("commit", _)) => "commit: and 7 to 64 hexadecimal digits",
                Some(("url", _)) => "url: and an address that begins with http:// or https://",
                Some(("test" | "pr" | "file" | "note", _)) => "a value after the colon",
                _ => "kind:value with commit, test, pr, file, url or note",
            };
            let expected = expected.to_owned();
            crate::explain::Fault::BadValue { path: format!("evidence[{n}]"), found, expected }
                .into()
        })
    };
    texts.iter().enumerate().map(read).collect()
}

/// The schema of an item's id: a text or a number.
#[derive(Debug)]
pub struct Key;

impl schemars::JsonSchema for Key {
    fn schema_name() -> Cow<'static, str> {
        "Key".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "integer"] })
    }
}

/// An item's id or its number, which may be a JSON number.
pub fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    struct Named;

    impl serde::de::Visitor<'_> for Named {
        type Value = String;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E>(self, text: &str) -> Result<String, E> {
            Ok(text.to_owned())
        }

        fn visit_i64<E>(self, number: i64) -> Result<String, E> {
            Ok(number.to_string())
        }

        fn visit_u64<E>(self, number: u64) -> Result<String, E> {
            Ok(number.to_string())
        }
    }

    deserializer.deserialize_any(Named)
}

/// Reads several of them; null means none.
pub fn many_named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    struct Given(#[serde(deserialize_with = "named")] String);

    let given = Option::<Vec<Given>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(given.into_iter().map(|Given(text)| text).collect())
}

/// Reads an optional `named`: absent, null and blank mean none.
pub fn maybe_named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Maybe<Title>, D::Error> {
    #[derive(Deserialize)]
    struct Given(#[serde(deserialize_with = "named")] String);

    let given = Option::<Given>::deserialize(deserializer)?;
    match given.map(|Given(text)| Title::new(&text)) {
        Some(Ok(text)) => Ok(Maybe(Some(text))),
        None | Some(Err(TextFault::Blank)) => Ok(Maybe(None)),
        Some(Err(fault)) => Err(D::Error::custom(fault)),
    }
}
