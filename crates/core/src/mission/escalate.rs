//! Ask the person about an overdue item: an ordinary gate, with the text from `prompt`.

use serde::{Deserialize, Serialize};

use super::prompt::escalation;
use crate::event::GateOpened;
use crate::gate::details::Overdue;
use crate::gate::{Details, Gate, GateState};
use crate::{By, Decide, Decision, GateId, ProjectId, Refused, Todo};

/// Ask about an item that is late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalate {
    pub mission: String,
    pub pillar: String,
}

impl Decide for Escalate {
    type On<'a> = (ProjectId, &'a Todo);
    type Out = Decision;

    fn decide(
        &self,
        (project_id, todo): Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let gate = Gate {
            id: GateId::from(ids.ulid()),
            project_id,
            details: Details::Escalation(Overdue {
                mission: self.mission.clone(),
                pillar: self.pillar.clone(),
                todo_id: todo.id,
                deadline: todo.deadline,
                options: vec!["extend to YYYY-MM-DD".to_owned(), "cancel".to_owned()],
            }),
            purpose: None,
            state: GateState::Open,
            session_id: None,
            issue_id: None,
            todo_id: Some(todo.id),
            run_id: None,
            text: escalation(todo),
            asked_by: actor.principal.clone(),
            reach: actor.reach.clone(),
            agent: actor.agent.clone(),
            created_at: now,
            revision: None,
            end: None,
            response: None,
            answered_by: None,
            answered_at: None,
            collected_at: None,
        };
        let events = vec![GateOpened { gate: Box::new(gate) }.into()];
        Ok(Decision { events, ..Decision::default() })
    }
}
