//! All tests of MCP: both transports, both eras, the real binary.
//!
//! `talk` is a client that sends messages unchanged. The tests in `clients` use real clients of
//! other vendors.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set itself up should stop"
)]

mod callers;
mod direct;
mod gates;
mod noise;
mod reading;
#[expect(dead_code, reason = "shared with the tests of the server, which use all of it")]
#[path = "../http/serving.rs"]
mod serving;
mod sessions;
mod subscribing;
#[expect(dead_code, reason = "shared with the end-to-end tests, which use all of it")]
#[path = "../e2e/support.rs"]
mod support;
mod talk;
mod texts;
mod tools;
mod waiting;
mod wire;
