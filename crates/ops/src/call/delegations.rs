//! The calls on delegations: queued, taken by lease, reported on, and what a report proposes.

use punchlist_core::command::{AdoptTodos, NewTodo};
use punchlist_core::delegation::{
    BuryDelegation, CancelDelegation, DecideProposal, Delegate, HeartbeatDelegation,
    ProposalDecision, Report, ReportDelegation, TakeDelegation, has_died,
};
use punchlist_core::follow::delegation::{self as follow, Reported};
use punchlist_core::mission::order_with;
use punchlist_core::text::Body;
use punchlist_core::{
    Actor, Decision, Delegation, DelegationId, Lease, ProjectId, Refusal, Session, TodoId,
};
use punchlist_store::rows::delegations::{Held, WantedDelegations};
use punchlist_store::rows::lists::{Lock, TodoKey};
use punchlist_store::rows::names::Named;

use super::Call;
use crate::Error;

impl Call<'_, '_> {
    /// Hands work on, in the session the caller is in.
    pub(crate) fn delegate(&mut self, command: &Delegate) -> Result<Delegation, Error> {
        let project = self.ensure_project()?;
        let session = self.session_to_delegate_in()?;
        let decision = self.decided(command, (project, session.as_ref()), (project, &project))?;
        let delegation = self.record_delegation(project, None, &decision)?;
        // What a narrowed token makes must lie within its reach.
        self.reach_delegation(&delegation)?;
        if let Some(todo) = delegation.todo_id {
            let (mut list, todo_id) = self.todo(&todo.to_string())?;
            if let Some(then) = list.todo(todo_id).and_then(follow::tried_again) {
                self.change(&mut list, then)?;
            }
        }
        self.then(project, follow::handed_on(&delegation))?;
        Ok(delegation)
    }

    /// The order for an item: what it says of itself, then the caller's words (M-49).
    pub(crate) fn order_for(&mut self, todo: TodoId, words: &Body) -> Result<Body, Error> {
        let Some(project) = self.project()? else { return Ok(words.clone()) };
        let Some((list, id)) = self.tx.list_of(project, TodoKey::Id(todo))? else {
            return Ok(words.clone());
        };
        let Some(item) = self.tx.todo(list.id, id)? else { return Ok(words.clone()) };
        Ok(order_with(&item, words))
    }

    /// The session the caller delegates in.
    fn session_to_delegate_in(&mut self) -> Result<Option<Session>, Error> {
        let envelope = self.envelope;
        match follow::in_own_session(&envelope.actor, envelope.context.session.is_some())? {
            true => self.session(Lock::No),
            false => Ok(None),
        }
    }

    /// Does what follows from a report, or from the death of the last worker.
    fn after_report(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let project = delegation.project_id;
        let title = match delegation.todo_id.filter(|_| delegation.conversation_id.is_some()) {
            Some(id) => self.tx.brief(id)?.map(|brief| brief.title),
            None => None,
        };
        let (mut run, mut list) = (None, None);
        if let (Some(todo), Some(id)) = (follow::completes(delegation), delegation.run_id) {
            run = self.tx.run(project, id, Lock::No)?.map(|(run, _)| run);
            list = self.tx.list_of(project, TodoKey::Id(todo))?.map(|(list, _)| list.kind());
        }
        let by = &self.envelope.actor;
        let on = Reported { by, title: title.as_deref(), run: run.as_ref(), list };
        self.then(project, follow::reported(delegation, &on))
    }

    /// Hands returned work to the agent of ours that did it. False: no agent of ours did.
    pub(super) fn hand_back(
        &mut self,
        project: ProjectId,
        todo: TodoId,
        feedback: &str,
    ) -> Result<bool, Error> {
        let wanted = WantedDelegations { todo: Some(todo), ..WantedDelegations::default() };
        let found = self.tx.delegations(project, &wanted, i64::MAX)?;
        let last = found.into_iter().map(|(delegation, _)| delegation).next_back();
        let is_ours = match &last {
            Some(last) => self.tx.run_of_delegation(last.id)?.is_some(),
            None => false,
        };
        match follow::hand_back(last.as_ref(), is_ours, todo, feedback) {
            Some(order) => self.delegate(&order).map(|_| true),
            None => Ok(false),
        }
    }

    /// Stops the agent that works on an item which is no longer wanted.
    pub(super) fn stop_work_on(
        &mut self,
        project: ProjectId,
        todo: TodoId,
        reason: &str,
    ) -> Result<(), Error> {
        let wanted = WantedDelegations { todo: Some(todo), ..WantedDelegations::default() };
        for (found, _) in self.tx.delegations(project, &wanted, i64::MAX)? {
            self.call_off(project, found.id, reason)?;
        }
        Ok(())
    }

    /// Calls a delegation off by policy, in the name of its delegator; one that is over stays as it is.
    pub(super) fn call_off(
        &mut self,
        project: ProjectId,
        id: DelegationId,
        reason: &str,
    ) -> Result<(), Error> {
        // Somebody may be taking it at this moment.
        let held = self.tx.delegation(project, id, Lock::Row)?;
        let Some((delegation, _)) = held else { return Ok(()) };
        let Some((actor, cancel)) = follow::call_off(&delegation, reason) else { return Ok(()) };
        let decision = self.decided_by(&actor, &cancel, &delegation, (project, &id))?;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.stop_worker(&delegation)
    }

    /// Ends the run of whoever works on a delegation that is not wanted any more, and tells whoever
    /// waits for it.
    fn stop_worker(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let run = self.tx.run_of_delegation(delegation.id)?;
        self.then(delegation.project_id, follow::called_off(delegation, run.as_ref()))
    }

    /// The delegation of an id; one that is not there is a refusal.
    pub(crate) fn delegation(&mut self, named: &str, lock: Lock) -> Result<Held, Error> {
        let unknown = || Error::from(Refusal::UnknownDelegation { delegation: named.to_owned() });
        let meant = self.whole_id(named, &[Named::Delegation])?;
        let id = DelegationId::parse(&meant).ok_or_else(unknown)?;
        let project = self.project()?.ok_or_else(unknown)?;
        let held = self.tx.delegation(project, id, lock)?.ok_or_else(unknown)?;
        super::or_unknown(self.reach_delegation(&held.0), unknown)?;
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
        in_chats: bool,
        named: Option<&str>,
        lease_s: i64,
    ) -> Result<Option<(Delegation, Lease)>, Error> {
        let Some(project) = self.project()? else { return Ok(None) };
        let clock = self.tx.clock()?;
        let reach = &self.envelope.actor.reach;
        let within = (reach.mission.as_deref(), reach.pillar.as_deref());
        let only = named.map(str::trim);
        let types = match types {
            [] => None,
            types => Some(format!(" {} ", types.join(" "))),
        };
        let mut after = None;
        let (delegation, lease) = loop {
            let wanted = (types.as_deref(), in_chats, only);
            let found =
                self.tx.next_delegation(project, wanted, within, after.as_deref(), clock)?;
            let Some((delegation, lease)) = found else { return Ok(None) };
            // What is out of reach is passed over, and not spoken of.
            if self.reach_delegation(&delegation).is_err() {
                after = Some(delegation.id.to_string());
                continue;
            }
            if !has_died(&delegation, lease.as_ref()) {
                break (delegation, lease);
            }
            match self.after_death_of_worker(delegation, lease.as_ref())? {
                Some(delegation) => break (delegation, lease),
                // That one has failed for good: the next one.
                None => continue,
            }
        };
        let take = TakeDelegation { lease_s, clock };
        let (decision, lease) =
            self.decided(&take, (&delegation, lease.as_ref()), (project, &delegation.id))?;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.tx.put_delegation_lease(delegation.id, &lease)?;
        Ok(Some((delegation, lease)))
    }

    /// The worker of a delegation died. None: that was once too often, and it has failed; its
    /// run has ended, and its item is held.
    fn after_death_of_worker(
        &mut self,
        delegation: Delegation,
        lease: Option<&Lease>,
    ) -> Result<Option<Delegation>, Error> {
        let (id, project) = (delegation.id, delegation.project_id);
        let run = self.tx.run_of_delegation(id)?.filter(|run| !run.is_over());
        let on = (&delegation, lease, run.as_ref());
        let buried = self.decided(&BuryDelegation, on, (project, &id))?;
        if let Some(run) = run {
            self.after_death(run)?;
        }
        let Some(decision) = buried else { return Ok(Some(delegation)) };
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.after_report(&delegation)?;
        Ok(None)
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
        let id = delegation.id;
        let (decision, lease) =
            self.decided(&command, (&delegation, lease.as_ref()), (project, &id))?;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.tx.put_delegation_lease(id, &lease)?;
        self.after_report(&delegation)?;
        if follow::adopts_at_once(&delegation) {
            let accept = DecideProposal { decision: ProposalDecision::Accept, items: None };
            let (delegation, _) = self.adopt(delegation, &Actor::system(), &accept)?;
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
        let id = delegation.id;
        let lease = self.decided(&command, (&delegation, lease.as_ref()), (project, &id))?;
        self.tx.put_delegation_lease(delegation.id, &lease)?;
        Ok(lease)
    }

    pub(crate) fn cancel_delegation(
        &mut self,
        named: &str,
        command: &CancelDelegation,
    ) -> Result<Delegation, Error> {
        let (delegation, _) = self.delegation(named, Lock::Row)?;
        let project = delegation.project_id;
        let decision = self.decided(command, &delegation, (project, &delegation.id))?;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.stop_worker(&delegation)?;
        Ok(delegation)
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
        let (decision, items) =
            self.decided_by(actor, command, &delegation, (project, &delegation.id))?;
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
        let items = items.into_iter().map(NewTodo::from).collect();
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
