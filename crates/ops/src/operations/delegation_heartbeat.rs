//! `delegation_heartbeat`: extend the lease of a delegation.

use punchlist_core::Time;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::delegation::LEASE_S;
use punchlist_core::lease::LEASE_S_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Name, range};

/// Extend the lease of a delegation you are working on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id.
    pub delegation_id: Name,
    /// The number of the lease it was taken with.
    pub epoch: i64,
    #[serde(default, deserialize_with = "range::<0, LEASE_S_MAX, _>")]
    #[schemars(
        description = format!("How long from now, in seconds; absent: {LEASE_S}, at most a day; 0: release it."),
        range(min = 0, max = LEASE_S_MAX)
    )]
    pub lease_s: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub epoch: i64,
    pub lease_until: Time,
}

#[derive(Debug)]
pub struct DelegationHeartbeat;

impl Define for DelegationHeartbeat {
    const NAME: &'static str = "delegation_heartbeat";
    const ACCESS: Access = Access::On(Subject::Delegation, Action::Report);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["delegation", "heartbeat"],
        positional: &["delegationId", "epoch"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"delegationId":"01JCQ0000000000000000000AB","epoch":1}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let lease_s = input.lease_s.unwrap_or(LEASE_S);
        let lease = call.renew_delegation(&input.delegation_id, input.epoch, lease_s)?;
        Ok(Output { epoch: lease.epoch, lease_until: lease.until })
    }
}
