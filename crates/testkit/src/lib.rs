//! Shared by the tests of every crate: stores of each kind, a world with a settable clock, inputs and
//! attacks for every operation, and the macro that runs a test on every store. A dev-dependency only.

#![expect(clippy::expect_used, reason = "a test that cannot set itself up should stop")]

pub mod attack;
pub mod examples;
pub mod missions;
pub mod server;
pub mod stores;
pub mod world;

pub use missions::developer_experience;
pub use server::{OwnServer, Restart};
pub use stores::{Backend, TestStore};
pub use world::World;
