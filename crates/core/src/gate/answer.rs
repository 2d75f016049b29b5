//! Answer a gate. Only the first answer counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::permission::Allow;
use super::{Details, Gate, GateKind, GateState, Purpose};
use crate::authority::{Action, Subject, may_any};
use crate::event::{GateAnswerRefused, GateAnswered};
use crate::{Actor, By, Decide, Decision, Issue, Place, Refusal, Refused, Snapshot, TodoKind};

/// What a person says to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateDecision {
    Resume,
    Refuse,
}

/// Answer a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerGate {
    pub decision: GateDecision,
    pub response: Option<Value>,
    /// The revision of the issue that the operator saw; absent: the revision when it was asked.
    pub expected_revision: Option<i64>,
    /// A sign-off accepts criteria that nobody claimed.
    pub accept_unclaimed: bool,
}

impl Gate {
    /// Closes a question that needs no answer any more, because its subject has changed.
    #[must_use]
    pub fn supersede(&self, actor: &Actor) -> Decision {
        let answered = GateAnswered {
            gate_id: self.id,
            state: GateState::Superseded,
            response: None,
            answered_by: actor.principal.clone(),
            revision: None,
        };
        Decision { events: vec![answered.into()], ..Decision::default() }
    }
}

impl Decide for AnswerGate {
    type On<'a> = (&'a Gate, Option<i64>);
    type Out = Decision;

    /// `revision`: the issue's, after all consequences of the answer.
    fn decide(
        &self,
        (gate, revision): Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        self.check(gate, None, actor)?;
        let answered = GateAnswered {
            gate_id: gate.id,
            state: match self.decision {
                GateDecision::Resume => GateState::Resumed,
                GateDecision::Refuse => GateState::Refused,
            },
            response: self.response(gate),
            answered_by: actor.principal.clone(),
            revision,
        };
        Ok(Decision { events: vec![answered.into()], ..Decision::default() })
    }
}

impl AnswerGate {
    /// An answer to a gate that is no sign-off.
    #[must_use]
    pub const fn plain(decision: GateDecision, response: Option<Value>) -> Self {
        Self { decision, response, expected_revision: None, accept_unclaimed: false }
    }

    /// Is this answer allowed? Checked first, before its consequences are applied. `issue`: what a
    /// sign-off is about, with its checklist.
    pub fn check(
        &self,
        gate: &Gate,
        issue: Option<(&Issue, &Snapshot)>,
        actor: &Actor,
    ) -> Result<(), Refused> {
        if !may_any(actor.role, Subject::Gate, Action::Answer) {
            let refusal = Refusal::MayNotAnswer { role: actor.role };
            // Gates exist so that agents cannot answer for people, so the attempt is logged.
            let audit = GateAnswerRefused { gate_id: gate.id, refusal: refusal.clone() };
            return Err(Refused { refusal, audit: Some(Box::new(audit.into())) });
        }
        if gate.state != GateState::Open {
            let refusal = Refusal::AlreadyAnswered {
                gate: gate.id,
                state: gate.state,
                by: gate.answered_by.clone(),
                at: gate.answered_at,
                response: gate.response.clone().map(Box::new),
            };
            return Err(refusal.into());
        }
        if let (Details::Form(form), GateDecision::Resume) = (&gate.details, self.decision) {
            let response = self.response.as_ref().unwrap_or(&Value::Null);
            form.check_response(response).map_err(|faults| Refusal::BadResponse { faults })?;
        }
        if gate.kind() == GateKind::Permission && self.decision == GateDecision::Resume {
            let faults = vec!["`allow` must be `once` or `always`".to_owned()];
            let allow = Allow::of(self.response.as_ref()).ok_or(Refusal::BadResponse { faults })?;
            // A standing permission is valid wherever the agent works.
            if allow == Allow::Always && actor.reach.is_narrowed() {
                return Err(Refusal::OutOfReach { missing: Place::project().words() }.into());
            }
        }
        match issue {
            Some((issue, checklist))
                if gate.purpose == Some(Purpose::SignOff)
                    && self.decision == GateDecision::Resume =>
            {
                self.check_seen(gate, issue)?;
                self.check_claimed(issue, checklist)
            }
            _ => Ok(()),
        }
    }

    /// A yes covers only what the operator saw, not later changes.
    fn check_seen(&self, gate: &Gate, issue: &Issue) -> Result<(), Refused> {
        let changed = match (self.expected_revision, gate.is_current(issue)) {
            (None, true) => return Ok(()),
            (None, false) => issue.changed_since(gate.revision.unwrap_or(0)),
            (Some(seen), _) if seen == issue.revision => return Ok(()),
            // Nobody can have seen a revision that there is not yet.
            (Some(seen), _) if seen > issue.revision => {
                issue.changed_since(gate.revision.unwrap_or(0))
            }
            // A sign-off of an older version does not record which parts it covers.
            (Some(_), _) if gate.end.is_none() => Vec::new(),
            (Some(seen), _) => match issue.changed_since(seen) {
                changed if changed.is_empty() => return Ok(()),
                changed => changed,
            },
        };
        let (number, revision) = (issue.number, issue.revision);
        Err(Refusal::ChangedSinceAsked { number, changed, revision }.into())
    }

    /// Unclaimed criteria are accepted only if the operator says so.
    fn check_claimed(&self, issue: &Issue, checklist: &Snapshot) -> Result<(), Refused> {
        let unclaimed = checklist.todos.values().filter(|todo| {
            todo.kind == TodoKind::Criterion
                && todo.removed_at.is_none()
                && !todo.status.is_settled()
                && todo.claim.is_none()
        });
        let criteria: Vec<String> = unclaimed.map(|todo| todo.title.clone()).collect();
        if criteria.is_empty() || self.accept_unclaimed {
            return Ok(());
        }
        Err(Refusal::UnclaimedCriteria { number: issue.number, criteria }.into())
    }

    /// The response to store. For a permission: `once` or `always`, in one format.
    fn response(&self, gate: &Gate) -> Option<Value> {
        if gate.kind() == GateKind::Permission && self.decision == GateDecision::Resume {
            return Allow::of(self.response.as_ref()).map(Allow::response);
        }
        self.response.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::{IssueStatus, Part};
    use crate::{AgentPath, Role};

    fn asked(revision: i64, end: Option<IssueStatus>) -> Gate {
        let issue = crate::issue::tests::issue(3);
        serde_json::from_value(serde_json::json!({
            "id": "01JCQ0000000000000000000AB", "projectId": issue.project_id,
            "kind": "checkpoint", "purpose": "sign_off", "state": "open",
            "sessionId": null, "issueId": issue.id, "text": "met", "details": {},
            "askedBy": "root:primary", "agent": "primary", "createdAt": "2026-11-15T09:00:00Z",
            "revision": revision, "end": end, "response": null, "answeredBy": null,
            "answeredAt": null, "collectedAt": null,
        }))
        .unwrap()
    }

    fn refused(gate: &Gate, issue: &Issue, expected: Option<i64>) -> Option<Refusal> {
        let list = crate::List::new(
            crate::ListId::from(crate::Ids::new(crate::Time::from_micros(0), 4).ulid()),
            issue.project_id,
            crate::Scope::Issue { issue_id: issue.id.to_string() },
            crate::Time::from_micros(0),
        );
        let answer = AnswerGate {
            decision: GateDecision::Resume,
            response: None,
            expected_revision: expected,
            accept_unclaimed: false,
        };
        let operator = Actor::new(Role::Operator, AgentPath::primary());
        let checked = answer.check(gate, Some((issue, &Snapshot::empty(list))), &operator);
        checked.err().map(|refused| refused.refusal)
    }

    /// A standing permission is valid for every run of the agent, so a token that is narrowed to
    /// one issue may give permission only once.
    #[test]
    fn a_narrowed_operator_permits_nothing_always() {
        let mut gate = asked(4, None);
        let details = crate::gate::details::tests::stored("permission").to_string();
        gate.details = Details::read(GateKind::Permission, &details).unwrap();
        gate.purpose = None;
        let answer = |allow: &str| {
            let response = serde_json::json!({ "allow": allow });
            AnswerGate::plain(GateDecision::Resume, Some(response))
        };
        let mut operator = Actor::new(Role::Operator, AgentPath::primary());
        assert!(answer("always").check(&gate, None, &operator).is_ok());
        operator.reach.number = Some(1);
        assert!(answer("once").check(&gate, None, &operator).is_ok());
        let refused = answer("always").check(&gate, None, &operator).unwrap_err();
        assert_eq!(refused.refusal.code(), "out_of_reach");
    }

    /// A yes covers what was seen: the issue as it was asked about, or the revision that the
    /// operator names; what is not covered by a sign-off does not count.
    #[test]
    fn a_yes_covers_what_the_operator_saw() {
        let base = crate::issue::tests::issue(3);
        let at = |revision, judged: &[(Part, i64)]| Issue {
            revision,
            judged: judged.iter().copied().collect(),
            ..base.clone()
        };
        let gate = asked(4, Some(IssueStatus::Resolved));
        let changed = |parts: &[Part], revision| {
            let (number, changed) = (3, parts.to_vec());
            Some(Refusal::ChangedSinceAsked { number, changed, revision })
        };
        let claims = [(Part::Criteria, 2), (Part::Claims, 6)];
        for (gate, issue, expected, answer) in [
            (&gate, at(4, &[(Part::Claims, 4)]), None, None),
            (&gate, at(9, &[(Part::Claims, 4)]), None, None),
            (&gate, at(9, &claims), None, changed(&[Part::Claims], 9)),
            (&gate, at(9, &claims), Some(4), changed(&[Part::Claims], 9)),
            (&gate, at(9, &claims), Some(6), None),
            (&gate, at(9, &claims), Some(9), None),
            (&gate, at(9, &claims), Some(10), changed(&[Part::Claims], 9)),
            (&gate, at(9, &[]), Some(9999), changed(&[], 9)),
            (&gate, at(9, &claims), Some(1), changed(&[Part::Criteria, Part::Claims], 9)),
            (&asked(4, None), at(9, &[]), None, changed(&[], 9)),
            (&asked(4, None), at(9, &[]), Some(8), changed(&[], 9)),
            (&asked(4, None), at(9, &[]), Some(9), None),
            (&asked(4, None), at(4, &[]), None, None),
        ] {
            assert_eq!(refused(gate, &issue, expected), answer, "{issue:?} {expected:?}");
        }
    }
}
