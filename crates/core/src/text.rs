//! Texts from people and models: trimmed, not empty, and limited in length.
//!
//! A value of these types has been checked: no command can have a blank title or a ten-megabyte
//! note. The JSON Schemas take the limits from the same constants.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// Why a text was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFault {
    /// Only white space: counts as absent.
    Blank,
    /// Longer than the limit, in the unit the limit is given in.
    TooLong { limit: usize, length: usize, unit: Unit },
    /// Contains U+0000, which databases do not store reliably.
    Nul,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Characters,
    Bytes,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Characters => "characters",
            Self::Bytes => "bytes",
        })
    }
}

impl fmt::Display for TextFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("is empty or only white space"),
            Self::TooLong { limit, length, unit } => {
                write!(f, "has {length} {unit}; the limit is {limit}")
            }
            Self::Nul => f.write_str("contains a NUL character"),
        }
    }
}

/// What a person means by `y`, `yes` or `true`, and by their opposites; `None` for any other text.
#[must_use]
pub fn yes_or_no(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// The beginning of the error message for a misspelt value; its correct spelling follows. Who reads
/// an input makes a `bad_value` of it.
pub const MUST_BE: &str = "it must be ";

/// A number with its noun: "1 task", "3 tasks".
#[must_use]
pub fn counted<N: Copy + fmt::Display + PartialEq + From<u8>>(
    count: N,
    one: &str,
    many: &str,
) -> String {
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

/// The pattern of a text that is not blank, for JSON Schemas.
pub const NOT_BLANK: &str = r"\S";

fn clean(raw: &str, limit: usize, unit: Unit) -> Result<&str, TextFault> {
    let text = raw.trim();
    if text.is_empty() {
        return Err(TextFault::Blank);
    }
    if text.contains('\0') {
        return Err(TextFault::Nul);
    }
    // The limit is that of the JSON Schema, so it counts the text as it was sent.
    let length = match unit {
        Unit::Bytes => raw.len(),
        // If even the bytes fit, the characters need not be counted.
        Unit::Characters if raw.len() <= limit => raw.len(),
        Unit::Characters => raw.chars().count(),
    };
    if length > limit {
        return Err(TextFault::TooLong { limit, length, unit });
    }
    Ok(text)
}

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $limit:expr, $unit:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// How long it may be.
            pub const LIMIT: usize = $limit;

            /// Trims and checks.
            pub fn new(raw: &str) -> Result<Self, TextFault> {
                clean(raw, $limit, $unit).map(|text| Self(text.to_owned()))
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            #[must_use]
            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = <Cow<'de, str>>::deserialize(deserializer)?;
                Self::new(&raw).map_err(serde::de::Error::custom)
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
                json_schema!({
                    "type": "string", "minLength": 1, "maxLength": $limit, "pattern": NOT_BLANK,
                })
            }
        }
    };
}

text!(
    /// One line that names an item: at most 500 characters.
    Title,
    500,
    Unit::Characters
);
text!(
    /// The text of an issue's step: at most 2,000 characters.
    Content,
    2_000,
    Unit::Characters
);
text!(
    /// A longer text (body, note, outcome, reason, comment): at most 64 KiB.
    Body,
    65_536,
    Unit::Bytes
);

/// A title is also valid content.
impl From<Title> for Content {
    fn from(title: Title) -> Self {
        Self(title.0)
    }
}

/// A long text that may be left empty: absent, `""` and white space all mean "none".
#[must_use]
pub fn or_empty(text: Option<Body>) -> String {
    text.map(Body::into_string).unwrap_or_default()
}

/// The form in which two texts count as the same: trimmed, white space collapsed, case kept.
#[must_use]
pub fn normalised(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !whole.is_empty() {
            whole.push(' ');
        }
        whole.push_str(word);
    }
    whole
}

/// An id always fits.
impl From<crate::RunId> for Title {
    fn from(id: crate::RunId) -> Self {
        Self(id.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_trimmed_and_limited() {
        assert_eq!(Title::new("  a b \n").map(Title::into_string), Ok("a b".to_owned()));
        assert_eq!(Title::new(" \t\n\u{a0}"), Err(TextFault::Blank));
        assert_eq!(Title::new("a\0b"), Err(TextFault::Nul));
        assert!(Title::new(&"ä".repeat(500)).is_ok());
        let (limit, length, unit) = (500, 501, Unit::Characters);
        let long = format!("{} ", "ä".repeat(500));
        assert_eq!(Title::new(&long), Err(TextFault::TooLong { limit, length, unit }));
        assert_eq!(
            Title::new(&"ä".repeat(501)),
            Err(TextFault::TooLong { limit: 500, length: 501, unit: Unit::Characters })
        );
        assert_eq!(
            Body::new(&"ä".repeat(32_769)),
            Err(TextFault::TooLong { limit: 65_536, length: 65_538, unit: Unit::Bytes })
        );
    }

    #[test]
    fn normalised_texts_collapse_white_space_and_keep_case() {
        assert_eq!(normalised("  Write \t the\n docs "), "Write the docs");
        assert_ne!(normalised("write the docs"), normalised("Write the docs"));
    }
}
