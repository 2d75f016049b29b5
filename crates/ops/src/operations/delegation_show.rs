//! `delegation_show`: one delegation.

use punchlist_core::authority::{Action, Subject};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Name;
use crate::views::OneDelegation;

/// Show a delegation: its state, its result and its proposal.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id.
    pub delegation_id: Name,
}

#[derive(Debug)]
pub struct DelegationShow;

impl Define for DelegationShow {
    const NAME: &'static str = "delegation_show";
    const ACCESS: Access = Access::On(Subject::Delegation, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces {
        command: &["delegation", "show"],
        positional: &["delegationId"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"delegationId":"01JCQ0000000000000000000AB"}"#;

    type Input = Input;
    type Output = OneDelegation;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneDelegation, Error> {
        let (delegation, _) = call.delegation(&input.delegation_id, Lock::No)?;
        Ok(delegation.into())
    }
}
