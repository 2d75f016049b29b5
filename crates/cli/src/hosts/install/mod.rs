//! What `punch init` writes for each host: edits of their files, planned before anything is written.
//!
//! A plan is a list of files with their text before and after. Files keep their comments, order and
//! formatting; one that does not parse is never touched.

pub(crate) mod claude;
mod edits;
mod hosts;
mod json;
mod ledger;
mod toml;

pub(crate) use claude::Style;
pub(crate) use edits::{Change, Fault};
pub(crate) use hosts::{Setup, has_hook, is_set_up, next_steps, plan, replaced};
pub(crate) use ledger::{Ledger, apply};
