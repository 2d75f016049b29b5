//! `mission_pause`: pause a mission or one of its pillars.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::mission::{SetStanding, Standing};
use punchlist_core::text::Title;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, Name};
use crate::views::MissionView;

/// Pause a mission or one of its pillars: no cycles, no collection. Its todos stay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its slug.
    pub mission: Name,
    /// Only this pillar, by its slug.
    #[serde(default)]
    pub pillar: Maybe<Title>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub mission: MissionView,
}

#[derive(Debug)]
pub struct MissionPause;

impl Define for MissionPause {
    const NAME: &'static str = "mission_pause";
    const ACCESS: Access = Access::On(Subject::Mission, Action::Pause);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["mission", "pause"], positional: &["mission"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"mission":"developer-experience"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let pillar = input.pillar.0.as_ref().map(|slug| slug.as_str().to_owned());
        let standing = SetStanding { pillar, status: Standing::Paused };
        let mission = call.set_standing(&input.mission, &standing)?;
        Ok(Output { mission: MissionView::from(&mission) })
    }
}
