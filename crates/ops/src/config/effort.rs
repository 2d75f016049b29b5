//! Reasoning effort: a word, or the number of tokens that a model may think for.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The words that model providers use, lowest first.
const WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The highest number of thinking tokens.
const TOKENS_MAX: u64 = 1_000_000;

/// The reasoning effort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Effort {
    /// One of the providers' words.
    Word(&'static str),
    Tokens(u32),
}

impl Effort {
    /// The provider's word for this effort. A number of tokens becomes the nearest word, because
    /// current models accept only words.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Word(word) => word,
            Self::Tokens(0) => "none",
            Self::Tokens(..=2_048) => "low",
            Self::Tokens(..=16_384) => "medium",
            Self::Tokens(_) => "high",
        }
    }
}

impl<'de> Deserialize<'de> for Effort {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = Effort;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or a number of tokens up to {TOKENS_MAX}", WORDS.join(", "))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Effort, E> {
        let known = WORDS.into_iter().find(|word| *word == text);
        known.map(Effort::Word).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_u64<E: de::Error>(self, tokens: u64) -> Result<Effort, E> {
        let fits = u32::try_from(tokens).ok().filter(|_| tokens <= TOKENS_MAX);
        fits.map(Effort::Tokens)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(tokens), &self))
    }

    fn visit_i64<E: de::Error>(self, tokens: i64) -> Result<Effort, E> {
        match u64::try_from(tokens) {
            Ok(tokens) => self.visit_u64(tokens),
            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(tokens), &self)),
        }
    }
}

impl JsonSchema for Effort {
    fn schema_name() -> Cow<'static, str> {
        "Effort".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"] })
    }
}
