//! Delegate work.

use serde::{Deserialize, Serialize};

use super::{DEPTH_MAX, Delegation, DelegationState, Mode, Review};
use crate::authority::{Action, Subject, Verdict, authority, may_any, owns};
use crate::event::DelegationQueued;
use crate::session::going;
use crate::text::{Body, Title};
use crate::{
    Actor, AgentPath, By, ConversationId, Decide, Decision, DelegationId, List, ListKind,
    ProjectId, Refusal, Refused, RunId, Session, Snapshot, Status, Todo, TodoId, TodoKind, Warning,
};

/// Hand work to a specialist. `On`: the project, the caller's session, and the depth of the new
/// delegation: 1, or one more than that of the delegation the caller works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegate {
    pub kind: Title,
    pub mission: Body,
    pub rationale: Option<Body>,
    pub mode: Mode,
    pub review: Review,
    pub todo_id: Option<TodoId>,
    /// The chat of the item's pillar.
    pub conversation_id: Option<ConversationId>,
    /// The delegating run.
    pub run_id: Option<RunId>,
}

impl Decide for Delegate {
    type On<'a> = (ProjectId, Option<&'a Session>, u32);
    type Out = Decision;

    fn decide(
        &self,
        (project_id, session, depth): Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        if !may_any(actor.role, Subject::Delegation, Action::Create) {
            return Err(Refusal::MayNotDelegate { role: actor.role }.into());
        }
        session.map_or(Ok(()), going)?;
        if depth > DEPTH_MAX {
            return Err(Refusal::DelegationTooDeep { limit: DEPTH_MAX }.into());
        }
        let path = format!("{}.subagents.{}", actor.agent, self.kind);
        let Some(agent) = AgentPath::parse(&path) else {
            return Err(Refusal::BadAgentType { name: self.kind.as_str().to_owned() }.into());
        };
        let delegation = Delegation {
            id: DelegationId::from(ids.ulid()),
            project_id,
            kind: self.kind.as_str().to_owned(),
            mission: self.mission.as_str().to_owned(),
            rationale: self.rationale.clone().map(Body::into_string),
            mode: self.mode,
            state: DelegationState::Queued,
            review: self.review,
            todo_id: self.todo_id,
            session_id: session.map(|session| session.id),
            issue_id: session.and_then(|session| session.bound_issue),
            conversation_id: self.conversation_id,
            run_id: self.run_id,
            delegated_by: actor.principal.clone(),
            parent_agent: actor.agent.clone(),
            reach: actor.reach.clone(),
            agent,
            attempts: 0,
            result: None,
            error: None,
            proposal: None,
            decision: None,
            decision_reason: None,
            created_at: now,
            updated_at: now,
            finished_at: None,
        };
        let events = vec![DelegationQueued { delegation: Box::new(delegation) }.into()];
        Ok(Decision { events, ..Decision::default() })
    }
}

impl Delegate {
    /// May the actor delegate this item of a list? Only if it may see the list: the result becomes
    /// a claim in its name. Nobody works on a settled item.
    pub fn may_concern(list: &List, item: Option<&Todo>, actor: &Actor) -> Result<(), Refusal> {
        Self::may_see(list, actor)?;
        let Some(item) = item else { return Ok(()) };
        if item.status.is_settled() {
            return Err(Refusal::settled(item));
        }
        Ok(())
    }

    /// What the caller should know about delegating this item: only an item of a pillar that is in
    /// progress is claimed by a report.
    #[must_use]
    pub fn warning(list: &List, item: Option<&Todo>) -> Option<Warning> {
        let item = item.filter(|_| list.kind() == ListKind::Pillar)?;
        let is_started = item.status == Status::InProgress;
        (!is_started).then(|| Warning::NotStarted { title: item.title.to_string() })
    }

    fn may_see(list: &List, actor: &Actor) -> Result<(), Refusal> {
        let (role, action, todo_kind) = (actor.role, Action::View, TodoKind::Step);
        let owned = owns(actor, &Snapshot::empty(list.clone()), None);
        match authority(role, list.kind(), todo_kind, action, owned) {
            Verdict::Deny(denial) => {
                let list = list.kind();
                Err(Refusal::NotPermitted { role, action, list, todo_kind, denial })
            }
            _ => Ok(()),
        }
    }
}
