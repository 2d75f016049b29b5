//! Tokens for people: the secret once, everything else as often as asked.

use punchlist_core::{Reach, Time};
use serde_json::Value;

use super::columns::aligned;
use super::text;
use super::times::relative;
use crate::output::{BOLD, DIM, GREEN, line, width};

fn at(value: &Value) -> Option<Time> {
    value.as_str().and_then(Time::parse)
}

fn reach(token: &Value) -> Reach {
    serde_json::from_value(token["reach"].clone()).unwrap_or_default()
}

pub(super) fn made(answer: &Value, now: Time) -> String {
    let ends = at(&answer["expiresAt"])
        .map_or("does not expire".to_owned(), |time| format!("ends {}", relative(time, now)));
    let (role, token, id) = (text(answer, "role"), text(answer, "token"), text(answer, "id"));
    let reach = line(&reach(answer).words());
    format!(
        "{GREEN}Made{GREEN:#} a token for the role {role}; it {ends}.\n\
         It reaches {reach}.\n  {BOLD}{token}{BOLD:#}\n\
         {DIM}The secret is not shown again. Give it as PUNCHLIST_TOKEN. \
         Take it back with: punch token revoke {id}{DIM:#}\n"
    )
}

pub(super) fn listed(answer: &Value, now: Time) -> String {
    let tokens = answer["tokens"].as_array().map(Vec::as_slice).unwrap_or_default();
    if tokens.is_empty() {
        return "There are no tokens. `punch token new --role …` makes one.\n".to_owned();
    }
    let rows = tokens.iter().map(|token| {
        let ends = at(&token["expiresAt"]).map(|time| format!("ends {}", relative(time, now)));
        let gone = at(&token["revokedAt"]).map(|time| format!("revoked {}", relative(time, now)));
        vec![
            text(token, "id").into_owned(),
            text(token, "role").into_owned(),
            text(token, "agent").into_owned(),
            gone.or(ends).unwrap_or_else(|| "valid".to_owned()),
            line(&reach(token).words()),
        ]
    });
    aligned(rows.collect(), width())
}

pub(super) fn revoked(answer: &Value) -> String {
    let token = &answer["token"];
    let (id, role) = (text(token, "id"), text(token, "role"));
    format!("{GREEN}Revoked{GREEN:#} {id} ({role}); from now on it proves nothing.\n")
}

pub(super) fn identity(answer: &Value) -> String {
    match answer["rule"].as_str() {
        Some("tokens") => "Every command on this store needs a token.\n".to_owned(),
        _ => "This store is open: without a token, a person at a terminal is the operator and \
              everything else is an agent.\n"
            .to_owned(),
    }
}
