//! `sign_in_link`: a link that signs the operator's browser in to the pages. It works once.

use punchlist_core::Time;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::event::SignInLinkMade;
use punchlist_store::rows::sign_ins::SignIn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::sign_in::{LINK_S, new_link};
use crate::{Error, Proof};

/// How many servers are listed at most.
const SERVERS_MAX: i64 = 10;

/// Make a link that signs a browser in to the pages. It works once, for five minutes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The part of the link that signs in. It is never shown again.
    pub code: String,
    /// The link at each server of this store, the one that started last first; none: no server runs.
    pub urls: Vec<String>,
    pub expires_at: Time,
}

/// The address of the link on a server.
#[must_use]
pub fn link(server: &str, code: &str) -> String {
    format!("{}/sign-in?code={code}", server.trim_end_matches('/'))
}

#[derive(Debug)]
pub struct SignInLink;

impl Define for SignInLink {
    const NAME: &'static str = "sign_in_link";
    const ACCESS: Access = Access::On(Subject::Store, Action::Govern);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = "{}";
    const KEEPS_ANSWERS: bool = false;
    const PRIVATE: bool = true;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, _: &Input) -> Result<Output, Error> {
        let envelope = call.envelope();
        let ends_at = match envelope.proof {
            Proof::Token(id) => call.tx().token(id)?.and_then(|token| token.expires_at),
            _ => None,
        };
        let created_at = call.tx().clock()?;
        let sign_in = SignIn {
            created_by: envelope.actor.principal.clone(),
            project: envelope.project.clone(),
            reach: envelope.actor.reach.without_token(),
            created_at,
            ends_at,
            used_at: None,
        };
        let code = new_link(call.tx(), &sign_in)?;
        let expires_at = created_at.plus_seconds(LINK_S);
        call.log("store", SignInLinkMade { expires_at })?;
        let servers = call.tx().servers(SERVERS_MAX)?;
        let urls = servers.iter().map(|server| link(server, &code)).collect();
        Ok(Output { code, urls, expires_at })
    }
}
