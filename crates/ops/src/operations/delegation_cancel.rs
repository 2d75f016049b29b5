//! `delegation_cancel`: cancel a delegation.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::delegation::CancelDelegation;
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, Name};
use crate::views::OneDelegation;

/// Cancel a delegation. Later reports of its worker are refused.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id.
    pub delegation_id: Name,
    /// Why.
    #[serde(default)]
    pub reason: Maybe<Body>,
}

#[derive(Debug)]
pub struct DelegationCancel;

impl Define for DelegationCancel {
    const NAME: &'static str = "delegation_cancel";
    const ACCESS: Access = Access::On(Subject::Delegation, Action::Cancel);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["delegation", "cancel"],
        positional: &["delegationId"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str =
        r#"{"delegationId":"01JCQ0000000000000000000AB","reason":"Not needed"}"#;

    type Input = Input;
    type Output = OneDelegation;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneDelegation, Error> {
        let command = CancelDelegation { reason: input.reason.0.clone() };
        Ok(call.cancel_delegation(&input.delegation_id, &command)?.into())
    }
}
