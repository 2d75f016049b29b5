//! `delegation_take`: take the next delegation to work on.

use punchlist_core::Time;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::delegation::LEASE_S;
use punchlist_core::lease::LEASE_S_MAX;
use punchlist_core::text::Title;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, range, up_to};
use crate::views::DelegationView;

/// Take the next delegation in the queue and hold it by a lease.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Only delegations of these types; absent: of any type.
    #[serde(default, deserialize_with = "up_to::<50, _, _>")]
    #[schemars(length(max = 50))]
    pub types: Option<Vec<Title>>,
    /// Also take work for pillars, of any type.
    #[serde(default)]
    pub in_chats: Option<bool>,
    /// Only this delegation.
    #[serde(default)]
    pub delegation_id: Maybe<Title>,
    #[serde(default, deserialize_with = "range::<1, LEASE_S_MAX, _>")]
    #[schemars(
        description = format!("How long you hold it, in seconds; absent: {LEASE_S}, at most a day."),
        range(min = 1, max = LEASE_S_MAX)
    )]
    pub lease_s: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Null: there is nothing to take.
    pub delegation: Option<DelegationView>,
    /// Give it in the report.
    pub epoch: Option<i64>,
    pub lease_until: Option<Time>,
}

#[derive(Debug)]
pub struct DelegationTake;

impl Define for DelegationTake {
    const NAME: &'static str = "delegation_take";
    const ACCESS: Access = Access::On(Subject::Delegation, Action::Take);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { command: &["delegation", "take"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"types":["researcher"],"leaseS":60}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let types: Vec<String> = input.types.iter().flatten().map(ToString::to_string).collect();
        let lease_s = input.lease_s.unwrap_or(LEASE_S);
        let in_chats = input.in_chats == Some(true);
        let named = input.delegation_id.0.as_ref().map(Title::as_str);
        let (delegation, lease) = match call.take_delegation(&types, in_chats, named, lease_s)? {
            Some((delegation, lease)) => (Some(delegation), Some(lease)),
            None => (None, None),
        };
        Ok(Output {
            delegation: delegation.map(DelegationView::from),
            epoch: lease.as_ref().map(|lease| lease.epoch),
            lease_until: lease.map(|lease| lease.until),
        })
    }
}
