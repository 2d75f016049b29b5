//! `token_list`: the tokens of a store, without their secrets.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::{Reach, Role, Time, TokenId};
use punchlist_store::rows::tokens::Token;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Cursor, Limit, page};

/// List the tokens of this store, newest first; never their secrets.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<TokenId>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub tokens: Vec<TokenRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<TokenId>,
}

/// A token, as it is shown to people.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenRow {
    pub id: String,
    pub role: Role,
    pub agent: Option<String>,
    /// Its limits; absent parts are unlimited.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub reach: Reach,
    pub created_by: String,
    pub created_at: Time,
    pub expires_at: Option<Time>,
    pub revoked_at: Option<Time>,
    /// For a browser that is signed in to the pages: when it last looked. It ends 30 days later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Time>,
}

impl From<Token> for TokenRow {
    fn from(token: Token) -> Self {
        Self {
            id: token.id.to_string(),
            role: token.role,
            agent: token.agent.map(|agent| agent.to_string()),
            reach: token.reach,
            created_by: token.created_by,
            created_at: token.created_at,
            expires_at: token.expires_at,
            revoked_at: token.revoked_at,
            used_at: token.used_at,
        }
    }
}

#[derive(Debug)]
pub struct TokenList;

impl Define for TokenList {
    const NAME: &'static str = "token_list";
    const ACCESS: Access = Access::On(Subject::Token, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["token", "list"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"limit":10}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let limit = input.limit;
        let mut tokens = call.tx().tokens(input.cursor.text().as_deref(), limit.and_one())?;
        let next_cursor = page(&mut tokens, limit, |last| last.id);
        let reach = &call.envelope().actor.reach;
        tokens.retain(|token| reach.contains(&token.reach));
        Ok(Output { tokens: tokens.into_iter().map(TokenRow::from).collect(), next_cursor })
    }
}
