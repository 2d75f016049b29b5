//! A store as lines of JSON: written out whole, and read into an empty store of either database
//! (P-18, ADR 0012).
//!
//! ```json
//! {"format":"punchlist-store","version":1,"schema":4}
//! {"table":"projects","row":{"id":"01J…","name":"web","created_at":1763193600000000,"last_issue":3}}
//! {"end":{"rows":1}}
//! ```
//!
//! Invariants: the same content gives the same bytes, on whichever database it stands; what is read
//! in gives the same bytes again. Nothing of a text that is not whole and sound stays.

mod copy;
mod export;
mod import;
mod tables;

pub use copy::{Copied, copy};
pub use export::{Exported, GoOn, write_out};
pub use import::{BadImport, Imported, Source};

use serde::{Deserialize, Serialize};

/// What the first line calls itself.
const FORMAT: &str = "punchlist-store";
/// The form of the lines. What columns there are is the schema's version.
const VERSION: i64 = 1;
/// The first schema that was ever written out.
const SCHEMA_FIRST: i64 = 4;

/// The first line. There is no clock in it, so that two exports of the same content are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    format: String,
    version: i64,
    schema: i64,
}

/// What the last line says: without it the text was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    rows: u64,
}
