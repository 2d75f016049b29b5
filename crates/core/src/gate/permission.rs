//! Permission to call an external tool: asked for one call, given once or always, or refused
//! (S-31).
//!
//! A standing permission is stored only in its answered gate: for the project, the agent, the tool,
//! and the definition of the tool that the person saw. If the definition changes, the person is
//! asked again.

use serde::{Deserialize, Serialize};

use serde_json::{Value, json};

use super::details::WantedCall;
use super::{Details, Gate, GateKind, GateState};
use crate::authority::{Action, Denial, Subject, Verdict, judge, may_any};
use crate::event::{GateAnswerRefused, GateOpened, PermissionRevoked};
use crate::text::Title;
use crate::{AgentPath, By, Decide, Decision, GateId, Issue, ProjectId, Refusal, Refused};
use crate::{RunId, Session};

/// For how long permission is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allow {
    /// For the call that was asked about.
    Once,
    Always,
}

impl Allow {
    /// Reads a response; an empty one means once.
    pub fn of(response: Option<&Value>) -> Option<Self> {
        let said = match response {
            None | Some(Value::Null) => return Some(Self::Once),
            Some(Value::Object(fields)) if fields.len() == 1 => fields.get("allow")?.as_str()?,
            Some(Value::String(word)) => word,
            Some(_) => return None,
        };
        match said {
            "once" => Some(Self::Once),
            "always" => Some(Self::Always),
            _ => None,
        }
    }

    pub(super) fn response(self) -> Value {
        match self {
            Self::Once => json!({ "allow": "once" }),
            Self::Always => json!({ "allow": "always" }),
        }
    }
}

/// Ask whether an agent may call an external tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskPermission {
    pub tool: Title,
    /// The agent that wants to call it.
    pub agent: AgentPath,
    /// The run and the call in it. They identify the question when it is asked again.
    pub run: Title,
    pub call: Title,
    /// The input as shown to the person, and the digest of the whole input.
    pub input: Value,
    pub digest: String,
    /// The definition of the tool, e.g. its command.
    pub definition: Value,
}

/// The facts that the question depends on.
#[derive(Clone, Copy, Debug)]
pub struct PermissionGround<'a> {
    pub project_id: ProjectId,
    pub session: Option<&'a Session>,
    pub issue: Option<&'a Issue>,
    /// Earlier gates about this agent and this tool, the newest first.
    pub earlier: &'a [Gate],
    /// The run that wants to call it.
    pub run_id: Option<RunId>,
}

/// The result of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permitted {
    /// This gate asks about this very call; it may be answered or open.
    Said(GateId),
    /// This gate gives a standing permission.
    Standing(GateId),
    New(Decision),
}

impl Decide for AskPermission {
    type On<'a> = &'a PermissionGround<'a>;
    type Out = Permitted;

    fn decide(
        &self,
        ground: Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let is_own = self.agent.is_within(&actor.agent);
        match judge(actor.role, Subject::Permission, Action::Ask, is_own) {
            Verdict::Allow => {}
            Verdict::Deny(Denial::NotYours) => {
                return Err(Refusal::NotYourself { agent: self.agent.clone() }.into());
            }
            _ => return Err(Refusal::MayNotAsk { role: actor.role }.into()),
        }
        let said = ground.earlier.iter().find(|gate| self.is_asked_by(gate));
        if let Some(gate) = said.filter(|gate| gate.state != GateState::Open) {
            return Ok(Permitted::Said(gate.id));
        }
        if let Some(gate) = standing(ground.earlier, &self.definition) {
            return Ok(Permitted::Standing(gate.id));
        }
        if let Some(gate) = said {
            return Ok(Permitted::Said(gate.id));
        }
        let gate = Gate {
            id: GateId::from(ids.ulid()),
            project_id: ground.project_id,
            details: Details::Permission(WantedCall {
                run: self.run.as_str().to_owned(),
                call: self.call.as_str().to_owned(),
                input: self.input.clone(),
                digest: self.digest.clone(),
                definition: self.definition.clone(),
            }),
            purpose: None,
            state: GateState::Open,
            session_id: ground.session.map(|session| session.id),
            issue_id: ground.issue.map(|issue| issue.id),
            todo_id: None,
            run_id: ground.run_id,
            text: self.tool.as_str().to_owned(),
            asked_by: actor.principal.clone(),
            reach: actor.reach.clone(),
            agent: self.agent.clone(),
            created_at: now,
            revision: ground.issue.map(|issue| issue.revision),
            end: None,
            response: None,
            answered_by: None,
            answered_at: None,
            collected_at: None,
        };
        let events = vec![GateOpened { gate: Box::new(gate) }.into()];
        Ok(Permitted::New(Decision { events, ..Decision::default() }))
    }
}

impl AskPermission {
    /// Does this gate ask about this very call? A gate whose permission was revoked does not count.
    fn is_asked_by(&self, gate: &Gate) -> bool {
        let Some(asked) = gate.details.wanted_call() else { return false };
        gate.state != GateState::Superseded
            && !is_revoked(gate)
            && gate.agent == self.agent
            && gate.text == self.tool.as_str()
            && asked.run == self.run.as_str()
            && asked.call == self.call.as_str()
            && asked.digest == self.digest
            && asked.definition == self.definition
    }
}

fn is_revoked(gate: &Gate) -> bool {
    gate.response.as_ref().is_some_and(|response| response.get("revokedAt").is_some())
}

impl Gate {
    /// Does it give a standing permission that was not revoked?
    #[must_use]
    pub fn is_standing_permission(&self) -> bool {
        self.kind() == GateKind::Permission
            && self.state == GateState::Resumed
            && Allow::of(self.response.as_ref()) == Some(Allow::Always)
    }

    /// Do both ask for the same agent, tool and definition?
    #[must_use]
    pub fn asks_for_the_same(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.details.wanted_call(), other.details.wanted_call())
        else {
            return false;
        };
        self.agent == other.agent && self.text == other.text && one.definition == two.definition
    }
}

/// The gate that gives a standing permission, among the gates about one agent and one tool, the
/// newest first. The latest answer counts; a permission given once does not count.
#[must_use]
pub fn standing<'g>(gates: &'g [Gate], definition: &Value) -> Option<&'g Gate> {
    let lasting = gates.iter().rev().filter(|gate| {
        gate.details.wanted_call().is_some_and(|call| call.definition == *definition)
            && (gate.is_standing_permission() || gate.state == GateState::Refused)
    });
    // Of gates answered at the same time, the newest counts.
    lasting.max_by_key(|gate| gate.answered_at).filter(|gate| gate.state == GateState::Resumed)
}

/// Revoke a standing permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevokePermission {}

impl Decide for RevokePermission {
    type On<'a> = &'a Gate;
    type Out = Decision;

    fn decide(
        &self,
        gate: Self::On<'_>,
        By { actor, now, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        if !may_any(actor.role, Subject::Permission, Action::Revoke) {
            let refusal = Refusal::MayNotAnswer { role: actor.role };
            let audit = GateAnswerRefused { gate_id: gate.id, refusal: refusal.clone() };
            return Err(Refused { refusal, audit: Some(Box::new(audit.into())) });
        }
        // Revoking again is not an error and changes nothing.
        if gate.kind() == GateKind::Permission && is_revoked(gate) {
            return Ok(Decision::default());
        }
        if !gate.is_standing_permission() {
            return Err(Refusal::NoPermission { gate: gate.id }.into());
        }
        let mut response = Allow::Always.response();
        response["revokedAt"] = json!(now);
        response["revokedBy"] = actor.principal.as_str().into();
        let events = vec![PermissionRevoked { gate_id: gate.id, response }.into()];
        Ok(Decision { events, ..Decision::default() })
    }
}

#[cfg(test)]
mod tests;
