//! A mission: the goal of a team, its pillars, their metrics, and its capacity.
//!
//! A mission is one aggregate: its pillars, strategies and metrics change together, according to
//! the operator's file (`spec`, `init`). The work itself is in one list per pillar, under the same
//! rules as every other list; capacity is set here and checked there (`capacity`).

pub mod answer;
pub mod cadence;
mod cycle;
mod escalate;
mod init;
mod prompt;
mod slug;
mod spec;
mod standing;
mod template;

pub use cycle::RunCycle;
pub use escalate::Escalate;
pub use init::{InitMission, Initialised};
pub use prompt::{
    Measured, Shared, called_off, escalation, order, order_with, planned, planning, warning,
};
pub use slug::{PATTERN as SLUG_PATTERN, slug_of};
pub use spec::{
    CadenceSpec, CollectSpec, MetricSpec, MissionSpec, PillarSpec, SpecFault, StrategySpec,
    TargetSpec, TemplateSpec, TodoSpec,
};
pub use standing::{SetStanding, may_view_pillar};
pub use template::{BUILT_IN, Template, fill};

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capacity::Limits;
use crate::command::SweepTodos;
use crate::event::{CycleRun, MissionInitialised, MissionStandingChanged};
use crate::evidence::EvidenceKind;
use crate::metric::Metric;
use crate::named::named;
use crate::snapshot::Terms;
use crate::{ConversationId, Event, MissionId, PillarId, ProjectId, StrategyId, Time, Todo};

named! {
    /// Is it active?
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Standing {
        #[default]
        Active = "active",
        /// Paused: no cycle, no collection.
        Paused = "paused",
        /// It is over, and can still be read.
        Archived = "archived",
    }
}

/// When the cycles of a mission run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cadence {
    pub cron: String,
    /// An IANA name; default `UTC`.
    pub timezone: String,
}

/// What a limit is counted over (F-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitScope {
    #[default]
    Mission,
    Pillar,
}

/// What happens to an overdue item that nobody started (D-6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverduePending {
    #[default]
    Demote,
    Cancel,
    Keep,
}

/// The `todo` block of a mission's file, with its defaults filled in. It is kept as JSON beside
/// the mission, so that a new setting needs no column (M-4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    #[serde(flatten)]
    pub limits: Limits,
    pub limit_scope: LimitScope,
    /// Settled items leave the usual lists after this many days; 0: never (Q-M2).
    pub archive_after_days: u32,
    /// A backlog item older than this is marked stale (Q-M5).
    pub backlog_stale_days: u32,
    pub auto_cancel_stale_backlog: bool,
    pub overdue_pending: OverduePending,
    /// May an owner promote, demote and reprioritize without the lead (D-2)?
    pub owner_may_rebalance: bool,
    /// The kinds of evidence a claim must carry (P-24).
    pub claim_evidence: Vec<EvidenceKind>,
    pub templates: Vec<Template>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            limit_scope: LimitScope::default(),
            archive_after_days: 30,
            backlog_stale_days: 30,
            auto_cancel_stale_backlog: false,
            overdue_pending: OverduePending::default(),
            owner_may_rebalance: false,
            claim_evidence: Vec::new(),
            templates: Vec::new(),
        }
    }
}

named! {
    /// How far a strategy has come.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum StrategyStatus {
        Planned = "planned",
        #[default]
        Active = "active",
        Paused = "paused",
        Completed = "completed",
        Abandoned = "abandoned",
    }
}

/// A strategy of a pillar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StrategyView")]
pub struct Strategy {
    pub id: StrategyId,
    pub description: String,
    pub status: StrategyStatus,
}

/// A pillar of a mission. Its owner plans in one chat and its items are worked in another (M-52).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pillar {
    pub id: PillarId,
    pub slug: String,
    pub name: String,
    pub description: String,
    pub status: Standing,
    pub conversation_id: ConversationId,
    pub todos_conversation_id: ConversationId,
    pub metrics: Vec<Metric>,
    pub strategies: Vec<Strategy>,
}

/// A mission with its pillars.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mission {
    pub id: MissionId,
    pub project_id: ProjectId,
    pub slug: String,
    pub name: String,
    pub description: String,
    pub status: Standing,
    pub cadence: Option<Cadence>,
    pub todo: Settings,
    pub conversation_id: ConversationId,
    pub pillars: Vec<Pillar>,
    pub last_cycle_at: Option<Time>,
    pub next_cycle_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
}

impl Mission {
    #[must_use]
    pub fn pillar(&self, slug: &str) -> Option<&Pillar> {
        self.pillars.iter().find(|pillar| pillar.slug == slug)
    }

    /// The metric with this slug, if it is not archived, and its pillar. Metric slugs are unique in
    /// a mission.
    #[must_use]
    pub fn metric(&self, slug: &str) -> Option<(&Pillar, &Metric)> {
        self.metrics().find(|(_, metric)| metric.slug == slug)
    }

    /// Every metric that is not archived.
    pub fn metrics(&self) -> impl Iterator<Item = (&Pillar, &Metric)> {
        self.pillars.iter().flat_map(|pillar| {
            let measured = pillar.metrics.iter().filter(|metric| metric.archived_at.is_none());
            measured.map(move |metric| (pillar, metric))
        })
    }

    /// Is this item overdue, in the mission's time zone?
    #[must_use]
    pub fn is_overdue(&self, todo: &Todo, now: Time) -> bool {
        let zone = cadence::time_zone(self.timezone()).unwrap_or(TimeZone::UTC);
        todo.is_overdue(&zone, now)
    }

    /// The terms for decisions on its lists.
    #[must_use]
    pub fn terms(&self) -> Terms {
        Terms {
            owner_may_rebalance: self.todo.owner_may_rebalance,
            claim_evidence: self.todo.claim_evidence.clone(),
        }
    }

    /// The pillar whose items count against the limits; `None` means the whole mission.
    #[must_use]
    pub fn counted<'a>(&self, pillar: &'a str) -> Option<&'a str> {
        match self.todo.limit_scope {
            LimitScope::Mission => None,
            LimitScope::Pillar => Some(pillar),
        }
    }

    /// The command for a cycle's upkeep of one of its lists.
    #[must_use]
    pub fn sweep(&self) -> SweepTodos {
        SweepTodos {
            timezone: self.timezone().to_owned(),
            overdue_pending: self.todo.overdue_pending,
            archive_after_days: self.todo.archive_after_days,
            backlog_stale_days: self.todo.backlog_stale_days,
            auto_cancel_stale_backlog: self.todo.auto_cancel_stale_backlog,
        }
    }

    /// The metrics with these slugs, and the slugs that are unknown.
    #[must_use]
    pub fn metrics_named(&self, slugs: &[String]) -> (Vec<&Metric>, Vec<String>) {
        let mut found: Vec<&Metric> = Vec::new();
        let mut unknown = Vec::new();
        for slug in slugs {
            match self.metric(slug.trim()) {
                Some((_, metric)) if found.iter().any(|known| known.id == metric.id) => {}
                Some((_, metric)) => found.push(metric),
                None => unknown.push(slug.clone()),
            }
        }
        (found, unknown)
    }

    /// The time zone its dates and its cadence are read in.
    #[must_use]
    pub fn timezone(&self) -> &str {
        self.cadence.as_ref().map_or("UTC", |cadence| &cadence.timezone)
    }
}

/// Folds one event into a mission; says whether it changed. Infallible, as `apply` is.
pub fn apply_mission(state: &mut Option<Mission>, event: &Event, at: Time) -> bool {
    if let Event::MissionInitialised(MissionInitialised { mission }) = event {
        *state = Some(Mission::clone(mission));
        return true;
    }
    let Some(mission) = state else { return false };
    match event {
        Event::MissionStandingChanged(changed) if changed.mission_id == mission.id => {
            let MissionStandingChanged { pillar, status, next_cycle_at, .. } = changed;
            match pillar {
                None => mission.status = *status,
                Some(slug) => {
                    let named = mission.pillars.iter_mut().find(|pillar| pillar.slug == *slug);
                    if let Some(pillar) = named {
                        pillar.status = *status;
                    }
                }
            }
            mission.next_cycle_at = *next_cycle_at;
        }
        Event::CycleRun(CycleRun { mission_id, next_cycle_at }) if *mission_id == mission.id => {
            mission.last_cycle_at = Some(at);
            mission.next_cycle_at = *next_cycle_at;
        }
        _ => return false,
    }
    mission.updated_at = at;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M-4: stored settings without a newer field are read with its default.
    #[test]
    fn missing_settings_are_read_with_their_defaults() {
        let stored = r#"{"activeTodoLimit":3}"#;
        let settings: Settings = serde_json::from_str(stored).unwrap();
        let limits = Limits { active: 3, ..Limits::default() };
        assert_eq!(settings, Settings { limits, ..Settings::default() });
    }
}
