//! Everything with side effects: step 9 of a change.
//!
//! The engine takes work from the outbox by lease, does it outside any transaction, and reports
//! back through an operation. It has the pump, the collectors of metrics, the scheduler, the models
//! and the agents; and it reads with git what commits changed. It has no HTTP server and no rule: the
//! core has decided what an effect means.

pub mod agent;
#[cfg(unix)]
mod cage;
pub mod change;
pub mod collect;
pub mod collector;
pub mod done;
mod keep_alive;
pub mod model;
mod process;
pub mod pump;
pub mod scheduler;
#[cfg(unix)]
pub mod strays;
mod system;
pub mod telemetry;
pub mod tools;
mod web;
pub mod worker;

pub use agent::Runtime;
pub use collector::Collector;
pub use done::Done;
pub use pump::{Handler, Pump, Report, Setback};
pub use scheduler::Scheduler;
pub use telemetry::Telemetry;
pub use worker::Worker;
