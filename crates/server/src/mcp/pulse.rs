//! When to look again: something may have been written to the store.
//!
//! In `punch serve` the hub says so. A process of its own has a thread that waits for the store's
//! hints, from the first time somebody wants to know.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use punchlist_ops::follow::Eye;
use punchlist_ops::{Envelope, Error, Ops};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long the thread waits before it asks whether to go on.
const ROUND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) enum Pulse {
    Hub(watch::Receiver<u64>),
    Own(Arc<Own>),
}

/// The thread of a process.
#[derive(Debug)]
pub(crate) struct Own {
    ops: Arc<Ops>,
    envelope: Envelope,
    beats: OnceLock<watch::Receiver<u64>>,
    is_over: Arc<AtomicBool>,
}

impl Drop for Own {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

impl Pulse {
    pub(crate) fn own(ops: Arc<Ops>, envelope: Envelope) -> Self {
        let (beats, is_over) = (OnceLock::new(), Arc::default());
        Self::Own(Arc::new(Own { ops, envelope, beats, is_over }))
    }

    /// From now on.
    pub(crate) fn beats(&self) -> Beats {
        let mut receiver = match self {
            Self::Hub(receiver) => receiver.clone(),
            Self::Own(own) => own.beats.get_or_init(|| own.start()).clone(),
        };
        receiver.mark_unchanged();
        Beats(receiver)
    }
}

impl Own {
    fn start(&self) -> watch::Receiver<u64> {
        let (send, receive) = watch::channel(0);
        let (ops, envelope) = (Arc::clone(&self.ops), self.envelope.clone());
        let is_over = Arc::clone(&self.is_over);
        let (ready, is_ready) = mpsc::channel();
        let started = std::thread::Builder::new().name("changes".to_owned()).spawn(move || {
            while !is_over.load(Ordering::SeqCst) {
                if follow(&ops, &envelope, &is_over, (&ready, &send)).is_err() {
                    // The store is away: what was missed is looked for when it is back.
                    std::thread::sleep(ROUND);
                    send.send_modify(|count| *count += 1);
                }
            }
        });
        // From here on no change is missed. Without the thread nothing is announced, and everything
        // else goes on.
        if started.is_ok() {
            let _ = is_ready.recv_timeout(ROUND);
        }
        receive
    }
}

fn follow(
    ops: &Ops,
    envelope: &Envelope,
    is_over: &AtomicBool,
    (ready, send): (&mpsc::Sender<()>, &watch::Sender<u64>),
) -> Result<(), Error> {
    let mut eye = Eye::open(ops, envelope)?;
    let _ = ready.send(());
    while !is_over.load(Ordering::SeqCst) && !eye.is_astray() {
        if eye.wait(ROUND)? {
            send.send_modify(|count| *count += 1);
        }
    }
    Ok(())
}

/// A listener to a pulse.
#[derive(Debug)]
pub(crate) struct Beats(watch::Receiver<u64>);

impl Beats {
    /// Waits until something may have been written, or until the time is over.
    pub(crate) async fn next(&mut self, at_most: Duration) {
        if let Ok(Err(_)) = timeout(at_most, self.0.changed()).await {
            // Nobody will say anything any more: look now and then.
            tokio::time::sleep(at_most).await;
        }
    }
}
