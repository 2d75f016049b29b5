//! A script as it is written: TOML or JSON, read strictly, with the line of what is wrong.

use regex_lite::Regex;
use serde::{Deserialize, Deserializer};

use super::template::{Shape, Template};

/// What a script says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
}

/// One reply.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
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
    /// An object; or a text, which is what a model writes that cannot write JSON.
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

impl TryFrom<Written> for Step {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written { when, text, calls, stop, usage, delay_ms, fail, repeat } = written;
        let says_nothing = text.is_none() && calls.is_empty() && fail.is_none() && stop.is_none();
        if says_nothing {
            return Err("a step needs `text`, `calls`, `stop` or `fail`");
        }
        Ok(Self { when, text, calls, stop, usage, delay_ms, fail, repeat })
    }
}

fn pattern<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
    let text = String::deserialize(from)?;
    let bad =
        |error| serde::de::Error::custom(format!("`{text}` is no regular expression: {error}"));
    Regex::new(&text).map(Some).map_err(bad)
}

fn status<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u16>, D::Error> {
    match u16::deserialize(from)? {
        status @ 400..=599 => Ok(Some(status)),
        status => Err(serde::de::Error::custom(format!(
            "{status} is no HTTP error: `fail` takes 400 to 599"
        ))),
    }
}

fn word<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.trim().is_empty() {
        return Err(serde::de::Error::custom("an empty name"));
    }
    Ok(text)
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = word(from)?;
    // It must be possible to write it as a place.
    let is_sign = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-');
    if !name.chars().all(is_sign) {
        let message =
            format!("`{name}` is no name to save under: use letters, digits, `_` and `-`");
        return Err(serde::de::Error::custom(message));
    }
    Ok(Some(name))
}

/// Reads a script; says the line, the column and what is wrong there.
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

/// The same, where each step knows its place: what is wrong with a whole one is said there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Placed {
    steps: Vec<toml::Spanned<Written>>,
}

fn toml(text: &str) -> Result<Script, String> {
    let at = |start: usize, message: &str| {
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}: {}", with_nearest(message))
    };
    let placed: Placed = toml::from_str(text)
        .map_err(|error| at(error.span().map_or(0, |span| span.start), error.message()))?;
    let step = |step: toml::Spanned<Written>| {
        let start = step.span().start;
        Step::try_from(step.into_inner()).map_err(|message| at(start, message))
    };
    Ok(Script { steps: placed.steps.into_iter().map(step).collect::<Result<_, _>>()? })
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
