//! The file format of scripts: TOML or JSON, parsed strictly. Errors name the line.

use regex_lite::Regex;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::template::{Shape, Template};

/// The contents of a script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
}

/// One reply.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) when: Option<Regex>,
    pub(super) text: Option<Template>,
    pub(super) calls: Vec<Planned>,
    pub(super) stop: Option<StopWord>,
    pub(super) usage: Tokens,
    pub(super) delay_ms: u32,
    pub(super) fail: Option<u16>,
    pub(super) repeat: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, deserialize_with = "pattern")]
    when: Option<Regex>,
    text: Option<Template>,
    #[serde(default)]
    calls: Vec<Planned>,
    stop: Option<StopWord>,
    #[serde(default)]
    usage: Tokens,
    #[serde(default)]
    delay_ms: u32,
    #[serde(default, deserialize_with = "status")]
    fail: Option<u16>,
    #[serde(default)]
    repeat: bool,
}

/// A call that a step makes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Planned {
    #[serde(deserialize_with = "word")]
    pub(super) tool: String,
    /// An object; or a text, to play a model that writes broken JSON.
    pub(super) input: Option<Shape>,
    #[serde(default, deserialize_with = "name")]
    pub(super) save: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopWord {
    EndTurn,
    MaxTokens,
    Refusal,
    Error,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tokens {
    #[serde(default)]
    pub(super) input: u64,
    #[serde(default)]
    pub(super) output: u64,
}

/// Checked while the map is parsed, so that the error points into the map and not after it.
impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(StepVisitor)
    }
}

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = Step;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a step")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Step, A::Error> {
        let written = Written::deserialize(MapAccessDeserializer::new(map))?;
        let Written { when, text, calls, stop, usage, delay_ms, fail, repeat } = written;
        let says_nothing = text.is_none() && calls.is_empty() && fail.is_none() && stop.is_none();
        if says_nothing {
            return Err(A::Error::custom("a step needs `text`, `calls`, `stop` or `fail`"));
        }
        Ok(Step { when, text, calls, stop, usage, delay_ms, fail, repeat })
    }
}

fn pattern<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
    let text = String::deserialize(from)?;
    let bad = |error| D::Error::custom(format!("`{text}` is not a regular expression: {error}"));
    Regex::new(&text).map(Some).map_err(bad)
}

fn status<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u16>, D::Error> {
    match u16::deserialize(from)? {
        status @ 400..=599 => Ok(Some(status)),
        status => {
            Err(D::Error::custom(format!("{status} is no HTTP error: `fail` takes 400 to 599")))
        }
    }
}

fn word<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.trim().is_empty() {
        return Err(D::Error::custom("an empty name"));
    }
    Ok(text)
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = word(from)?;
    // The name must be usable in a `{{placeholder}}`.
    let is_sign = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-');
    if !name.chars().all(is_sign) {
        let message =
            format!("`{name}` cannot be a name to save under: use letters, digits, `_` and `-`");
        return Err(D::Error::custom(message));
    }
    Ok(Some(name))
}

/// Parses a script. Errors say the line, the column and what is wrong.
pub(super) fn read(text: &str, is_json: bool) -> Result<Script, String> {
    let script: Script = if is_json { json(text)? } else { toml(text)? };
    if script.steps.is_empty() {
        return Err("it has no steps".into());
    }
    Ok(script)
}

fn json(text: &str) -> Result<Script, String> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(said, _)| said);
        format!("line {line}, column {column}: {}", with_nearest(message))
    })
}

fn toml(text: &str) -> Result<Script, String> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}: {}", with_nearest(error.message()))
    })
}

/// Adds the nearest name where the parser says ``unknown field `x`, expected one of `y`, `z` ``.
fn with_nearest(message: &str) -> String {
    let message = message.trim();
    if !message.starts_with("unknown ") {
        return message.to_owned();
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let Some(unknown) = words.next() else { return message.to_owned() };
    let near = words.map(|known| (strsim::damerau_levenshtein(unknown, known), known)).min();
    match near.filter(|(distance, _)| *distance <= 2) {
        Some((_, near)) => format!("{message}; did you mean `{near}`?"),
        None => message.to_owned(),
    }
}
