//! The calls on delegations: queued, taken by lease, reported on, and what a report proposes.

use punchlist_core::authority::{Action, Subject, may_ever_on};
use punchlist_core::command::{AdoptTodos, ClaimTodo, CompleteTodo, HoldTodo, NewTodo, UnholdTodo};
use punchlist_core::conversation::{MessageKind, Speaker};
use punchlist_core::delegation::{
    BuryDelegation, CancelDelegation, DecideProposal, Delegate, DelegationState,
    HeartbeatDelegation, Mode, ProposalDecision, ProposedItem, Report, ReportDelegation, Review,
    TakeDelegation, has_died,
};
use punchlist_core::driver::Trigger;
use punchlist_core::mission::order;
use punchlist_core::run::Completion;
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::HoldKind;
use punchlist_core::{
    Actor, AgentPath, Decision, Delegation, DelegationId, Lease, ListKind, ProjectId, Refusal,
    Role, Session, TodoId,
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
        let (actor, now) = (self.envelope.actor.clone(), self.envelope.now);
        let decided = command.decide(project, session.as_ref(), &actor, now, &mut self.ids);
        let decision = decided.map_err(|refused| self.refuse(project, &project, refused))?;
        let delegation = self.record_delegation(project, None, &decision)?;
        self.try_again(&delegation)?;
        if let Some(conversation) = delegation.conversation_id {
            // The order stands in the chat it is worked in (M-49).
            let said = (Speaker::Assistant, MessageKind::Text);
            self.post(project, conversation, said, delegation.mission.clone())?;
        }
        Ok(delegation)
    }

    /// An item that is held because its delegation failed goes on when it is handed on again.
    fn try_again(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let Some(todo) = delegation.todo_id else { return Ok(()) };
        let (mut list, todo_id) = self.todo(&todo.to_string())?;
        let hold = list.todo(todo_id).and_then(|todo| todo.hold.as_deref());
        if hold.is_none_or(|hold| hold.kind != HoldKind::Failed) {
            return Ok(());
        }
        match self.decide_as(&system(), &mut list, &UnholdTodo { todo_id }.into()) {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The order for an item: what it says of itself, then the caller's words (M-49).
    pub(crate) fn order_for(&mut self, todo: TodoId, words: &Body) -> Result<Body, Error> {
        let Some(project) = self.project()? else { return Ok(words.clone()) };
        let Some((list, id)) = self.tx.list_of(project, TodoKey::Id(todo))? else {
            return Ok(words.clone());
        };
        let Some(item) = self.tx.todo(list.id, id)? else { return Ok(words.clone()) };
        let order = order(&item);
        if words.as_str().contains(order.as_str()) {
            return Ok(words.clone());
        }
        // What is too long together is still said by the caller.
        Ok(Body::new(&format!("{order}\n\n{}", words.as_str())).unwrap_or_else(|_| words.clone()))
    }

    /// The session the caller delegates in. Sessions are root's: a lead or an owner that names one
    /// would hand work to somebody else's agent.
    fn session_to_delegate_in(&mut self) -> Result<Option<Session>, Error> {
        let role = self.envelope.actor.role;
        if may_ever_on(role, Subject::Session, Action::View) {
            return self.session(Lock::No);
        }
        match &self.envelope.context.session {
            Some(_) => Err(Refusal::MayNotDelegate { role }.into()),
            None => Ok(None),
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
        // Whoever leads reads it in the chat (M-61), unless it waits for it on the spot.
        if delegation.mode == Mode::Async
            && delegation.state.is_over()
            && let Some(chat) = self.tx.conversation(delegation.project_id, conversation)?
        {
            self.call_upon(&chat)?;
        }
        let (Some(todo_id), DelegationState::Returned) = (delegation.todo_id, delegation.state)
        else {
            return Ok(());
        };
        let (mut list, todo_id) = self.todo(&todo_id.to_string())?;
        let mut actor = system();
        actor.principal.clone_from(&self.envelope.actor.principal);
        let outcome = delegation.result.clone();
        let claim = ClaimTodo { todo_id, outcome, evidence: Vec::new(), clock: None }.into();
        match self.decide_as(&actor, &mut list, &claim) {
            // What cannot be claimed (settled meanwhile, evidence wanted) has still been reported.
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Hands work that was returned to the agent of ours that did it, with what is missing (M-51).
    /// Whoever has workers of its own hands it on itself.
    pub(super) fn hand_back(
        &mut self,
        project: ProjectId,
        todo: TodoId,
        feedback: &str,
    ) -> Result<bool, Error> {
        let wanted = WantedDelegations { todo: Some(todo), ..WantedDelegations::default() };
        let found = self.tx.delegations(project, &wanted, i64::MAX)?;
        let last = found.into_iter().map(|(delegation, _)| delegation).next_back();
        let returned = last.filter(|last| last.state == DelegationState::Returned);
        let Some(done) = returned else { return Ok(false) };
        if self.tx.run_of_delegation(done.id)?.is_none() {
            return Ok(false);
        }
        let (Ok(kind), Ok(mission)) = (Title::new(&done.kind), Body::new(feedback)) else {
            return Ok(false);
        };
        self.delegate(&Delegate {
            kind,
            mission,
            rationale: None,
            mode: Mode::Async,
            review: done.review,
            todo_id: Some(todo),
            conversation_id: done.conversation_id,
            run_id: None,
        })?;
        Ok(true)
    }

    /// Stops whoever works on an item that is not to be done any more.
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

    /// Calls a delegation off by policy, for whoever delegated it; one that is over stays as it is.
    pub(super) fn call_off(
        &mut self,
        project: ProjectId,
        id: DelegationId,
        reason: &str,
    ) -> Result<(), Error> {
        // Somebody may be taking it at this moment.
        let held = self.tx.delegation(project, id, Lock::Row)?;
        let Some((delegation, _)) = held.filter(|(held, _)| !held.state.is_over()) else {
            return Ok(());
        };
        let mut actor = system();
        actor.agent = delegation.parent_agent.clone();
        let decided =
            CancelDelegation { reason: Body::new(reason).ok() }.decide(&delegation, &actor);
        let decision = decided.map_err(|r| self.refuse(project, &delegation.id, r))?;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.stop_worker(&delegation)
    }

    /// Ends the run of whoever works on a delegation that is not wanted any more, and tells whoever
    /// waits for it.
    fn stop_worker(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let project = delegation.project_id;
        if let Some(run) = self.tx.run_of_delegation(delegation.id)?.filter(|run| !run.is_over()) {
            let (named, mut actor) = (run.id.to_string(), system());
            actor.agent = run.agent;
            self.cancel_run_as(&actor, &named, "the work was called off")?;
        }
        self.wake_caller(project, delegation)
    }

    /// Tells the run that handed work on what came of it.
    fn wake_caller(&mut self, project: ProjectId, delegation: &Delegation) -> Result<(), Error> {
        let Some(run) = delegation.run_id.filter(|_| delegation.state.is_over()) else {
            return Ok(());
        };
        // Who waits for it on the spot has it as the result of its call.
        let news = match delegation.mode {
            Mode::Async => Some(delegation.news()),
            Mode::Sync => None,
        };
        self.wake_run(project, run, Trigger::DelegationReturned, news.as_deref())?;
        Ok(())
    }

    /// Where the report is what completes an item of a turn's plan, it does (F-7).
    fn complete_item_of(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let (Some(todo), Some(run), DelegationState::Returned) =
            (delegation.todo_id, delegation.run_id, delegation.state)
        else {
            return Ok(());
        };
        let run = self.tx.run(delegation.project_id, run, Lock::No)?.map(|(run, _)| run);
        let Some(run) = run.filter(|run| run.settings.completion == Completion::Verified) else {
            return Ok(());
        };
        let (mut list, todo_id) = self.todo(&todo.to_string())?;
        if list.list.kind() != ListKind::Turn {
            return Ok(());
        }
        let outcome = delegation.result.clone();
        let command =
            CompleteTodo { todo_id, outcome, evidence: Vec::new(), metrics_impacted: Vec::new() }
                .into();
        match self.decide_as(&run.actor(), &mut list, &command) {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// An item whose delegation failed for good is held with the reason (S-25): nobody works on it
    /// any more. It is never settled by that (F-8).
    fn hold_item_of(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let (Some(todo), DelegationState::Failed) = (delegation.todo_id, delegation.state) else {
            return Ok(());
        };
        let (mut list, todo_id) = self.todo(&todo.to_string())?;
        let error = delegation.error.as_deref().unwrap_or_default();
        let error: String = error.chars().take(300).collect();
        let Ok(reason) = Body::new(&format!("{} failed: {error}", delegation.kind)) else {
            return Ok(());
        };
        let command = HoldTodo { todo_id, kind: HoldKind::Failed, reason, until: None }.into();
        match self.decide_as(&system(), &mut list, &command) {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The delegation of an id; one that is not there is a refusal.
    pub(crate) fn delegation(&mut self, named: &str, lock: Lock) -> Result<Held, Error> {
        let unknown = || Error::from(Refusal::UnknownDelegation { delegation: named.to_owned() });
        let meant = self.whole_id(named, &[Named::Delegation])?;
        let id = DelegationId::parse(&meant).ok_or_else(unknown)?;
        let project = self.project()?.ok_or_else(unknown)?;
        let held = self.tx.delegation(project, id, lock)?.ok_or_else(unknown)?;
        self.reach_delegation(&held.0)?;
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
        let (delegation, lease) = loop {
            let wanted = (types.as_deref(), in_chats, only);
            let found = self.tx.next_delegation(project, wanted, within, clock)?;
            let Some((delegation, lease)) = found else { return Ok(None) };
            self.reach_delegation(&delegation)?;
            if !has_died(&delegation, lease.as_ref()) {
                break (delegation, lease);
            }
            match self.after_death_of_worker(delegation, lease.as_ref())? {
                Some(delegation) => break (delegation, lease),
                // That one has failed for good: the next one.
                None => continue,
            }
        };
        let actor = self.envelope.actor.clone();
        let take = TakeDelegation { lease_s, clock };
        let decided = take.decide(&delegation, lease.as_ref(), &actor);
        let (decision, lease) =
            decided.map_err(|refused| self.refuse(project, &delegation.id, refused))?;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.tx.put_delegation_lease(delegation.id, &lease)?;
        Ok(Some((delegation, lease)))
    }

    /// Whoever worked on a delegation died. None: that was once too often, and it has failed; its
    /// run has ended, and its item is held.
    fn after_death_of_worker(
        &mut self,
        delegation: Delegation,
        lease: Option<&Lease>,
    ) -> Result<Option<Delegation>, Error> {
        let (id, project) = (delegation.id, delegation.project_id);
        let run = self.tx.run_of_delegation(id)?.filter(|run| !run.is_over());
        let buried = BuryDelegation.decide(&delegation, lease, run.as_ref());
        if let Some(run) = run {
            self.after_death(run)?;
        }
        let Some(decision) = buried else { return Ok(Some(delegation)) };
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.land(&delegation)?;
        self.hold_item_of(&delegation)?;
        self.wake_caller(project, &delegation)?;
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
        let decided = command.decide(&delegation, lease.as_ref(), &self.envelope.actor);
        let (decision, lease) =
            decided.map_err(|refused| self.refuse(project, &delegation.id, refused))?;
        let id = delegation.id;
        let delegation = self.record_delegation(project, Some(delegation), &decision)?;
        self.tx.put_delegation_lease(id, &lease)?;
        self.land(&delegation)?;
        self.hold_item_of(&delegation)?;
        self.complete_item_of(&delegation)?;
        self.wake_caller(project, &delegation)?;
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
