//! How hard a model is to think: a word, or how many tokens it may think for.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The words that model makers use, the least first.
const WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The most tokens that are taken for thinking.
const TOKENS_MAX: u64 = 1_000_000;

/// How hard to think.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Effort {
    /// One of the makers' words.
    Word(&'static str),
    Tokens(u32),
}

impl Effort {
    /// The makers' word. Those that count in tokens are met by the nearest word: today's models take
    /// words alone.
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
