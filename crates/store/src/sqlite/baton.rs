//! Group commit without a thread: writers pass a baton (ADR 0002).
//!
//! The writer that holds the baton runs all waiting jobs in one transaction and answers after the
//! commit. Then it passes the baton to the first writer that arrived in the meantime. A lone caller
//! runs at once, on its own stack.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

use rusqlite::Connection;

use crate::sqlite::lock;
use crate::{Error, ErrorKind, Tx};

/// The most jobs that one leader runs for others, which limits how long a caller waits.
const BATCH_MAX: usize = 256;

/// Should the job's changes be kept?
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Keep,
    /// No. Contains the store's error, if that was the reason.
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

/// The message to a waiting caller: its job is done, or it leads the next batch.
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

    /// The connection, if nobody is writing now.
    pub(super) fn try_connection(&self) -> Option<MutexGuard<'_, Connection>> {
        match self.connection.try_lock() {
            Ok(connection) => Some(connection),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The connection; waits until nobody else uses it.
    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.connection)
    }

    /// Runs a job; returns after the commit that contains it, or after it was undone.
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

    /// Passes the baton to the first waiting caller, with all waiting callers as its batch.
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

    /// Runs the batch in one transaction. The first attempt uses no savepoints, because they copy
    /// every page that a job touches. If a job that has written must be undone, the batch is run
    /// again with savepoints.
    fn commit(&self, batch: &mut [Waiting]) -> Result<(), Error> {
        let connection = lock(&self.connection);
        for undo in [Undo::StartOver, Undo::Savepoint] {
            connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            let result = run_all(&connection, batch, undo);
            if !matches!(result, Ok(true)) && !connection.is_autocommit() {
                // Report the original error, not that of the rollback; rolling back frees the lock.
                drop(connection.execute_batch("ROLLBACK"));
            }
            match result {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// How to undo a job that failed after it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undo {
    /// Roll back the batch and run it again.
    StartOver,
    Savepoint,
}

/// Runs and commits the batch. False: a job must be undone, so the batch must start over.
fn run_all(connection: &Connection, batch: &mut [Waiting], undo: Undo) -> Result<bool, Error> {
    let alone = batch.len() == 1;
    for waiting in batch {
        if undo == Undo::Savepoint {
            connection.prepare_cached("SAVEPOINT job")?.execute([])?;
        }
        let before = connection.total_changes();
        let outcome = run_caught(connection, &mut waiting.job);
        if connection.is_autocommit() {
            // A full disk or a read error ends the transaction: nothing was kept.
            return match outcome {
                Outcome::Undo(_) if alone => Ok(true),
                Outcome::Undo(Some(error)) => Err(error),
                _ => Err(Error::new(ErrorKind::Backend, "the database ended the transaction")),
            };
        }
        let wrote = connection.total_changes() != before;
        match (outcome, undo) {
            (Outcome::Keep, Undo::StartOver) => {}
            (Outcome::Undo(_), Undo::StartOver) if alone => {
                connection.execute_batch("ROLLBACK")?;
                return Ok(true);
            }
            (Outcome::Undo(_), Undo::StartOver) if wrote => return Ok(false),
            // Most refusals happen before anything was written: there is nothing to undo.
            (Outcome::Undo(_), Undo::StartOver) => {}
            (Outcome::Keep, Undo::Savepoint) => {
                connection.prepare_cached("RELEASE job")?.execute([])?;
            }
            (Outcome::Undo(_), Undo::Savepoint) => {
                connection.execute_batch("ROLLBACK TO job; RELEASE job")?;
            }
        }
    }
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(true)
}

/// A panic in one job fails only that job: it is undone, and the other jobs continue.
fn run_caught(connection: &Connection, job: &mut Job) -> Outcome {
    let mut tx = Tx::sqlite(connection);
    catch_unwind(AssertUnwindSafe(|| job(&mut tx))).unwrap_or(Outcome::Undo(None))
}
