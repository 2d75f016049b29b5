//! `checkpoint`: pause for a person.

use punchlist_core::IssueStatus;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::gate::{Details, OpenGate, Purpose};
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::views::AskedView;

/// Pause for the operator. When every criterion is claimed it asks for sign-off. Call it again in
/// the same words for the answer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Why, e.g. "acceptance criteria met, requesting sign-off".
    pub reason: Body,
    /// Absent: sign_off when all criteria are claimed, else pause.
    #[serde(default)]
    pub purpose: Option<Purpose>,
    /// For a sign-off: how the issue ends, resolved or rejected; absent: resolved.
    #[serde(default)]
    pub end: Option<End>,
}

/// How an issue ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    #[default]
    Resolved,
    Rejected,
}

#[derive(Debug)]
pub struct Checkpoint;

impl Define for Checkpoint {
    const NAME: &'static str = "checkpoint";
    const ACCESS: Access = Access::On(Subject::Gate, Action::Ask);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Issue], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"reason":"acceptance criteria met, requesting sign-off"}"#;

    type Input = Input;
    type Output = AskedView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<AskedView, Error> {
        let (details, text) = (Details::Checkpoint {}, input.reason.clone());
        let end = match input.end.unwrap_or_default() {
            End::Resolved => IssueStatus::Resolved,
            End::Rejected => IssueStatus::Rejected,
        };
        let asked = call.ask(&OpenGate { details, purpose: input.purpose, text, end })?;
        Ok(asked.into())
    }
}
