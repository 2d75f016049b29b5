//! Runs, from a message to its last consequence, with scripted models on every store.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

mod stage;

mod behaviours;
mod bounds;
mod crash;
mod drain;
mod growth;
mod missions;
mod takeover;
mod telemetry;
mod tools;
mod verified;
mod waits;
mod windows;
