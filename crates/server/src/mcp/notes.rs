//! Notes on standard error, for the person who runs the host.
//!
//! A host need not read standard error, and a full pipe blocks its writer. So notes are
//! written by a thread of their own, and a note that finds the queue full is dropped: nothing waits
//! for a note, except the end of the process, and that only shortly.

use std::io::Write as _;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Duration;

/// How many notes may wait to be written.
const WAITING_MAX: usize = 64;
/// The longest note, in characters of the message.
const LENGTH_MAX: usize = 200;
/// How long the end of the process waits for the last notes.
const LAST: Duration = Duration::from_millis(200);

/// Where notes are left.
#[derive(Clone, Debug)]
pub(crate) struct Notes(SyncSender<String>);

/// Knows when the last note has been written.
pub(crate) struct Written(Receiver<()>);

impl Notes {
    /// Starts the thread. It ends after the last copy of the notes is dropped.
    pub(crate) fn start() -> (Self, Written) {
        let (notes, queue) = sync_channel::<String>(WAITING_MAX);
        let (done, written) = channel();
        let write = move || {
            for note in queue {
                drop(writeln!(std::io::stderr(), "{note}"));
            }
            drop(done);
        };
        // Without the thread there are no notes, and everything else works.
        drop(std::thread::Builder::new().name("notes".to_owned()).spawn(write));
        (Self(notes), Written(written))
    }

    /// Notes why a message was refused. The text is escaped, because it may contain anything.
    pub(crate) fn refused(&self, why: &str) {
        let why: String = why.chars().take(LENGTH_MAX).flat_map(char::escape_debug).collect();
        drop(self.0.try_send(format!("note: a message was refused: {why}")));
    }
}

impl Written {
    /// Waits for the last notes, if somebody reads them.
    pub(crate) fn wait(self) {
        let _ = self.0.recv_timeout(LAST);
    }
}
