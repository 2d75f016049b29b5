//! `token_new`: create a secret that proves a role, for an agent or a person without a terminal.
//!
//! On a store without an operator, anybody on this machine may create the operator's token, once
//! (ADR 0008).

use punchlist_core::Refusal;
use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_core::event::{StoreIdentitySet, TokenIssued};
use punchlist_core::text::Title;
use punchlist_core::{Reach, Role, Time, TokenId};
use punchlist_store::rows::lists::Lock;
use punchlist_store::rows::tokens::Token;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::explain::Fault;
use crate::input::{Agent, Expires, range};
use crate::token::{
    digest, has_operator, identity_to_come, operator_seen, secret, set_identity_rule,
};
use crate::{Envelope, Error, Proof};

/// Create a token that proves a role. Its secret is shown once.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The role it proves.
    pub role: Role,
    /// The agent it is for, e.g. "coder"; absent: primary.
    #[serde(default)]
    pub agent: Option<Agent>,
    /// Only this project; absent: all projects.
    #[serde(default)]
    pub project: Option<Title>,
    /// Only this mission.
    #[serde(default)]
    pub mission: Option<Title>,
    /// Only this pillar of the mission.
    #[serde(default)]
    pub pillar: Option<Title>,
    /// Only this issue of the project; without a project, of the caller's.
    #[serde(default, deserialize_with = "range::<1, 1_000_000_000, _>")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub number: Option<i64>,
    /// Only this plan file.
    #[serde(default)]
    #[schemars(with = "Option<crate::input::PlanFile>")]
    pub plan_file: Option<Title>,
    /// Only this session and its issue: its id, or its host's id.
    #[serde(default)]
    pub session: Option<Title>,
    /// When it expires: a time (RFC 3339) or a duration such as 12h; absent: never.
    #[serde(default)]
    pub expires: Option<Expires>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub id: String,
    /// The secret. It is never shown again.
    pub token: String,
    pub role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its limits; absent parts are unlimited.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub reach: Reach,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// What it is narrowed to and does not exist yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

#[derive(Debug)]
pub struct TokenNew;

impl Define for TokenNew {
    const NAME: &'static str = "token_new";
    const ACCESS: Access = Access::On(Subject::Token, Action::Create);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { command: &["token", "new"], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"role":"lead","agent":"boss","mission":"dx","expires":"30d"}"#;
    const KEEPS_ANSWERS: bool = false;
    const BOOTSTRAPS: bool = true;

    type Input = Input;
    type Output = Output;

    /// These are rules about who asks, and about fields that need one another.
    fn check(envelope: &Envelope, input: &Input) -> Result<(), Error> {
        // The first operator's token can be created only on the machine of the store, never over
        // HTTP.
        let is_local = !envelope.proof.is_token() && envelope.proof != Proof::Http;
        let first = is_local && makes_operator(input.role);
        if !may_any(envelope.actor.role, Subject::Token, Action::Create) && !first {
            return Err(denied(envelope));
        }
        if input.pillar.is_some() && input.mission.is_none() {
            return Err(Fault::MissingField { path: "mission".to_owned() }.into());
        }
        Ok(())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let envelope = call.envelope();
        let may = may_any(envelope.actor.role, Subject::Token, Action::Create);
        if !may && has_operator(call.tx())? {
            return Err(denied(envelope));
        }
        let secret = secret()?;
        let text = |part: &Option<Title>| part.as_ref().map(|text| text.as_str().to_owned());
        // The store's own clock: `PUNCHLIST_NOW` neither ends nor prolongs a token.
        let clock = call.tx().clock()?;
        let session = match &input.session {
            Some(named) => Some(call.session_named(named.as_str(), Lock::No)?.id.to_string()),
            None => None,
        };
        let reach = Reach {
            project: text(&input.project).or_else(|| {
                let is_of_project = session.is_some() || input.number.is_some();
                is_of_project.then(|| envelope.project.clone())
            }),
            mission: text(&input.mission),
            pillar: text(&input.pillar),
            number: input.number,
            plan_file: text(&input.plan_file),
            session,
            token: None,
        };
        if !envelope.actor.reach.contains(&reach) {
            return Err(Refusal::OutOfReach { missing: reach.words() }.into());
        }
        let unknown = unknown(call, &reach)?;
        let expires_at = no_later(expiry(input, clock)?, own_end(call)?)?;
        let token = Token {
            id: TokenId::from(call.ids().ulid()),
            role: input.role,
            agent: input.agent.as_ref().map(|Agent(path)| path.clone()),
            reach,
            created_by: envelope.actor.principal.clone(),
            created_at: envelope.now,
            expires_at,
            revoked_at: None,
            used_at: None,
        };
        call.tx().insert_token(&token, &digest(&secret))?;
        if makes_operator(input.role) {
            operator_seen(call.tx(), envelope.now)?;
            if let Some(rule) = identity_to_come(call.tx())? {
                set_identity_rule(call.tx(), rule)?;
                call.log("store", StoreIdentitySet { rule: "tokens".to_owned() })?;
            }
        }
        let issued = TokenIssued {
            token_id: token.id,
            role: token.role,
            agent: token.agent.clone(),
            reach: token.reach.clone(),
            expires_at: token.expires_at,
        };
        call.log(&token.id.to_string(), issued)?;
        Ok(Output {
            id: token.id.to_string(),
            token: secret,
            role: token.role,
            agent: token.agent.map(|agent| agent.to_string()),
            reach: token.reach,
            expires_at: token.expires_at,
            unknown,
        })
    }
}

/// What a reach names and the store does not have. A token may be made before its project, but
/// often it is a typing error.
fn unknown(call: &mut Call<'_, '_>, reach: &Reach) -> Result<Vec<String>, Error> {
    let named = reach.project.clone();
    let is_named = named.is_some();
    // A mission without a project may be in any, but usually it is in the caller's.
    let name = named.unwrap_or_else(|| call.envelope().project.clone());
    let Some(project) = call.tx().project(&name)? else {
        return Ok(match &reach.mission {
            _ if is_named => vec![format!("project `{name}`")],
            Some(slug) => vec![format!("mission `{slug}` of `{name}`")],
            None => Vec::new(),
        });
    };
    let mut unknown = Vec::new();
    if let Some(number) = reach.number
        && call.tx().issue(project, number, Lock::No)?.is_none()
    {
        unknown.push(format!("issue #{number} of `{name}`"));
    }
    if let Some(slug) = &reach.mission
        && call.tx().mission_head(project, slug, Lock::No)?.is_none()
    {
        unknown.push(format!("mission `{slug}` of `{name}`"));
    }
    Ok(unknown)
}

/// Does a token of this role make its bearer an operator?
fn makes_operator(role: Role) -> bool {
    may_any(role, Subject::Store, Action::Govern)
}

/// When the caller's own token expires.
fn own_end(call: &mut Call<'_, '_>) -> Result<Option<Time>, Error> {
    match call.envelope().proof {
        Proof::Token(id) => Ok(call.tx().token(id)?.and_then(|token| token.expires_at)),
        _ => Ok(None),
    }
}

/// A token must not outlive the token it was created with.
fn no_later(wanted: Option<Time>, own: Option<Time>) -> Result<Option<Time>, Error> {
    match (wanted, own) {
        (Some(wanted), Some(own)) if wanted > own => {
            let expected = format!("no later than {own}, when your own token ends");
            let (path, found) = ("expires".to_owned(), format!("`{wanted}`"));
            Err(Fault::BadValue { path, found, expected }.into())
        }
        (wanted, own) => Ok(wanted.or(own)),
    }
}

fn denied(envelope: &Envelope) -> Error {
    Error::OperationNotPermitted { operation: TokenNew::NAME, role: envelope.actor.role }
}

/// When the token expires, relative to `clock`. A time in the past is refused.
fn expiry(input: &Input, clock: Time) -> Result<Option<Time>, Error> {
    let Some(Expires(wanted)) = &input.expires else { return Ok(None) };
    let at = wanted.after(clock).ok_or_else(|| {
        let (path, found) = ("expires".to_owned(), format!("`{wanted}`"));
        let expected = "a future time (RFC 3339) or a duration such as 12h".to_owned();
        Error::from(Fault::BadValue { path, found, expected })
    })?;
    Ok(Some(at))
}
