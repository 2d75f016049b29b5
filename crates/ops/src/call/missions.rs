//! The calls on missions: finding them by slug, and loading the limits and terms for decisions on
//! their lists.

use punchlist_core::mission::{InitMission, Initialised, SetStanding};
use punchlist_core::{Decision, Mission, Place, Refusal, Scope, Snapshot, Tally};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Call;
use crate::Error;

/// How full a mission is, as far as its limits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub active: i64,
    pub active_limit: u32,
    pub backlog: i64,
    pub backlog_limit: u32,
}

impl Counts {
    pub(crate) fn new(mission: &Mission, tally: &Tally) -> Self {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let limits = mission.todo.limits;
        Self {
            active: number(tally.active()),
            active_limit: limits.active,
            backlog: number(tally.backlog),
            backlog_limit: limits.backlog,
        }
    }
}

impl Call<'_, '_> {
    /// Finds a mission by its slug. The refusal of an unknown slug names the missions there are.
    pub(crate) fn mission(&mut self, slug: &str, lock: Lock) -> Result<Mission, Error> {
        let slug = slug.trim();
        self.reach_part_of_mission(slug)?;
        let project = self.project()?;
        if let Some(project) = project
            && let Some(mission) = self.tx.mission(project, slug, lock)?
        {
            return Ok(mission);
        }
        let known = match project {
            Some(project) => self.tx.missions(project)?.into_iter().map(|m| m.slug).collect(),
            None => Vec::new(),
        };
        Err(Refusal::UnknownMission { slug: slug.to_owned(), known }.into())
    }

    /// Creates or updates a mission, with its chats.
    pub(crate) fn init_mission(&mut self, command: &InitMission) -> Result<Initialised, Error> {
        let project = self.ensure_project()?;
        let slug = command.spec.slug().unwrap_or_default();
        self.reach(&Place::mission(&slug))?;
        let existing = self.tx.mission(project, &slug, Lock::Row)?;
        let made = self.decided(command, (project, existing.as_ref()), (project, &project))?;
        let mut state = existing;
        let stamp = self.stamp(project);
        self.tx.record_mission(&mut state, &made.decision, &stamp)?;
        for conversation in &made.conversations {
            self.tx.open_conversation(conversation, &stamp)?;
        }
        Ok(made)
    }

    /// Pauses or resumes a mission or one of its pillars.
    pub(crate) fn set_standing(
        &mut self,
        slug: &str,
        command: &SetStanding,
    ) -> Result<Mission, Error> {
        let mission = self.mission(slug, Lock::Row)?;
        match &command.pillar {
            Some(pillar) => self.reach_pillar(&mission, pillar)?,
            None => self.reach(&Place::mission(&mission.slug))?,
        }
        let of = (mission.project_id, &mission.id as _);
        let decision = self.decided(command, &mission, of)?;
        self.record_mission(mission, &decision)
    }

    pub(super) fn record_mission(
        &mut self,
        mission: Mission,
        decision: &Decision,
    ) -> Result<Mission, Error> {
        let stamp = self.stamp(mission.project_id);
        let mut state = Some(mission);
        self.tx.record_mission(&mut state, decision, &stamp)?;
        state.ok_or_else(|| Error::Internal { detail: "a decision left no mission".into() })
    }

    /// The list of a pillar that takes work, for a change. The mission is locked, so that the
    /// counts for its limits cannot change meanwhile.
    pub(crate) fn open_pillar(&mut self, mission: &Mission, slug: &str) -> Result<Snapshot, Error> {
        let pillar = mission.takes_work(slug.trim())?;
        let (mission, pillar) = (mission.slug.clone(), pillar.slug.clone());
        self.open(Scope::Pillar { mission, pillar }, Load::Counts)
    }

    /// The counts that the limits of the mission and this pillar apply to; without a pillar, the
    /// counts of the whole mission.
    pub(crate) fn counts(
        &mut self,
        mission: &Mission,
        pillar: Option<&str>,
    ) -> Result<Counts, Error> {
        let counted = pillar.and_then(|pillar| mission.counted(pillar));
        let tally = self.tx.open_tally(mission.project_id, &mission.slug, counted)?;
        Ok(Counts::new(mission, &tally))
    }

    /// An item of this mission, for a change.
    pub(crate) fn mission_todo(
        &mut self,
        mission: &Mission,
        named: &str,
    ) -> Result<(Snapshot, punchlist_core::TodoId, String), Error> {
        let (snapshot, todo_id) = self.todo(named)?;
        match snapshot.list.scope.clone() {
            Scope::Pillar { mission: of, pillar } if of == mission.slug => {
                Ok((snapshot, todo_id, pillar))
            }
            Scope::Pillar { mission, .. } => Err(Refusal::OtherMission { todo_id, mission }.into()),
            _ => {
                let list = Some(punchlist_core::ListKind::Pillar);
                Err(Refusal::UnknownTodo { todo_id: named.to_owned(), list }.into())
            }
        }
    }

    /// May the caller see this mission? Step 3 has checked that its role may see missions at all.
    pub(crate) fn sees_mission(&self, mission: &Mission) -> Result<(), Error> {
        Ok(mission.shows_itself_to(&self.envelope.actor)?)
    }
}
