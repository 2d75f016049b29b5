//! A `punch` that goes on: its lines are read while it runs, each with the moment it was seen.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Punch;

/// The longest a line is waited for: a test that waits in vain fails, it does not hang.
const PATIENCE: Duration = Duration::from_secs(20);

/// A child that ends with the test, at the latest.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<(Instant, String)>,
}

impl Running {
    pub(crate) fn start(punch: &Punch) -> Self {
        let mut child = punch.spawn();
        drop(child.stdin.take());
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in out.lines() {
                // A test that has gone on needs no more lines.
                let Ok(line) = line else { return };
                if sender.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// The next line, and when it was seen; none when there will be no more.
    pub(crate) fn line(&self) -> Option<(Instant, String)> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line within {PATIENCE:?}"),
        }
    }

    /// The next line as JSON.
    pub(crate) fn event(&self) -> Value {
        self.seen().1
    }

    pub(crate) fn seen(&self) -> (Instant, Value) {
        let (at, line) = self.line().expect("a line, not the end");
        (at, serde_json::from_str(&line).unwrap())
    }

    /// Asks it to stop, as Ctrl-C does; gives its exit code.
    pub(crate) fn interrupt(self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.end()
    }

    /// Waits until it ends by itself; gives its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        while self.line().is_some() {}
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
