//! Ask the person about an overdue item: a gate like any other, in the mission's own words.

use serde_json::json;

use super::prompt::escalation;
use crate::event::GateOpened;
use crate::gate::{Gate, GateKind, GateState};
use crate::{Actor, Decision, GateId, Ids, ProjectId, Time, Todo};

/// Ask about an item that is late.
#[derive(Clone, Copy, Debug)]
pub struct Escalate<'a> {
    pub project_id: ProjectId,
    pub todo: &'a Todo,
    pub mission: &'a str,
    pub pillar: &'a str,
}

impl Escalate<'_> {
    #[must_use]
    pub fn decide(&self, actor: &Actor, now: Time, ids: &mut Ids) -> Decision {
        let Self { project_id, todo, mission, pillar } = *self;
        let deadline = todo.deadline.map(|deadline| deadline.to_string());
        let gate = Gate {
            id: GateId::from(ids.ulid()),
            project_id,
            kind: GateKind::Escalation,
            purpose: None,
            state: GateState::Open,
            session_id: None,
            issue_id: None,
            todo_id: Some(todo.id),
            run_id: None,
            text: escalation(todo),
            details: json!({
                "mission": mission,
                "pillar": pillar,
                "todoId": todo.id,
                "deadline": deadline,
                "options": ["extend to YYYY-MM-DD", "cancel"],
            }),
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
        Decision { events, ..Decision::default() }
    }
}
