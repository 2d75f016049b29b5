//! The calls on runs: starting one, and each step of the process that executes it.
//!
//! Every step is recorded here before the process acts on it. A step locks the run's row before all
//! other rows, so that a wake-up is seen either by the process that is about to suspend the run or
//! by the next one. A wake-up locks the run after the rows of its cause; if that collides with a step,
//! PostgreSQL ends one of the two transactions, and the store repeats it.

use punchlist_core::conversation::{Channel, Conversation, MessageKind, Part, SYNTHETIC, Speaker};
use punchlist_core::driver::{Finish, Spent, Trigger, Ways, of_calls};
use punchlist_core::run::{
    ConfigureRun, RecordReply, RecordResult, RecordStart, RecordSummary, Settings, StartRun,
    TakeRun, Taken, WORKER_DIED,
};
use punchlist_core::{
    Actor, AgentPath, ConversationId, Decision, Delegation, ProjectId, Reach, Refusal, Role, Run,
    RunId, Scope, Session, TodoId,
};
use punchlist_store::rows::lists::Lock;
use punchlist_store::rows::names::Named;

use super::{Call, host_id};
use crate::Error;
use crate::config::Overrides;
use crate::operations::run_step::{Reply, ToolResult};

/// How long a new run is reserved for the process that started it.
const HELD_S: i64 = 30;

/// The properties of a new run.
#[derive(Clone, Debug)]
pub(crate) struct NewRun {
    pub agent: AgentPath,
    pub role: Role,
    pub mission: Option<String>,
    pub pillar: Option<String>,
    pub settings: Settings,
    pub plan: Option<Scope>,
    pub delegation: Option<Delegation>,
    /// The reach of the run, if it is narrower than the caller's.
    pub reach: Option<Reach>,
    /// Did the caller name the model?
    pub names_model: bool,
    /// Does the caller execute the run itself?
    pub held: bool,
}

impl Call<'_, '_> {
    /// Starts a run that answers a message.
    pub(crate) fn start_run(
        &mut self,
        conversation: ConversationId,
        turn_id: String,
        session: Option<&Session>,
        new: NewRun,
    ) -> Result<Run, Error> {
        let project = self.ensure_project()?;
        let command = StartRun {
            agent: new.agent,
            role: new.role,
            mission: new.mission,
            pillar: new.pillar,
            conversation_id: conversation,
            turn_id,
            session_id: session.map(|session| session.id),
            plan: new.plan,
            delegation_id: new.delegation.as_ref().map(|delegation| delegation.id),
            settings: new.settings,
            reach: new.reach,
            names_model: new.names_model,
            held: new.held,
        };
        let now = self.envelope.now;
        let mut decision = self.decided(&command, project, (project, &project))?;
        let effects = std::mem::take(&mut decision.effects);
        let run = self.record_run(project, None, &decision)?;
        for effect in &effects {
            if new.held {
                self.tx.enqueue_for(effect, now, HELD_S, &mut self.ids)?;
            } else {
                self.tx.enqueue(effect, now, &mut self.ids)?;
            }
        }
        Ok(run)
    }

    /// The session for a new run, if the caller names a session or its chat.
    pub(crate) fn session_to_run_in(&mut self) -> Result<Option<Session>, Error> {
        let context = &self.envelope.context;
        if let Some(named) = host_id("session", context.session.as_deref())? {
            return self.session_named(&named, Lock::Row).map(Some);
        }
        let Some(named) = host_id("conversation", context.conversation.as_deref())? else {
            return Ok(None);
        };
        let Some(id) = ConversationId::parse(&named) else {
            // The host's own id of the chat, which is also the id of its session.
            let Some(project) = self.project()? else { return Ok(None) };
            return Ok(self.tx.session(project, &named, Lock::Row)?);
        };
        let unknown = || Error::from(Refusal::UnknownConversation { conversation: named.clone() });
        self.conversation(&named)?;
        self.tx.session_of_conversation(id)?.map(Some).ok_or_else(unknown)
    }

    /// Creates a chat for work that is delegated outside any chat.
    pub(crate) fn open_chat(&mut self, title: &str) -> Result<Conversation, Error> {
        let project_id = self.ensure_project()?;
        let conversation = Conversation {
            id: ConversationId::from(self.ids.ulid()),
            project_id,
            channel: Channel::Session,
            title: title.chars().take(200).collect(),
            about: None,
            created_at: self.envelope.now,
        };
        let stamp = self.stamp(project_id);
        self.tx.open_conversation(&conversation, &stamp)?;
        Ok(conversation)
    }

    /// Finds a run by its id. Refuses an unknown one.
    pub(crate) fn run(&mut self, named: &str, lock: Lock) -> Result<(Run, i64), Error> {
        let unknown = || Error::from(Refusal::UnknownRun { run: named.to_owned() });
        let meant = self.whole_id(named, &[Named::Run])?;
        let id = RunId::parse(&meant).ok_or_else(unknown)?;
        let project = self.project()?.ok_or_else(unknown)?;
        let found = self.tx.run(project, id, lock)?.ok_or_else(unknown)?;
        super::or_unknown(self.reach_run(&found.0), unknown)?;
        Ok(found)
    }

    /// Locks a run for writing. Only the process that holds the run passes.
    pub(crate) fn run_held(&mut self, named: &str, epoch: i64) -> Result<Run, Error> {
        let (run, current) = self.run(named, Lock::Row)?;
        run.fence(epoch, current)?;
        Ok(run)
    }

    /// Takes a run over. A process that does this for an entry of the outbox must still hold the
    /// entry. Otherwise it would replace the entry's new holder, and nobody would notice its own
    /// death.
    pub(crate) fn take_run(
        &mut self,
        named: &str,
        entry: Option<(&str, i64)>,
    ) -> Result<(Run, i64), Error> {
        let (run, current) = self.run(named, Lock::Row)?;
        let after_death = match entry {
            None => false,
            Some((id, epoch)) => self.tx.is_work_held(id, epoch)?.ok_or_else(|| {
                Error::from(Refusal::StaleRun { run: run.id, epoch: current, current })
            })?,
        };
        let run = self.configure_run(run)?;
        let epoch = self.tx.take_run(run.id)?;
        let run = if after_death { self.after_death(run)? } else { run };
        Ok((run, epoch))
    }

    /// Applies the settings of this process to a run that an agent queued. Ends a run that this
    /// process may not execute.
    fn configure_run(&mut self, run: Run) -> Result<Run, Error> {
        let system = Actor::system();
        let executor = self.envelope.context.executor.as_ref().unwrap_or(&system);
        let over = Overrides { drives: Some(run.settings.drives), ..Overrides::default() };
        let settings = self.envelope.agents().settings(run.agent.as_str(), &over).ok();
        let settings = settings.map(|(settings, _)| settings);
        let of = (run.project_id, &run.id as _);
        let decision = self.decided_by(executor, &ConfigureRun { settings }, &run, of)?;
        match decision.events.is_empty() {
            true => Ok(run),
            false => self.record_run(run.project_id, Some(run), &decision),
        }
    }

    /// The process of a run died: records that. If it died too often, ends the run and holds its
    /// item.
    pub(super) fn after_death(&mut self, run: Run) -> Result<Run, Error> {
        let taken = TakeRun { after_death: true };
        let detail = match self.decided(&taken, &run, (run.project_id, &run.id))? {
            Taken::GoesOn(decision) if decision.events.is_empty() => return Ok(run),
            Taken::GoesOn(decision) => {
                return self.record_run(run.project_id, Some(run), &decision);
            }
            Taken::Ends { detail } => detail,
        };
        let item = self.next_item(&run)?;
        let failed = Trigger::Stopped(Finish::Error);
        let driven =
            self.drive(run, failed, &[], Ways::default(), (Some(&detail), Some(WORKER_DIED)))?;
        if let Some(item) = item {
            self.hold_failed(&driven.run, item, &detail)?;
        }
        Ok(driven.run)
    }

    pub(crate) fn record_reply(&mut self, run: Run, reply: &Reply) -> Result<Run, Error> {
        let calls = of_calls(&reply.calls);
        let (spent, window, heard) = (reply.spent, reply.window, reply.heard);
        let command = RecordReply { spent, calls, window, heard };
        let decision = self.decided(&command, &run, (run.project_id, &run.id))?;
        let said = (Speaker::Assistant, MessageKind::Text);
        let Reply { text, calls, raw, finish, seen, .. } = reply.clone();
        let part = Part::Reply { calls, raw, finish, seen };
        let (author, part) = (run.actor().principal, Some((run.id, Some(part))));
        self.post_as(author, run.project_id, run.conversation_id, said, text, part)?;
        self.record_run(run.project_id, Some(run), &decision)
    }

    /// Records the result of a tool call. Returns the item that is now held because its tools fail.
    pub(crate) fn record_result(
        &mut self,
        run: Run,
        result: &ToolResult,
    ) -> Result<(Run, Option<TodoId>), Error> {
        let ToolResult { call_id, name, text, is_error, changed, touched_list, outside } =
            result.clone();
        let failed_on = match outside && is_error {
            true => self.next_item(&run)?,
            false => None,
        };
        let command = RecordResult { changed, touched_list, failed_on };
        let (decision, given_up) = self.decided(&command, &run, (run.project_id, &run.id))?;
        let said = (Speaker::User, MessageKind::Result);
        let part = Part::Result { call_id, name, is_error };
        let (author, part) = (run.actor().principal, Some((run.id, Some(part))));
        self.post_as(author, run.project_id, run.conversation_id, said, text, part)?;
        let run = self.record_run(run.project_id, Some(run), &decision)?;
        let held = match given_up {
            Some(todo) if is_error => self.hold_failed(&run, todo, &result.text)?,
            _ => None,
        };
        Ok((run, held))
    }

    /// Records a summary that replaces all earlier messages for the model.
    pub(crate) fn record_summary(
        &mut self,
        run: Run,
        text: &str,
        spent: Spent,
    ) -> Result<Run, Error> {
        let command = RecordSummary { spent };
        let decision = self.decided(&command, &run, (run.project_id, &run.id))?;
        let said = (Speaker::User, MessageKind::Summary);
        let text = format!("{SYNTHETIC} {text}");
        let (author, part) = (run.actor().principal, Some((run.id, None)));
        self.post_as(author, run.project_id, run.conversation_id, said, text, part)?;
        self.record_run(run.project_id, Some(run), &decision)
    }

    /// Records that an outside tool is about to be called.
    pub(crate) fn record_start(&mut self, run: Run, call_id: String) -> Result<Run, Error> {
        let command = RecordStart { call_id };
        let decision = self.decided(&command, &run, (run.project_id, &run.id))?;
        self.record_run(run.project_id, Some(run), &decision)
    }

    pub(super) fn record_run(
        &mut self,
        project: ProjectId,
        mut state: Option<Run>,
        decision: &Decision,
    ) -> Result<Run, Error> {
        let stamp = self.stamp(project);
        self.tx.record_run(&mut state, decision, &stamp, &mut self.ids)?;
        state.ok_or_else(|| Error::Internal { detail: "a decision left no run".into() })
    }
}
