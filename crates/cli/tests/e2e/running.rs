//! A `punch` that keeps running: its lines are read as they appear, each with its time.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Punch;

/// How long to wait for a line. A test that waits in vain fails and does not hang.
const PATIENCE: Duration = Duration::from_secs(20);

/// A child process that ends at the latest with the test.
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
                // The test may have ended and need no more lines.
                let Ok(line) = line else { return };
                if sender.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// The next line and its time; `None` at the end of the output.
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

    /// Asks it to stop, like Ctrl-C. Returns its exit code.
    pub(crate) fn interrupt(self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.end()
    }

    /// Waits until it ends. Returns its exit code.
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
