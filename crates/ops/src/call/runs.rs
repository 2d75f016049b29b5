//! The calls on runs: begun, moved on by whoever executes them, woken by what they wait for.
//!
//! All that a process did is written here before it acts on it. The run's row is locked before
//! anything that it is about, so that a wake-up is seen either by the process that is about to lie
//! down or by the next one.

use punchlist_core::command::{HoldTodo, StartTodo};
use punchlist_core::conversation::{Channel, Conversation, MessageKind, Part, SYNTHETIC, Speaker};
use punchlist_core::driver::{self, Facts, Spent, Trigger, Verdict, Ways, Work};
use punchlist_core::effect::Effect;
use punchlist_core::mission;
use punchlist_core::run::{
    CancelRun, DriveRun, RecordReply, RecordResult, RecordStart, RecordSummary, RunState, Settings,
    StartRun, WakeRun,
};
use punchlist_core::session::SessionState;
use punchlist_core::text::Body;
use punchlist_core::todo::HoldKind;
use punchlist_core::{
    Actor, AgentPath, ConversationId, Decision, Delegation, ListKind, ProjectId, Refusal, Role,
    Run, RunId, Scope, Session, Snapshot, Status, TodoId,
};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;

use super::{Call, host_id};
use crate::Error;

/// How long others leave a new run to the process that began it.
const HELD_S: i64 = 30;

/// What a run is begun with.
#[derive(Clone, Debug)]
pub(crate) struct NewRun {
    pub agent: AgentPath,
    pub role: Role,
    pub mission: Option<String>,
    pub pillar: Option<String>,
    pub settings: Settings,
    pub plan: Option<Scope>,
    pub delegation: Option<Delegation>,
    /// The caller executes it itself.
    pub held: bool,
}

/// A reply of a model.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub text: String,
    pub part: Part,
    pub spent: Spent,
    pub window: Option<u64>,
    /// How much had been said to the run when the model was called.
    pub heard: Option<u32>,
}

/// What came of a call.
#[derive(Clone, Debug)]
pub(crate) struct ToolResult {
    pub text: String,
    pub part: Part,
    pub changed: bool,
    pub touched_list: bool,
    /// A tool from outside: where it fails twice on an item, the item is held (S-25, S-32).
    pub outside: bool,
}

impl Call<'_, '_> {
    /// Begins a run that answers a message.
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
        };
        let (actor, now) = (self.envelope.actor.clone(), self.envelope.now);
        let decided = command.decide(project, &actor, now, &mut self.ids);
        let mut decision = decided.map_err(|refused| self.refuse(project, &project, refused))?;
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

    /// The session a run is to happen in, where the caller names one or its chat.
    pub(crate) fn session_to_run_in(&mut self) -> Result<Option<Session>, Error> {
        let context = &self.envelope.context;
        if let Some(named) = host_id("session", context.session.as_deref())? {
            return self.session_named(&named, Lock::Row).map(Some);
        }
        let Some(named) = host_id("conversation", context.conversation.as_deref())? else {
            return Ok(None);
        };
        let Some(id) = ConversationId::parse(&named) else {
            // A host's own word for it: its session carries it.
            let Some(project) = self.project()? else { return Ok(None) };
            return Ok(self.tx.session(project, &named, Lock::Row)?);
        };
        let unknown = || Error::from(Refusal::UnknownConversation { conversation: named.clone() });
        self.conversation(&named)?;
        self.session_of_chat(id)?.map(Some).ok_or_else(unknown)
    }

    /// The session a chat is of.
    pub(crate) fn session_of_chat(
        &mut self,
        conversation: ConversationId,
    ) -> Result<Option<Session>, Error> {
        Ok(self.tx.session_of_conversation(conversation)?)
    }

    /// A chat of its own, for work that is handed on outside any.
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

    /// The run of an id; one that is not there is a refusal.
    pub(crate) fn run(&mut self, named: &str, lock: Lock) -> Result<(Run, i64), Error> {
        let unknown = || Error::from(Refusal::UnknownRun { run: named.to_owned() });
        let id = RunId::parse(named.trim()).ok_or_else(unknown)?;
        let project = self.project()?.ok_or_else(unknown)?;
        self.tx.run(project, id, lock)?.ok_or_else(unknown)
    }

    /// The run to write to, for the process that has it and no other.
    pub(crate) fn run_held(&mut self, named: &str, epoch: i64) -> Result<Run, Error> {
        let (run, current) = self.run(named, Lock::Row)?;
        if current != epoch {
            return Err(Refusal::StaleRun { run: run.id, epoch, current }.into());
        }
        Ok(run)
    }

    /// Takes a run over. Who does it for an entry of the outbox must still hold that: whoever has the
    /// entry now would give way to somebody that nobody replaces when it dies.
    pub(crate) fn take_run(
        &mut self,
        named: &str,
        entry: Option<(&str, i64)>,
    ) -> Result<(Run, i64), Error> {
        let (run, current) = self.run(named, Lock::Row)?;
        if let Some((id, epoch)) = entry
            && !self.tx.is_work_held(id, epoch)?
        {
            return Err(Refusal::StaleRun { run: run.id, epoch: current, current }.into());
        }
        let epoch = self.tx.take_run(run.id)?;
        Ok((run, epoch))
    }

    pub(crate) fn record_reply(&mut self, run: Run, reply: Reply) -> Result<Run, Error> {
        let (calls, has_calls) = match &reply.part {
            Part::Reply { calls, .. } => {
                // Ids are new every time.
                let said: Vec<_> = calls.iter().map(|call| (&call.name, &call.input)).collect();
                (said, !calls.is_empty())
            }
            Part::Result { .. } => (Vec::new(), false),
        };
        let (spent, window, heard) = (reply.spent, reply.window, reply.heard);
        let command = RecordReply { spent, calls, has_calls, window, heard };
        let decided = command.decide(&run);
        let decision = decided.map_err(|r| self.refuse(run.project_id, &run.id, r))?;
        let said = (Speaker::Assistant, MessageKind::Text);
        let (author, part) = (run.actor().principal, Some((run.id, Some(reply.part.clone()))));
        self.post_as(author, run.project_id, run.conversation_id, said, reply.text, part)?;
        self.record_run(run.project_id, Some(run), &decision)
    }

    /// Records what came of a call. Says the item that is held now because its tools fail.
    pub(crate) fn record_result(
        &mut self,
        run: Run,
        result: ToolResult,
    ) -> Result<(Run, Option<TodoId>), Error> {
        let is_error = matches!(result.part, Part::Result { is_error: true, .. });
        let failed_on = match result.outside && is_error {
            true => self.next_item(&run)?,
            false => None,
        };
        let ToolResult { changed, touched_list, .. } = result;
        let decided = RecordResult { changed, touched_list, failed_on }.decide(&run);
        let (decision, given_up) = decided.map_err(|r| self.refuse(run.project_id, &run.id, r))?;
        let said = (Speaker::User, MessageKind::Result);
        let error = is_error.then(|| result.text.clone());
        let (author, part) = (run.actor().principal, Some((run.id, Some(result.part))));
        self.post_as(author, run.project_id, run.conversation_id, said, result.text, part)?;
        let run = self.record_run(run.project_id, Some(run), &decision)?;
        let held = match (given_up, error) {
            (Some(todo), Some(error)) => self.hold_failed(&run, todo, &error)?,
            _ => None,
        };
        Ok((run, held))
    }

    /// A message that stands for all before it.
    pub(crate) fn record_summary(
        &mut self,
        run: Run,
        text: &str,
        spent: Spent,
    ) -> Result<Run, Error> {
        let decided = RecordSummary { spent }.decide(&run);
        let decision = decided.map_err(|r| self.refuse(run.project_id, &run.id, r))?;
        let said = (Speaker::User, MessageKind::Summary);
        let text = format!("{SYNTHETIC} {text}");
        let (author, part) = (run.actor().principal, Some((run.id, None)));
        self.post_as(author, run.project_id, run.conversation_id, said, text, part)?;
        self.record_run(run.project_id, Some(run), &decision)
    }

    /// An outside tool is about to be called.
    pub(crate) fn record_start(&mut self, run: Run, call_id: String) -> Result<Run, Error> {
        let decided = RecordStart { call_id }.decide(&run);
        let decision = decided.map_err(|r| self.refuse(run.project_id, &run.id, r))?;
        self.record_run(run.project_id, Some(run), &decision)
    }

    /// Asks the driver what is next, and does what it says. The text of a continuation comes back
    /// as it stands in the chat.
    pub(crate) fn drive(
        &mut self,
        run: Run,
        trigger: Trigger,
        has_todo_tool: bool,
        ways: Ways,
        detail: Option<&str>,
    ) -> Result<(Run, Verdict, Option<String>), Error> {
        let (project, now) = (run.project_id, self.envelope.now);
        let session = match run.session_id {
            Some(id) => self.tx.session_by_id(id)?,
            None => None,
        };
        let paused = session.as_ref().is_some_and(|s| s.state == SessionState::Paused);
        let gate = self.tx.open_gate_of(run.id, run.session_id)?;
        let in_flight = self.tx.in_flight(run.id)?;
        let lists = self.lists_of(&run, session.as_ref(), Load::Open)?;
        let work = Work::of(&lists, now);
        let facts = Facts {
            trigger,
            budget: &run.settings.budget,
            counters: &run.counters,
            cancelled: run.cancelled.is_some(),
            enabled: run.settings.drives,
            paused,
            gate,
            in_flight: &in_flight,
            has_todo_tool,
            work: &work,
            now,
        };
        let driven = DriveRun { facts: &facts, detail }.decide(&run);
        let driven = driven.map_err(|refused| self.refuse(project, &run.id, refused))?;
        let run = self.record_run(project, Some(run), &driven.decision)?;
        let mut said = None;
        match &driven.verdict {
            Verdict::Continue { todo, prompted } => {
                if let Some(id) = todo {
                    self.hand_out(&run, &work, &lists, *id)?;
                }
                if *prompted {
                    let template = run.settings.continuation.as_deref();
                    said = Some(driver::continuation(&work, template, ways));
                } else if matches!(trigger, Trigger::Stopped(_) | Trigger::Tick) {
                    said = Some(driver::UNHEARD.to_owned());
                }
            }
            Verdict::Wait(_) => {}
            Verdict::Stop(reason) => {
                let budget = &run.settings.budget;
                let made = (run.counters.continuations, budget.max_continuations);
                said = driver::incomplete(&lists, *reason, made);
                self.after_planning(&run)?;
                self.leave_unanswered(&run)?;
                // Who was spoken to meanwhile need not wait any longer.
                let (conversation_id, role) = (run.conversation_id, run.role);
                self.tx.hasten(&Effect::Answer { conversation_id, role })?;
            }
        }
        let said = said.map(|text| self.say(&run, &text)).transpose()?;
        Ok((run, driven.verdict, said))
    }

    /// What was said while a run failed, and nobody has seen, is answered by the next one.
    fn leave_unanswered(&mut self, run: &Run) -> Result<(), Error> {
        if !run.owes_an_answer() || run.delegation_id.is_some() {
            return Ok(());
        }
        match self.tx.conversation(run.project_id, run.conversation_id)? {
            Some(chat) => self.call_upon(&chat),
            None => Ok(()),
        }
    }

    /// The owner of a pillar has planned: whoever leads the mission hears of it (M-84).
    fn after_planning(&mut self, run: &Run) -> Result<(), Error> {
        let (Role::Owner, Some(slug), Some(pillar)) = (run.role, &run.mission, &run.pillar) else {
            return Ok(());
        };
        let project = run.project_id;
        let planned = self.tx.conversation(project, run.conversation_id)?;
        if planned.is_none_or(|chat| chat.channel != Channel::Pillar) {
            return Ok(());
        }
        let Some(mission) = self.tx.mission(project, slug, Lock::No)? else { return Ok(()) };
        let counts = self.counts(&mission, pillar)?;
        let open = self.open_todos(&mission)?;
        let own = open.iter().filter(|(of, _)| of == pillar).map(|(_, todo)| todo);
        let text = mission::planned(&mission, pillar, (counts.active, counts.backlog), own);
        let said = (Speaker::User, MessageKind::Synthetic);
        let text = format!("{SYNTHETIC} {text}");
        self.post(project, mission.conversation_id, said, text)?;
        match self.tx.conversation(project, mission.conversation_id)? {
            Some(chat) => self.call_upon(&chat),
            None => Ok(()),
        }
    }

    /// The driver marks the item it hands out (Q-T1), where only one is in progress at a time.
    fn hand_out(
        &mut self,
        run: &Run,
        work: &Work,
        lists: &[Snapshot],
        todo_id: TodoId,
    ) -> Result<(), Error> {
        let Some(next) = work.next.as_ref().filter(|next| {
            next.id == todo_id && matches!(next.list, ListKind::Turn | ListKind::Session)
        }) else {
            return Ok(());
        };
        let under_way = lists
            .iter()
            .filter(|list| list.todos.contains_key(&todo_id))
            .any(|list| list.todos.values().any(|todo| todo.status == Status::InProgress));
        if next.status != Status::Pending || under_way {
            return Ok(());
        }
        let (mut list, todo_id) = self.todo(&todo_id.to_string())?;
        let command = StartTodo { todo_id, reason: None }.into();
        match self.decide_as(&run.actor(), &mut list, &command) {
            // An item this agent may not start is worked on all the same.
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Holds an item whose tools fail; others go on (S-25, D-19).
    fn hold_failed(
        &mut self,
        run: &Run,
        todo_id: TodoId,
        error: &str,
    ) -> Result<Option<TodoId>, Error> {
        let (mut list, todo_id) = self.todo(&todo_id.to_string())?;
        let title = list.todo(todo_id).map(|todo| todo.title.clone()).unwrap_or_default();
        let why: String = error.split_whitespace().collect::<Vec<_>>().join(" ");
        let why: String = why.chars().take(300).collect();
        let Ok(reason) = Body::new(&format!("its tools failed: {why}")) else { return Ok(None) };
        let command = HoldTodo { todo_id, kind: HoldKind::Failed, reason }.into();
        match self.decide_as(&run.actor(), &mut list, &command) {
            Ok(_) => {
                let text = format!("“{title}” is held as failed: {why}. Go on with the others.");
                self.say(run, &text)?;
                Ok(Some(todo_id))
            }
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the driver's words into the chat of a run.
    fn say(&mut self, run: &Run, text: &str) -> Result<String, Error> {
        let text = format!("{SYNTHETIC} {text}");
        let said = (Speaker::User, MessageKind::Synthetic);
        let (author, part) = (self.envelope.actor.principal.clone(), Some((run.id, None)));
        self.post_as(author, run.project_id, run.conversation_id, said, text.clone(), part)?;
        Ok(text)
    }

    fn next_item(&mut self, run: &Run) -> Result<Option<TodoId>, Error> {
        let session = match run.session_id {
            Some(id) => self.tx.session_by_id(id)?,
            None => None,
        };
        let lists = self.lists_of(run, session.as_ref(), Load::Open)?;
        Ok(Work::of(&lists, self.envelope.now).next.map(|next| next.id))
    }

    /// The lists that are live for a run, the most urgent first: that of its turn, of the issue
    /// its session is bound to, of the session, of the plan it works on. A worker has none (T-21).
    pub(crate) fn lists_of(
        &mut self,
        run: &Run,
        session: Option<&Session>,
        load: Load,
    ) -> Result<Vec<Snapshot>, Error> {
        if run.role == Role::Worker {
            return Ok(Vec::new());
        }
        let turn = Scope::Turn {
            conversation_id: run.conversation_id.to_string(),
            turn_id: run.turn_id.clone(),
        };
        let mut scopes = vec![turn];
        if let Some(session) = session {
            if let Some(issue) = session.bound_issue {
                scopes.push(Scope::Issue { issue_id: issue.to_string() });
            }
            scopes.push(Scope::Session { session_id: session.id.to_string() });
        }
        scopes.extend(run.plan.clone());
        let mut lists = Vec::new();
        for scope in scopes {
            lists.extend(self.look(&scope, load)?);
        }
        Ok(lists)
    }

    /// Wakes a run that waits; tells it what happened, where there is something to tell. False: it
    /// is over, and hears nothing any more.
    pub(crate) fn wake_run(
        &mut self,
        project: ProjectId,
        id: RunId,
        by: Trigger,
        news: Option<&str>,
    ) -> Result<bool, Error> {
        let Some((run, _)) = self.tx.run(project, id, Lock::Row)? else { return Ok(false) };
        if run.is_over() {
            return Ok(false);
        }
        if let Some(news) = news {
            self.say(&run, news)?;
        }
        // People, and what is filed for a chat, have spoken already.
        let said = news.is_some() || matches!(by, Trigger::UserMessage | Trigger::Tick);
        if let Some(decision) = (WakeRun { by, said }).decide(&run) {
            self.record_run(project, Some(run), &decision)?;
        }
        Ok(true)
    }

    /// Asks a run to end, with all that it handed on.
    pub(crate) fn cancel_run(&mut self, named: &str, reason: &str) -> Result<Run, Error> {
        let actor = self.envelope.actor.clone();
        self.cancel_run_as(&actor, named, reason)
    }

    pub(super) fn cancel_run_as(
        &mut self,
        actor: &Actor,
        named: &str,
        reason: &str,
    ) -> Result<Run, Error> {
        let (run, _) = self.run(named, Lock::Row)?;
        let project = run.project_id;
        let executed = self.is_executed(&run)?;
        let decided = CancelRun { reason: reason.to_owned(), executed }.decide(&run, actor);
        let decision = decided.map_err(|refused| self.refuse(project, &run.id, refused))?;
        let run = self.record_run(project, Some(run), &decision)?;
        for id in self.tx.in_flight(run.id)? {
            self.call_off(project, id, "the run that handed it on was stopped")?;
        }
        Ok(run)
    }

    /// Does a process go on with it at this moment?
    pub(crate) fn is_executed(&mut self, run: &Run) -> Result<bool, Error> {
        let Some(id) = run.delegation_id else { return Ok(self.tx.is_driven(run.id)?) };
        let clock = self.tx.clock()?;
        let held = self.tx.delegation(run.project_id, id, Lock::No)?;
        let lease = held.and_then(|(_, lease)| lease);
        Ok(lease.is_some_and(|lease| lease.held_by(clock).is_some()))
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

    /// Somebody spoke in a chat: a run that waits there hears it, else the agent that is spoken to
    /// answers. What agents say to each other in a chat is heard by who reads it.
    pub(crate) fn hear(&mut self, conversation: &Conversation) -> Result<(), Error> {
        if self.envelope.actor.role != Role::Operator {
            return Ok(());
        }
        let spoken_to = self.tx.newest_run_as(conversation.id, conversation.addressee())?;
        // It may end at this very moment.
        let is_heard = match spoken_to.filter(|run| !run.is_over()) {
            Some(run) => self.wake_run(run.project_id, run.id, Trigger::UserMessage, None)?,
            None => false,
        };
        if is_heard { Ok(()) } else { self.call_upon(conversation) }
    }

    /// Lets the agent that is spoken to in a chat answer, once for all that waits there.
    pub(crate) fn call_upon(&mut self, conversation: &Conversation) -> Result<(), Error> {
        // An agent that is at work there may be past the point where it looks at the chat.
        let (conversation_id, role) = (conversation.id, conversation.addressee());
        if let Some(run) = self.tx.newest_run_as(conversation_id, role)?
            && run.state == RunState::Running
        {
            self.wake_run(run.project_id, run.id, Trigger::Tick, None)?;
        }
        let effect = Effect::Answer { conversation_id, role };
        Ok(self.tx.enqueue_once(&effect, self.envelope.now, &mut self.ids)?)
    }
}
