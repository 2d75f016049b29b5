//! Copies a store into another database, for every surface: who may do it, and into which database.

use punchlist_store::care::portable::{Copied, GoOn, copy};
use punchlist_store::{Options, Store, Target};

use crate::care::is_same;
use crate::explain::Fault;
use crate::portable::Asking;
use crate::{Error, Ops};

impl Ops {
    /// Copies this store into another one, which must be empty or hold a part of this copy. A caller
    /// who may export this store may copy it. Tokens are copied as digests.
    pub fn copy_to(
        &self,
        asking: &Asking<'_>,
        to: &Target,
        go_on: &mut GoOn<'_>,
    ) -> Result<Copied, Error> {
        // A store in memory ends with this process, and so would the copy.
        if *to == Target::Memory {
            let (path, found) = ("TO".into(), "a store in memory".into());
            let expected = "a path or a postgres:// URL".into();
            return Err(Fault::BadValue { path, found, expected }.into());
        }
        let is_itself = match (self.target(), to) {
            (Target::File(from), Target::File(to)) => is_same(from, to),
            (from, to) => from == to,
        };
        if is_itself {
            let (path, found) = ("TO".into(), "the store itself".into());
            return Err(Fault::BadValue { path, found, expected: "another store".into() }.into());
        }
        self.may_export(asking, "store copy").map_err(|error| at("FROM", error))?;
        let options = Options { is_copied_into: true, make_folder: false, ..self.options() };
        let target = Store::open(to, options).map_err(|error| at("TO", error.into()))?;
        Ok(copy(self.store()?, &target, go_on)?)
    }
}

/// An error of one of the two stores says which of them it is about.
fn at(side: &str, error: Error) -> Error {
    match error {
        Error::Store(mut error) => {
            error.detail = format!("{side}: {}", error.detail);
            Error::Store(error)
        }
        other => other,
    }
}
