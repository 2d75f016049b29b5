//! Secrets of tokens: made here, shown once, known to the store by their digest alone.
//!
//! Also the store's memory of whether it has an operator yet (ADR 0008).

use punchlist_core::{Actor, Time};
use punchlist_store::Tx;
use sha2::{Digest, Sha256};

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
        let Some(secret) = token.map(str::trim).filter(|secret| !secret.is_empty()) else {
            return prove(facts);
        };
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
        Ok((prove_by(&token, facts)?, Proof::Token))
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

/// Does the store have an operator? Until then the first token is anybody's.
pub(crate) fn has_operator(tx: &mut Tx<'_>) -> Result<bool, Error> {
    Ok(tx.fact(OPERATOR)?.is_some())
}

pub(crate) fn operator_seen(tx: &mut Tx<'_>, now: Time) -> Result<(), punchlist_store::Error> {
    tx.put_fact(OPERATOR, &now.to_string())
}
