//! Resolves the name a caller gives: a whole id, or one of the short forms for people.
//!
//! `core::naming` defines the order in which the forms are tried. Agents and narrowed tokens must
//! give ids, short or whole, because a list of candidates could tell them about things outside
//! their reach.

use std::borrow::Cow;

use punchlist_core::issue::address::Precision;
use punchlist_core::naming;
use punchlist_store::rows::names::Named;

use super::Call;
use crate::Error;

/// The length of a whole id, in characters.
const WHOLE: usize = 26;

impl Call<'_, '_> {
    /// May this caller use short forms?
    fn may_be_brief(&self) -> bool {
        self.precision() == Precision::Brief && !self.envelope.actor.reach.is_narrowed()
    }

    /// The whole id of the thing a person names. A name that matches nothing is returned unchanged,
    /// so that the operation refuses it.
    pub(crate) fn whole_id<'n>(
        &mut self,
        named: &'n str,
        kinds: &[Named],
    ) -> Result<Cow<'n, str>, Error> {
        let named = named.trim();
        if named.len() == WHOLE || named.is_empty() {
            return Ok(named.into());
        }
        let Some(project) = self.project()? else { return Ok(named.into()) };
        for kind in kinds {
            let candidates = self.tx.candidates(project, *kind)?;
            let found = match self.may_be_brief() {
                true => naming::find(named, &candidates)?,
                false => naming::find_id(named, &candidates),
            };
            if let Some(found) = found {
                return Ok(found.id.clone().into());
            }
        }
        Ok(named.into())
    }

    /// The id of the item that a person means by a short id or by words, searched in the whole
    /// project.
    pub(super) fn todo_meant(&mut self, named: &str) -> Result<Option<String>, Error> {
        let Some(project) = self.project()? else { return Ok(None) };
        let is_brief = self.may_be_brief();
        if let Some(end) = naming::as_short(named) {
            let found = self.tx.todos_ending(project, &end)?;
            let found = match is_brief {
                true => naming::find(named, &found)?,
                false => naming::find_id(named, &found),
            };
            if let Some(found) = found {
                return Ok(Some(found.id.clone()));
            }
        }
        if !is_brief {
            return Ok(None);
        }
        let found = self.tx.todos_saying(project, named.trim())?;
        Ok(naming::find(named, &found)?.map(|found| found.id.clone()))
    }
}
