//! Copies a store to another database: an export and an import at once, in parts.
//!
//! The lines of the export are written to the target in parts of 500. Each part is one transaction,
//! which also records the progress and a digest of all lines so far. An interrupted copy continues
//! after its last part if the source's lines still have that digest; otherwise it starts again. The
//! target cannot be opened until all rows are copied and both stores have the same digest.

use std::io::{self, Write};
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::export::{GoOn, write_tables};
use super::import::{BadImport, Imported, Source, alone_and_empty, close};
use super::tables::{KEPT_BY_A_COPY, TABLES, Table};
use crate::{Error, ErrorKind, Store, Tx, migrate, sql};

/// The number of lines in one part.
const PART_LINES: u64 = 500;

/// The stored fact that records the progress of a copy.
const COPY: &str = "copy";

/// The result of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Copied {
    pub rows: u64,
    pub events: u64,
    pub last_seq: Option<i64>,
    /// Rows that an interrupted copy had already written.
    pub resumed_after: u64,
    /// SHA-256 of the store as lines; the same on both sides when they were compared.
    pub digest: String,
}

/// The progress of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Progress {
    lines: u64,
    digest: String,
    imported: Imported,
}

fn everything() -> impl Iterator<Item = &'static Table> {
    TABLES.iter().chain(KEPT_BY_A_COPY)
}

/// Copies a store into another one, which must be empty or contain a part of this same copy. The
/// target is opened with [`crate::Options::is_copied_into`]. `go_on` gets the number of rows copied
/// so far.
pub fn copy(from: &Store, to: &Store, go_on: &mut GoOn<'_>) -> Result<Copied, BadImport> {
    let _alone = to.lock_for_a_copy()?;
    let found = to.write_once(begin)?;
    let resumed = Sink::new(to, found.clone(), go_on).take_in(from);
    let (digest, imported, resumed_after) = match resumed {
        // The target's rows were copied from another state of the source.
        Err(BadImport::NotOurs) if found.lines > 0 => {
            to.write_once(clear)?;
            Sink::new(to, Progress::default(), go_on).take_in(from)?
        }
        resumed => resumed?,
    };
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
    // Closing it changes rows, so it comes after the comparison and in one transaction with the mark:
    // an interrupted copy has the source's rows.
    to.write_once(move |tx| {
        close(tx, &imported)?;
        tx.write(sql!("DELETE FROM facts WHERE name = 'copy'"), &[])?;
        Ok::<_, BadImport>(tx.mark_version(true)?)
    })?;
    let Imported { rows, events, last_seq } = imported;
    Ok(Copied { rows, events, last_seq, resumed_after, digest })
}

/// Finds an interrupted copy, or an empty store, which it then locks against other users.
fn begin(tx: &mut Tx<'_>) -> Result<Progress, BadImport> {
    if let Some(found) = tx.unfinished_version()? {
        let known = migrate::known();
        if found != known {
            return Err(BadImport::OtherCopy { found, known });
        }
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

/// Empties the target, so that the copy can start again.
fn clear(tx: &mut Tx<'_>) -> Result<(), BadImport> {
    for table in everything().collect::<Vec<_>>().into_iter().rev() {
        tx.write(table.clear, &[])?;
    }
    tx.write(sql!("DELETE FROM issue_search"), &[])?;
    Ok(tx.put_fact(COPY, "{}")?)
}

/// Receives the lines of an export and writes them to the target, part by part.
struct Sink<'s, 'g> {
    to: &'s Store,
    /// The progress that the target had at the start.
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

    /// Reads the whole source in one read transaction. Returns its digest, the totals, and the
    /// number of rows that the target already had.
    fn take_in(mut self, from: &Store) -> Result<(String, Imported, u64), BadImport> {
        let mut never = |_| ControlFlow::Continue(());
        let read = from.view(|tx| write_tables(tx, everything(), &mut self, &mut never));
        // The sink's own error explains more than a failed write.
        match (self.fault.take(), read) {
            (Some(fault), _) => Err(fault),
            (None, Err(error)) => Err(error.into()),
            // The source ended before the lines that the target has, so they were never compared.
            (None, Ok(_)) if self.now.lines < self.found.lines => Err(BadImport::NotOurs),
            (None, Ok(_)) => {
                let resumed = if self.found.lines > 0 { self.found.imported.rows } else { 0 };
                Ok((hex(&self.sum), self.now.imported, resumed))
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), BadImport> {
        self.sum.update(line);
        // The first and the last line are not rows.
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
            // The target already has these lines. At the end of them the digests must be equal.
            if self.now.lines == self.found.lines {
                if self.now.digest != self.found.digest {
                    return Err(BadImport::NotOurs);
                }
                self.now.imported = self.found.imported;
            }
        } else if first < self.found.lines {
            // The parts have other boundaries, because the source has become shorter.
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

/// Each call gets one whole line.
impl Write for Sink<'_, '_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.line(line).map_err(|fault| {
            self.fault = Some(fault);
            io::Error::other("the target took no more")
        })?;
        Ok(line.len())
    }

    /// Called when the export is complete.
    fn flush(&mut self) -> io::Result<()> {
        self.end_part().map_err(|fault| {
            self.fault = Some(fault);
            io::Error::other("the target took no more")
        })
    }
}

/// Computes the digest of everything written to it.
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
