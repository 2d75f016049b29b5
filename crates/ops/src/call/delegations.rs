//! The calls on delegations: they are queued, taken under a lease and reported on, and a report may
//! contain proposals.

use punchlist_core::command::{AdoptTodos, NewTodo};
use punchlist_core::delegation::{
    BuryDelegation, CancelDelegation, DEPTH_MAX, DecideProposal, Delegate, HeartbeatDelegation,
    ProposalDecision, Report, ReportDelegation, TakeDelegation, has_died,
};
use punchlist_core::follow::Settled;
use punchlist_core::follow::delegation::{self as follow, Reported};
use punchlist_core::mission::order_with;
use punchlist_core::text::Body;
use punchlist_core::{
    Actor, AgentPath, Decision, Delegation, DelegationId, Lease, ListId, ProjectId, Refusal,
    Session, TodoId,
};
use punchlist_store::rows::delegations::{Held, WantedDelegations};
use punchlist_store::rows::lists::{Lock, TodoKey};
use punchlist_store::rows::names::Named;

use super::Call;
use crate::Error;

impl Call<'_, '_> {
    /// Delegates work, in the caller's session.
    pub(crate) fn delegate(&mut self, command: &Delegate) -> Result<Delegation, Error> {
        let project = self.ensure_project()?;
        let session = self.session_to_delegate_in()?;
        let on = (project, session.as_ref(), self.next_depth(project)?);
        let decision = self.decided(command, on, (project, &project))?;
        let delegation = self.record_delegation(project, None, &decision)?;
        // A narrowed token may create only what it reaches.
        self.reach_delegation(&delegation)?;
        if let Some(todo) = delegation.todo_id {
            let (mut list, todo_id) = self.todo(&todo.to_string())?;
            if let Some(then) = list.todo(todo_id).and_then(follow::tried_again) {
                self.change(&mut list, then)?;
            }
            if let Some(then) = follow::begun(&list, todo_id, &self.envelope.actor) {
                self.change(&mut list, then)?;
            }
        }
        self.then(project, follow::handed_on(&delegation))?;
        Ok(delegation)
    }

    /// The depth of what the caller delegates: 1, or one more than that of the delegation it works on.
    /// Delegations above `DEPTH_MAX` are not counted.
    fn next_depth(&mut self, project: ProjectId) -> Result<u32, Error> {
        let (mut depth, mut run) = (1, self.envelope.context.run);
        while let Some(id) = run.filter(|_| depth <= DEPTH_MAX) {
            let done = self.tx.run(project, id, Lock::No)?.and_then(|(run, _)| run.delegation_id);
            let Some(done) = done else { break };
            let above = self.tx.delegation(project, done, Lock::No)?;
            run = above.and_then(|(delegation, _)| delegation.run_id);
            depth += 1;
        }
        Ok(depth)
    }

    /// The order for an item: the item's own text, then the caller's text (M-49).
    pub(crate) fn order_for(&mut self, todo: TodoId, words: &Body) -> Result<Body, Error> {
        let Some(project) = self.project()? else { return Ok(words.clone()) };
        let Some((list, id)) = self.tx.list_of(project, TodoKey::Id(todo))? else {
            return Ok(words.clone());
        };
        let Some(item) = self.tx.todo(list.id, id)? else { return Ok(words.clone()) };
        Ok(order_with(&item, words))
    }

    /// The session in which the caller delegates.
    fn session_to_delegate_in(&mut self) -> Result<Option<Session>, Error> {
        let envelope = self.envelope;
        match follow::in_own_session(&envelope.actor, envelope.context.session.is_some())? {
            true => self.session(Lock::No),
            false => Ok(None),
        }
    }

    /// Handles the consequences of a report, or of the death of the last worker.
    fn after_report(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let project = delegation.project_id;
        let title = match delegation.todo_id.filter(|_| delegation.conversation_id.is_some()) {
            Some(id) => self.tx.brief(id)?.map(|brief| brief.title),
            None => None,
        };
        let list = match delegation.todo_id {
            Some(todo) => self.tx.list_of(project, TodoKey::Id(todo))?.map(|(list, _)| list.kind()),
            None => None,
        };
        let run = match delegation.run_id.filter(|_| follow::completes(delegation).is_some()) {
            Some(id) => self.tx.run(project, id, Lock::No)?.map(|(run, _)| run),
            None => None,
        };
        let by = &self.envelope.actor;
        let on = Reported { by, title: title.as_deref(), run: run.as_ref(), list };
        self.then(project, follow::reported(delegation, &on))
    }

    /// Returns work to the agent of ours that did it. False if no agent of ours did it.
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

    /// Stops the agents that work on settled items of a list.
    pub(super) fn stop_work_on(
        &mut self,
        project: ProjectId,
        list: ListId,
        (settled, reason, by): (&Settled, &str, &Actor),
    ) -> Result<(), Error> {
        for (found, lease) in self.tx.live_delegations(project, list)? {
            let mut line = Vec::new();
            let mut at = found.todo_id;
            while let Some(id) = at {
                line.push(id);
                at = self.tx.todo(list, id)?.and_then(|todo| todo.parent_id);
            }
            let holder = lease.as_ref().and_then(|lease| lease.holder.as_deref());
            if follow::is_moot(&found, holder, &line, (settled, by)) {
                self.call_off(project, found.id, reason)?;
            }
        }
        Ok(())
    }

    /// Stops the agents whose task was assigned to another agent.
    pub(super) fn stop_replaced(
        &mut self,
        project: ProjectId,
        todo: TodoId,
        (assignee, by): (&AgentPath, &str),
    ) -> Result<(), Error> {
        for (found, lease) in self.tx.delegations_of_todo(todo)? {
            let holder = lease.as_ref().and_then(|lease| lease.holder.as_deref());
            if follow::is_replaced(&found, holder, (assignee, by)) {
                self.call_off(project, found.id, follow::REPLACED)?;
            }
        }
        Ok(())
    }

    /// Cancels a delegation by policy, in the name of its delegator. Does nothing if it has ended.
    pub(super) fn call_off(
        &mut self,
        project: ProjectId,
        id: DelegationId,
        reason: &str,
    ) -> Result<(), Error> {
        // Somebody may be taking it right now, so lock it.
        let held = self.tx.delegation(project, id, Lock::Row)?;
        let Some((delegation, _)) = held else { return Ok(()) };
        let Some((actor, cancel)) = follow::call_off(&delegation, reason) else { return Ok(()) };
        let decision = self.decided_by(&actor, &cancel, &delegation, (project, &id))?;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.stop_worker(&delegation)
    }

    /// Ends the run that works on a cancelled delegation, and notifies the run that waits for it.
    fn stop_worker(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let run = self.tx.run_of_delegation(delegation.id)?;
        self.then(delegation.project_id, follow::called_off(delegation, run.as_ref()))
    }

    /// Finds a delegation by its id. Refuses an unknown one.
    pub(crate) fn delegation(&mut self, named: &str, lock: Lock) -> Result<Held, Error> {
        let unknown = || Error::from(Refusal::UnknownDelegation { delegation: named.to_owned() });
        let meant = self.whole_id(named, &[Named::Delegation])?;
        let id = DelegationId::parse(&meant).ok_or_else(unknown)?;
        let project = self.project()?.ok_or_else(unknown)?;
        let held = self.tx.delegation(project, id, lock)?.ok_or_else(unknown)?;
        super::or_unknown(self.reach_delegation(&held.0), unknown)?;
        Ok(held)
    }

    /// Like `delegation`, for a change that may also change the checklist or the item. The issue and
    /// the item are locked before the delegation, as by a change that settles the item.
    fn delegation_behind_its_issue(&mut self, named: &str) -> Result<Held, Error> {
        let (looked, _) = self.delegation(named, Lock::No)?;
        if let Some(id) = looked.issue_id {
            self.tx.issue_by_id(id, Lock::Row)?;
        }
        if let Some(id) = looked.todo_id
            && let Some((list, id)) = self.tx.list_of(looked.project_id, TodoKey::Id(id))?
        {
            self.lock_todo(&list, id)?;
        }
        self.delegation(named, Lock::Row)
    }

    /// Takes the next delegation of one of these types, and holds it.
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
            // A delegation out of reach is skipped and not mentioned.
            if self.reach_delegation(&delegation).is_err() {
                after = Some(delegation.id.to_string());
                continue;
            }
            if !has_died(&delegation, lease.as_ref()) {
                break (delegation, lease);
            }
            match self.after_death_of_worker(delegation, lease.as_ref())? {
                Some(delegation) => break (delegation, lease),
                // That delegation has failed for good: try the next one.
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

    /// Handles the death of a delegation's worker. `None` if it died too often: the delegation has
    /// failed, its run has ended, and its item is held.
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

    /// Reports on a delegation that the caller holds. A proposal is accepted at once if the policy
    /// says so.
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
        let decided = self.decided(&command, (&delegation, lease.as_ref()), (project, &id));
        if decided.is_err() {
            self.keep_words(command.report.result());
        }
        let (decision, lease) = decided?;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.tx.put_delegation_lease(id, &lease)?;
        self.after_report(&delegation)?;
        if follow::adopts_at_once(&delegation) {
            let decision = ProposalDecision::Accept;
            let accept = DecideProposal { decision, items: None, reason: None };
            let (delegation, _) = self.adopt(delegation, &Actor::system(), &accept)?;
            return Ok(delegation);
        }
        Ok(delegation)
    }

    /// Renews the lease on a delegation. Returns the new end of the lease.
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

    /// Decides on a proposal. Returns the proposed items that were skipped because the list has
    /// them already.
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
