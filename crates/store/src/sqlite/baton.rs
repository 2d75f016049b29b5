//! Group commit without a thread: writers pass a baton (ADR 0002).
//!
//! The writer that holds the baton runs all waiting jobs in one transaction and answers after the
//! commit. Then it passes the baton to the first writer that arrived in the meantime. A lone caller
//! runs at once, on its own stack.
//!
//! A caller that cannot wait (a server with a task for each request) hands its job in and is called
//! back (ADR 0030). Such jobs have no stack to lead on, so the first of them starts a thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use crate::sqlite::lock;
use crate::{Error, ErrorKind, Lead, Tx};

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

/// Called after the commit that contains a job, or after it was undone.
pub(super) type Done = Box<dyn FnOnce(Result<(), Error>) + Send>;

#[derive(Debug)]
pub(super) struct Baton {
    shared: Arc<Shared>,
    writer: OnceLock<Writer>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    connection: Mutex<Connection>,
    /// How long a leader waits for another process that is writing.
    busy: Duration,
    /// Where the thread that leads for callers without a stack waits for its turn.
    writer: Arc<Ticket>,
}

/// That thread.
#[derive(Debug)]
struct Writer(Option<JoinHandle<()>>);

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    held: bool,
    /// The store is being closed.
    is_ending: bool,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue {{ waiting: {}, held: {} }}", self.waiting.len(), self.held)
    }
}

struct Waiting {
    job: Job,
    answer: Reply,
}

/// How a caller hears of its job.
enum Reply {
    Ticket(Arc<Ticket>),
    Call(Done),
}

/// The message to a waiting caller: its job is done, or it leads the next batch.
enum News {
    Done(Result<(), Error>),
    Lead(Vec<Waiting>),
    /// To the writer thread: the store is closed.
    End,
}

#[derive(Default)]
struct Ticket {
    news: Mutex<Option<News>>,
    came: Condvar,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket")
    }
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
    pub(super) fn new(connection: Connection, busy: Duration) -> Self {
        let (queue, connection) = (Mutex::default(), Mutex::new(connection));
        let shared = Shared { queue, connection, busy, writer: Arc::default() };
        Self { shared: Arc::new(shared), writer: OnceLock::new() }
    }

    pub(super) fn is_held(&self) -> bool {
        lock(&self.shared.queue).held
    }

    /// The connection, if nobody is writing now.
    pub(super) fn try_connection(&self) -> Option<MutexGuard<'_, Connection>> {
        match self.shared.connection.try_lock() {
            Ok(connection) => Some(connection),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The connection; waits until nobody else uses it.
    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.shared.connection)
    }

    /// Runs a job; returns after the commit that contains it, or after it was undone.
    pub(super) fn run(&self, job: Job) -> Result<(), Error> {
        let ticket = Arc::new(Ticket::default());
        let mine = Waiting { job, answer: Reply::Ticket(Arc::clone(&ticket)) };
        let mut queue = lock(&self.shared.queue);
        let batch = if queue.held {
            queue.waiting.push(mine);
            drop(queue);
            match ticket.wait() {
                News::Done(result) => return result,
                News::Lead(batch) => batch,
                News::End => return Err(closed()),
            }
        } else {
            queue.held = true;
            drop(queue);
            vec![mine]
        };
        self.shared.lead(batch, Some(&ticket))
    }

    /// Hands a job in. `done` is called from another thread; with [`Lead::Here`], before this
    /// returns if nobody else is writing.
    pub(super) fn submit(&self, job: Job, lead: Lead, done: Done) {
        let mine = Waiting { job, answer: Reply::Call(done) };
        if lead == Lead::Here && self.shared.take() {
            if let Some(batch) = self.shared.lead_at_once(vec![mine]) {
                match self.writer() {
                    Ok(()) => self.shared.writer.tell(News::Lead(batch)),
                    Err(missing) => self.shared.finish(batch, &Err(missing), None),
                }
            }
            return;
        }
        if let Err(missing) = self.writer() {
            let Reply::Call(done) = mine.answer else { return };
            return done(Err(missing));
        }
        lock(&self.shared.queue).waiting.push(mine);
        if self.shared.take() {
            self.shared.writer.tell(News::Lead(Vec::new()));
        }
    }

    /// Starts the writer thread, if it is not running yet.
    fn writer(&self) -> Result<(), Error> {
        self.writer.get_or_init(|| Writer::start(&self.shared)).is_there()
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Backend, "the store was closed")
}

impl Writer {
    fn start(shared: &Arc<Shared>) -> Self {
        let shared = Arc::clone(shared);
        let writer = thread::Builder::new().name("punch-writer".to_owned()).spawn(move || {
            while let News::Lead(batch) = shared.writer.wait() {
                drop(shared.lead(batch, None));
            }
        });
        Self(writer.ok())
    }

    fn is_there(&self) -> Result<(), Error> {
        match self.0 {
            Some(_) => Ok(()),
            None => Err(Error::new(ErrorKind::Backend, "no thread could be started for writing")),
        }
    }
}

impl Drop for Baton {
    fn drop(&mut self) {
        let Some(Writer(Some(writer))) = self.writer.take() else { return };
        self.shared.end();
        // An answer may have held the last reference to the store. Then this is the writer, which
        // ends by itself.
        if writer.thread().id() != thread::current().id() {
            drop(writer.join());
        }
    }
}

impl Shared {
    /// Ends the writer thread after what is queued.
    fn end(&self) {
        let mut queue = lock(&self.queue);
        queue.is_ending = true;
        if !queue.held {
            queue.held = true;
            self.writer.tell(News::End);
        }
    }

    /// Leads a batch: runs it, passes the baton on, and answers. Gives the answer of `mine`.
    fn lead(&self, batch: Vec<Waiting>, mine: Option<&Arc<Ticket>>) -> Result<(), Error> {
        let mut batch = self.gathered(batch);
        let result = self.commit(&mut batch, begin);
        self.finish(batch, &result, mine);
        result
    }

    /// Takes the baton, if nobody holds it.
    fn take(&self) -> bool {
        !std::mem::replace(&mut lock(&self.queue).held, true)
    }

    /// Leads a batch, unless another process is writing: then it returns the batch. Nothing of that
    /// was kept, and the caller still holds the baton.
    fn lead_at_once(&self, batch: Vec<Waiting>) -> Option<Vec<Waiting>> {
        let mut batch = self.gathered(batch);
        let mut is_busy = false;
        let result = self.commit(&mut batch, |connection| {
            let begun = begin_at_once(connection, self.busy);
            is_busy = begun.as_ref().is_err_and(|error| error.kind == ErrorKind::Busy);
            begun
        });
        if is_busy {
            return Some(batch);
        }
        self.finish(batch, &result, None);
        None
    }

    /// The batch, and who came while this thread woke up: they need not wait for the next batch.
    fn gathered(&self, mut batch: Vec<Waiting>) -> Vec<Waiting> {
        let mut queue = lock(&self.queue);
        let count = queue.waiting.len().min(BATCH_MAX.saturating_sub(batch.len()));
        batch.extend(queue.waiting.drain(..count));
        batch
    }

    /// Passes the baton on and answers everybody but `mine`.
    fn finish(&self, batch: Vec<Waiting>, result: &Result<(), Error>, mine: Option<&Arc<Ticket>>) {
        self.pass_on();
        for other in batch {
            match other.answer {
                Reply::Ticket(ticket) if mine.is_some_and(|mine| Arc::ptr_eq(&ticket, mine)) => {}
                Reply::Ticket(ticket) => ticket.tell(News::Done(result.clone())),
                // A panic must not end the writer: everybody else waits for it.
                Reply::Call(done) => {
                    drop(catch_unwind(AssertUnwindSafe(|| done(result.clone()))));
                }
            }
        }
    }

    /// Passes the baton to the first waiting caller, with all waiting callers as its batch. If that
    /// caller has no stack, the writer thread leads.
    fn pass_on(&self) {
        let mut queue = lock(&self.queue);
        if queue.waiting.is_empty() {
            queue.held = queue.is_ending;
            if queue.is_ending {
                self.writer.tell(News::End);
            }
            return;
        }
        let count = queue.waiting.len().min(BATCH_MAX);
        let batch: Vec<Waiting> = queue.waiting.drain(..count).collect();
        drop(queue);
        let leader = match &batch[0].answer {
            Reply::Ticket(ticket) => Arc::clone(ticket),
            Reply::Call(_) => Arc::clone(&self.writer),
        };
        leader.tell(News::Lead(batch));
    }

    /// Runs the batch in one transaction. The first attempt uses no savepoints, because they copy
    /// every page that a job touches. If a job that has written must be undone, the batch is run
    /// again with savepoints.
    fn commit(
        &self,
        batch: &mut [Waiting],
        mut begin: impl FnMut(&Connection) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let connection = lock(&self.connection);
        for undo in [Undo::StartOver, Undo::Savepoint] {
            begin(&connection)?;
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

/// Begins a transaction. Waits for another process that is writing.
fn begin(connection: &Connection) -> Result<(), Error> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    Ok(())
}

/// Like `begin`, without waiting.
fn begin_at_once(connection: &Connection, busy: Duration) -> Result<(), Error> {
    connection.busy_timeout(Duration::ZERO)?;
    let begun = begin(connection);
    connection.busy_timeout(busy)?;
    begun
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
