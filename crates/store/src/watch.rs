//! Waits for changes without reading the disk; `log -f` and `wait` are built on it.
//!
//! A watch reports that something *may* have been written since the last call; the caller then
//! reads from its cursor. So a false hint costs one read, and a lost hint at most one second.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::postgres::Listener;
use crate::sqlite::{self, File, file_at};
use crate::{Error, Options, Store, sql};

/// How often SQLite's change counter, which is in shared memory, is checked.
const TICK: Duration = Duration::from_millis(50);
/// How often a server is asked for the end of its log if no hints can be received.
const ASKED_EVERY: Duration = Duration::from_millis(250);
/// The longest time that a lost hint goes unnoticed.
const HINTS_LOST_MAX: Duration = Duration::from_secs(1);
/// How long to check often after a hint, because PostgreSQL's horizon may still hide its events.
const WAKEFUL: Duration = Duration::from_secs(1);

/// A watch on a store. Start it before reading, and no change is missed.
pub struct Watch<'s> {
    eye: Eye<'s>,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.eye {
            Eye::File { .. } => "Watch(file)",
            Eye::Memory { .. } => "Watch(memory)",
            Eye::Server { .. } => "Watch(server)",
        })
    }
}

enum Eye<'s> {
    /// A separate connection, whose `data_version` changes with every commit of others.
    File { connection: Connection, seen: i64, path: PathBuf, file: Option<File> },
    /// There is only one connection, without such a counter: the end of the log is queried.
    Memory { store: &'s Store, seen: Option<i64> },
    /// Hints that writers send after their commit.
    Server {
        ear: Ear<'s>,
        /// When to check without a hint.
        due: Instant,
        wakeful_until: Instant,
    },
}

/// How hints of a server are received.
enum Ear<'s> {
    /// By a listening connection; `None` while the server is unreachable.
    Listening { store: &'s Store, url: String, listener: Option<Box<Listener>> },
    /// Hints pass neither through a pooler nor to a standby, so the end of the log is queried.
    Asking { store: &'s Store, seen: Option<i64> },
}

impl<'s> Watch<'s> {
    pub(crate) fn file(path: &Path, options: Options) -> Result<Self, Error> {
        let connection = sqlite::look(path, options)?;
        let seen = sqlite::data_version(&connection)?;
        let (path, file) = (path.to_owned(), file_at(path));
        Ok(Self { eye: Eye::File { connection, seen, path, file } })
    }

    pub(crate) fn memory(store: &'s Store) -> Result<Self, Error> {
        Ok(Self { eye: Eye::Memory { store, seen: end_of_log(store)? } })
    }

    pub(crate) fn server(store: &'s Store, url: &str) -> Result<Self, Error> {
        let ear = match Listener::new(url)? {
            Some(listener) => {
                Ear::Listening { store, url: url.to_owned(), listener: Some(Box::new(listener)) }
            }
            None => Ear::Asking { store, seen: end_of_log(store)? },
        };
        let now = Instant::now();
        let due = now + HINTS_LOST_MAX;
        Ok(Self { eye: Eye::Server { ear, due, wakeful_until: now } })
    }

    /// Was the watched file replaced by another, as after a restore over a damaged store? Later
    /// writes are then never seen here.
    #[must_use]
    pub fn is_astray(&self) -> bool {
        match &self.eye {
            Eye::File { path, file, .. } => file_at(path) != *file,
            Eye::Memory { .. } | Eye::Server { .. } => false,
        }
    }

    /// Waits until something may have been written, up to `timeout`. False: timed out, and nothing
    /// was written.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, Error> {
        let deadline = Instant::now() + timeout;
        match &mut self.eye {
            Eye::File { connection, seen, path, file } => ticking(deadline, || {
                let now = sqlite::data_version(connection)?;
                Ok(std::mem::replace(seen, now) != now || file_at(path) != *file)
            }),
            Eye::Memory { store, seen } => ticking(deadline, || {
                let now = end_of_log(store)?;
                Ok(std::mem::replace(seen, now) != now)
            }),
            Eye::Server { ear, due, wakeful_until } => {
                let hinted = hinted(ear, deadline.min(*due));
                let now = Instant::now();
                if hinted {
                    *wakeful_until = now + WAKEFUL;
                }
                let look = hinted || now >= *due;
                if look {
                    *due = now + if now < *wakeful_until { TICK / 2 } else { HINTS_LOST_MAX };
                }
                Ok(look)
            }
        }
    }
}

/// Checks repeatedly and sleeps in between.
fn ticking(
    deadline: Instant,
    mut changed: impl FnMut() -> Result<bool, Error>,
) -> Result<bool, Error> {
    loop {
        if changed()? {
            return Ok(true);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        std::thread::sleep(left.min(TICK));
    }
}

fn end_of_log(store: &Store) -> Result<Option<i64>, Error> {
    store
        .read(|tx| tx.first(sql!("SELECT max(seq) FROM events"), &[], |row| row.opt_int(0)))
        .map(Option::flatten)
}

/// Was there a hint? After a lost connection it listens again as soon as the server is back; until
/// then the caller's own reads report the error.
fn hinted(ear: &mut Ear<'_>, until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    match ear {
        Ear::Listening { store, url, listener } => match listener {
            Some(open) => open.wait(left).unwrap_or_else(|_| {
                *listener = None;
                true
            }),
            None => {
                std::thread::sleep(TICK.min(left));
                match Listener::new(url) {
                    Ok(Some(open)) => *listener = Some(Box::new(open)),
                    // The server that is reached now is a standby.
                    Ok(None) => *ear = Ear::Asking { store, seen: None },
                    Err(_) => return false,
                }
                true
            }
        },
        Ear::Asking { store, seen } => {
            std::thread::sleep(ASKED_EVERY.min(left));
            let now = end_of_log(store).unwrap_or(*seen);
            std::mem::replace(seen, now) != now
        }
    }
}
