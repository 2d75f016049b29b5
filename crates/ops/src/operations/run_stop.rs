//! `run_stop`: ask a run to end.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::text::{Body, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::run::RunView;

/// Ask a run and its delegations to stop. Their changes stay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id.
    pub run: Title,
    /// Why.
    #[serde(default)]
    pub reason: Maybe<Body>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub run: RunView,
}

#[derive(Debug)]
pub struct RunStop;

impl Define for RunStop {
    const NAME: &'static str = "run_stop";
    const ACCESS: Access = Access::On(Subject::Run, Action::Stop);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["runs", "stop"], positional: &["run"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"run":"01JCQ0000000000000000000AB","reason":"enough"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let reason = input.reason.0.as_ref().map_or("stopped by hand", Body::as_str);
        let run = call.cancel_run(input.run.as_str(), reason)?;
        Ok(Output { run: RunView::from(&run) })
    }
}
