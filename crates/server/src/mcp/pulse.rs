//! The pulse: notifies when something may have been written to the store.
//!
//! In `punch serve`, the hub sends it. Any other process starts a thread on first use, which waits
//! for the store's hints.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use punchlist_ops::follow::Eye;
use punchlist_ops::{Envelope, Error, Ops};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long the thread waits before it checks whether to stop.
const ROUND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) enum Pulse {
    Hub(watch::Sender<u64>),
    Own(Arc<Own>),
}

/// The pulse of a process that is not `punch serve`, with its own thread.
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

    /// Subscribes to the pulse from now on.
    pub(crate) fn beats(&self) -> Beats {
        match self {
            Self::Hub(hub) => Beats(hub.subscribe()),
            Self::Own(own) => {
                let mut receiver = own.beats.get_or_init(|| own.start()).clone();
                receiver.mark_unchanged();
                Beats(receiver)
            }
        }
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
                    // The store is unreachable. Beat after the pause, so that missed changes are
                    // looked for.
                    std::thread::sleep(ROUND);
                    send.send_modify(|count| *count += 1);
                }
            }
        });
        // Wait until the thread watches, so that no later change is missed. If the thread cannot
        // start, nothing is announced, and everything else works.
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

/// A subscription to the pulse.
#[derive(Debug)]
pub(crate) struct Beats(watch::Receiver<u64>);

impl Beats {
    /// Waits until something may have been written, at most this long.
    pub(crate) async fn next(&mut self, at_most: Duration) {
        if let Ok(Err(_)) = timeout(at_most, self.0.changed()).await {
            // The sender is gone, so look at intervals instead.
            tokio::time::sleep(at_most).await;
        }
    }
}
