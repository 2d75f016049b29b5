//! Reads a figure from a program, a URL or a file, as the mission's file defines.
//!
//! Nothing here knows the store or the rules. A collector is limited in time and output, and a program
//! gets neither our environment nor our tokens (ADR 0014). Errors say what a person can do.

mod command;
mod file;
mod http;

use std::path::Path;
use std::time::Duration;

use punchlist_core::metric::{Collect, Metric, Source};
use serde_json::Value;

pub use crate::process::{Fault, Patience};
use crate::process::{TICK, short};

/// The longest output of a collector, in bytes.
pub const OUTPUT_MAX: usize = 64 << 10;

/// Reads a metric. The collector's output must be a figure of the metric's kind.
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

/// The value at a JSON pointer; without a pointer, the whole text.
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

/// Decodes a collector's output.
fn text(bytes: Vec<u8>) -> Result<String, Fault> {
    if bytes.len() > OUTPUT_MAX {
        return Err(flooded());
    }
    String::from_utf8(bytes).map_err(|_| Fault::failed("gave bytes that are not text"))
}

fn flooded() -> Fault {
    crate::process::flooded(OUTPUT_MAX)
}
