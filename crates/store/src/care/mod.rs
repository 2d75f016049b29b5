//! Care of a store: looking it over, copying it, putting a copy back, and moving it elsewhere.
//!
//! What is here works beside processes that use the store, and on stores that are damaged or
//! newer, which `Store::open` refuses. Looking changes nothing; a copy appears whole or not at
//! all. Whether a restore may overwrite is judged in `ops::care`.

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
pub use doctor::{Check, Report, examine};
pub use loss::Loss;
pub use restore::{Outcome, Request, Restored, is_there, restore};
pub use unfinished::Unfinished;
