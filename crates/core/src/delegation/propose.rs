//! A worker's proposal for the checklist: read from its result, and decided by the delegating
//! agent.
//!
//! It is a fenced `todo-proposal` block, in JSON or as a checklist. A block that cannot be read
//! stays part of the result's text and stores nothing (Q-K4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Delegation;
use crate::authority::{Action, Subject, may, owns_delegation};
use crate::command::NewTodo;
use crate::event::ProposalDecided;
use crate::issue::checklist::{Line, parse};
use crate::text::{Body, Content, Title};
use crate::{By, Decide, Decision, Refusal, Refused, TodoKind};

/// How many items a proposal may hold.
const ITEMS_MAX: usize = 100;

/// The items a worker proposes for the checklist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// In their order.
    pub items: Vec<ProposedItem>,
}

/// One proposed item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedItem {
    /// What is to be done, or to hold.
    pub content: Content,
    /// The phase it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Title>,
    /// A step unless said otherwise.
    #[serde(default)]
    pub kind: TodoKind,
}

impl From<ProposedItem> for NewTodo {
    fn from(item: ProposedItem) -> Self {
        Self { kind: item.kind, phase: item.phase, ..Self::titled(item.content) }
    }
}

/// The decision on a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalDecision {
    Accept,
    /// Other items go in instead.
    Modify,
    Reject,
}

impl ProposalDecision {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Modify => "modify",
            Self::Reject => "reject",
        }
    }
}

/// Decide on a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecideProposal {
    pub decision: ProposalDecision,
    /// With `modify`: the items to add instead.
    pub items: Option<Vec<ProposedItem>>,
    /// Why: what is missing, for example.
    pub reason: Option<Body>,
}

impl Decide for DecideProposal {
    type On<'a> = &'a Delegation;
    type Out = (Decision, Vec<ProposedItem>);

    /// Returns the items to add with the decision.
    fn decide(
        &self,
        delegation: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let own = || owns_delegation(actor, delegation);
        if !may(actor, Subject::Delegation, Action::Decide, own) {
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
            (decision @ (ProposalDecision::Accept | ProposalDecision::Reject), Some(_)) => {
                return Err(Refusal::ItemsNotTaken { decision }.into());
            }
            (ProposalDecision::Accept, None) => proposal.items.clone(),
            (ProposalDecision::Modify, Some(items)) if !items.is_empty() => items.clone(),
            (ProposalDecision::Modify, _) => return Err(Refusal::ItemsRequired.into()),
            (ProposalDecision::Reject, None) => Vec::new(),
        };
        let (delegation_id, decision) = (delegation.id, self.decision);
        let reason = self.reason.as_ref().map(ToString::to_string);
        let decided = ProposalDecided { delegation_id, decision, items: items.clone(), reason };
        Ok((Decision { events: vec![decided.into()], ..Decision::default() }, items))
    }
}

/// The proposal in a worker's text, if there is a readable one.
#[must_use]
pub fn proposal_in(text: &str) -> Option<Proposal> {
    let block = fenced(text)?;
    let items = from_json(&block).or_else(|| from_checklist(&block))?;
    (!items.is_empty() && items.len() <= ITEMS_MAX).then_some(Proposal { items })
}

/// The text between ```` ```todo-proposal ```` and the closing fence.
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

/// Reads a checklist. Its marks are ignored, because a worker completes nothing.
fn from_checklist(block: &str) -> Option<Vec<ProposedItem>> {
    let item =
        |line: Line| ProposedItem { content: line.content, phase: line.phase, kind: line.kind };
    Some(parse(block).ok()?.into_iter().map(item).collect())
}

/// Reads an object with `items`, or just the list; an item is an object, or just its text.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn items(texts: &[(&str, Option<&str>, TodoKind)]) -> Option<Proposal> {
        let item = |(content, phase, kind): &(&str, Option<&str>, TodoKind)| ProposedItem {
            content: Content::new(content).unwrap(),
            phase: phase.map(|phase| Title::new(phase).unwrap()),
            kind: *kind,
        };
        Some(Proposal { items: texts.iter().map(item).collect() })
    }

    /// K-48, Q-K4: a fenced block in JSON or as a checklist; what cannot be read proposes nothing.
    #[test]
    fn a_proposal_is_read_from_the_text_of_a_result() {
        let (step, criterion) = (TodoKind::Step, TodoKind::Criterion);
        let fenced = |block: &str| format!("I looked.\n\n```todo-proposal\n{block}\n```\nBye.");
        let read = |block: &str| proposal_in(&fenced(block));
        let two = items(&[("a", None, step), ("b", None, step)]);
        assert_eq!(read(r#"["a", "b"]"#), two);
        assert_eq!(read(r#"{"items": ["a", {"content": "b"}]}"#), two);
        assert_eq!(
            read(r#"[{"content": "a", "phase": "P", "kind": "criterion"}]"#),
            items(&[("a", Some("P"), criterion)])
        );
        assert_eq!(
            read("# Criteria\n- [x] fast\n\n# Build\n- [ ] a\n- [/] b"),
            items(&[
                ("fast", None, criterion),
                ("a", Some("Build"), step),
                ("b", Some("Build"), step)
            ])
        );
        for bad in ["", "some words", r#"{"items": []}"#, r#"[{"text": "a"}]"#, "- [ab] a"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(proposal_in("no block"), None);
        assert_eq!(proposal_in("```todo-proposal\n[\"a\"]"), None, "never closed");
    }
}
