//! `run_take`: a process takes a run over, to execute it.

use punchlist_core::RunId;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::run::RunState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};

/// Take a run over, to execute it. From then on the process that had it before is refused.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The run's id.
    pub run: RunId,
    /// The outbox entry it is taken for: refused unless the caller still holds that entry.
    #[serde(default)]
    pub entry: Option<Entry>,
}

/// An entry of the outbox.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// The epoch it was taken with.
    pub epoch: i64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// Name it in every step.
    pub epoch: i64,
    pub state: RunState,
}

#[derive(Debug)]
pub struct RunTake;

impl Define for RunTake {
    const NAME: &'static str = "run_take";
    const ACCESS: Access = Access::On(Subject::Run, Action::Execute);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = r#"{"run":"01JCQ0000000000000000000AB"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let entry = input.entry.as_ref().map(|entry| (entry.id.as_str(), entry.epoch));
        let (run, epoch) = call.take_run(&input.run.to_string(), entry)?;
        Ok(Output { epoch, state: run.state })
    }
}
