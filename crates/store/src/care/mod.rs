//! Maintenance of a store: examining, backing up, restoring, and moving it to another database.
//!
//! This works while other processes use the store, and also on damaged or newer stores, which
//! `Store::open` refuses. Examining changes nothing. A copy is complete or absent. `ops::care`
//! decides whether a restore may overwrite.

pub mod backup;
mod disk;
pub mod doctor;
mod fold;
mod loss;
pub mod names;
pub mod old_missions;
pub mod portable;
pub mod restore;
mod server;
mod trees;
mod unfinished;

pub use backup::{Backup, backup};
pub use doctor::{Check, Report, examine, examine_within};
pub use loss::Loss;
pub use restore::{Outcome, Request, Restored, is_there, restore};
pub use server::Limits;
pub use unfinished::Unfinished;
