//! The driver at work: what it looks at, what follows from its verdict, and the words it leaves.

use punchlist_core::authority::{Action, may_ever};
use punchlist_core::command::{HoldTodo, StartTodo};
use punchlist_core::conversation::{Channel, MessageKind, SYNTHETIC, Speaker};
use punchlist_core::driver::{self, Facts, Trigger, Verdict, Ways, Work};
use punchlist_core::effect::Effect;
use punchlist_core::mission;
use punchlist_core::run::DriveRun;
use punchlist_core::session::SessionState;
use punchlist_core::text::Body;
use punchlist_core::todo::HoldKind;
use punchlist_core::{ListKind, Role, Run, Scope, Session, Snapshot, Status, TodoId};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Call;
use crate::Error;

/// How many items that are done are shown.
const RECENT: i64 = 5;

/// What the driver says, and what came of it.
pub(crate) struct Driven {
    pub run: Run,
    pub verdict: Verdict,
    /// The text of a continuation, as it stands in the chat; or what the person is told.
    pub said: Option<String>,
    /// Where the model is to be called: what it is shown of the lists.
    pub scene: Option<Scene>,
}

/// The lists of a run as they stand, for before a call of the model.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scene {
    /// The text (T-31); absent: there is nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Is anything on them to be worked on?
    pub has_open: bool,
}

impl Call<'_, '_> {
    /// Asks the driver what is next, and does what it says.
    pub(crate) fn drive(
        &mut self,
        run: Run,
        trigger: Trigger,
        has_todo_tool: bool,
        ways: Ways,
        (detail, code): (Option<&str>, Option<&str>),
    ) -> Result<Driven, Error> {
        let (project, now) = (run.project_id, self.envelope.now);
        let session = match run.session_id {
            Some(id) => self.tx.session_by_id(id)?,
            None => None,
        };
        let paused = session.as_ref().is_some_and(|s| s.state == SessionState::Paused);
        let gate = self.tx.open_gate_of(run.id, run.session_id)?;
        let in_flight = self.tx.in_flight(run.id)?;
        let mut lists = self.lists_of(&run, session.as_ref(), Load::Open)?;
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
        let ask = DriveRun { detail: detail.map(str::to_owned), code: code.map(str::to_owned) };
        let driven = self.decided(&ask, (&run, &facts), (project, &run.id))?;
        let run = self.record_run(project, Some(run), &driven.decision)?;
        let mut said = None;
        match &driven.verdict {
            Verdict::Continue { todo, prompted } => {
                if let Some(id) = todo {
                    self.hand_out(&run, &work, &mut lists, *id)?;
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
        let scene = match driven.verdict {
            Verdict::Continue { .. } => Some(self.scene(&run, lists)?),
            Verdict::Wait(_) | Verdict::Stop(_) => None,
        };
        Ok(Driven { run, verdict: driven.verdict, said, scene })
    }

    /// What a model is shown of the lists of its run.
    pub(crate) fn scene(&mut self, run: &Run, mut lists: Vec<Snapshot>) -> Result<Scene, Error> {
        let now = self.envelope.now;
        for list in &mut lists {
            // What was done lately is said too, so that it is not done again (P-7).
            let done = self.tx.recently_settled(list.list.id, RECENT)?;
            list.todos.extend(done.into_iter().map(|todo| (todo.id, todo)));
        }
        let has_open = Work::of(&lists, now).actionable > 0;
        Ok(Scene { context: driver::context(&lists, &run.counters, now), has_open })
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
        lists: &mut [Snapshot],
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
            Ok(_) => {
                let is_it = |old: &&mut Snapshot| old.list.id == list.list.id;
                if let Some(old) = lists.iter_mut().find(is_it) {
                    *old = list;
                }
                Ok(())
            }
            // An item this agent may not start is worked on all the same.
            Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Holds an item whose tools fail; others go on (S-25, D-19).
    pub(super) fn hold_failed(
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
        let command = HoldTodo { todo_id, kind: HoldKind::Failed, reason, until: None }.into();
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
    pub(super) fn say(&mut self, run: &Run, text: &str) -> Result<String, Error> {
        let text = format!("{SYNTHETIC} {text}");
        let said = (Speaker::User, MessageKind::Synthetic);
        let (author, part) = (self.envelope.actor.principal.clone(), Some((run.id, None)));
        self.post_as(author, run.project_id, run.conversation_id, said, text.clone(), part)?;
        Ok(text)
    }

    pub(super) fn next_item(&mut self, run: &Run) -> Result<Option<TodoId>, Error> {
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
        if !may_ever(run.role, ListKind::Turn, Action::View) {
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
}
