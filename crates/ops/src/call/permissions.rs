//! The calls on permissions: asking for one tool call, finding an earlier question, permanent
//! permissions, and revoking them.

use punchlist_core::follow::gate as follow;
use punchlist_core::gate::permission::{PermissionGround, Permitted};
use punchlist_core::gate::{AnswerGate, AskPermission, GateDecision, RevokePermission};
use punchlist_core::{Gate, GateId, Refusal};
use punchlist_store::rows::lists::Lock;

use super::Call;
use crate::Error;

/// How many earlier questions about one tool of one agent are searched. While a permanent
/// permission exists no further questions are asked, so it is among the newest. If it is not found,
/// a person is asked once more.
const EARLIER_MAX: i64 = 1000;

impl Call<'_, '_> {
    /// Asks whether a tool may be called, or finds the earlier question. The flag says whether the
    /// gate is a permanent permission.
    pub(crate) fn ask_permission(
        &mut self,
        command: &AskPermission,
    ) -> Result<(Gate, bool), Error> {
        let project_id = self.ensure_project()?;
        // A second caller with the same question waits here, and then finds the gate of the first.
        self.tx.lock_last_issue(project_id)?;
        let session = self.session(Lock::Row)?;
        let issue = match &session {
            Some(session) => self.bound_issue(session, Lock::No)?,
            None => None,
        };
        let tool = command.tool.as_str();
        let earlier = self.tx.permission_gates(project_id, &command.agent, tool, EARLIER_MAX)?;
        let ground = PermissionGround {
            project_id,
            session: session.as_ref(),
            issue: issue.as_ref(),
            earlier: &earlier,
            run_id: self.envelope.context.run,
        };
        let permitted = self.decided(command, &ground, (project_id, &project_id))?;
        let known = |id: GateId| {
            let gone = || Error::Internal { detail: "a decision named no gate".into() };
            earlier.iter().find(|gate| gate.id == id).cloned().ok_or_else(gone)
        };
        match permitted {
            Permitted::Said(id) => Ok((known(id)?, false)),
            Permitted::Standing(id) => Ok((known(id)?, true)),
            Permitted::New(decision) => {
                let gate = self.record_gate(project_id, None, &decision)?;
                self.reach_gate(&gate)?;
                Ok((gate, false))
            }
        }
    }

    /// A permanent permission also answers the open questions that it covers.
    pub(super) fn follow_permission(&mut self, gate: &Gate) -> Result<(), Error> {
        if !gate.is_standing_permission() {
            return Ok(());
        }
        let project = gate.project_id;
        let others = self.tx.permission_gates(project, &gate.agent, &gate.text, EARLIER_MAX)?;
        let command = AnswerGate::plain(GateDecision::Resume, None);
        for id in follow::answers_too(gate, &others) {
            let Some(other) = self.tx.gate(project, id, Lock::Row)? else { continue };
            let on = (&other, other.revision);
            let decision = self.decided(&command, on, (project, &other.id))?;
            let other = self.record_gate(project, Some(other), &decision)?;
            self.then(project, follow::answered(&other))?;
        }
        Ok(())
    }

    /// Revokes a permission.
    pub(crate) fn revoke_permission(&mut self, named: &str) -> Result<Gate, Error> {
        let gate = self.gate(named, Lock::Row).map_err(|error| match error {
            Error::Refused(refusal) if matches!(*refusal, Refusal::UnknownGate { .. }) => {
                Refusal::UnknownPermission { permission: named.to_owned() }.into()
            }
            error => error,
        })?;
        let project = gate.project_id;
        let decision = self.decided(&RevokePermission {}, &gate, (project, &gate.id))?;
        self.record_gate(project, Some(gate), &decision)
    }
}
