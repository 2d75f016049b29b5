//! Care of the store, for every surface: what may be done to it as a whole.
//!
//! These are no operations of the catalogue: they need no project and no transaction, and they
//! must work where the store cannot be opened.

use punchlist_store::care::{self, Report};

use crate::Ops;

impl Ops {
    /// Looks the store over and changes nothing.
    #[must_use]
    pub fn examine(&self) -> Report {
        care::examine(self.target(), self.options())
    }
}
