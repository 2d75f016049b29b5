//! `proposal_decide`: accept, change or reject a worker's proposal.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::delegation::{DecideProposal, ProposalDecision, ProposedItem};
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, Name, up_to};
use crate::views::DelegationView;

/// Decide on a worker's proposal for the checklist. Only accepted items are stored.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The delegation that returned it.
    pub delegation_id: Name,
    /// Accept it, accept other items instead, or reject it.
    pub decision: ProposalDecision,
    /// With modify: the items to store instead.
    #[serde(default, deserialize_with = "up_to::<100, _, _>")]
    #[schemars(length(max = 100))]
    pub items: Option<Vec<ProposedItem>>,
    /// Why, for example what is missing. The delegating agent sees it with the decision.
    #[serde(default)]
    pub reason: Maybe<Body>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub delegation: DelegationView,
    /// Items that were already on the list.
    pub skipped: Vec<String>,
}

#[derive(Debug)]
pub struct ProposalDecide;

impl Define for ProposalDecide {
    const NAME: &'static str = "proposal_decide";
    const ACCESS: Access = Access::On(Subject::Delegation, Action::Decide);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["delegation", "decide"],
        positional: &["delegationId", "decision"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str =
        r#"{"delegationId":"01JCQ0000000000000000000AB","decision":"accept"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let (decision, items) = (input.decision, input.items.clone());
        let command = DecideProposal { decision, items, reason: input.reason.0.clone() };
        let (delegation, skipped) = call.decide_proposal(&input.delegation_id, &command)?;
        Ok(Output { delegation: delegation.into(), skipped })
    }
}
