//! The calls on gates: opening, finding a repeated question, answering, and the effects of an
//! answer.

use punchlist_core::follow::gate as follow;
use punchlist_core::gate::{
    AnswerGate, Asked, CollectAnswer, GateState, Ground, OpenGate, Purpose, RelayAnswer,
};
use punchlist_core::{Decision, Gate, GateId, ProjectId, Refusal};
use punchlist_store::rows::lists::Lock;
use punchlist_store::rows::names::Named;

use super::Call;
use crate::Error;

/// How many earlier gates are searched for a repeated question.
const EARLIER_MAX: i64 = 50;

impl Call<'_, '_> {
    /// Opens a gate, or finds the earlier one that asked the same.
    pub(crate) fn ask(&mut self, command: &OpenGate) -> Result<Gate, Error> {
        let project_id = self.ensure_project()?;
        let session = self.session(Lock::Row)?;
        let issue = match (self.named_issue(Lock::No)?, &session) {
            (Some(issue), _) => Some(issue),
            (None, Some(session)) => self.bound_issue(session, Lock::No)?,
            (None, None) => None,
        };
        let checklist = match &issue {
            Some(issue) => self.checklist(issue)?,
            None => None,
        };
        let id = session.as_ref().map(|session| session.id);
        let asker = &self.envelope.actor.principal;
        let earlier = self.tx.gates_asked(project_id, id, asker, EARLIER_MAX)?;
        let ground = Ground {
            project_id,
            session: session.as_ref(),
            issue: issue.as_ref(),
            checklist: checklist.as_ref(),
            run_id: self.envelope.context.run,
            earlier: &earlier,
        };
        let asked = self.decided(command, &ground, (project_id, &project_id))?;
        let known = |id: GateId| earlier.iter().find(|gate| gate.id == id).cloned();
        let gate = match asked {
            Asked::Standing(id) => known(id).ok_or_else(gone)?,
            Asked::Answered(id, decision) => self.record_gate(project_id, known(id), &decision)?,
            Asked::New { opened, superseded } => {
                for (id, decision) in superseded {
                    self.record_gate(project_id, known(id), &decision)?;
                }
                self.record_gate(project_id, None, &opened)?
            }
        };
        // A narrowed token may create and find only what it reaches.
        self.reach_gate(&gate)?;
        Ok(gate)
    }

    /// Opens a gate that the user of the caller's client may answer, or records their answer. A
    /// call that waits looks at its own gate.
    pub(crate) fn ask_through_client(&mut self, command: &OpenGate) -> Result<Gate, Error> {
        let context = &self.envelope.context;
        let Some(answer) = context.client_answer.clone() else {
            return match context.awaited.clone() {
                Some(awaited) => self.collect_answer(command, awaited),
                None => self.ask(command),
            };
        };
        let looked = self.gate(&answer.gate, Lock::No)?;
        // The issue is locked before the gate, as everywhere.
        let issue = match looked.issue_id {
            Some(id) => self.tx.issue_by_id(id, Lock::Row)?,
            None => None,
        };
        let session = self.session(Lock::Row)?.map(|session| session.id);
        let gate = self.gate(&answer.gate, Lock::Row)?;
        let (project, was_open) = (gate.project_id, gate.state == GateState::Open);
        let relay = RelayAnswer { question: command.clone(), answer };
        let ground = (&gate, session, issue.map(|issue| issue.revision));
        let decision = self.decided(&relay, ground, (project, &gate.id))?;
        let gate = self.record_gate(project, Some(gate), &decision)?;
        if was_open {
            self.then(project, follow::answered(&gate))?;
        }
        Ok(gate)
    }

    /// Looks at a gate that the caller has opened, and collects its answer if nobody has.
    fn collect_answer(&mut self, command: &OpenGate, awaited: String) -> Result<Gate, Error> {
        let session = self.session(Lock::No)?.map(|session| session.id);
        let gate = self.gate(&awaited, Lock::Row)?;
        let project = gate.project_id;
        let collect = CollectAnswer { question: command.clone(), gate: awaited };
        let decision = self.decided(&collect, (&gate, session), (project, &gate.id))?;
        self.record_gate(project, Some(gate), &decision)
    }

    /// Finds a gate by its id. Refuses an unknown one.
    pub(crate) fn gate(&mut self, named: &str, lock: Lock) -> Result<Gate, Error> {
        let unknown = || Error::from(Refusal::UnknownGate { gate: named.to_owned() });
        let meant = self.whole_id(named, &[Named::OpenGate, Named::Gate])?;
        let id = GateId::parse(&meant).ok_or_else(unknown)?;
        let project = self.project()?.ok_or_else(unknown)?;
        let gate = self.tx.gate(project, id, lock)?.ok_or_else(unknown)?;
        super::or_unknown(self.reach_gate(&gate), unknown)?;
        Ok(gate)
    }

    /// Answers a gate. A sign-off also changes the checklist, in the same transaction.
    pub(crate) fn answer_gate(
        &mut self,
        named: &str,
        command: &AnswerGate,
        reopen: Option<&[String]>,
    ) -> Result<Gate, Error> {
        // The issue is locked before the gate, as everywhere.
        let looked = self.gate(named, Lock::No)?;
        let issue = match looked.issue_id {
            Some(id) => self.tx.issue_by_id(id, Lock::Row)?,
            None => None,
        };
        if let Some(id) = looked.todo_id {
            self.lock_mission_of(id)?;
        }
        let gate = self.gate(named, Lock::Row)?;
        let project = gate.project_id;
        let checklist = match &issue {
            Some(issue) if gate.purpose == Some(Purpose::SignOff) => {
                Some(self.open_checklist(issue)?)
            }
            _ => None,
        };
        let judged = issue.as_ref().zip(checklist.as_ref());
        let checked = command.check(&gate, judged, &self.envelope.actor);
        checked.map_err(|refused| self.refuse(project, &gate.id, refused))?;
        let revision = match issue {
            Some(issue) if gate.purpose == Some(Purpose::SignOff) => {
                if let Some(mut checklist) = checklist {
                    let judgement = follow::judgement(command, &checklist, reopen)?;
                    self.decide(&mut checklist, judgement)?;
                }
                self.tx.issue_by_id(issue.id, Lock::No)?.map(|issue| issue.revision)
            }
            Some(issue) => Some(issue.revision),
            None => None,
        };
        let decision = self.decided(command, (&gate, revision), (project, &gate.id))?;
        let gate = self.record_gate(project, Some(gate), &decision)?;
        self.then(project, follow::answered(&gate))?;
        self.follow_permission(&gate)?;
        // This comes last, because a change of the item closes the open questions about it.
        if let Some((todo, change)) = follow::overdue(&gate, command)? {
            let (mut list, _) = self.todo(&todo.to_string())?;
            self.decide(&mut list, change)?;
        }
        Ok(gate)
    }

    pub(super) fn record_gate(
        &mut self,
        project: ProjectId,
        mut state: Option<Gate>,
        decision: &Decision,
    ) -> Result<Gate, Error> {
        let stamp = self.stamp(project);
        self.tx.record_gate(&mut state, decision, &stamp)?;
        state.ok_or_else(gone)
    }
}

fn gone() -> Error {
    Error::Internal { detail: "a decision left no gate".into() }
}
