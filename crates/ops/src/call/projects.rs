//! Projects: found by the caller's name for them, and joined (ADR 0032).

use punchlist_core::event::ProjectMerged;
use punchlist_core::project::{MergeCounts, MergeProjects, Merging, Side};
use punchlist_core::{ProjectId, Refusal};
use punchlist_store::rows::projects::Home;

use super::Call;
use crate::Error;
use crate::place::Place;

/// How many projects an error names.
const NAMED_MAX: usize = 20;

impl Call<'_, '_> {
    /// The project, if anything was ever written to it. One that was merged is refused: its issues
    /// have other numbers now, so the caller must name the other project itself. One of another
    /// repository is refused, too; `request` then makes the call in the caller's own.
    pub(super) fn home(&mut self) -> Result<Option<Home>, Error> {
        let Some(home) = self.tx.project_home(&self.envelope.project)? else { return Ok(None) };
        if let Some(into) = home.merged_into {
            return Err(self.was_merged(&self.envelope.project, into));
        }
        self.must_be_here(&home)?;
        Ok(Some(home))
    }

    /// Refuses a project that is recognised by a place that is not the caller's: the caller's name for
    /// its project was free when it was chosen, and another repository was faster.
    fn must_be_here(&mut self, home: &Home) -> Result<(), Error> {
        let Some(place) = &self.envelope.context.place else { return Ok(()) };
        let known = home.place.as_deref().and_then(Place::read);
        match known.is_some_and(|known| !known.is(place)) && !self.came_by_a_merge()? {
            true => Err(Refusal::ProjectTaken { project: self.envelope.project.clone() }.into()),
            false => Ok(()),
        }
    }

    fn was_merged(&mut self, project: &str, into: ProjectId) -> Error {
        match self.tx.project_name(into) {
            Ok(into) => {
                let (project, into) = (project.to_owned(), into.unwrap_or_default());
                Refusal::ProjectMerged { project, into }.into()
            }
            Err(error) => error.into(),
        }
    }

    /// The project whose log the caller reads, even if it was merged. A token that reaches only a
    /// part of it does not: what is where is known only of the project that has its work now.
    pub(crate) fn home_of_log(&mut self) -> Result<Option<Home>, Error> {
        match self.envelope.actor.reach.is_narrowed() {
            true => self.home(),
            false => {
                let home = self.tx.project_home(&self.envelope.project)?;
                home.as_ref().map_or(Ok(()), |home| self.must_be_here(home))?;
                Ok(home)
            }
        }
    }

    /// Was the caller's project merged into another?
    pub(super) fn is_merged(&mut self) -> Result<bool, Error> {
        let home = self.tx.project_home(&self.envelope.project)?;
        Ok(home.is_some_and(|home| home.merged_into.is_some()))
    }

    /// Does the caller come from a project that was merged into this one? Or may it, because the
    /// place of such a project is not known? Then its place is not the place of this project.
    pub(super) fn came_by_a_merge(&mut self) -> Result<bool, Error> {
        let Some(place) = &self.envelope.context.place else { return Ok(false) };
        let mut known = self.tx.places()?.into_iter();
        Ok(known.any(|known| {
            known.into.as_ref() == Some(&self.envelope.project)
                && known.place.is_none_or(|text| Place::read(&text).is_some_and(|it| it.is(place)))
        }))
    }

    /// Moves everything of one project into another, if nothing stands against it.
    pub(crate) fn merge_projects(
        &mut self,
        (from, into): (&str, &str),
        command: MergeProjects,
    ) -> Result<(ProjectMerged, MergeCounts), Error> {
        self.reach_project()?;
        for name in [from, into] {
            let covered = self.envelope.actor.reach.covers_project(name);
            covered.map_err(|missing| Error::from(Refusal::OutOfReach { missing }))?;
        }
        self.tx.lock_projects()?;
        let (from, into) = (self.side(from)?, self.side(into)?);
        let clock = self.tx.clock()?;
        let merging = Merging {
            last_issue: self.tx.lock_last_issue(into.id)?,
            issues: self.tx.lock_issues(from.id)?,
            clashes: self.tx.clashes(from.id, into.id)?,
            at_work: self.tx.at_work(from.id, clock)?,
            counts: self.tx.merge_counts(from.id, &from.name, clock)?,
            from,
            into,
        };
        let into = merging.into.id;
        let merged = self.decided(&command, &merging, (into, &into))?;
        self.tx.merge_projects(&merged)?;
        for project in [merged.from_id, merged.into_id] {
            let stamp = self.stamp(project);
            self.tx.append(&stamp, &project.to_string(), &merged.clone().into())?;
        }
        Ok((merged, merging.counts))
    }

    /// A project by its name. Refuses an unknown one, and one that was merged.
    fn side(&mut self, name: &str) -> Result<Side, Error> {
        match self.tx.project_home(name)? {
            Some(Home { id, merged_into: None, .. }) => Ok(Side { id, name: name.to_owned() }),
            Some(Home { merged_into: Some(into), .. }) => Err(self.was_merged(name, into)),
            None => {
                let known = self.tx.project_names()?.into_iter().map(|(_, name)| name);
                let (project, known) = (name.to_owned(), known.take(NAMED_MAX).collect());
                Err(Refusal::UnknownProject { project, known }.into())
            }
        }
    }
}
