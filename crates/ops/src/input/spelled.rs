//! Input fields with a syntax of their own: page sizes, times, spans, deadlines, agents, items.
//!
//! Each is parsed once, when the input is read, so that no handler parses a text. A value that does
//! not parse is refused with `bad_value` and its correct spelling (`request::parse`).

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use punchlist_core::deadline::Deadline;
use punchlist_core::issue::search;
use punchlist_core::text::{NOT_BLANK, TextFault, Title};
use punchlist_core::{AgentPath, DelegationId, Span, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{Clean, Unclean};

/// A text type whose values have one spelling.
macro_rules! spelled {
    ($($(#[$doc:meta])* $name:ident($inner:ty), $parse:expr, $expected:expr, $schema:tt;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(pub $inner);

        impl Clean for $name {
            fn clean(raw: &str) -> Result<Self, Unclean> {
                let text = raw.trim();
                if text.is_empty() {
                    return Err(Unclean::Blank);
                }
                let parse: fn(&str) -> Option<$inner> = $parse;
                parse(text).map(Self).ok_or_else(|| Unclean::must_be($expected))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::clean(&Cow::<'de, str>::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

spelled! {
    /// A time.
    When(Time), time_or_day, "a date, e.g. 2030-01-31, or a time, e.g. 2030-01-31T09:00:00Z",
        { "type": "string", "minLength": 1,
          "anyOf": [{ "format": "date" }, { "format": "date-time" }] };
    /// A length of time.
    Lasting(Span), Span::parse, Span::SPELLING,
        { "type": "string", "minLength": 1, "pattern": Span::PATTERN };
    /// A date or a time by which something is due.
    Due(Deadline), Deadline::parse, "a date, e.g. 2030-01-31, or a time in RFC 3339",
        { "type": "string", "minLength": 1,
          "anyOf": [{ "format": "date" }, { "format": "date-time" }] };
    /// How far back: a length of time before now, or a time.
    Since(Past), Past::parse, Past::SPELLING,
        { "type": "string", "minLength": 1,
          "anyOf": [{ "pattern": Span::PATTERN }, { "format": "date-time" }] };
    /// Until when: a length of time from now, or a time.
    Expires(Future), Future::parse, Future::SPELLING,
        { "type": "string", "minLength": 1,
          "anyOf": [{ "pattern": Span::PATTERN_OF_SOME }, { "format": "date-time" }] };
    /// A time of another program.
    Recorded(Time), old_time, "a time in RFC 3339, e.g. 2030-01-01T00:00:00Z",
        { "type": "string", "minLength": 1,
          "anyOf": [{ "format": "date-time" }, { "pattern": SQLITE_TIME }] };
    /// The path of an agent.
    Agent(AgentPath), AgentPath::parse, "words of letters, digits, - and _, joined by dots",
        { "type": "string", "minLength": 1, "maxLength": AgentPath::LIMIT,
          "pattern": AgentPath::PATTERN };
}

/// The schema of a plan's file: a path below the project's folder. Whether a path leads outside is
/// decided where the folder is known.
#[derive(Debug)]
pub struct PlanFile;

impl JsonSchema for PlanFile {
    fn schema_name() -> Cow<'static, str> {
        "PlanFile".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "minLength": 1, "maxLength": Title::LIMIT,
            "pattern": r"^\.?[^\s/.][^/]*(/\.?[^\s/.][^/]*)*$",
        })
    }
}

/// A text with at least one word to search for. Any other text would match everything or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Words(Title);

impl Words {
    /// The words, as the store indexes them.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        search::query(self.0.as_str())
    }
}

impl Clean for Words {
    fn clean(raw: &str) -> Result<Self, Unclean> {
        let words = Self(Title::clean(raw)?);
        if words.all().is_empty() {
            return Err(Unclean::must_be("words of letters or digits"));
        }
        Ok(words)
    }
}

impl JsonSchema for Words {
    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Title::json_schema(generator);
        schema.insert("pattern".into(), r"[\p{L}\p{N}]".into());
        schema
    }
}

/// A time as SQLite writes it, in UTC. Days that not every month has are accepted, too.
const SQLITE_TIME: &str =
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8]) ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$";

fn old_time(text: &str) -> Option<Time> {
    let of_sqlite = || Time::parse(&format!("{}Z", text.replacen(' ', "T", 1)));
    Time::parse(text).or_else(of_sqlite)
}

/// A time, or a date: the start of that day in UTC.
fn time_or_day(text: &str) -> Option<Time> {
    let midnight = || Time::parse(&format!("{text}T00:00:00Z"));
    Time::parse(text).or_else(midnight)
}

/// A point in the past, absolute or relative to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    Ago(Span),
    At(Time),
}

impl Past {
    const SPELLING: &str =
        "a number and s, m, h or d, e.g. 90s, 15m, 12h or 7d, or an RFC 3339 time";

    fn parse(text: &str) -> Option<Self> {
        Span::parse(text).map(Self::Ago).or_else(|| Time::parse(text).map(Self::At))
    }

    /// The point as a time.
    #[must_use]
    pub fn before(self, now: Time) -> Time {
        match self {
            Self::At(time) => time,
            Self::Ago(span) => {
                now.plus_seconds(-i64::try_from(span.as_seconds()).unwrap_or(i64::MAX))
            }
        }
    }
}

impl fmt::Display for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ago(span) => span.fmt(f),
            Self::At(time) => time.fmt(f),
        }
    }
}

/// A point in the future, absolute or relative to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Future {
    After(Span),
    At(Time),
}

impl Future {
    const SPELLING: &str = "a future time (RFC 3339) or a duration such as 12h";

    fn parse(text: &str) -> Option<Self> {
        Span::parse(text).map(Self::After).or_else(|| Time::parse(text).map(Self::At))
    }

    /// The point as a time. `None` if it is not after `now`.
    #[must_use]
    pub fn after(self, now: Time) -> Option<Time> {
        let at = match self {
            Self::At(time) => time,
            Self::After(span) => {
                now.plus_seconds(i64::try_from(span.as_seconds()).unwrap_or(i64::MAX))
            }
        };
        (at > now).then_some(at)
    }
}

impl fmt::Display for Future {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(span) => span.fmt(f),
            Self::At(time) => time.fmt(f),
        }
    }
}

/// The page size of a list: 50 by default, at most 1,000; a larger one is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Limit(i64);

impl Limit {
    /// The largest page.
    pub const MAX: Self = Self(1000);

    /// The requested size, limited to the allowed range.
    #[must_use]
    pub fn of(wanted: i64) -> Self {
        Self(wanted.clamp(1, Self::MAX.0))
    }

    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// One row more than the page: it shows whether there is another page.
    #[must_use]
    pub const fn and_one(self) -> i64 {
        self.0 + 1
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self(50)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<i64>::deserialize(deserializer)? {
            None => Ok(Self::default()),
            Some(wanted) if wanted < 1 => Err(D::Error::custom(Unclean::must_be("at least 1"))),
            Some(wanted) => Ok(Self::of(wanted)),
        }
    }
}

impl JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "null"], "minimum": 1 })
    }
}

/// How something is named: its id or its slug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Name(String);

/// How an item is named: its id, or its number, which may be a JSON number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Reference(String);

/// Names that stand for themselves.
macro_rules! names {
    ($($name:ident)+) => {$(
        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    )+};
}

names! { Name Reference }

impl From<DelegationId> for Name {
    fn from(id: DelegationId) -> Self {
        Self(id.to_string())
    }
}

/// A blank name is a missing one.
fn not_blank<E: serde::de::Error>(text: &str) -> Result<String, E> {
    match text.trim() {
        "" => Err(E::custom(TextFault::Blank)),
        text => Ok(text.to_owned()),
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        not_blank(&Cow::<'de, str>::deserialize(deserializer)?).map(Self)
    }
}

impl JsonSchema for Name {
    fn schema_name() -> Cow<'static, str> {
        "Name".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": NOT_BLANK })
    }
}

/// A text, or a number in its place.
pub(super) struct Written(pub(super) String);

impl Clean for Reference {
    fn clean(raw: &str) -> Result<Self, Unclean> {
        Title::clean(raw).map(|text| Self(text.into_string()))
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        not_blank(&Written::deserialize(deserializer)?.0).map(Self)
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Named;

        impl Visitor<'_> for Named {
            type Value = String;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<String, E> {
                Ok(text.to_owned())
            }

            fn visit_i64<E>(self, number: i64) -> Result<String, E> {
                Ok(number.to_string())
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<String, E> {
                match i64::try_from(number) {
                    Ok(number) => Ok(number.to_string()),
                    Err(_) => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
                }
            }
        }

        deserializer.deserialize_any(Named).map(Self)
    }
}

impl JsonSchema for Reference {
    fn schema_name() -> Cow<'static, str> {
        "Reference".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "pattern": NOT_BLANK })
    }
}
