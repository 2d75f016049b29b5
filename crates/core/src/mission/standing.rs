//! Pause or resume a mission, or one of its pillars.

use serde::{Deserialize, Serialize};

use super::cadence::next_cycle;
use super::{Mission, Standing};
use crate::authority::{
    Action, Denial, Subject, Verdict, authority, may, owns_mission, owns_pillar,
};
use crate::event::MissionStandingChanged;
use crate::{Actor, By, Decide, Decision, ListKind, Refusal, Refused, TodoKind};

/// Pause or resume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetStanding {
    pub pillar: Option<String>,
    /// Active or paused; archived comes from the mission's file.
    pub status: Standing,
}

impl Decide for SetStanding {
    type On<'a> = &'a Mission;
    type Out = Decision;

    /// Changes nothing if it has that status already.
    fn decide(
        &self,
        mission: Self::On<'_>,
        By { actor, now, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let action = match self.status {
            Standing::Paused => Action::Pause,
            Standing::Active | Standing::Archived => Action::Resume,
        };
        if !may(actor, Subject::Mission, action, || mission.is_own(actor)) {
            return Err(Refusal::MayNotLead { role: actor.role }.into());
        }
        let before = match &self.pillar {
            None => (mission.status, &mission.slug),
            Some(slug) => match mission.pillar(slug) {
                Some(pillar) => (pillar.status, &pillar.slug),
                None => return Err(mission.unknown_pillar(slug).into()),
            },
        };
        if before.0 == Standing::Archived {
            return Err(Refusal::MissionArchived { slug: before.1.clone() }.into());
        }
        if before.0 == self.status {
            return Ok(Decision::default());
        }
        let next_cycle_at = match self.pillar {
            Some(_) => mission.next_cycle_at,
            None => next_cycle(mission.cadence.as_ref(), self.status, now),
        };
        let (mission_id, pillar, status) = (mission.id, self.pillar.clone(), self.status);
        let changed = MissionStandingChanged { mission_id, pillar, status, next_cycle_at };
        Ok(Decision { events: vec![changed.into()], ..Decision::default() })
    }
}

/// May the actor see the items of this pillar?
pub fn may_view_pillar(actor: &Actor, mission: &str, pillar: &str) -> Result<(), Refusal> {
    let (role, action, list) = (actor.role, Action::View, ListKind::Pillar);
    let todo_kind = TodoKind::Step;
    let owns = owns_pillar(actor, mission, pillar);
    let denial = match authority(role, list, todo_kind, action, owns) {
        Verdict::Allow => return Ok(()),
        Verdict::Deny(denial) => denial,
        Verdict::Claim | Verdict::Recommend => Denial::Role,
    };
    Err(Refusal::NotPermitted { role, action, list, todo_kind, denial })
}

impl Mission {
    /// Refuses an actor that may not view the whole mission.
    pub fn shows_itself_to(&self, actor: &Actor) -> Result<(), Refusal> {
        match self.is_seen_by(actor) {
            true => Ok(()),
            false => Err(Refusal::MayNotLead { role: actor.role }),
        }
    }

    /// May this actor view the whole mission?
    #[must_use]
    pub fn is_seen_by(&self, actor: &Actor) -> bool {
        may(actor, Subject::Mission, Action::View, || self.is_own(actor))
    }

    /// Is it the actor's own mission, as far as the authority table asks?
    #[must_use]
    pub fn is_own(&self, actor: &Actor) -> bool {
        owns_mission(actor, &self.slug)
    }

    /// The active pillars: a cycle handles only these.
    pub fn pillars_at_work(&self) -> impl Iterator<Item = &super::Pillar> {
        self.pillars.iter().filter(|pillar| pillar.status == Standing::Active)
    }

    /// The pillar with this slug, if it takes new work: neither it nor the mission is archived.
    pub fn takes_work(&self, slug: &str) -> Result<&super::Pillar, Refusal> {
        let pillar = self.pillar(slug).ok_or_else(|| self.unknown_pillar(slug))?;
        for (standing, slug) in [(self.status, &self.slug), (pillar.status, &pillar.slug)] {
            if standing == Standing::Archived {
                return Err(Refusal::MissionArchived { slug: slug.clone() });
            }
        }
        Ok(pillar)
    }

    /// The refusal for an unknown pillar.
    #[must_use]
    pub fn unknown_pillar(&self, slug: &str) -> Refusal {
        let active = |pillar: &&super::Pillar| pillar.status != Standing::Archived;
        let known = self.pillars.iter().filter(active).map(|pillar| pillar.slug.clone());
        Refusal::UnknownPillar {
            mission: self.slug.clone(),
            slug: slug.to_owned(),
            known: known.collect(),
        }
    }

    /// The refusal for an unknown metric.
    #[must_use]
    pub fn unknown_metric(&self, slug: &str) -> Refusal {
        let known = self.metrics().map(|(_, metric)| metric.slug.clone());
        Refusal::UnknownMetric {
            mission: self.slug.clone(),
            slug: slug.to_owned(),
            known: known.collect(),
        }
    }
}
