//! Reading a figure from outside: a program, an address or a file, as the mission's file says.
//!
//! Nothing here knows the store or the rules. A collector gets little time and little room, and
//! nothing of ours: a program finds neither our environment nor our tokens (ADR 0014). What goes
//! wrong is said in words that a person can act on.

mod command;
mod file;
mod http;

use std::path::Path;
use std::time::Duration;

use punchlist_core::metric::{Collect, Metric, Source};
use serde_json::Value;

pub use crate::process::{Fault, Patience};
use crate::process::{TICK, short};

/// The most a collector may say.
pub const OUTPUT_MAX: usize = 64 << 10;

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
    crate::process::flooded(OUTPUT_MAX)
}
