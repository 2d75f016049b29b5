//! `mission_cycle`: one cadence cycle of a mission, now.

use punchlist_core::Time;
use punchlist_core::authority::{Action, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Name;

/// Run one cycle of a mission now: handle late, stale and settled todos, and ask each pillar to
/// plan.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its slug.
    pub mission: Name,
    /// Run it only if a cycle is due.
    #[serde(default)]
    pub if_due: Option<bool>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// False: it is paused or not due.
    pub ran: bool,
    /// Titles of todos a person was asked about.
    pub escalated: Vec<String>,
    /// Titles of todos that went back to the backlog.
    pub demoted: Vec<String>,
    /// Titles of todos that were cancelled.
    pub cancelled: Vec<String>,
    /// How many settled todos were archived.
    pub archived: i64,
    /// Slugs of the pillars that were asked to plan.
    pub planned: Vec<String>,
    /// Titles of todos that wait for the lead's review.
    pub review_queue: Vec<String>,
    pub next_cycle_at: Option<Time>,
}

#[derive(Debug)]
pub struct MissionCycle;

impl Define for MissionCycle {
    const NAME: &'static str = "mission_cycle";
    const ACCESS: Access = Access::On(Subject::Mission, Action::Cycle);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["mission", "cycle"], positional: &["mission"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"mission":"developer-experience"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        call.run_cycle(&input.mission, input.if_due == Some(true))
    }
}
