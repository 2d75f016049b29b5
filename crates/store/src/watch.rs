//! Waiting for a change without asking the disk for it: what `log -f` and `wait` stand on.
//!
//! A watch says that something *may* have been written since it was last asked; the caller reads
//! on from its cursor. So a hint too many costs a look, and a lost one a second at most.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::postgres::Listener;
use crate::{Error, Options, Store, sql, sqlite};

/// How often SQLite's change counter, which lies in shared memory, is looked at.
const TICK: Duration = Duration::from_millis(50);
/// How often a server is asked for its log's end where no hint can be heard.
const ASKED_EVERY: Duration = Duration::from_millis(250);
/// The longest a lost hint goes unnoticed.
const HINTS_LOST_MAX: Duration = Duration::from_secs(1);
/// How long after a hint one looks again often: PostgreSQL's horizon may still hide its events.
const WAKEFUL: Duration = Duration::from_secs(1);

/// A watch over a store. Begin it before reading, and no change is missed.
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
    /// A connection of its own, whose `data_version` changes with every commit of others.
    File { connection: Connection, seen: i64, path: PathBuf, file: Option<File> },
    /// The one connection there is shows no such thing: the log's end is asked for.
    Memory { store: &'s Store, seen: Option<i64> },
    /// Hints that writers send after their commit.
    Server {
        ear: Ear<'s>,
        /// When to look in any case.
        due: Instant,
        wakeful_until: Instant,
    },
}

/// How hints of a server are heard.
enum Ear<'s> {
    /// By a connection that listens; none while the server is gone.
    Listening { url: String, listener: Option<Box<Listener>> },
    /// Through a pooler nothing is heard: the log's end is asked for.
    Asking { store: &'s Store, seen: Option<i64> },
}

/// Which file a path leads to: its device and its number there.
type File = (u64, u64);

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
                Ear::Listening { url: url.to_owned(), listener: Some(Box::new(listener)) }
            }
            None => Ear::Asking { store, seen: end_of_log(store)? },
        };
        let now = Instant::now();
        let due = now + HINTS_LOST_MAX;
        Ok(Self { eye: Eye::Server { ear, due, wakeful_until: now } })
    }

    /// Has another file taken the place of the one that is watched, as after a restore over a
    /// damaged store? What is written from then on is never seen here.
    #[must_use]
    pub fn is_astray(&self) -> bool {
        match &self.eye {
            Eye::File { path, file, .. } => file_at(path) != *file,
            Eye::Memory { .. } | Eye::Server { .. } => false,
        }
    }

    /// Waits until something may have been written, for so long at most. False: the time is
    /// over, and nothing was.
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

#[cfg(unix)]
fn file_at(path: &Path) -> Option<File> {
    use std::os::unix::fs::MetadataExt;
    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Elsewhere a file that is open cannot be replaced.
#[cfg(not(unix))]
fn file_at(_: &Path) -> Option<File> {
    None
}

/// Asks again and again; the thread sleeps in between.
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

/// Was there a hint? A server that has gone away is listened to again when it is back; until
/// then the caller's own reading says that it is gone.
fn hinted(ear: &mut Ear<'_>, until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    match ear {
        Ear::Listening { url, listener } => match listener {
            Some(open) => open.wait(left).unwrap_or_else(|_| {
                *listener = None;
                true
            }),
            None => {
                std::thread::sleep(TICK.min(left));
                *listener = Listener::new(url).ok().flatten().map(Box::new);
                listener.is_some()
            }
        },
        Ear::Asking { store, seen } => {
            std::thread::sleep(ASKED_EVERY.min(left));
            let now = end_of_log(store).unwrap_or(*seen);
            std::mem::replace(seen, now) != now
        }
    }
}
