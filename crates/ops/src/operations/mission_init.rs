//! `mission_init`: create a mission from its file, or update it to match its file.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::mission::{InitMission, MissionSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::explain::Fault;
use crate::views::MissionView;
use crate::{Envelope, Error};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub mission: MissionView,
    /// The changes, in words; empty: the mission already matches its file.
    pub changes: Vec<String>,
}

#[derive(Debug)]
pub struct MissionInit;

impl Define for MissionInit {
    const NAME: &'static str = "mission_init";
    const ACCESS: Access = Access::On(Subject::Mission, Action::Init);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = r#"{
        "name": "Developer Experience",
        "cadence": "0 9 * * 1",
        "pillars": [{
            "name": "Build Performance",
            "metrics": [{
                "name": "Local build time",
                "type": "duration",
                "target": { "operator": "<", "value": 60, "warningThreshold": 90 },
                "collect": { "command": ["./measure-build.sh"] }
            }]
        }]
    }"#;

    type Input = MissionSpec;
    type Output = Output;

    /// The rules of a mission compare its parts with one another.
    fn check(_: &Envelope, spec: &MissionSpec) -> Result<(), Error> {
        check_spec(spec, "")
    }

    fn run(call: &mut Call<'_, '_>, spec: &MissionSpec) -> Result<Output, Error> {
        let directory = call.envelope().context.directory.clone();
        let made =
            call.init_mission(&InitMission { spec: spec.clone(), directory, only_missing: false })?;
        Ok(Output { mission: MissionView::from(&made.mission), changes: made.changes })
    }
}

/// Refuses a mission's file with its first fault; `within` is the path of the file in the input.
pub(super) fn check_spec(spec: &MissionSpec, within: &str) -> Result<(), Error> {
    let Some(fault) = spec.faults().into_iter().next() else { return Ok(()) };
    let path = format!("{within}{}", fault.path);
    Err(Fault::BadValue { path, found: fault.found, expected: fault.expected }.into())
}
