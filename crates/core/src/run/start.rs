//! Begin a run.

use super::{RUNNERS, Run, RunState, Settings};
use crate::driver::Counters;
use crate::effect::Effect;
use crate::event::RunStarted;
use crate::{
    Actor, AgentPath, ConversationId, Decision, DelegationId, Ids, ProjectId, Refusal, Refused,
    Role, RunId, Scope, SessionId, Time,
};

/// Let an agent answer a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartRun {
    pub agent: AgentPath,
    pub role: Role,
    pub mission: Option<String>,
    pub pillar: Option<String>,
    pub conversation_id: ConversationId,
    pub turn_id: String,
    pub session_id: Option<SessionId>,
    pub plan: Option<Scope>,
    pub delegation_id: Option<DelegationId>,
    pub settings: Settings,
}

impl StartRun {
    /// A role above root is played only where the operator, or a worker by its own configuration,
    /// says so.
    pub fn decide(
        &self,
        project_id: ProjectId,
        actor: &Actor,
        now: Time,
        ids: &mut Ids,
    ) -> Result<Decision, Refused> {
        if !RUNNERS.contains(&actor.role) {
            return Err(Refusal::MayNotRun { role: actor.role }.into());
        }
        let above = !matches!(self.role, Role::Root | Role::Worker);
        if above && !matches!(actor.role, Role::System | Role::Operator) {
            return Err(Refusal::MayNotRun { role: actor.role }.into());
        }
        let run = Run {
            id: RunId::from(ids.ulid()),
            project_id,
            agent: self.agent.clone(),
            role: self.role,
            mission: self.mission.clone(),
            pillar: self.pillar.clone(),
            conversation_id: self.conversation_id,
            turn_id: self.turn_id.clone(),
            session_id: self.session_id,
            plan: self.plan.clone(),
            delegation_id: self.delegation_id,
            settings: self.settings.clone(),
            state: RunState::Running,
            counters: Counters::new(&self.settings.budget),
            waits_for: None,
            cancelled: None,
            stop_reason: None,
            stop_detail: None,
            stop_code: None,
            started_by: actor.principal.clone(),
            created_at: now,
            updated_at: now,
            ended_at: None,
        };
        // Work that was handed on is in a queue of its own already.
        let effects = match self.delegation_id {
            None => vec![Effect::Drive { run_id: run.id }],
            Some(_) => Vec::new(),
        };
        let events = vec![RunStarted { run: Box::new(run) }.into()];
        Ok(Decision { events, effects, ..Decision::default() })
    }
}
