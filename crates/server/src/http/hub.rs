//! The single reader of the log, which serves all event streams.
//!
//! It keeps the newest events in memory, as the bytes to send. A stream is a cursor into them. A
//! stream that is too far behind reads pages of the log itself, and only a few do so at once. While
//! nobody listens, events are not read: a stream that starts later is behind, and reads them itself.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use punchlist_ops::events::Logged;
use punchlist_ops::follow::unless_replaced;
use punchlist_ops::identity::Facts;
use punchlist_ops::{Error, Ops};
use punchlist_store::watch::Watch;
use tokio::sync::{Semaphore, watch};

use super::caller::{Secret, identify};

/// How many events one read returns at most.
pub(crate) const PAGE: i64 = 1_000;
/// How many bytes are kept for streams that are a little behind.
const KEPT_MAX: usize = 16 << 20;
/// How long one wait takes at most, before it checks whether to stop.
const PATIENCE: Duration = Duration::from_millis(200);
/// How often the tokens of streams are checked again.
const JUDGED: Duration = Duration::from_secs(5);
/// How many streams may read the log themselves at once.
const READERS: usize = 4;

/// Consecutive events, with the bytes that streams send.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) events: Vec<Arc<Logged>>,
    /// The end of each event's bytes.
    ends: Vec<usize>,
    bytes: Bytes,
}

impl Batch {
    pub(crate) fn new(events: Vec<Logged>) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::with_capacity(events.len()));
        for event in &events {
            let Logged { seq, type_name, json, .. } = event;
            let _ = write!(text, "id: {seq}\nevent: {type_name}\ndata: {json}\n\n");
            ends.push(text.len());
        }
        let events = events.into_iter().map(Arc::new).collect();
        Self { events, ends, bytes: text.into() }
    }

    pub(crate) fn last(&self) -> i64 {
        self.events.last().map_or(0, |event| event.seq)
    }

    /// The bytes of the events from index `from` up to, but not including, `to`.
    pub(crate) fn bytes(&self, from: usize, to: usize) -> Bytes {
        let end = |index: usize| index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.slice(end(from)..end(to))
    }
}

/// The newest part of the log, in memory.
#[derive(Debug)]
struct Recent {
    batches: VecDeque<Arc<Batch>>,
    kept: usize,
    /// Events up to this number are not in memory.
    floor: i64,
    /// The number of the newest event.
    head: i64,
    /// Incremented when the log is cut or replaced.
    era: u64,
}

/// What a stream does next.
#[derive(Debug)]
pub(crate) enum Next {
    Nothing,
    Batch(Arc<Batch>),
    /// The stream is too far behind and must read the log itself.
    Behind,
    /// The log does not continue from the stream's cursor.
    Reset {
        era: u64,
        head: i64,
    },
}

/// The credential a stream was opened with. The stream ends when the credential becomes invalid.
#[derive(Debug)]
pub(crate) struct Credential {
    facts: Facts,
    secret: Secret,
    is_over: AtomicBool,
}

impl Credential {
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
pub(crate) struct Hub {
    recent: RwLock<Recent>,
    pulse: watch::Sender<u64>,
    credentials: Mutex<Vec<Weak<Credential>>>,
    is_stopped: AtomicBool,
    pub(crate) readers: Semaphore,
}

impl Hub {
    /// Starts at the end of the log.
    pub(crate) fn new(ops: &Ops) -> Result<Self, Error> {
        let head = ops.log_end()?;
        let recent = Recent { batches: VecDeque::new(), kept: 0, floor: head, head, era: 0 };
        Ok(Self {
            recent: RwLock::new(recent),
            pulse: watch::Sender::new(0),
            credentials: Mutex::default(),
            is_stopped: AtomicBool::new(false),
            readers: Semaphore::new(READERS),
        })
    }

    /// Notifies its subscribers when there may be new events.
    pub(crate) fn pulse(&self) -> watch::Sender<u64> {
        self.pulse.clone()
    }

    pub(crate) fn era(&self) -> u64 {
        self.recent.read().unwrap_or_else(PoisonError::into_inner).era
    }

    /// What follows after this event, which was seen in this era.
    pub(crate) fn next(&self, cursor: i64, era: u64) -> Next {
        let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
        if recent.era != era {
            return Next::Reset { era: recent.era, head: recent.head };
        }
        if cursor >= recent.head {
            return Next::Nothing;
        }
        if cursor < recent.floor {
            return Next::Behind;
        }
        let index = recent.batches.partition_point(|batch| batch.last() <= cursor);
        recent.batches.get(index).map_or(Next::Nothing, |batch| Next::Batch(Arc::clone(batch)))
    }

    /// Registers the credential of a stream, so that it is checked again from time to time.
    pub(crate) fn credential(&self, facts: Facts, secret: &Secret) -> Arc<Credential> {
        let mut all = self.credentials.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        let known = all.iter().filter_map(Weak::upgrade);
        let same = |known: &Arc<Credential>| known.facts == facts && known.secret == *secret;
        if let Some(known) = known.filter(|known| !known.is_over()).find(same) {
            return known;
        }
        let made =
            Arc::new(Credential { facts, secret: secret.clone(), is_over: AtomicBool::new(false) });
        all.push(Arc::downgrade(&made));
        made
    }

    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
    }

    /// Reads the log as it grows, until stopped. Waits while the database is unreachable.
    pub(crate) fn follow(&self, ops: &Ops) -> Result<(), Error> {
        let mut watch = ops.store()?.watch()?;
        let (mut look, mut judged) = (true, Instant::now());
        while !self.is_stopped.load(Ordering::SeqCst) {
            let looked = self.look(ops, look, (&mut watch, &mut judged));
            look = unless_replaced(watch.is_astray(), 0, looked)?;
        }
        Ok(())
    }

    /// Reads what there is to read, then waits. Returns true if there may be more.
    fn look(
        &self,
        ops: &Ops,
        look: bool,
        (watch, judged): (&mut Watch<'_>, &mut Instant),
    ) -> Result<bool, Error> {
        match if look { self.read_on(ops) } else { Ok(false) } {
            Ok(rules_changed) => {
                if rules_changed || judged.elapsed() >= JUDGED {
                    self.judge(ops);
                    *judged = Instant::now();
                }
                Ok(watch.wait(PATIENCE)?)
            }
            Err(error) if error.meaning().retryable => {
                std::thread::sleep(PATIENCE);
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads new events. Returns true if one of them may change what a caller may see.
    fn read_on(&self, ops: &Ops) -> Result<bool, Error> {
        let head = self.recent.read().unwrap_or_else(PoisonError::into_inner).head;
        if !ops.log_has(head)? {
            self.start_over(ops.log_end()?);
            return Ok(true);
        }
        if self.pulse.receiver_count() == 0 {
            self.pass_over(ops.log_end()?);
            // One of the events may have changed the rules.
            return Ok(true);
        }
        let (mut after, mut rules_changed) = (head, false);
        loop {
            let events = ops.log_after(after, PAGE)?;
            let (count, last) = (events.len(), events.last().map(|event| event.seq));
            let Some(last) = last else { break };
            after = last;
            rules_changed |= events.iter().any(changes_rules);
            self.keep(Batch::new(events));
            if count < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                break;
            }
        }
        Ok(rules_changed)
    }

    fn keep(&self, batch: Batch) {
        let mut recent = self.recent.write().unwrap_or_else(PoisonError::into_inner);
        recent.head = batch.last();
        recent.kept += batch.bytes.len();
        recent.batches.push_back(Arc::new(batch));
        while recent.kept > KEPT_MAX
            && recent.batches.len() > 1
            && let Some(oldest) = recent.batches.pop_front()
        {
            recent.kept -= oldest.bytes.len();
            recent.floor = oldest.last();
        }
        drop(recent);
        self.wake();
    }

    /// Leaves events out of memory up to this one.
    fn pass_over(&self, head: i64) {
        let mut recent = self.recent.write().unwrap_or_else(PoisonError::into_inner);
        recent.batches.clear();
        (recent.kept, recent.floor, recent.head) = (0, head, head);
        drop(recent);
        // A stream may have started meanwhile.
        self.wake();
    }

    fn start_over(&self, head: i64) {
        let mut recent = self.recent.write().unwrap_or_else(PoisonError::into_inner);
        let era = recent.era + 1;
        *recent = Recent { batches: VecDeque::new(), kept: 0, floor: head, head, era };
        drop(recent);
        self.wake();
    }

    /// Makes every stream of this server look again, because something was written that is not in
    /// the log.
    pub(crate) fn nudge(&self) {
        self.wake();
    }

    fn wake(&self) {
        self.pulse.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Ends the streams whose token is no longer valid, and those that now need one.
    fn judge(&self, ops: &Ops) {
        let all: Vec<_> = {
            let all = self.credentials.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        let mut ended = false;
        for one in all {
            let judged = identify(ops, one.facts.clone(), &one.secret, || Ok(()));
            let judged = judged.and_then(|(_, proof)| ops.admits(proof));
            // If the store is unreachable, the streams stay open.
            if judged.is_err_and(|error| matches!(error.meaning().http, 401 | 403)) {
                one.is_over.store(true, Ordering::SeqCst);
                ended = true;
            }
        }
        if ended {
            self.wake();
        }
    }
}

/// Could this event change what a stream may see?
fn changes_rules(event: &Logged) -> bool {
    matches!(event.type_name.as_str(), "token_revoked" | "store_identity_set" | "store_restored")
}

#[cfg(test)]
mod tests {
    use punchlist_core::{Actor, AgentPath, Role, Time};
    use punchlist_ops::catalogue::find;
    use punchlist_ops::{Context, Envelope, Ops, Proof};
    use punchlist_store::{Options, Target};
    use serde_json::json;

    use super::*;

    fn logged(seq: i64) -> Logged {
        Logged {
            seq,
            type_name: "todo_created".to_owned(),
            project: "p".to_owned(),
            aggregate: "a".to_owned(),
            actor: "root:primary".to_owned(),
            json: "{}".to_owned(),
        }
    }

    fn hub() -> Hub {
        Hub::new(&Ops::new(Target::Memory, Options::default())).unwrap()
    }

    #[test]
    fn a_cursor_finds_its_batch_and_its_bytes() {
        let hub = hub();
        assert!(matches!(hub.next(0, 0), Next::Nothing));
        hub.keep(Batch::new(vec![logged(1), logged(2)]));
        hub.keep(Batch::new(vec![logged(5)]));
        let Next::Batch(first) = hub.next(1, 0) else { panic!("no batch") };
        assert_eq!(first.last(), 2);
        assert_eq!(first.bytes(1, 2), "id: 2\nevent: todo_created\ndata: {}\n\n");
        let Next::Batch(second) = hub.next(2, 0) else { panic!("no batch") };
        assert_eq!(second.last(), 5);
        assert!(matches!(hub.next(5, 0), Next::Nothing));
    }

    #[test]
    fn a_stream_that_is_far_behind_reads_the_log_itself() {
        let hub = hub();
        let long = Logged { json: format!("\"{}\"", "x".repeat(KEPT_MAX)), ..logged(1) };
        hub.keep(Batch::new(vec![long]));
        hub.keep(Batch::new(vec![logged(2)]));
        assert!(matches!(hub.next(0, 0), Next::Behind));
        assert!(matches!(hub.next(1, 0), Next::Batch(_)));
    }

    #[test]
    fn events_are_read_into_memory_only_while_somebody_listens() {
        let ops = Ops::new(Target::Memory, Options::default());
        let hub = Hub::new(&ops).unwrap();
        let create = find("issue_create").unwrap();
        let written = || {
            let envelope = Envelope {
                actor: Actor::new(Role::Operator, AgentPath::parse("primary").unwrap()),
                proof: Proof::Engine,
                project: "p".to_owned(),
                context: Context::default(),
                idempotency_key: None,
                agents: Arc::default(),
                now: Time::parse("2026-11-15T08:00:00Z").unwrap(),
            };
            let input = json!({ "title": "Log in fails", "forceNew": true });
            ops.answer(create, &envelope, input).unwrap();
            hub.read_on(&ops).unwrap();
            ops.log_end().unwrap()
        };
        let first = written();
        assert!(matches!(hub.next(0, 0), Next::Behind));
        assert!(matches!(hub.next(first, 0), Next::Nothing));
        let listener = hub.pulse().subscribe();
        let second = written();
        let Next::Batch(batch) = hub.next(first, 0) else { panic!("no batch") };
        assert_eq!(batch.last(), second);
        drop(listener);
        let third = written();
        assert!(matches!(hub.next(second, 0), Next::Behind));
        assert!(matches!(hub.next(third, 0), Next::Nothing));
    }

    #[test]
    fn a_replaced_log_resets_every_stream() {
        let hub = hub();
        hub.keep(Batch::new(vec![logged(1)]));
        hub.start_over(40);
        assert!(matches!(hub.next(1, 0), Next::Reset { era: 1, head: 40 }));
        assert!(matches!(hub.next(40, 1), Next::Nothing));
    }
}
