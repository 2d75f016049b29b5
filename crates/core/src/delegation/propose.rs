//! A worker's proposal for the checklist: read from its return, and decided by who delegated.
//!
//! It travels as a fenced `todo-proposal` block, in JSON or as a checklist. What cannot be read
//! is left in the words of the return and stores nothing (Q-K4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Delegation;
use crate::event::ProposalDecided;
use crate::text::{Content, Title};
use crate::{Actor, Decision, Refusal, Refused, Role, TodoKind};

/// How many items a proposal may hold.
const ITEMS_MAX: usize = 100;

/// What a worker thinks belongs on the checklist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    pub items: Vec<ProposedItem>,
}

/// One proposed item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedItem {
    pub content: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Title>,
    #[serde(default)]
    pub kind: TodoKind,
}

/// What is said to a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalDecision {
    Accept,
    /// Other items go in instead.
    Modify,
    Reject,
}

/// Decide on a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecideProposal {
    pub decision: ProposalDecision,
    /// With `modify`: what goes in.
    pub items: Option<Vec<ProposedItem>>,
}

impl DecideProposal {
    /// The items to take in come back with the decision.
    pub fn decide(
        &self,
        delegation: &Delegation,
        actor: &Actor,
    ) -> Result<(Decision, Vec<ProposedItem>), Refused> {
        let delegator = actor.role == Role::System
            || actor.role == Role::Operator
            || (actor.role != Role::Worker && actor.agent == delegation.parent_agent);
        if !delegator {
            return Err(
                Refusal::NotYourProposal { delegator: delegation.parent_agent.clone() }.into()
            );
        }
        let Some(proposal) = &delegation.proposal else {
            return Err(Refusal::NoProposal { delegation: delegation.id }.into());
        };
        if let Some(decision) = delegation.decision {
            return Err(Refusal::ProposalSettled { delegation: delegation.id, decision }.into());
        }
        let items = match (self.decision, &self.items) {
            (ProposalDecision::Accept, _) => proposal.items.clone(),
            (ProposalDecision::Modify, Some(items)) if !items.is_empty() => items.clone(),
            (ProposalDecision::Modify, _) => return Err(Refusal::ItemsRequired.into()),
            (ProposalDecision::Reject, _) => Vec::new(),
        };
        let (delegation_id, decision) = (delegation.id, self.decision);
        let decided = ProposalDecided { delegation_id, decision, items: items.clone() };
        Ok((Decision { events: vec![decided.into()], ..Decision::default() }, items))
    }
}

/// The proposal in a worker's words, if there is one that can be read.
#[must_use]
pub fn proposal_in(text: &str) -> Option<Proposal> {
    let block = fenced(text)?;
    let items = from_json(&block)?;
    (!items.is_empty() && items.len() <= ITEMS_MAX).then_some(Proposal { items })
}

/// What stands between ```` ```todo-proposal ```` and the closing fence.
fn fenced(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| line.trim() != "```todo-proposal");
    lines.next()?;
    let mut block = Vec::new();
    for line in lines {
        if line.trim() == "```" {
            return Some(block.join("\n"));
        }
        block.push(line);
    }
    None
}

/// An object with `items`, or the list alone; an item is an object, or its text alone.
fn from_json(block: &str) -> Option<Vec<ProposedItem>> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Item {
        Text(Content),
        Whole(ProposedItem),
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Items {
        Bare(Vec<Item>),
        Named { items: Vec<Item> },
    }
    let (Items::Bare(items) | Items::Named { items }) = serde_json::from_str(block).ok()?;
    let whole = |item| match item {
        Item::Whole(item) => item,
        Item::Text(content) => ProposedItem { content, phase: None, kind: TodoKind::Step },
    };
    Some(items.into_iter().map(whole).collect())
}
