//! `token_revoke`: revoke a token.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::event::TokenRevoked;
use punchlist_core::{Refusal, TokenId};
use punchlist_store::rows::names::Named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::token_list::TokenRow;
use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Name;

/// Revoke a token. It stops working at once.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its id, as the list of tokens shows it; not the secret.
    pub id: Name,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub token: TokenRow,
}

#[derive(Debug)]
pub struct TokenRevoke;

impl Define for TokenRevoke {
    const NAME: &'static str = "token_revoke";
    const ACCESS: Access = Access::On(Subject::Token, Action::Revoke);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["token", "revoke"], positional: &["id"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"id":"01JCQ0000000000000000000AB"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let unknown = || Error::from(Refusal::UnknownToken { id: input.id.to_string() });
        let meant = call.whole_id(&input.id, &[Named::Token])?;
        let id = TokenId::parse(&meant).ok_or_else(unknown)?;
        let mut token = call.tx().token(id)?.ok_or_else(unknown)?;
        if !call.envelope().actor.reach.contains(&token.reach) {
            return Err(Refusal::OutOfReach { missing: token.reach.words() }.into());
        }
        // Revoking twice is not an error; the first time is kept.
        if token.revoked_at.is_none() {
            let now = call.envelope().now;
            call.tx().revoke_token(id, now)?;
            token.revoked_at = Some(now);
            call.log(&id.to_string(), TokenRevoked { token_id: id })?;
        }
        Ok(Output { token: token.into() })
    }
}
