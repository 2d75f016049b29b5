//! Runs the driver: collects its facts, carries out its verdict, and posts its message.

use punchlist_core::command::StartTodo;
use punchlist_core::conversation::{MessageKind, SYNTHETIC, Speaker};
use punchlist_core::driver::{self, Facts, Trigger, Verdict, Ways, Work};
use punchlist_core::effect::Effect;
use punchlist_core::follow::mission::planned;
use punchlist_core::follow::run as follow;
use punchlist_core::mission;
use punchlist_core::run::DriveRun;
use punchlist_core::session::SessionState;
use punchlist_core::{ListKind, Run, Session, Snapshot, TodoId};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Call;
use crate::Error;

/// How many completed items the model is shown.
const RECENT: i64 = 5;

/// The driver's verdict and its effects.
pub(crate) struct Driven {
    pub run: Run,
    pub verdict: Verdict,
    /// The driver's message as it was posted in the chat, such as a continuation.
    pub said: Option<String>,
    /// If the model is to be called: what it is shown of the lists.
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
    /// Has the session a list of its own with open items?
    #[serde(default)]
    pub has_session_list: bool,
}

impl Call<'_, '_> {
    /// Asks the driver what is next, and carries it out.
    pub(crate) fn drive(
        &mut self,
        run: Run,
        trigger: Trigger,
        workable: &[ListKind],
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
        let (work, has_todo_tool) = Work::within(&lists, workable, now);
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
        match &driven.verdict {
            Verdict::Continue { todo: Some(id), .. } => {
                if let Some(start) = follow::hand_out(&work, &lists, *id) {
                    self.hand_out(&run, &mut lists, start)?;
                }
            }
            Verdict::Continue { .. } | Verdict::Wait(_) => {}
            Verdict::Stop(_) => {
                self.after_planning(&run)?;
                self.then(project, follow::unanswered(&run))?;
                // A message that arrived meanwhile can be answered now, without waiting any longer.
                let (conversation_id, role) = (run.conversation_id, run.role);
                self.tx.hasten(&Effect::Answer { conversation_id, role })?;
            }
        }
        let on = (&driven.verdict, trigger);
        let said = follow::words(on, &run, (&work, &lists), ways);
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
            // Recently completed items are shown too, so that they are not done again (P-7).
            let done = self.tx.recently_settled(list.list.id, RECENT)?;
            list.todos.extend(done.into_iter().map(|todo| (todo.id, todo)));
        }
        let has_open = Work::of(&lists, now).actionable > 0;
        let has_session_list = lists.iter().any(|list| {
            list.list.kind() == ListKind::Session
                && list.todos.values().any(|todo| !todo.status.is_settled())
        });
        let context = driver::context(&lists, &run.counters, now);
        Ok(Scene { context, has_open, has_session_list })
    }

    /// If the owner of a pillar has just planned, the lead of the mission is notified.
    fn after_planning(&mut self, run: &Run) -> Result<(), Error> {
        let Some((slug, pillar)) = follow::owned_pillar(run) else { return Ok(()) };
        let project = run.project_id;
        let chat = self.tx.conversation(project, run.conversation_id)?;
        if !chat.as_ref().is_some_and(follow::is_planning) {
            return Ok(());
        }
        let Some(mission) = self.tx.mission(project, slug, Lock::No)? else { return Ok(()) };
        let counts = self.counts(&mission, Some(pillar))?;
        let open = self.open_todos(&mission)?;
        let own = open.iter().filter(|(of, _)| of == pillar).map(|(_, todo)| todo);
        let report = mission::planned(&mission, pillar, (counts.active, counts.backlog), own);
        self.then(project, planned(mission.conversation_id, &report))
    }

    /// Starts the item that the driver hands out. If this agent may not start it, the agent works
    /// on it anyway.
    fn hand_out(
        &mut self,
        run: &Run,
        lists: &mut [Snapshot],
        start: StartTodo,
    ) -> Result<(), Error> {
        let (mut list, _) = self.todo(&start.todo_id.to_string())?;
        let started = self.decide_as(&run.actor(), &mut list, &start.into());
        if self.unless_refused(started)?.is_some() {
            let is_it = |old: &&mut Snapshot| old.list.id == list.list.id;
            if let Some(old) = lists.iter_mut().find(is_it) {
                *old = list;
            }
        }
        Ok(())
    }

    /// Holds an item whose tools fail. Returns `None` if it could not be held.
    pub(super) fn hold_failed(
        &mut self,
        run: &Run,
        todo_id: TodoId,
        error: &str,
    ) -> Result<Option<TodoId>, Error> {
        let (mut list, todo_id) = self.todo(&todo_id.to_string())?;
        let held = list.todo(todo_id).and_then(|item| follow::tools_failed(item, error));
        let Some((hold, message)) = held else { return Ok(None) };
        let held = self.decide_as(&run.actor(), &mut list, &hold.into());
        if self.unless_refused(held)?.is_none() {
            return Ok(None);
        }
        self.say(run, &message)?;
        Ok(Some(todo_id))
    }

    /// Posts the driver's message in the chat of a run.
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

    /// The lists that a run works on, most urgent first.
    pub(crate) fn lists_of(
        &mut self,
        run: &Run,
        session: Option<&Session>,
        load: Load,
    ) -> Result<Vec<Snapshot>, Error> {
        let mut lists = Vec::new();
        for scope in follow::scopes(run, session) {
            lists.extend(self.look(&scope, load)?);
        }
        Ok(lists)
    }
}
