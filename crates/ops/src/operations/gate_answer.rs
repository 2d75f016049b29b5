//! `gate_answer`: answer a gate, once.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::gate::{AnswerGate, GateDecision};
use punchlist_core::text::Content;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::explain::Fault;
use crate::input::{Name, up_to};
use crate::views::GateView;
use crate::{Envelope, Error};

/// Answer a gate: let its session continue, or refuse. A refused sign-off reopens criteria.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The gate's id.
    pub gate_id: Name,
    /// Continue, or refuse.
    pub decision: GateDecision,
    /// Your answer: any JSON; for a form, an object with its fields.
    #[serde(default)]
    pub response: Option<Value>,
    /// For a refused sign-off: the criteria to reopen, by their text; absent: all claimed ones.
    #[serde(default, deserialize_with = "up_to::<100, _, _>")]
    #[schemars(length(max = 100))]
    pub reopen: Option<Vec<Content>>,
    /// For a sign-off: the revision of the issue you looked at; absent: the one when it was asked.
    #[serde(default)]
    pub expected_revision: Option<i64>,
    /// For a sign-off: also accept criteria that nobody claimed.
    #[serde(default)]
    pub accept_unclaimed: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub gate: GateView,
}

#[derive(Debug)]
pub struct GateAnswer;

impl Define for GateAnswer {
    const NAME: &'static str = "gate_answer";
    const ACCESS: Access = Access::On(Subject::Gate, Action::Answer);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Inbox], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"gateId":"01JCQ0000000000000000000AB","decision":"refuse","response":"No test"}"#;

    type Input = Input;
    type Output = Output;

    /// Only a refusal opens criteria again.
    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        if input.decision == GateDecision::Resume && input.reopen.is_some() {
            let (path, found) = ("reopen".to_owned(), "given with resume".to_owned());
            let expected = "left out unless the decision is refuse".to_owned();
            return Err(Fault::BadValue { path, found, expected }.into());
        }
        Ok(())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let command = AnswerGate {
            decision: input.decision,
            response: input.response.clone(),
            expected_revision: input.expected_revision,
            accept_unclaimed: input.accept_unclaimed == Some(true),
        };
        let texts = input
            .reopen
            .as_ref()
            .map(|texts| texts.iter().map(|text| text.as_str().to_owned()).collect::<Vec<_>>());
        let gate = call.answer_gate(&input.gate_id, &command, texts.as_deref())?;
        Ok(Output { gate: GateView::of(call, gate)? })
    }
}
