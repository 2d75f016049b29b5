//! Runs, from the message to the end of what follows from it, with scripted models on every store.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

mod stage;

mod behaviours;
mod drain;
mod takeover;
mod tools;
mod waits;
mod windows;
