//! The calls on delegations: queued, taken by lease, reported on, and what a report proposes.

use punchlist_core::command::{AdoptTodos, ClaimTodo, NewTodo};
use punchlist_core::conversation::{MessageKind, Speaker};
use punchlist_core::delegation::{
    CancelDelegation, DecideProposal, Delegate, DelegationState, HeartbeatDelegation,
    ProposalDecision, ProposedItem, Report, ReportDelegation, Review, TakeDelegation,
};
use punchlist_core::text::Body;
use punchlist_core::{
    Actor, AgentPath, Decision, Delegation, DelegationId, Lease, ProjectId, Refusal, Role, TodoId,
};
use punchlist_store::rows::delegations::{Held, WantedDelegations};
use punchlist_store::rows::lists::Lock;

use super::Call;
use crate::Error;

impl Call<'_, '_> {
    /// Hands work on, in the session the caller is in.
    pub(crate) fn delegate(&mut self, command: &Delegate) -> Result<Delegation, Error> {
        let project = self.ensure_project()?;
        let session = self.session(Lock::No)?;
        let (actor, now) = (self.envelope.actor.clone(), self.envelope.now);
        let decided = command.decide(project, session.as_ref(), &actor, now, &mut self.ids);
        let decision = decided.map_err(|refused| self.refuse(project, &project, refused))?;
        let delegation = self.record_delegation(project, None, &decision)?;
        if let Some(conversation) = delegation.conversation_id {
            // The order stands in the chat it is worked in (M-49).
            let said = (Speaker::Assistant, MessageKind::Text);
            self.post(project, conversation, said, delegation.mission.clone())?;
        }
        Ok(delegation)
    }

    /// Does the caller's token reach what a delegation is about?
    fn reaches_delegation(&mut self, delegation: &Delegation) -> Result<(), Error> {
        match delegation.todo_id {
            Some(todo) => self.reaches_todo(todo),
            None => self.reaches_what_hangs_on(delegation.issue_id),
        }
    }

    /// A report, or an error, lands in the chat the work was handed out in, and what was done waits
    /// for its reviewer (M-60, M-62). A failure settles nothing (F-8).
    fn land(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let Some(conversation) = delegation.conversation_id else { return Ok(()) };
        let title = match delegation.todo_id {
            Some(id) => self.tx.brief(id)?.map(|brief| brief.title),
            None => None,
        };
        let text = delegation.report_text(title.as_deref());
        let said = (Speaker::Assistant, MessageKind::Report);
        self.post(delegation.project_id, conversation, said, text)?;
        let (Some(todo_id), DelegationState::Returned) = (delegation.todo_id, delegation.state)
        else {
            return Ok(());
        };
        let (mut list, todo_id) = self.todo(&todo_id.to_string())?;
        let mut actor = system();
        actor.principal.clone_from(&self.envelope.actor.principal);
        let outcome = delegation.result.clone();
        let claim = ClaimTodo { todo_id, outcome, evidence: Vec::new() }.into();
        match self.decide_as(&actor, &mut list, &claim) {
            // What cannot be claimed (settled meanwhile, evidence wanted) has still been reported.
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Stops whoever works on an item that is not to be done any more.
    pub(super) fn stop_work_on(&mut self, project: ProjectId, todo: TodoId) -> Result<(), Error> {
        let wanted = WantedDelegations { todo: Some(todo), ..WantedDelegations::default() };
        for (found, _) in self.tx.delegations(project, &wanted, i64::MAX)? {
            // Somebody may be taking it at this moment.
            let held = self.tx.delegation(project, found.id, Lock::Row)?;
            let Some((delegation, _)) = held.filter(|(held, _)| !held.state.is_over()) else {
                continue;
            };
            let reason = Body::new("the todo was cancelled").ok();
            let mut actor = system();
            // By policy, for whoever delegated it.
            actor.agent = delegation.parent_agent.clone();
            let decided = CancelDelegation { reason }.decide(&delegation, &actor);
            let decision = decided.map_err(|r| self.refuse(project, &delegation.id, r))?;
            self.record_delegation(project, Some(delegation), &decision)?;
        }
        Ok(())
    }

    /// The delegation of an id; one that is not there is a refusal.
    pub(crate) fn delegation(&mut self, named: &str, lock: Lock) -> Result<Held, Error> {
        let unknown = || Error::from(Refusal::UnknownDelegation { delegation: named.to_owned() });
        let id = DelegationId::parse(named.trim()).ok_or_else(unknown)?;
        let project = self.project()?.ok_or_else(unknown)?;
        let held = self.tx.delegation(project, id, lock)?.ok_or_else(unknown)?;
        self.reaches_delegation(&held.0)?;
        Ok(held)
    }

    /// The same to change, where its checklist may change with it: the issue is locked before the
    /// delegation, for that is the order everywhere.
    fn delegation_behind_its_issue(&mut self, named: &str) -> Result<Held, Error> {
        let (looked, _) = self.delegation(named, Lock::No)?;
        if let Some(id) = looked.issue_id {
            self.tx.issue_by_id(id, Lock::Row)?;
        }
        if let Some(id) = looked.todo_id {
            self.lock_mission_of(id)?;
        }
        self.delegation(named, Lock::Row)
    }

    /// The next one to work on, of one of these types, held from now on.
    pub(crate) fn take_delegation(
        &mut self,
        types: &[String],
        lease_s: i64,
    ) -> Result<Option<(Delegation, Lease)>, Error> {
        let Some(project) = self.project()? else { return Ok(None) };
        let clock = self.tx.clock()?;
        let reach = &self.envelope.actor.reach;
        let within = (reach.mission.as_deref(), reach.pillar.as_deref());
        let mut found = None;
        if types.is_empty() {
            found = self.tx.next_delegation(project, None, within, clock)?;
        }
        for kind in types {
            if found.is_none() {
                found = self.tx.next_delegation(project, Some(kind), within, clock)?;
            }
        }
        let Some((delegation, lease)) = found else { return Ok(None) };
        self.reaches_delegation(&delegation)?;
        let actor = self.envelope.actor.clone();
        let take = TakeDelegation { lease_s, clock };
        let decided = take.decide(&delegation, lease.as_ref(), &actor);
        let (decision, lease) =
            decided.map_err(|refused| self.refuse(project, &delegation.id, refused))?;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.tx.put_delegation_lease(delegation.id, &lease)?;
        Ok(Some((delegation, lease)))
    }

    /// Reports on a delegation that is held. Where its policy says so, a proposal goes in at once.
    pub(crate) fn report(
        &mut self,
        named: &str,
        epoch: i64,
        report: Report,
    ) -> Result<Delegation, Error> {
        let (delegation, lease) = self.delegation_behind_its_issue(named)?;
        let (project, clock) = (delegation.project_id, self.tx.clock()?);
        let command = ReportDelegation { report, epoch, clock };
        let decided = command.decide(&delegation, lease.as_ref(), &self.envelope.actor);
        let (decision, lease) =
            decided.map_err(|refused| self.refuse(project, &delegation.id, refused))?;
        let id = delegation.id;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.tx.put_delegation_lease(id, &lease)?;
        self.land(&delegation)?;
        if delegation.proposal.is_some()
            && delegation.review == Review::Auto
            && delegation.issue_id.is_some()
        {
            let decision = ProposalDecision::Accept;
            let (delegation, _) =
                self.adopt(delegation, &system(), &DecideProposal { decision, items: None })?;
            return Ok(delegation);
        }
        Ok(delegation)
    }

    /// Renews the lease on a delegation; says until when.
    pub(crate) fn renew_delegation(
        &mut self,
        named: &str,
        epoch: i64,
        lease_s: i64,
    ) -> Result<Lease, Error> {
        let (delegation, lease) = self.delegation(named, Lock::Row)?;
        let (project, clock) = (delegation.project_id, self.tx.clock()?);
        let command = HeartbeatDelegation { epoch, lease_s, clock };
        let decided = command.decide(&delegation, lease.as_ref(), &self.envelope.actor);
        let lease = decided.map_err(|refused| self.refuse(project, &delegation.id, refused))?;
        self.tx.put_delegation_lease(delegation.id, &lease)?;
        Ok(lease)
    }

    pub(crate) fn cancel_delegation(
        &mut self,
        named: &str,
        command: &CancelDelegation,
    ) -> Result<Delegation, Error> {
        let (delegation, _) = self.delegation(named, Lock::Row)?;
        let (actor, project) = (self.envelope.actor.clone(), delegation.project_id);
        let decided = command.decide(&delegation, &actor);
        let decision = decided.map_err(|refused| self.refuse(project, &delegation.id, refused))?;
        self.record_delegation(project, Some(delegation), &decision)
    }

    /// Decides on a proposal; says what was passed over because the list says it already.
    pub(crate) fn decide_proposal(
        &mut self,
        named: &str,
        command: &DecideProposal,
    ) -> Result<(Delegation, Vec<String>), Error> {
        let (delegation, _) = self.delegation_behind_its_issue(named)?;
        let actor = self.envelope.actor.clone();
        self.adopt(delegation, &actor, command)
    }

    fn adopt(
        &mut self,
        delegation: Delegation,
        actor: &Actor,
        command: &DecideProposal,
    ) -> Result<(Delegation, Vec<String>), Error> {
        let project = delegation.project_id;
        let decided = command.decide(&delegation, actor);
        let (decision, items) =
            decided.map_err(|refused| self.refuse(project, &delegation.id, refused))?;
        let (issue_id, origin_agent) = (delegation.issue_id, delegation.agent.clone());
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        if items.is_empty() {
            return Ok((delegation, Vec::new()));
        }
        let issue = match issue_id {
            Some(id) => self.tx.issue_by_id(id, Lock::Row)?,
            None => None,
        };
        let issue = issue.ok_or_else(|| Error::from(Refusal::NoChecklist))?;
        let mut checklist = self.open_checklist(&issue)?;
        let items = items.into_iter().map(new_todo).collect();
        let command = AdoptTodos { items, origin_agent }.into();
        let decision = self.decide_as(actor, &mut checklist, &command)?;
        let skipped = decision.warnings.iter().map(ToString::to_string).collect();
        Ok((delegation, skipped))
    }

    fn record_delegation(
        &mut self,
        project: ProjectId,
        mut state: Option<Delegation>,
        decision: &Decision,
    ) -> Result<Delegation, Error> {
        let stamp = self.stamp(project);
        self.tx.record_delegation(&mut state, decision, &stamp)?;
        state.ok_or_else(|| Error::Internal { detail: "a decision left no delegation".into() })
    }
}

fn new_todo(item: ProposedItem) -> NewTodo {
    NewTodo { kind: item.kind, phase: item.phase, ..NewTodo::titled(item.content) }
}

/// Acts by policy alone.
pub(super) fn system() -> Actor {
    Actor::new(Role::System, AgentPath::primary())
}
