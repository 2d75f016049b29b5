//! A store as lines of JSON: exported as a whole, and imported into an empty store on either
//! database (P-18, ADR 0012).
//!
//! ```json
//! {"format":"punchlist-store","version":1,"schema":4}
//! {"table":"projects","row":{"id":"01J…","name":"web","created_at":1763193600000000,"last_issue":3}}
//! {"end":{"rows":1}}
//! ```
//!
//! Invariants: the same content gives the same bytes on both databases, and exporting an imported
//! store gives the same bytes again. An incomplete or invalid export leaves nothing behind.

mod copy;
mod export;
mod import;
mod tables;

pub use copy::{Copied, copy};
pub use export::{Exported, GoOn, write_out};
pub use import::{BadImport, Imported, Source};

use serde::{Deserialize, Serialize};

/// The name of the format, in the first line.
const FORMAT: &str = "punchlist-store";
/// The version of the line format. The schema version determines the columns.
const VERSION: i64 = 1;
/// The oldest schema version that could be exported.
const SCHEMA_FIRST: i64 = 4;

/// The first line. It contains no time, so that two exports of the same content are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    format: String,
    version: i64,
    schema: i64,
}

/// The content of the last line. If it is missing, the export was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    rows: u64,
}
