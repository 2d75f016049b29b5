//! Reading a figure from outside: a program, an address or a file, as the mission's file says.
//!
//! Nothing here knows the store or the rules. A collector gets little time and little room, and
//! nothing of ours: a program finds neither our environment nor our tokens (ADR 0014). What goes
//! wrong is said in words that a person can act on.

mod command;
mod file;
mod http;

use std::path::Path;
use std::time::{Duration, Instant};

use punchlist_core::metric::{Collect, Metric, Source};
use serde_json::Value;

/// The most a collector may say.
pub const OUTPUT_MAX: usize = 64 << 10;

/// How often a collector that is waited for is looked after.
const TICK: Duration = Duration::from_millis(20);

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What went wrong.
    Failed(String),
    /// We were asked to stop: it says nothing about the collector.
    Stopped,
}

impl Fault {
    fn failed(words: impl Into<String>) -> Self {
        Self::Failed(words.into())
    }
}

/// How long to wait, and for whom.
pub struct Patience<'a> {
    timeout: Duration,
    deadline: Instant,
    is_stopped: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patience").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl<'a> Patience<'a> {
    #[must_use]
    pub fn new(timeout: Duration, is_stopped: &'a dyn Fn() -> bool) -> Self {
        Self { timeout, deadline: Instant::now() + timeout, is_stopped }
    }

    /// Is it worth waiting on?
    fn check(&self) -> Result<(), Fault> {
        if (self.is_stopped)() {
            return Err(Fault::Stopped);
        }
        if Instant::now() >= self.deadline {
            return Err(self.over());
        }
        Ok(())
    }

    fn over(&self) -> Fault {
        Fault::Failed(format!("took longer than {}s and was stopped", self.timeout.as_secs()))
    }
}

/// Reads a metric: what its collector gives, if it is a figure of this metric's kind.
pub fn read(
    metric: &Metric,
    collect: &Collect,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Value, Fault> {
    let patience = Patience::new(Duration::from_secs(collect.timeout_s), is_stopped);
    let directory = collect.directory.as_deref().map(Path::new);
    let text = match &collect.source {
        Source::Command(words) => command::run(words, directory, &patience)?,
        Source::Http(address) => http::get(address, &patience)?,
        Source::File(path) => file::read(path, directory)?,
    };
    let value = at(&text, collect.pointer.as_deref())?;
    if metric.kind.figure(&value).is_none() {
        let found = match &value {
            Value::String(text) => short(text),
            other => short(&other.to_string()),
        };
        let expected = metric.kind.expected();
        return Err(Fault::Failed(format!("gave `{found}` instead of {expected}")));
    }
    Ok(value)
}

/// What stands at a pointer of a JSON text; the whole text where there is no pointer.
fn at(text: &str, pointer: Option<&str>) -> Result<Value, Fault> {
    let json = serde_json::from_str::<Value>(text);
    let Some(pointer) = pointer else {
        return Ok(match json {
            Ok(Value::String(quoted)) => Value::String(quoted),
            _ => Value::String(text.trim().to_owned()),
        });
    };
    let mut json = json.map_err(|error| Fault::Failed(format!("gave no JSON: {error}")))?;
    match json.pointer_mut(pointer) {
        Some(found) => Ok(found.take()),
        None => Err(Fault::Failed(format!("has nothing at `{pointer}` in its answer"))),
    }
}

/// The text of bytes that came from outside.
fn text(bytes: Vec<u8>) -> Result<String, Fault> {
    if bytes.len() > OUTPUT_MAX {
        return Err(flooded());
    }
    String::from_utf8(bytes).map_err(|_| Fault::failed("gave bytes that are no text"))
}

fn flooded() -> Fault {
    Fault::Failed(format!("flooded its output: more than {} KiB", OUTPUT_MAX >> 10))
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
