//! A claim, and whether the agent that accepts it made it itself.

use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::{Actor, AgentPath, Credential, Time};

/// A statement that an item is done: by whom, when, with which evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    pub by: String,
    pub at: Time,
    pub outcome: Option<String>,
    pub evidence: Vec<Evidence>,
    /// The agent that made it; `None` if it was made by policy, or by an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentPath>,
    /// The token or run that proved the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Credential>,
    /// The maker also accepted it, under another name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted_by_maker: bool,
}

impl Claim {
    /// A claim that this actor makes now.
    #[must_use]
    pub fn new(actor: &Actor, at: Time, outcome: Option<String>, evidence: Vec<Evidence>) -> Self {
        Self {
            by: actor.principal.clone(),
            at,
            outcome,
            evidence,
            agent: actor.role.is_agent().then(|| actor.agent.clone()),
            proof: actor.proof,
            accepted_by_maker: false,
        }
    }

    /// Did this actor make the claim, itself or under another name? An agent can name any subagent
    /// of its own, so a subagent's claim is its own claim too, unless the operator gave each of them
    /// a token.
    #[must_use]
    pub fn is_own_of(&self, actor: &Actor) -> bool {
        if self.by == actor.principal {
            return true;
        }
        match (self.proof, actor.proof) {
            (Some(claimer), Some(accepter)) if claimer == accepter => true,
            (Some(Credential::Token(_)), Some(Credential::Token(_))) => false,
            _ => self.agent.as_ref().is_some_and(|agent| agent.is_within(&actor.agent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ids, Role, RunId, TokenId};

    /// Issue 15: an actor with the name, the token or the run of the maker is the maker, and so is
    /// one that can name the maker's agent.
    #[test]
    fn a_claim_belongs_to_its_maker_under_any_name() {
        let mut ids = Ids::new(Time::from_micros(0), 1);
        let mut token = || Some(Credential::Token(TokenId::from(ids.ulid())));
        let (one, two) = (token(), token());
        let run = Some(Credential::Run(RunId::from(ids.ulid())));
        let by = |role, path: &str, proof| {
            let agent = AgentPath::parse(path).unwrap();
            Actor { proof, ..Actor::new(role, agent) }
        };
        let (root, worker) = (Role::Root, Role::Worker);
        let table = [
            ((root, "primary", None), (root, "primary", None), true),
            ((root, "primary", one), (root, "primary", two), true),
            ((root, "other", None), (root, "primary", None), false),
            ((worker, "primary.subagents.x", None), (root, "primary", None), true),
            ((worker, "primary.subagents.x", one), (root, "primary", None), true),
            ((worker, "primary.subagents.x", run), (root, "primary", one), true),
            ((worker, "primary.subagents.x", one), (root, "primary", two), false),
            ((worker, "primary.subagents.x", one), (root, "primary", one), true),
            ((root, "other", one), (root, "primary", one), true),
            ((root, "other", run), (root, "primary", run), true),
            ((root, "primary", None), (root, "primary.lead", None), false),
            ((Role::System, "primary", None), (root, "primary", None), false),
        ];
        for (claimer, accepter, is_own) in table {
            let made = by(claimer.0, claimer.1, claimer.2);
            let claim = Claim::new(&made, Time::from_micros(1), None, Vec::new());
            let judge = by(accepter.0, accepter.1, accepter.2);
            assert_eq!(claim.is_own_of(&judge), is_own, "{claimer:?} {accepter:?}");
        }
    }

    #[test]
    fn a_claim_of_an_older_version_is_read() {
        let old =
            r#"{"by":"root:primary","at":"2026-11-15T08:00:00Z","outcome":null,"evidence":[]}"#;
        let claim: Claim = serde_json::from_str(old).unwrap();
        assert_eq!((claim.agent, claim.proof, claim.accepted_by_maker), (None, None, false));
    }
}
