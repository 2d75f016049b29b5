//! The reference for a whole process: a minimal program that opens a SQLite file, inserts one row
//! with `synchronous=FULL`, and exits. The difference to this is what punch costs.

use anyhow::{Context, Result};
use rusqlite::Connection;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("usage: bare_insert FILE")?;
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, title TEXT NOT NULL)",
    )?;
    connection.execute("INSERT INTO rows (title) VALUES (?1)", ["Measure the build"])?;
    Ok(())
}
