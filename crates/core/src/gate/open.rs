//! Ask a person: open a gate, or find the one that already asks the same.

use serde::{Deserialize, Serialize};

use super::{Details, Gate, GateState, Purpose};
use crate::authority::{Action, Subject, may_any};
use crate::event::{GateCollected, GateOpened, GateSuperseded};
use crate::issue::IssueStatus;
use crate::session::going;
use crate::text::{Body, normalised};
use crate::{
    Actor, By, Decide, Decision, GateId, Issue, ProjectId, Refusal, Refused, RunId, Session,
    SessionId, Snapshot, Status, Todo, TodoKind,
};

/// Ask for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenGate {
    /// In JSON the fields `kind` and `details`.
    #[serde(flatten)]
    pub details: Details,
    /// For a checkpoint; `None` means a sign-off if every criterion is claimed, else a pause.
    pub purpose: Option<Purpose>,
    pub text: Body,
    /// For a sign-off: the status the issue should end with.
    pub end: IssueStatus,
}

/// The facts that the question depends on.
#[derive(Clone, Debug)]
pub struct Ground<'a> {
    pub project_id: ProjectId,
    pub session: Option<&'a Session>,
    /// The issue the caller names, else the one the session is bound to, and its checklist.
    pub issue: Option<&'a Issue>,
    pub checklist: Option<&'a Snapshot>,
    /// The run it is asked in.
    pub run_id: Option<RunId>,
    /// The asker's earlier gates, the newest first.
    pub earlier: &'a [Gate],
}

/// The result of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A new gate, which may supersede others.
    New { opened: Decision, superseded: Vec<(GateId, Decision)> },
    /// It was asked before and is still open.
    Standing(GateId),
    /// It was asked before and has been answered.
    Answered(GateId, Decision),
}

impl Decide for OpenGate {
    type On<'a> = &'a Ground<'a>;
    type Out = Asked;

    fn decide(
        &self,
        ground: Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        if !may_any(actor.role, Subject::Gate, Action::Ask) {
            return Err(Refusal::MayNotAsk { role: actor.role }.into());
        }
        ground.session.map_or(Ok(()), going)?;
        let purpose = self.purpose(ground)?;
        let revision = ground.issue.map(|issue| issue.revision);
        let is_ours = |gate: &&Gate| is_same_asker(gate, actor, ground.session.is_some());
        // A refused sign-off reopens criteria. Asked again without a purpose, it would be a pause, but
        // its answer is still to be collected.
        let was_sign_off = |gate: &Gate| gate.purpose == Some(Purpose::SignOff);
        let same = |gate: &&Gate| {
            is_ours(gate)
                && (gate.purpose == purpose || (self.purpose.is_none() && was_sign_off(gate)))
                && gate.issue_id == ground.issue.map(|issue| issue.id)
                && normalised(&gate.text) == normalised(self.text.as_str())
                && gate.details == self.details
                && (gate.end.is_none() || gate.end == Some(self.end))
        };
        // A sign-off is about the issue's current state: if a covered part has changed, it is
        // another question.
        let current = |gate: &Gate| {
            gate.purpose != Some(Purpose::SignOff)
                || ground.issue.is_some_and(|issue| gate.is_current(issue))
        };
        let end = (purpose == Some(Purpose::SignOff)).then_some(self.end);
        if let Some(gate) = ground.earlier.iter().find(same) {
            match gate.state {
                GateState::Open if current(gate) => return Ok(Asked::Standing(gate.id)),
                GateState::Resumed | GateState::Refused
                    if gate.collected_at.is_none() && current(gate) =>
                {
                    let events = vec![GateCollected { gate_id: gate.id }.into()];
                    let decision = Decision { events, ..Decision::default() };
                    return Ok(Asked::Answered(gate.id, decision));
                }
                _ => {}
            }
        }
        // Only a new form is checked: the answer to one that an older version accepted is still to be
        // collected.
        if let Details::Form(form) = &self.details {
            form.check().map_err(|fault| Refusal::BadForm { fault })?;
        }
        let gate = Gate {
            id: GateId::from(ids.ulid()),
            project_id: ground.project_id,
            details: self.details.clone(),
            purpose,
            state: GateState::Open,
            session_id: ground.session.map(|session| session.id),
            issue_id: ground.issue.map(|issue| issue.id),
            todo_id: None,
            run_id: ground.run_id,
            text: self.text.as_str().to_owned(),
            asked_by: actor.principal.clone(),
            reach: actor.reach.clone(),
            agent: actor.agent.clone(),
            created_at: now,
            revision,
            end,
            response: None,
            answered_by: None,
            answered_at: None,
            collected_at: None,
        };
        let by = gate.id;
        let replaced = |gate: &&Gate| {
            is_ours(gate)
                && self.is_checkpoint()
                && matches!(gate.details, Details::Checkpoint {})
                && gate.state == GateState::Open
        };
        let superseded = ground.earlier.iter().filter(replaced).map(|gate| {
            let events = vec![GateSuperseded { gate_id: gate.id, by }.into()];
            (gate.id, Decision { events, ..Decision::default() })
        });
        let superseded = superseded.collect();
        let events = vec![GateOpened { gate: Box::new(gate) }.into()];
        Ok(Asked::New { opened: Decision { events, ..Decision::default() }, superseded })
    }
}

/// Tokens of one agent may have different reaches, so without a session the reach must be the same.
fn is_same_asker(gate: &Gate, actor: &Actor, in_session: bool) -> bool {
    in_session || gate.reach.is_same_as(&actor.reach)
}

impl OpenGate {
    /// Has this caller opened the gate with this question?
    pub(super) fn has_opened(
        &self,
        gate: &Gate,
        actor: &Actor,
        session: Option<SessionId>,
    ) -> bool {
        gate.asked_by == actor.principal
            && gate.session_id == session
            && is_same_asker(gate, actor, session.is_some())
            && normalised(&gate.text) == normalised(self.text.as_str())
            && gate.details == self.details
    }

    const fn is_checkpoint(&self) -> bool {
        matches!(self.details, Details::Checkpoint {})
    }

    fn purpose(&self, ground: &Ground<'_>) -> Result<Option<Purpose>, Refused> {
        if !self.is_checkpoint() {
            return Ok(None);
        }
        let closed = ground.issue.filter(|issue| issue.status.is_closed());
        let purpose = match self.purpose {
            Some(Purpose::SignOff) if ground.issue.is_none() => return Err(Refusal::Unbound.into()),
            Some(purpose) => purpose,
            None if closed.is_none() && ground.checklist.is_some_and(criteria_met) => {
                Purpose::SignOff
            }
            None => Purpose::Pause,
        };
        // Closing an issue ended its sign-offs: there is nothing left to sign off.
        if let (Purpose::SignOff, Some(issue)) = (purpose, closed) {
            let Issue { number, status, .. } = *issue;
            let allowed = Vec::new();
            return Err(Refusal::WrongIssueStatus { number, status, to: self.end, allowed }.into());
        }
        // The answer lets the asking session close the issue, so it must be that issue's session.
        if let (Purpose::SignOff, Some(issue)) = (purpose, ground.issue)
            && ground.session.is_none_or(|session| session.bound_issue != Some(issue.id))
        {
            let number = issue.number;
            let elsewhere = ground.session.is_some_and(|session| session.bound_issue.is_some());
            return Err(match elsewhere {
                true => Refusal::OtherIssue { number, bound: None },
                false => Refusal::SignOffNeedsSession { number },
            }
            .into());
        }
        Ok(Some(purpose))
    }
}

/// Are there criteria, and is each of them claimed, accepted or dropped?
fn criteria_met(checklist: &Snapshot) -> bool {
    let criterion = |todo: &&Todo| {
        todo.kind == TodoKind::Criterion
            && todo.removed_at.is_none()
            && todo.status != Status::Cancelled
    };
    let mut criteria = checklist.todos.values().filter(criterion).peekable();
    criteria.peek().is_some()
        && criteria.all(|todo| todo.status == Status::Completed || todo.claim.is_some())
}
