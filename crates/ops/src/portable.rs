//! Export and import of the whole store, for every surface: who may, from where, and to where.
//!
//! As in `care`, these are not operations of the catalogue, because they move a stream.

use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};

use punchlist_core::Time;
use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_store::care::portable::{Exported, GoOn, Imported, Source, write_out};
use punchlist_store::care::{self, Unfinished, names};
use punchlist_store::{ErrorKind, Target};
use serde::Serialize;

use crate::care::{for_the_whole_store, is_same};
use crate::explain::Fault;
use crate::identity::Facts;
use crate::token::{has_operator, operator_seen};
use crate::{Error, Ops, Proof};

/// The caller: the facts that the surface collected, its token, and the time.
#[derive(Clone, Debug)]
pub struct Asking<'a> {
    pub facts: Facts,
    pub token: Option<&'a str>,
    pub now: Time,
}

/// An export that was written to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExportedTo {
    pub file: PathBuf,
    pub bytes: u64,
    #[serde(flatten)]
    pub exported: Exported,
}

impl Ops {
    /// Writes the whole store to a stream, as it is at one moment.
    pub fn export(
        &self,
        asking: &Asking<'_>,
        out: &mut dyn Write,
        go_on: &mut GoOn<'_>,
    ) -> Result<Exported, Error> {
        self.may_export(asking, "export")?;
        Ok(self.store()?.view(|tx| write_out(tx, out, go_on))?)
    }

    /// Exports to a file that only its owner can read. The file is complete or absent; an existing
    /// one is replaced only if `force` is set.
    pub fn export_to(
        &self,
        asking: &Asking<'_>,
        file: &Path,
        force: bool,
        go_on: &mut GoOn<'_>,
    ) -> Result<ExportedTo, Error> {
        self.may_export(asking, "export")?;
        if matches!(self.target(), Target::File(store) if is_same(store, file)) {
            let (path, found) = ("FILE".into(), "the store itself".into());
            return Err(Fault::BadValue { path, found, expected: "another file".into() }.into());
        }
        if file.exists() && !force {
            let instead = "name a file that does not exist, or use --force";
            return Err(Error::FileExists { file: file.to_owned(), instead });
        }
        names::sweep(file, file);
        let (unfinished, made) = Unfinished::create(file)?;
        let mut out = BufWriter::new(made);
        let exported = self.store()?.view(|tx| write_out(tx, &mut out, go_on))?;
        drop(out);
        unfinished.keep()?;
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        Ok(ExportedTo { file: file.to_owned(), bytes, exported })
    }

    /// Imports an export into this store, which must be empty. Anybody may import into a store
    /// without an operator, because nothing can be lost; otherwise only the operator may, even if
    /// the store is empty.
    pub fn import(&self, asking: &Asking<'_>, from: &mut dyn BufRead) -> Result<Imported, Error> {
        // Check the export before the store is opened, so that a wrong file does not create a
        // store.
        let source = Source::open(from)?;
        let (actor, proof) = self.identify(asking.facts.clone(), asking.token)?;
        self.admits_writing(proof)?;
        self.store()?.write_once(|tx| {
            if has_operator(tx)? {
                for_the_whole_store(&actor, Action::Import, "import")?;
            }
            let imported = source.read_in(tx)?;
            if may_any(actor.role, Subject::Store, Action::Govern) {
                operator_seen(tx, asking.now)?;
            }
            Ok(imported)
        })
    }

    /// May the caller take the whole store elsewhere, with this command? There must be one: opening
    /// it would make it.
    pub(crate) fn may_export(
        &self,
        asking: &Asking<'_>,
        command: &'static str,
    ) -> Result<(), Error> {
        let is_there = match self.target() {
            Target::File(store) => care::is_there(store),
            Target::Postgres(url) => care::doctor::is_on_server(url)?,
            Target::Memory => true,
        };
        if !is_there {
            let detail = format!("{}: there is no store", self.target());
            return Err(punchlist_store::Error::new(ErrorKind::Unreachable, detail).into());
        }
        let (actor, proof) = self.identify(asking.facts.clone(), asking.token)?;
        self.admits(proof)?;
        for_the_whole_store(&actor, Action::Export, command)?;
        if proof == Proof::Terminal {
            self.person_seen(asking.now)?;
        }
        Ok(())
    }
}
