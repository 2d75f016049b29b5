//! `mission_resume`: resume a paused mission or pillar.

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

/// Resume a paused mission or pillar.
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
pub struct MissionResume;

impl Define for MissionResume {
    const NAME: &'static str = "mission_resume";
    const ACCESS: Access = Access::On(Subject::Mission, Action::Resume);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["mission", "resume"], positional: &["mission"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"mission":"developer-experience"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let pillar = input.pillar.0.as_ref().map(|slug| slug.as_str().to_owned());
        let standing = SetStanding { pillar, status: Standing::Active };
        let mission = call.set_standing(&input.mission, &standing)?;
        Ok(Output { mission: MissionView::from(&mission) })
    }
}
