//! The calls on gates: asked, found again and answered, with all that follows from an answer.

use punchlist_core::command::{RefuseSignOff, SignOff};
use punchlist_core::driver::Trigger;
use punchlist_core::gate::{AnswerGate, Asked, GateDecision, GateKind, Ground, OpenGate, Purpose};
use punchlist_core::issue::address::{Precision, find_criterion};
use punchlist_core::text::Body;
use punchlist_core::{Decision, Gate, GateId, ProjectId, Refusal, Snapshot};
use punchlist_store::rows::lists::Lock;
use punchlist_store::rows::names::Named;
use serde_json::Value;

use super::Call;
use crate::Error;

/// How far back a repeated question is looked for.
const EARLIER_MAX: i64 = 50;

impl Call<'_, '_> {
    /// Asks a person, or finds that it was asked.
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
        let actor = self.envelope.actor.clone();
        let id = session.as_ref().map(|session| session.id);
        let earlier = self.tx.gates_asked(project_id, id, &actor.principal, EARLIER_MAX)?;
        let ground = Ground {
            project_id,
            session: session.as_ref(),
            issue: issue.as_ref(),
            checklist: checklist.as_ref(),
            run_id: self.envelope.context.run,
            earlier: &earlier,
        };
        let decided = command.decide(&ground, &actor, self.envelope.now, &mut self.ids);
        let asked = decided.map_err(|refused| self.refuse(project_id, &project_id, refused))?;
        let known = |id: GateId| earlier.iter().find(|gate| gate.id == id).cloned();
        match asked {
            Asked::Standing(id) => known(id).ok_or_else(gone),
            Asked::Answered(id, decision) => self.record_gate(project_id, known(id), &decision),
            Asked::New { opened, superseded } => {
                for (id, decision) in superseded {
                    self.record_gate(project_id, known(id), &decision)?;
                }
                self.record_gate(project_id, None, &opened)
            }
        }
    }

    /// The gate of an id; one that is not there is a refusal.
    pub(crate) fn gate(&mut self, named: &str, lock: Lock) -> Result<Gate, Error> {
        let unknown = || Error::from(Refusal::UnknownGate { gate: named.to_owned() });
        let meant = self.whole_id(named, &[Named::OpenGate, Named::Gate])?;
        let id = GateId::parse(&meant).ok_or_else(unknown)?;
        let project = self.project()?.ok_or_else(unknown)?;
        let gate = self.tx.gate(project, id, lock)?.ok_or_else(unknown)?;
        self.reach_gate(&gate)?;
        Ok(gate)
    }

    /// Answers a gate. A sign-off does to the checklist what it says, in the same breath.
    pub(crate) fn answer_gate(
        &mut self,
        named: &str,
        command: &AnswerGate,
        reopen: Option<&[String]>,
    ) -> Result<Gate, Error> {
        // The issue is locked before the gate: that is the order everywhere.
        let looked = self.gate(named, Lock::No)?;
        let issue = match looked.issue_id {
            Some(id) => self.tx.issue_by_id(id, Lock::Row)?,
            None => None,
        };
        if let Some(id) = looked.todo_id {
            self.lock_mission_of(id)?;
        }
        let gate = self.gate(named, Lock::Row)?;
        let (actor, project) = (self.envelope.actor.clone(), gate.project_id);
        let checklist = match &issue {
            Some(issue) if gate.purpose == Some(Purpose::SignOff) => {
                Some(self.open_checklist(issue)?)
            }
            _ => None,
        };
        let judged = issue.as_ref().zip(checklist.as_ref());
        let checked = command.check(&gate, judged, &actor);
        checked.map_err(|refused| self.refuse(project, &gate.id, refused))?;
        let revision = match issue {
            Some(issue) if gate.purpose == Some(Purpose::SignOff) => {
                let id = issue.id;
                self.judge(checklist, command, reopen)?;
                self.tx.issue_by_id(id, Lock::No)?.map(|issue| issue.revision)
            }
            Some(issue) => Some(issue.revision),
            None => None,
        };
        let decided = command.decide(&gate, &actor, revision);
        let decision = decided.map_err(|refused| self.refuse(project, &gate.id, refused))?;
        let gate = self.record_gate(project, Some(gate), &decision)?;
        self.wake_asker(&gate)?;
        self.follow_permission(&gate)?;
        // After it: a change of the item closes what is still asked about it.
        if gate.kind == GateKind::Escalation {
            self.act_on_answer(&gate, command)?;
        }
        Ok(gate)
    }

    /// The run that asked goes on, with the answer.
    pub(super) fn wake_asker(&mut self, gate: &Gate) -> Result<(), Error> {
        if let Some(run) = gate.run_id {
            let news = gate.news();
            self.wake_run(gate.project_id, run, Trigger::GateAnswered, news.as_deref())?;
        }
        // A question of a session keeps every run in it.
        match gate.session_id {
            Some(session) => self.wake_session(session, Trigger::GateAnswered),
            None => Ok(()),
        }
    }

    /// What a sign-off does to the criteria.
    fn judge(
        &mut self,
        checklist: Option<Snapshot>,
        command: &AnswerGate,
        reopen: Option<&[String]>,
    ) -> Result<(), Error> {
        let Some(mut checklist) = checklist else { return Ok(()) };
        match command.decision {
            GateDecision::Resume => {
                let sign_off = SignOff { accept_unclaimed: command.accept_unclaimed };
                self.decide(&mut checklist, sign_off).map(|_| ())
            }
            GateDecision::Refuse => {
                let find = |text: &String| find_criterion(&checklist, text, Precision::Brief);
                let named = reopen.map(|texts| texts.iter().map(find).collect::<Result<_, _>>());
                let todo_ids = named.transpose()?;
                let feedback = feedback(command.response.as_ref());
                self.decide(&mut checklist, RefuseSignOff { todo_ids, feedback }).map(|_| ())
            }
        }
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

/// What the operator said, as words for the notes.
fn feedback(response: Option<&Value>) -> Body {
    let said = match response {
        Some(Value::String(text)) => Body::new(text).ok(),
        Some(Value::Null) | None => None,
        // A model or a page may answer in fields; people read them as words.
        Some(Value::Object(fields)) => {
            let word = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let said: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}: {}", word(value))).collect();
            Body::new(&said.join("; ")).ok()
        }
        Some(other) => Body::new(&other.to_string()).ok(),
    };
    said.or_else(|| Body::new("sign-off refused").ok())
        .unwrap_or_else(|| unreachable!("a constant text is a text"))
}
