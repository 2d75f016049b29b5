//! Secrets of tokens: created here, shown once, stored only as a digest.
//!
//! Also records whether the store has an operator yet (ADR 0008).

use punchlist_core::authority::Action;
use punchlist_core::{Actor, Reach, Time, TokenId};
use punchlist_store::migrate::IDENTITY_TO_COME;
use punchlist_store::rows::tokens::Token;
use punchlist_store::{Asked, Target, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::care::for_the_whole_store;
use crate::dispatch::Ops;
use crate::error::TokenFault;
use crate::identity::{Facts, prove, prove_by};
use crate::sign_in::idle_since;
use crate::{Error, Proof};

/// The prefix of a secret, so that people and secret scanners recognise it.
const PREFIX: &str = "punch_";

/// The stored fact that ends the bootstrap.
const OPERATOR: &str = "operator";

/// A fresh secret of 256 bits.
pub(crate) fn secret() -> Result<String, Error> {
    random(PREFIX)
}

/// 256 random bits after a prefix that names their purpose.
pub(crate) fn random(prefix: &str) -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Internal { detail: format!("no randomness: {error}") })?;
    Ok(format!("{prefix}{}", hex(&bytes)))
}

/// The digest of a secret, which is all the store keeps.
pub(crate) fn digest(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_well_formed(secret: &str) -> bool {
    secret
        .strip_prefix(PREFIX)
        .is_some_and(|rest| rest.len() == 64 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

impl Ops {
    /// Identifies the caller. A token is looked up on every call, so a revoked token stops working
    /// at once.
    pub fn identify(&self, facts: Facts, token: Option<&str>) -> Result<(Actor, Proof), Error> {
        let Some(secret) = token.map(str::trim) else {
            return match self.remote() {
                // A terminal on this machine proves nothing to the server.
                Some(remote) => remote.identify(&facts, None),
                None => prove(facts).map_err(|denied| match self.admits(Proof::Nothing) {
                    // No role helps where a token is missing.
                    Err(missing @ Error::TokenRequired) => missing,
                    _ => denied,
                }),
            };
        };
        // An empty token is an error, because the caller meant to give one.
        if secret.is_empty() {
            return Err(Error::BadToken { fault: TokenFault::Empty });
        }
        if !is_well_formed(secret) {
            return Err(Error::BadToken { fault: TokenFault::Malformed });
        }
        if let Some(remote) = self.remote() {
            return remote.identify(&facts, Some(secret));
        }
        let digest = digest(secret);
        let (found, clock) = self
            .store()?
            .read(move |tx| Ok::<_, Error>((tx.token_by_digest(&digest)?, tx.clock()?)))?;
        let token = valid(found, clock)?;
        let mut actor = prove_by(&token, facts)?;
        actor.reach.token = Some(token.id.to_string());
        Ok((actor, Proof::Token(token.id)))
    }

    /// May a caller with this proof use the store at all? For callers outside the catalogue;
    /// operations check this in their own transaction. A store that does not exist yet is open.
    pub fn admits(&self, proof: Proof) -> Result<(), Error> {
        if let Target::File(path) = self.target()
            && !path.exists()
        {
            return Ok(());
        }
        self.store()?.read(move |tx| needs_token(tx, proof))
    }

    /// Is a proof that was valid when a process started still valid? Processes that run on ask this
    /// again and again, so that revoking a token stops them.
    pub fn still_admits(&self, proof: Proof) -> Result<(), Error> {
        if self.remote().is_some() {
            // The server checks the token of every request.
            return Ok(());
        }
        self.store()?.read(move |tx| {
            if let Proof::Token(id) = proof {
                let clock = tx.clock()?;
                valid(tx.token(id)?, clock)?;
            }
            needs_token(tx, proof)
        })
    }

    /// Like `admits`, for writes: if only some streams are a terminal, it is unclear who is
    /// writing.
    pub fn admits_writing(&self, proof: Proof) -> Result<(), Error> {
        if proof == Proof::PartTerminal {
            return Err(Error::IdentityUnclear);
        }
        self.admits(proof)
    }

    /// May this actor do something that affects everybody: start a worker or a server, make a
    /// backup? On an open store a caller without a token may, because everybody who can run `punch`
    /// as this user is trusted. A caller with a token is limited by it.
    pub fn may_serve(
        &self,
        actor: &Actor,
        proof: Proof,
        action: Action,
        what: &'static str,
    ) -> Result<(), Error> {
        self.admits(proof)?;
        if proof.is_token() {
            for_the_whole_store(actor, action, what)?;
        }
        Ok(())
    }

    /// Makes the store ready for agents: creates it, and ends the bootstrap, so that no agent
    /// becomes its operator.
    pub fn prepare(&self, proof: Proof, now: Time) -> Result<(), Error> {
        self.admits_writing(proof)?;
        let store = self.store()?;
        if store.read(has_operator)? {
            return Ok(());
        }
        Ok(store.write(move |tx| operator_seen(tx, now))?)
    }

    /// Records that a person used a terminal: from now on the store has an operator.
    pub(crate) fn person_seen(&self, now: Time) -> Result<(), Error> {
        let store = self.store()?;
        if store.read(has_operator)? {
            return Ok(());
        }
        Ok(store.write(move |tx| operator_seen(tx, now))?)
    }
}

/// The token, if it exists and is valid now.
pub(crate) fn valid(found: Option<Token>, clock: Time) -> Result<Token, Error> {
    let token = found.ok_or(Error::BadToken { fault: TokenFault::Unknown })?;
    if let Some(at) = token.revoked_at {
        return Err(Error::BadToken { fault: TokenFault::Revoked { at } });
    }
    if let Some(at) = token.expires_at.filter(|at| *at <= clock) {
        return Err(Error::BadToken { fault: TokenFault::Expired { at } });
    }
    if let Some(at) = idle_since(&token, clock) {
        return Err(Error::BadToken { fault: TokenFault::Expired { at } });
    }
    Ok(token)
}

/// Is the token that a run was started with still valid? Asked at every step that acts, so that
/// revoking a token also stops the runs that were started with it.
pub(crate) fn holds(tx: &mut Tx<'_>, reach: &Reach) -> Result<(), Error> {
    let Some(id) = reach.token.as_deref().and_then(TokenId::parse) else { return Ok(()) };
    let found = tx.token(id)?;
    valid(found, tx.clock()?).map(drop)
}

/// The stored fact with the identity rule.
const IDENTITY: &str = "identity";

/// How callers of a store are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdentityRule {
    /// Without a token, by the terminal.
    Open,
    /// Only by tokens.
    Tokens,
}

impl IdentityRule {
    /// The rule of a store, from its stored fact.
    fn of(fact: Option<&str>) -> Self {
        match fact {
            Some("tokens") => Self::Tokens,
            _ => Self::Open,
        }
    }
}

pub(crate) fn identity_rule(tx: &mut Tx<'_>) -> Result<IdentityRule, Error> {
    Ok(IdentityRule::of(tx.fact(IDENTITY)?.as_deref()))
}

pub(crate) fn set_identity_rule(tx: &mut Tx<'_>, rule: IdentityRule) -> Result<(), Error> {
    let word = match rule {
        IdentityRule::Open => "open",
        IdentityRule::Tokens => "tokens",
    };
    Ok(tx.put_fact(IDENTITY, word)?)
}

/// The rule that takes effect with the first operator's token, unless a rule was already set.
pub(crate) fn identity_to_come(tx: &mut Tx<'_>) -> Result<Option<IdentityRule>, Error> {
    let open = tx.fact(IDENTITY)?.is_none();
    Ok(match tx.fact(IDENTITY_TO_COME)?.as_deref() {
        Some("tokens") if open => Some(IdentityRule::Tokens),
        _ => None,
    })
}

/// Refuses a caller without a token if the store requires one.
pub(crate) fn needs_token(tx: &mut Tx<'_>, proof: Proof) -> Result<(), Error> {
    if is_proved(proof) {
        return Ok(());
    }
    refuse_under(identity_rule(tx)?)
}

/// Refuses a caller without a token.
const fn refuse_under(rule: IdentityRule) -> Result<(), Error> {
    match rule {
        IdentityRule::Open => Ok(()),
        IdentityRule::Tokens => Err(Error::TokenRequired),
    }
}

/// Runs a job of a caller that [`needs_token`] does not refuse. On PostgreSQL the rule is read
/// together with the job's first statement, which saves a round trip. So the job may have run when
/// its caller is refused. Then the refusal is the answer, whatever the job returned, and as an error
/// it undoes the transaction.
pub(crate) fn with_token<T>(
    tx: &mut Tx<'_>,
    proof: Proof,
    job: impl FnOnce(&mut Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    if is_proved(proof) {
        return job(tx);
    }
    let refuse = |fact: Option<String>| refuse_under(IdentityRule::of(fact.as_deref()));
    match tx.ask_fact(IDENTITY)? {
        Asked::Now(fact) => refuse(fact).and_then(|()| job(tx)),
        Asked::Later => {
            let done = job(tx);
            match tx.asked_fact() {
                Ok(fact) => refuse(fact).and(done),
                // The rule could not be read, so the answer of the job must not be returned.
                Err(error) => Err(match done {
                    Err(failed @ Error::Store(_)) => failed,
                    _ => error.into(),
                }),
            }
        }
    }
}

/// Does the caller need no further proof? The engine and the agents of runs do not, because their
/// process was checked when it started.
const fn is_proved(proof: Proof) -> bool {
    match proof {
        Proof::Token(_) | Proof::Run(_) | Proof::Engine => true,
        Proof::Terminal | Proof::PartTerminal | Proof::Nothing | Proof::Http => false,
    }
}

/// Does the store have an operator? Until then, anybody may create the first token.
pub(crate) fn has_operator(tx: &mut Tx<'_>) -> Result<bool, Error> {
    Ok(tx.fact(OPERATOR)?.is_some())
}

pub(crate) fn operator_seen(tx: &mut Tx<'_>, now: Time) -> Result<(), punchlist_store::Error> {
    tx.put_fact(OPERATOR, &now.to_string())
}
