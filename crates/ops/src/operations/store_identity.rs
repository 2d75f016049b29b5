//! `store_identity`: the rule that identifies callers of this store.

use punchlist_core::Refusal;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::event::StoreIdentitySet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::care::for_the_whole_store;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::token::{IdentityRule, identity_rule, set_identity_rule, valid};

/// Show or set how callers are identified: open (without a token, by the terminal) or tokens.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// open: without a token, a person at a terminal is the operator. tokens: every command needs a
    /// token. Absent: show the rule.
    #[serde(default)]
    pub rule: Option<IdentityRule>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub rule: IdentityRule,
}

#[derive(Debug)]
pub struct StoreIdentity;

impl Define for StoreIdentity {
    const NAME: &'static str = "store_identity";
    const ACCESS: Access = Access::On(Subject::Store, Action::Govern);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["store", "identity"], positional: &["rule"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"rule":"open"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        for_the_whole_store(&call.envelope().actor, Action::Govern, Self::NAME)?;
        let current = identity_rule(call.tx())?;
        let Some(rule) = input.rule.filter(|rule| *rule != current) else {
            return Ok(Output { rule: current });
        };
        // Without a valid operator token, nobody could reset the rule.
        if rule == IdentityRule::Tokens && !has_operator_token(call)? {
            return Err(Refusal::NoOperatorToken.into());
        }
        set_identity_rule(call.tx(), rule)?;
        let word = if rule == IdentityRule::Tokens { "tokens" } else { "open" };
        call.log("store", StoreIdentitySet { rule: word.to_owned() })?;
        Ok(Output { rule })
    }
}

/// Is there a token that is valid now, reaches everything, and may reset the rule?
fn has_operator_token(call: &mut Call<'_, '_>) -> Result<bool, Error> {
    let clock = call.tx().clock()?;
    let tokens = call.tx().tokens(None, i64::MAX)?;
    Ok(tokens.into_iter().any(|token| {
        Access::On(Subject::Store, Action::Govern).allows(token.role)
            && token.reach.is_everything()
            && token.used_at.is_none()
            && valid(Some(token), clock).is_ok()
    }))
}
