//! Links between issues: metadata to find one's way by. They gate nothing (K-43).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Issue, keeper};
use crate::authority::{Action, Subject};
use crate::event::{IssueLinked, IssueUnlinked};
use crate::named::named;
use crate::{Actor, Decision, Ids, IssueId, LinkId, ProjectId, Refusal, Refused, Time};

named! {
    /// How one issue stands to another.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum LinkKind {
        ChildOf = "child_of",
        DuplicateOf = "duplicate_of",
        BlockedBy = "blocked_by",
        /// The same from both sides.
        RelatesTo = "relates_to",
    }
}

impl LinkKind {
    /// How it reads from the other issue: computed, never stored (K-42).
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
    /// Does it say the same as a link from here to there would?
    fn says(&self, kind: LinkKind, from: IssueId, to: IssueId) -> bool {
        let straight = (self.from_issue, self.to_issue) == (from, to);
        let turned = kind == LinkKind::RelatesTo && (self.from_issue, self.to_issue) == (to, from);
        self.kind == kind && (straight || turned)
    }
}

/// Link two issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkIssues {
    pub kind: LinkKind,
}

/// Take a link back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnlinkIssues {
    pub kind: LinkKind,
}

impl LinkIssues {
    /// `links`: those between these two issues, whichever way.
    pub fn decide(
        self,
        (from, to): (&Issue, &Issue),
        links: &[Link],
        actor: &Actor,
        now: Time,
        ids: &mut Ids,
    ) -> Result<Decision, Refused> {
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
    pub fn decide(
        self,
        (from, to): (&Issue, &Issue),
        links: &[Link],
        actor: &Actor,
    ) -> Result<Decision, Refused> {
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
    use crate::issue::tests::issue;
    use crate::{AgentPath, Event, Role};

    fn link(kind: LinkKind, pair: (&Issue, &Issue), links: &[Link]) -> Result<Link, Refusal> {
        let (now, mut ids) = (Time::from_micros(3), Ids::new(Time::from_micros(3), 9));
        let actor = Actor::new(Role::Root, AgentPath::primary());
        let decided = LinkIssues { kind }.decide(pair, links, &actor, now, &mut ids);
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

    /// K-42: the other side's word follows from the kind.
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
        assert_eq!(unlink.decide((&b, &a), &links, &actor).unwrap().events.len(), 1);
        let refused = unlink.decide((&a, &b), &[], &actor).unwrap_err();
        assert_eq!(refused.refusal, Refusal::NotLinked { number: 1, kind, to: 2 });
    }
}
