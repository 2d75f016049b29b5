//! Begin a run.

use serde::{Deserialize, Serialize};

use super::begin::settings_of;
use super::{Run, RunState, Settings};
use crate::authority::{Action, Denial, Subject, Verdict, judge, may, may_any, owns_agent};
use crate::driver::Counters;
use crate::effect::Effect;
use crate::event::RunStarted;
use crate::{
    AgentPath, By, ConversationId, Decide, Decision, DelegationId, ProjectId, Reach, Refusal,
    Refused, Role, RunId, Scope, SessionId,
};

/// Let an agent answer a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Its reach, if it differs from the caller's: delegated work and answers in a chat are done
    /// for somebody else.
    pub reach: Option<Reach>,
    /// The caller named the model itself.
    pub names_model: bool,
    /// The caller's own process executes it.
    pub held: bool,
}

impl Decide for StartRun {
    type On<'a> = ProjectId;
    type Out = Decision;

    /// Only the operator, or a worker by its own configuration, may start a run with a role above
    /// root.
    fn decide(
        &self,
        project_id: Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let own = owns_agent(actor, &self.agent);
        match judge(actor.role, Subject::Run, Action::Start, own) {
            Verdict::Allow => {}
            Verdict::Deny(Denial::NotYours) => {
                return Err(Refusal::NotYourself { agent: self.agent.clone() }.into());
            }
            _ => return Err(Refusal::MayNotRun { role: actor.role }.into()),
        }
        let plays = matches!(self.role, Role::Lead | Role::Owner);
        // A lead sees a whole mission, so a narrowed token cannot start a run as one.
        let may_play =
            may_any(actor.role, Subject::Run, Action::Play) && actor.reach.is_everything();
        if plays && !may_play {
            return Err(Refusal::MayNotRun { role: actor.role }.into());
        }
        let may_choose = || self.held || !actor.fixed;
        if self.names_model && !may(actor, Subject::Run, Action::ChooseModel, may_choose) {
            return Err(Refusal::MayNotChooseModel { role: actor.role }.into());
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
            reach: self.reach.clone().unwrap_or_else(|| actor.reach.clone()),
            settings_of: settings_of(actor, self.held),
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
        // Delegated work is in its own queue already, and a host needs no worker.
        let effects = match self.delegation_id {
            None if !run.is_hosted() => vec![Effect::Drive { run_id: run.id }],
            _ => Vec::new(),
        };
        let events = vec![RunStarted { run: Box::new(run) }.into()];
        Ok(Decision { events, effects, ..Decision::default() })
    }
}
