//! The tests of `punch serve` and of stores behind it: the real binary, real sockets.
//!
//! One binary for all of them, separate from the end-to-end tests, whose support code it uses.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set itself up should stop"
)]

mod all_projects;
mod browser;
mod document;
mod figures;
mod pages;
mod pages_decide;
mod pages_words;
mod pages_work;
mod protection;
mod remote;
mod serving;
mod statuses;
mod streams;
#[expect(dead_code, reason = "shared with the end-to-end tests, which use all of it")]
#[path = "../e2e/support.rs"]
mod support;
mod tls;
mod twins;
#[cfg(target_os = "linux")]
mod users;
