//! Reads a SQLite file of the mission design's first program: its tables as they are, column by
//! column. The file is not changed, and the meaning of its rows is not checked here.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};

use crate::sqlite::{header, look, look_at_copy};
use crate::{Error, ErrorKind, Options, outside};

/// How many bytes of text are read from one table at most.
const TEXT_MAX: usize = 64 << 20;

/// The time limit for reading a file.
const READ_MAX: Duration = Duration::from_secs(10);

/// The interval between interrupts after the time limit.
const AGAIN: Duration = Duration::from_millis(50);

/// A row: the values by column name, in lower case and without `_`. Null values are left out.
pub type OldRow = BTreeMap<String, String>;

/// The rows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OldMissions {
    pub missions: Vec<OldRow>,
    pub pillars: Vec<OldRow>,
    /// `None` if the file has no such table.
    pub todos: Option<Vec<OldRow>>,
}

/// Reads a file. Changes neither the file nor anything next to it.
pub fn read(path: &Path) -> Result<OldMissions, Error> {
    read_within(path, READ_MAX)
}

fn read_within(path: &Path, time: Duration) -> Result<OldMissions, Error> {
    let named =
        |error: Error| Error::new(error.kind, format!("{}: {}", path.display(), error.detail));
    let unread = |error: io::Error| {
        let what = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        };
        named(Error::new(ErrorKind::Unreachable, what))
    };
    outside::check(path).map_err(unread)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push("-wal");
    // Recent changes may be only in the WAL next to the file. If there is none, the file is opened
    // so that no side files are created.
    let waiting = Path::new(&beside).metadata().is_ok_and(|wal| wal.len() > 0);
    let options = Options::default();
    let opened = if waiting { look(path, options) } else { look_at_copy(path, options) };
    let connection = opened?;
    // A hostile file can make SQLite run forever, so a timer interrupts it.
    let (clock, (done, is_done)) = (connection.get_interrupt_handle(), channel::<()>());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Interrupt repeatedly, because an interrupt between two statements has no effect.
            let mut left = time;
            while is_done.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                clock.interrupt();
                left = AGAIN;
            }
        });
        let found = from(&connection).map_err(|error| named(too_long(error, time)));
        drop(done);
        found
    })
}

fn from(connection: &Connection) -> Result<OldMissions, Error> {
    let sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if sound != "ok" {
        return Err(Error::new(ErrorKind::Corrupt, format!("the file is damaged: {sound}")));
    }
    // Read in one transaction, so that a program that writes meanwhile is not seen halfway.
    connection.execute_batch("BEGIN")?;
    let found = OldMissions {
        missions: rows(connection, "missions")?.unwrap_or_default(),
        pillars: rows(connection, "pillars")?.unwrap_or_default(),
        todos: rows(connection, "mission_todos")?,
    };
    connection.execute_batch("COMMIT")?;
    Ok(found)
}

fn too_long(error: Error, time: Duration) -> Error {
    if error.kind != ErrorKind::Stopped {
        return error;
    }
    let words = format!("reading it took longer than {time:?}, so it was stopped");
    Error::new(ErrorKind::Backend, words)
}

/// Makes `missionId` and `mission_id` the same name.
fn plain(column: &str) -> String {
    column.to_ascii_lowercase().replace('_', "")
}

fn rows(connection: &Connection, table: &'static str) -> Result<Option<Vec<OldRow>>, Error> {
    let kind: Option<String> = connection
        .query_row(
            "SELECT type FROM sqlite_master WHERE type IN ('table', 'view') AND name = $1",
            [table],
            |row| row.get(0),
        )
        .optional()?;
    // A view executes SQL from the file, so only the views of our own stores are allowed.
    match kind.as_deref() {
        None => return Ok(None),
        Some("view") if !header(connection)?.is_ours() => {
            let words =
                format!("`{table}` is a view; only tables of another program's file are read");
            return Err(Error::new(ErrorKind::Backend, words));
        }
        Some(_) => {}
    }
    let mut statement = connection.prepare(&format!("SELECT * FROM {table}"))?;
    let names: Vec<String> = statement.column_names().map(plain).collect();
    let (mut found, mut length) = (Vec::new(), 0);
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut values = OldRow::new();
        length += 1;
        for (n, name) in names.iter().enumerate() {
            let value = match row.get_ref(n)? {
                ValueRef::Null => continue,
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Real(number) => number.to_string(),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    String::from_utf8_lossy(bytes).into_owned()
                }
            };
            length += value.len();
            if length > TEXT_MAX {
                let words = format!("the table {table} holds more than {} MiB", TEXT_MAX >> 20);
                return Err(Error::new(ErrorKind::Backend, words));
            }
            values.insert(name.clone(), value);
        }
        found.push(values);
    }
    let key = |row: &OldRow, name: &str| row.get(name).cloned().unwrap_or_default();
    found.sort_by_cached_key(|row| (key(row, "createdat"), key(row, "id")));
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::APPLICATION_ID;

    /// The attack: a file that looks like one of ours, with a view that runs forever and returns no
    /// row.
    #[test]
    fn reading_a_file_ends_after_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("v.db");
        let hostile = format!(
            "PRAGMA application_id = {APPLICATION_ID}; CREATE VIEW missions AS WITH RECURSIVE \
             r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS id FROM r WHERE n < 0;"
        );
        Connection::open(&file).unwrap().execute_batch(&hostile).unwrap();
        let error = read_within(&file, Duration::from_millis(100)).unwrap_err();
        assert!(error.detail.contains("reading it took longer than 100ms"), "{error}");
    }
}
