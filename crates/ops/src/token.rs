//! Secrets of tokens: made here, shown once, known to the store by their digest alone.
//!
//! Also the store's memory of whether it has an operator yet (ADR 0008).

use punchlist_core::authority::Action;
use punchlist_core::{Actor, Time};
use punchlist_store::migrate::IDENTITY_TO_COME;
use punchlist_store::{Target, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::care::for_the_whole_store;
use crate::dispatch::Ops;
use crate::error::TokenFault;
use crate::identity::{Facts, prove, prove_by};
use crate::{Error, Proof};

/// What a secret begins with, so that people and scanners know one when they see it.
const PREFIX: &str = "punch_";

/// The fact that closes the bootstrap.
const OPERATOR: &str = "operator";

/// A fresh secret of 256 bits.
pub(crate) fn secret() -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Internal { detail: format!("no randomness: {error}") })?;
    Ok(format!("{PREFIX}{}", hex(&bytes)))
}

/// What the store keeps of a secret.
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
    /// Who somebody is. A token is looked up at every call: what was revoked a moment ago proves
    /// nothing any more.
    pub fn identify(&self, facts: Facts, token: Option<&str>) -> Result<(Actor, Proof), Error> {
        let Some(secret) = token.map(str::trim) else {
            return prove(facts);
        };
        // A token that is set but empty was meant to be one: it is never taken for none.
        if secret.is_empty() {
            return Err(Error::BadToken { fault: TokenFault::Empty });
        }
        if !is_well_formed(secret) {
            return Err(Error::BadToken { fault: TokenFault::Malformed });
        }
        let digest = digest(secret);
        let (found, clock) = self
            .store()?
            .read(move |tx| Ok::<_, Error>((tx.token_by_digest(&digest)?, tx.clock()?)))?;
        let token = found.ok_or(Error::BadToken { fault: TokenFault::Unknown })?;
        if let Some(at) = token.revoked_at {
            return Err(Error::BadToken { fault: TokenFault::Revoked { at } });
        }
        if let Some(at) = token.expires_at.filter(|at| *at <= clock) {
            return Err(Error::BadToken { fault: TokenFault::Expired { at } });
        }
        Ok((prove_by(&token, facts)?, Proof::Token(token.id)))
    }

    /// May somebody with this proof use the store at all? For what is no operation of the catalogue;
    /// those ask in their own transaction. A store that is not there yet is open.
    pub fn admits(&self, proof: Proof) -> Result<(), Error> {
        if let Target::File(path) = self.target()
            && !path.exists()
        {
            return Ok(());
        }
        self.store()?.read(move |tx| needs_token(tx, proof))
    }

    /// The same for what writes: where only some streams are a terminal, nobody can tell who does.
    pub fn admits_writing(&self, proof: Proof) -> Result<(), Error> {
        if proof == Proof::PartTerminal {
            return Err(Error::IdentityUnclear);
        }
        self.admits(proof)
    }

    /// May this actor have something done for everybody: start a worker or a server, make a backup?
    /// On an open store whoever brings no token may, for there everybody who can run `punch` as this
    /// user is trusted; one that brings a token is held to it.
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

    /// Makes the store ready for agents: it is there, and nobody becomes its operator unasked.
    pub fn prepare(&self, proof: Proof, now: Time) -> Result<(), Error> {
        self.admits_writing(proof)?;
        let store = self.store()?;
        if store.read(has_operator)? {
            return Ok(());
        }
        Ok(store.write(move |tx| operator_seen(tx, now))?)
    }

    /// A person has given a command at a terminal: from now on there is an operator.
    pub(crate) fn person_seen(&self, now: Time) -> Result<(), Error> {
        let store = self.store()?;
        if store.read(has_operator)? {
            return Ok(());
        }
        Ok(store.write(move |tx| operator_seen(tx, now))?)
    }
}

/// The fact that holds the store's identity rule.
const IDENTITY: &str = "identity";

/// How callers of a store are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdentityRule {
    /// By the terminal where there is no token.
    Open,
    /// By tokens alone.
    Tokens,
}

pub(crate) fn identity_rule(tx: &mut Tx<'_>) -> Result<IdentityRule, Error> {
    Ok(match tx.fact(IDENTITY)?.as_deref() {
        Some("tokens") => IdentityRule::Tokens,
        _ => IdentityRule::Open,
    })
}

pub(crate) fn set_identity_rule(tx: &mut Tx<'_>, rule: IdentityRule) -> Result<(), Error> {
    let word = match rule {
        IdentityRule::Open => "open",
        IdentityRule::Tokens => "tokens",
    };
    Ok(tx.put_fact(IDENTITY, word)?)
}

/// The rule that the store is to get with its first operator's token, if it is to get one and
/// nobody has set another.
pub(crate) fn identity_to_come(tx: &mut Tx<'_>) -> Result<Option<IdentityRule>, Error> {
    let open = tx.fact(IDENTITY)?.is_none();
    Ok(match tx.fact(IDENTITY_TO_COME)?.as_deref() {
        Some("tokens") if open => Some(IdentityRule::Tokens),
        _ => None,
    })
}

/// Refuses a caller without a token where the store asks for one. What the engine and the agents of
/// runs do was asked about when their process was started.
pub(crate) fn needs_token(tx: &mut Tx<'_>, proof: Proof) -> Result<(), Error> {
    match proof {
        Proof::Token(_) | Proof::Run(_) | Proof::Engine => Ok(()),
        Proof::Terminal | Proof::PartTerminal | Proof::Nothing => match identity_rule(tx)? {
            IdentityRule::Open => Ok(()),
            IdentityRule::Tokens => Err(Error::TokenRequired),
        },
    }
}

/// Does the store have an operator? Until then the first token is anybody's.
pub(crate) fn has_operator(tx: &mut Tx<'_>) -> Result<bool, Error> {
    Ok(tx.fact(OPERATOR)?.is_some())
}

pub(crate) fn operator_seen(tx: &mut Tx<'_>, now: Time) -> Result<(), punchlist_store::Error> {
    tx.put_fact(OPERATOR, &now.to_string())
}
