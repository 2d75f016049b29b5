//! Moving a store to another database: an export and an import at once, in parts.
//!
//! The lines of the export go into the target five hundred at a time, each part in a transaction that
//! also writes down how far the copy is and a digest of all lines so far. A copy that was cut off goes
//! on after the last part if the source's lines still have that digest, and else begins anew. Until
//! all rows are copied and the target gives the same bytes as the source, the target cannot be opened.

use std::io::{self, Write};
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::export::{GoOn, write_tables};
use super::import::{BadImport, Imported, Source, alone_and_empty, close};
use super::tables::{KEPT_BY_A_COPY, TABLES, Table};
use crate::{Error, ErrorKind, Store, Tx, sql};

/// Lines of one part.
const PART_LINES: u64 = 500;

/// The fact that says how far a copy is.
const COPY: &str = "copy";

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Copied {
    pub rows: u64,
    pub events: u64,
    pub last_seq: Option<i64>,
    /// Rows that were there already from a copy that was cut off.
    pub resumed_after: u64,
    /// SHA-256 of the store as lines, the same on both sides.
    pub digest: String,
}

/// How far a copy is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Progress {
    lines: u64,
    digest: String,
    imported: Imported,
}

fn everything() -> impl Iterator<Item = &'static Table> {
    TABLES.iter().chain(KEPT_BY_A_COPY)
}

/// Copies a store into another one, which must be empty or hold a part of this very copy. The target
/// is opened with [`crate::Options::is_copied_into`]. `go_on` gets the number of rows copied so far.
pub fn copy(from: &Store, to: &Store, go_on: &mut GoOn<'_>) -> Result<Copied, BadImport> {
    let found = to.write_once(begin)?;
    let resumed = Sink::new(to, found.clone(), go_on).take_in(from);
    let (digest, imported, resumed_after) = match resumed {
        // What is in the target came from another state of the source.
        Err(BadImport::NotOurs) if found.lines > 0 => {
            to.write_once(clear)?;
            Sink::new(to, Progress::default(), go_on).take_in(from)?
        }
        resumed => resumed?,
    };
    to.write_once(|tx| close(tx, &imported))?;
    let mut sum = Sum(Sha256::new());
    let mut never = |_| ControlFlow::Continue(());
    let there = to.view(|tx| write_tables(tx, everything(), &mut sum, &mut never))?;
    if (there.rows, hex(&sum.0)) != (imported.rows, digest.clone()) {
        let what = format!(
            "{} of {} rows are there, and their digest differs: was the source changed meanwhile?",
            there.rows, imported.rows
        );
        return Err(BadImport::Unsound { what });
    }
    to.write_once(|tx| {
        tx.write(sql!("DELETE FROM facts WHERE name = 'copy'"), &[])?;
        tx.mark_version(true)
    })?;
    let Imported { rows, events, last_seq } = imported;
    Ok(Copied { rows, events, last_seq, resumed_after, digest })
}

/// Finds an empty store and keeps others off it, or a copy that was cut off.
fn begin(tx: &mut Tx<'_>) -> Result<Progress, BadImport> {
    if tx.is_unfinished()? {
        let progress = tx.fact(COPY)?.unwrap_or_default();
        return Ok(serde_json::from_str(&progress).unwrap_or_default());
    }
    alone_and_empty(tx)?;
    for table in KEPT_BY_A_COPY {
        if tx.first(table.any, &[], |_| Ok(()))?.is_some() {
            return Err(BadImport::NotEmpty);
        }
    }
    tx.mark_version(false)?;
    clear(tx)?;
    Ok(Progress::default())
}

/// Empties a target for a copy that begins anew.
fn clear(tx: &mut Tx<'_>) -> Result<(), BadImport> {
    for table in everything().collect::<Vec<_>>().into_iter().rev() {
        tx.write(table.clear, &[])?;
    }
    tx.write(sql!("DELETE FROM issue_search"), &[])?;
    Ok(tx.put_fact(COPY, "{}")?)
}

/// Takes the lines of an export and puts them into the target, part by part.
struct Sink<'s, 'g> {
    to: &'s Store,
    /// What the target had when this began.
    found: Progress,
    now: Progress,
    sum: Sha256,
    part: Vec<u8>,
    part_lines: u64,
    go_on: &'s mut GoOn<'g>,
    fault: Option<BadImport>,
}

impl<'s, 'g> Sink<'s, 'g> {
    fn new(to: &'s Store, found: Progress, go_on: &'s mut GoOn<'g>) -> Self {
        let (now, part) = (Progress::default(), Vec::new());
        Self { to, found, now, sum: Sha256::new(), part, part_lines: 0, go_on, fault: None }
    }

    /// Reads the whole source in one view: its digest, what came of it, and how many rows were there.
    fn take_in(mut self, from: &Store) -> Result<(String, Imported, u64), BadImport> {
        let mut never = |_| ControlFlow::Continue(());
        let read = from.view(|tx| write_tables(tx, everything(), &mut self, &mut never));
        // The sink's own reason says more than that it could not be written to.
        match (self.fault.take(), read) {
            (Some(fault), _) => Err(fault),
            (None, Err(error)) => Err(error.into()),
            (None, Ok(_)) => {
                let resumed = if self.found.lines > 0 { self.found.imported.rows } else { 0 };
                Ok((hex(&self.sum), self.now.imported, resumed))
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), BadImport> {
        self.sum.update(line);
        // The first line and the last are no rows.
        if line.starts_with(b"{\"table\"") {
            self.part.extend_from_slice(line);
            self.part_lines += 1;
        }
        if self.part_lines == PART_LINES { self.end_part() } else { Ok(()) }
    }

    fn end_part(&mut self) -> Result<(), BadImport> {
        if self.part_lines == 0 {
            return Ok(());
        }
        let first = self.now.lines;
        self.now.lines += self.part_lines;
        self.now.digest = hex(&self.sum);
        if self.now.lines <= self.found.lines {
            // It is there already, if it is the same.
            if self.now.lines == self.found.lines {
                if self.now.digest != self.found.digest {
                    return Err(BadImport::NotOurs);
                }
                self.now.imported = self.found.imported;
            }
        } else if first < self.found.lines {
            // Parts end elsewhere: the source has become shorter.
            return Err(BadImport::NotOurs);
        } else {
            let (part, mut now) = (&self.part, self.now.clone());
            self.now = self.to.write_once(move |tx| {
                let mut reader = part.as_slice();
                Source::part(&mut reader, first).rows(tx, &mut now.imported)?;
                tx.put_fact(COPY, &serde_json::to_string(&now).map_err(Error::from)?)?;
                Ok::<_, BadImport>(now)
            })?;
        }
        self.part.clear();
        self.part_lines = 0;
        if (self.go_on)(self.now.lines).is_break() {
            return Err(Error::new(ErrorKind::Stopped, "somebody asked for it").into());
        }
        Ok(())
    }
}

/// Whole lines come, one with each call.
impl Write for Sink<'_, '_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.line(line).map_err(|fault| {
            self.fault = Some(fault);
            io::Error::other("the target took no more")
        })?;
        Ok(line.len())
    }

    /// The export is complete.
    fn flush(&mut self) -> io::Result<()> {
        self.end_part().map_err(|fault| {
            self.fault = Some(fault);
            io::Error::other("the target took no more")
        })
    }
}

/// Sums up what is written.
struct Sum(Sha256);

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hex(sum: &Sha256) -> String {
    sum.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
