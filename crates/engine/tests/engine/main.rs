//! The engine on every store, with real programs, real files and a real server.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

mod collectors;
mod guarded;
mod mcp_servers;
mod pump;
mod recorded;
mod schedules;
mod user_tools;
mod web;

use std::sync::atomic::{AtomicBool, Ordering};

/// Stops a worker even if the test fails, so that the test does not hang.
struct AtTheEnd<'a>(&'a AtomicBool);

impl Drop for AtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
