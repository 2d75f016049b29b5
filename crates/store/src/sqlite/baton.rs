//! Group commit without a thread: writers pass a baton (ADR 0002).
//!
//! Whoever holds the baton runs everything that waits in one transaction and answers after its
//! commit, then hands the baton to the first who came meanwhile. A lone caller runs at once, on
//! its own stack.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

use rusqlite::Connection;

use crate::sqlite::lock;
use crate::{Error, ErrorKind, Tx};

/// The most jobs one leader runs for others: bounds how long anybody waits for its own answer.
const BATCH_MAX: usize = 256;

/// Should the job's changes stay?
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Keep,
    /// With the store's own error, where that is why.
    Undo(Option<Error>),
}

pub(super) type Job = Box<dyn FnMut(&mut Tx<'_>) -> Outcome + Send>;

#[derive(Debug)]
pub(super) struct Baton {
    queue: Mutex<Queue>,
    connection: Mutex<Connection>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    held: bool,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue {{ waiting: {}, held: {} }}", self.waiting.len(), self.held)
    }
}

struct Waiting {
    job: Job,
    ticket: Arc<Ticket>,
}

/// What a waiting caller is told: its job is done, or it leads the next batch.
enum News {
    Done(Result<(), Error>),
    Lead(Vec<Waiting>),
}

#[derive(Default)]
struct Ticket {
    news: Mutex<Option<News>>,
    came: Condvar,
}

impl Ticket {
    fn tell(&self, news: News) {
        *lock(&self.news) = Some(news);
        self.came.notify_one();
    }

    fn wait(&self) -> News {
        let mut news = lock(&self.news);
        loop {
            match news.take() {
                Some(told) => return told,
                None => news = self.came.wait(news).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Baton {
    pub(super) fn new(connection: Connection) -> Self {
        Self { queue: Mutex::default(), connection: Mutex::new(connection) }
    }

    /// The connection, if nobody is writing right now.
    pub(super) fn try_connection(&self) -> Option<MutexGuard<'_, Connection>> {
        match self.connection.try_lock() {
            Ok(connection) => Some(connection),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Runs a job; returns after the commit that holds it (or after it was undone).
    pub(super) fn run(&self, job: Job) -> Result<(), Error> {
        let ticket = Arc::new(Ticket::default());
        let mine = Waiting { job, ticket: Arc::clone(&ticket) };
        let mut queue = lock(&self.queue);
        let mut batch = if queue.held {
            queue.waiting.push(mine);
            drop(queue);
            match ticket.wait() {
                News::Done(result) => return result,
                News::Lead(batch) => batch,
            }
        } else {
            queue.held = true;
            drop(queue);
            vec![mine]
        };
        let result = self.commit(&mut batch);
        self.pass_on();
        for other in batch.iter().filter(|w| !Arc::ptr_eq(&w.ticket, &ticket)) {
            other.ticket.tell(News::Done(result.clone()));
        }
        result
    }

    /// Hands the baton to the first who waits, with all who wait as its batch.
    fn pass_on(&self) {
        let mut queue = lock(&self.queue);
        if queue.waiting.is_empty() {
            queue.held = false;
            return;
        }
        let count = queue.waiting.len().min(BATCH_MAX);
        let batch: Vec<Waiting> = queue.waiting.drain(..count).collect();
        drop(queue);
        let leader = Arc::clone(&batch[0].ticket);
        leader.tell(News::Lead(batch));
    }

    /// One transaction for the whole batch, each job in a savepoint of its own.
    fn commit(&self, batch: &mut [Waiting]) -> Result<(), Error> {
        let connection = lock(&self.connection);
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let result = run_all(&connection, batch);
        if result.is_err() && !connection.is_autocommit() {
            // The error that led here is the one to tell; rolling back frees the lock.
            drop(connection.execute_batch("ROLLBACK"));
        }
        result
    }
}

fn run_all(connection: &Connection, batch: &mut [Waiting]) -> Result<(), Error> {
    let alone = batch.len() == 1;
    for waiting in batch {
        if !alone {
            connection.prepare_cached("SAVEPOINT job")?.execute([])?;
        }
        let outcome = run_caught(connection, &mut waiting.job)?;
        if connection.is_autocommit() {
            // A full disk or a read error ends the transaction under us: nothing was kept.
            return match outcome {
                Outcome::Undo(_) if alone => Ok(()),
                Outcome::Undo(Some(error)) => Err(error),
                _ => Err(Error::new(ErrorKind::Backend, "the database ended the transaction")),
            };
        }
        match outcome {
            Outcome::Keep if alone => {}
            Outcome::Keep => {
                connection.prepare_cached("RELEASE job")?.execute([])?;
            }
            Outcome::Undo(_) if alone => return Ok(connection.execute_batch("ROLLBACK")?),
            Outcome::Undo(_) => connection.execute_batch("ROLLBACK TO job; RELEASE job")?,
        }
    }
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

/// A panic in one job must not take the baton with it.
fn run_caught(connection: &Connection, job: &mut Job) -> Result<Outcome, Error> {
    let mut tx = Tx::sqlite(connection);
    catch_unwind(AssertUnwindSafe(|| job(&mut tx)))
        .map_err(|_| Error::new(ErrorKind::Backend, "a job panicked; nothing was kept"))
}
