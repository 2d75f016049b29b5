//! Links between issues: metadata for navigation. They block nothing (K-43).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Issue, IssueStatus, keeper};
use crate::authority::{Action, Subject};
use crate::event::{IssueLinked, IssueUnlinked};
use crate::named::named;
use crate::{By, Decide, Decision, IssueId, LinkId, ProjectId, Refusal, Refused, Time};

named! {
    /// The relation of one issue to another.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum LinkKind {
        ChildOf = "child_of",
        DuplicateOf = "duplicate_of",
        BlockedBy = "blocked_by",
        /// Symmetric.
        RelatesTo = "relates_to",
    }
}

impl LinkKind {
    /// The relation as seen from the other issue: computed, never stored (K-42).
    #[must_use]
    pub const fn inverse(self) -> &'static str {
        match self {
            Self::ChildOf => "parent_of",
            Self::DuplicateOf => "duplicated_by",
            Self::BlockedBy => "blocks",
            Self::RelatesTo => "relates_to",
        }
    }
}

/// A link as it is stored: once, from one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    pub id: LinkId,
    pub project_id: ProjectId,
    pub from_issue: IssueId,
    pub to_issue: IssueId,
    pub kind: LinkKind,
    pub created_by: String,
    pub created_at: Time,
}

impl Link {
    /// Is it equal to a link of this kind between these issues?
    pub(super) fn says(&self, kind: LinkKind, from: IssueId, to: IssueId) -> bool {
        let straight = (self.from_issue, self.to_issue) == (from, to);
        let turned = kind == LinkKind::RelatesTo && (self.from_issue, self.to_issue) == (to, from);
        self.kind == kind && (straight || turned)
    }
}

/// Is the other issue an open child? Closing the parent lists its open children and does not change
/// them (Q-K6). `outgoing`: the link is stored on this issue's side.
#[must_use]
pub const fn is_open_child(kind: LinkKind, outgoing: bool, status: IssueStatus) -> bool {
    matches!(kind, LinkKind::ChildOf) && !outgoing && !status.is_closed()
}

/// Two issues, and the links between them in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Linking<'a> {
    pub from: &'a Issue,
    pub to: &'a Issue,
    pub links: &'a [Link],
}

/// Link two issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkIssues {
    pub kind: LinkKind,
}

/// Remove a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlinkIssues {
    pub kind: LinkKind,
}

impl Decide for LinkIssues {
    type On<'a> = Linking<'a>;
    type Out = Decision;

    fn decide(
        &self,
        Linking { from, to, links }: Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Subject::Issue, Action::Link, || true)?;
        if from.id == to.id {
            return Err(Refusal::SelfLink { number: from.number }.into());
        }
        if links.iter().any(|link| link.says(self.kind, from.id, to.id)) {
            let (number, to) = (from.number, to.number);
            return Err(Refusal::AlreadyLinked { number, kind: self.kind, to }.into());
        }
        let link = Link {
            id: LinkId::from(ids.ulid()),
            project_id: from.project_id,
            from_issue: from.id,
            to_issue: to.id,
            kind: self.kind,
            created_by: actor.principal.clone(),
            created_at: now,
        };
        let linked = IssueLinked { link, number: from.number, to: to.number };
        Ok(Decision { events: vec![linked.into()], ..Decision::default() })
    }
}

impl UnlinkIssues {
    /// The issue that the events belong to: a symmetric link may be stored on the other side.
    #[must_use]
    pub fn keeper<'a>(self, on: Linking<'a>) -> &'a Issue {
        let is_here = |link: &Link| link.kind == self.kind && link.from_issue == on.from.id;
        if on.links.iter().any(is_here) { on.from } else { on.to }
    }
}

impl Decide for UnlinkIssues {
    type On<'a> = Linking<'a>;
    type Out = Decision;

    fn decide(
        &self,
        Linking { from, to, links }: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Subject::Issue, Action::Link, || true)?;
        let Some(link) = links.iter().find(|link| link.says(self.kind, from.id, to.id)) else {
            let (number, to) = (from.number, to.number);
            return Err(Refusal::NotLinked { number, kind: self.kind, to }.into());
        };
        let (link_id, kind) = (link.id, self.kind);
        let unlinked = IssueUnlinked { link_id, kind, number: from.number, to: to.number };
        Ok(Decision { events: vec![unlinked.into()], ..Decision::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::tests::decided;
    use crate::issue::tests::issue;
    use crate::{Actor, AgentPath, Event, Ids, Role};

    fn link(kind: LinkKind, pair: (&Issue, &Issue), links: &[Link]) -> Result<Link, Refusal> {
        let (now, mut ids) = (Time::from_micros(3), Ids::new(Time::from_micros(3), 9));
        let actor = Actor::new(Role::Root, AgentPath::primary());
        let decided = {
            let on = Linking { from: pair.0, to: pair.1, links };
            LinkIssues { kind }.decide(on, By { actor: &actor, now, ids: &mut ids })
        };
        match decided.map_err(|refused| refused.refusal)?.events.as_slice() {
            [Event::IssueLinked(linked)] => Ok(linked.link.clone()),
            events => panic!("{events:?}"),
        }
    }

    /// K-40, K-41, K-46: one row each; a symmetric link is the same from both sides.
    #[test]
    fn a_link_is_kept_once_and_never_to_itself() {
        let (a, b) = (issue(1), issue(2));
        for kind in LinkKind::ALL {
            assert_eq!(LinkKind::parse(kind.name()), Some(kind));
            assert_eq!(link(kind, (&a, &a), &[]), Err(Refusal::SelfLink { number: 1 }));
            let made = link(kind, (&a, &b), &[]).unwrap();
            assert_eq!((made.from_issue, made.to_issue, made.kind), (a.id, b.id, kind));
            let again = link(kind, (&a, &b), std::slice::from_ref(&made));
            assert_eq!(again, Err(Refusal::AlreadyLinked { number: 1, kind, to: 2 }));
            let back = link(kind, (&b, &a), std::slice::from_ref(&made));
            assert_eq!(back.is_err(), kind == LinkKind::RelatesTo, "{}", kind.name());
        }
    }

    /// K-42: the inverse name follows from the kind.
    #[test]
    fn inverses_are_computed() {
        let inverses = LinkKind::ALL.map(LinkKind::inverse);
        assert_eq!(inverses, ["parent_of", "duplicated_by", "blocks", "relates_to"]);
    }

    #[test]
    fn only_what_is_linked_is_unlinked() {
        let (a, b) = (issue(1), issue(2));
        let actor = Actor::new(Role::Operator, AgentPath::primary());
        let kind = LinkKind::RelatesTo;
        let made = link(kind, (&a, &b), &[]).unwrap();
        let links = [made];
        let unlink = UnlinkIssues { kind };
        assert_eq!(
            decided(&unlink, Linking { from: &b, to: &a, links: &links }, &actor)
                .unwrap()
                .events
                .len(),
            1
        );
        let refused =
            decided(&unlink, Linking { from: &a, to: &b, links: &[] }, &actor).unwrap_err();
        assert_eq!(refused.refusal, Refusal::NotLinked { number: 1, kind, to: 2 });
    }
}
