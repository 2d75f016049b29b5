//! The hooks of hosts: finds the session of a hook, and answers it (ADR 0026).
//!
//! The work of a host's model between a prompt and a stop is a run like any other, so the driver
//! decides about a stop. If anything is unclear, the stop is allowed.

use punchlist_core::conversation::{MessageKind, Speaker};
use punchlist_core::driver::{Finish, StopReason, Trigger, Verdict, Wait, Ways};
use punchlist_core::event::HookAnswered;
use punchlist_core::host::{
    Course, Delivery, Happened, Host, Last, Source, Stop, Stopped, Why, binds_again, retry_after_s,
};
use punchlist_core::run::{RecordHosted, Settings, WakeRun};
use punchlist_core::session::{AdoptSession, ReopenSession, SessionState, TitleSession, untitled};
use punchlist_core::text::Title;
use punchlist_core::{IssueId, ListKind, ProjectId, Refusal, Run, Session, SessionId};
use punchlist_store::rows::hosts::HostRecord;
use punchlist_store::rows::lists::Lock;

use super::sessions::{NewSession, changed_meanwhile};
use super::{Call, NewRun, host_id};
use crate::Error;
use crate::config::Overrides;
use crate::operations::session_hook::{Answer, Input, Output};

/// The answer to a hook.
pub(super) struct Said {
    answer: Answer,
    text: Option<String>,
    reason: String,
    run: Option<Run>,
}

impl Said {
    pub(super) fn allow(why: Why) -> Self {
        Self { answer: Answer::Allow, text: None, reason: why.name().to_owned(), run: None }
    }

    /// An answer that gives the model a text, if there is one.
    fn context(text: Option<String>, without: Why) -> Self {
        let reason = if text.is_some() { Why::Injected } else { without };
        let answer = if text.is_some() { Answer::Context } else { Answer::Allow };
        Self { answer, text, reason: reason.name().to_owned(), run: None }
    }
}

impl Call<'_, '_> {
    /// Answers a hook, and records the answer with its reason.
    pub(crate) fn answer_hook(&mut self, hook: &Input) -> Result<Output, Error> {
        let Some((session, is_adopted)) = self.session_of_hook(hook)? else {
            let reason = Why::UnknownSession.name().to_owned();
            let (answer, text) = (Answer::Allow, None);
            if let Some(project) = self.project()? {
                self.log_answer(hook, None, &project.to_string(), (answer, &reason))?;
            }
            return Ok(Output { answer, text, reason, session_id: None, run_id: None });
        };
        let mut record = self.tx.host_record(session.id)?.unwrap_or(HostRecord {
            session_id: session.id,
            host: hook.host,
            version: None,
            event: hook.event,
            at: self.envelope.now,
            stop: None,
            doubled_at: None,
            told_at: None,
        });
        (record.host, record.event, record.at) = (hook.host, hook.event, self.envelope.now);
        record.version = hook.version.0.clone().map(Title::into_string).or(record.version);
        self.remember_processes(hook, &session)?;
        let said = self.say_to_host(hook, &session, is_adopted, &mut record)?;
        self.tx.put_host_record(&record)?;
        let (answer, reason) = (said.answer, said.reason);
        self.log_answer(hook, Some(session.id), &session.id.to_string(), (answer, &reason))?;
        let (session_id, run_id) =
            (Some(session.id.to_string()), said.run.map(|r| r.id.to_string()));
        Ok(Output { answer, text: said.text, reason, session_id, run_id })
    }

    fn log_answer(
        &mut self,
        hook: &Input,
        session_id: Option<SessionId>,
        aggregate: &str,
        (answer, reason): (Answer, &str),
    ) -> Result<(), Error> {
        let (answer, reason) = (answer.name().to_owned(), reason.to_owned());
        let (host, happened) = (hook.host, hook.event);
        self.log(aggregate, HookAnswered { session_id, host, happened, answer, reason })
    }

    fn say_to_host(
        &mut self,
        hook: &Input,
        session: &Session,
        is_adopted: bool,
        record: &mut HostRecord,
    ) -> Result<Said, Error> {
        let now = self.envelope.now;
        match hook.event {
            Happened::Start => {
                let text = self.brief(hook, session, is_adopted, record.told_at)?;
                record.told_at = Some(now);
                Ok(Said::context(text, Why::NothingToSay))
            }
            Happened::Prompt if !hook.event.opens_turn(hook.subagent.0.is_some()) => {
                Ok(Said::allow(Why::Subagent))
            }
            Happened::Prompt => {
                let run = self.open_turn(hook, session)?;
                self.keep_prompt(hook, &run)?;
                self.title_session(hook, session)?;
                let text = self.news(session, record.told_at)?;
                record.told_at = Some(now);
                let run =
                    self.step_hosted(run, RecordHosted { caught_up: true, ..Default::default() })?;
                Ok(Said { run: Some(run), ..Said::context(text, Why::TurnOpened) })
            }
            Happened::Stop => self.stop_of_host(hook, session, record),
            Happened::SubagentStart => {
                Ok(Said::context(self.brief_subagent(session)?, Why::Subagent))
            }
            Happened::SubagentStop => Ok(Said::allow(Why::Subagent)),
            Happened::StopFailure => self.failure_of_host(hook, session),
            Happened::Todos => self.mirror(hook, session),
            Happened::End => {
                self.tx.forget_host_processes(session.id, true)?;
                if session.state != SessionState::Ended {
                    let locked = self.lock_with_issues(session, None)?;
                    self.end_session(locked)?;
                }
                Ok(Said::allow(Why::Ended))
            }
        }
    }

    /// The session of a hook, and whether the session was waiting for its host until now. `None` if
    /// the session is unknown and the hook does not start one.
    fn session_of_hook(&mut self, hook: &Input) -> Result<Option<(Session, bool)>, Error> {
        let begins = hook.event.begins(hook.subagent.0.is_some());
        let Some(external_id) = hook.external_id.0.clone() else { return Ok(None) };
        let project = if begins { Some(self.ensure_project()?) } else { self.project()? };
        let Some(project) = project else { return Ok(None) };
        let known = self.tx.session(project, external_id.as_str(), Lock::No)?;
        if let Some(session) = known {
            self.reach_session(&session)?;
            if !begins {
                return Ok(Some((session, false)));
            }
            let (session, may_take) = self.lock_to_begin(hook, &session)?;
            let session = self.reopen_session(session)?;
            if session.bound_issue.is_some() || hook.event != Happened::Start {
                return Ok(Some((session, false)));
            }
            return self.take_waiting(hook.host, session, may_take).map(Some);
        }
        if !begins {
            return Ok(None);
        }
        let waiting = match hook.event {
            Happened::Start => self.tx.waiting_session(project, hook.host, Lock::Row)?,
            _ => None,
        };
        if let Some(waiting) = waiting.filter(|waiting| self.reach_session(waiting).is_ok()) {
            let directory = self.envelope.context.directory.clone();
            let adopt = AdoptSession { external_id: external_id.into_string(), directory };
            let decision = self.decided(&adopt, &waiting, (project, &waiting.id))?;
            let session = self.record_session(project, Some(waiting), &decision)?;
            return Ok(Some((session, true)));
        }
        let internal =
            |fault: punchlist_core::text::TextFault| Error::Internal { detail: fault.to_string() };
        let host = Some(Title::new(hook.host.name()).map_err(internal)?);
        let directory = self.envelope.context.directory.clone();
        let title = Title::new(&untitled(hook.host, directory.as_deref())).map_err(internal)?;
        let new = NewSession { title, host, external_id: Some(external_id), directory };
        Ok(Some((self.start_session(new)?, false)))
    }

    /// Locks a session that its host begins or resumes, after the issues that it may get: the one it
    /// had, and that of the session that waits for this host, which is returned.
    fn lock_to_begin(
        &mut self,
        hook: &Input,
        looked: &Session,
    ) -> Result<(Session, Option<IssueId>), Error> {
        let had = match looked.state {
            SessionState::Ended => self.tx.last_issue_of(looked.id)?,
            _ => None,
        };
        let waiting = match (hook.event, looked.bound_issue) {
            (Happened::Start, None) => {
                self.tx.waiting_session(looked.project_id, hook.host, Lock::No)?
            }
            _ => None,
        };
        let may_take = waiting.and_then(|waiting| waiting.bound_issue);
        let session = match (had, may_take) {
            // Nothing is bound, so the issue it has need not be locked.
            (None, None) => self.session_named(&looked.id.to_string(), Lock::Row)?,
            _ => self.lock_with_issues(looked, had.into_iter().chain(may_take))?,
        };
        Ok((session, may_take))
    }

    /// Reopens an ended session that its host resumes. It is bound to its last issue again, unless
    /// another session has taken that issue.
    fn reopen_session(&mut self, session: Session) -> Result<Session, Error> {
        if session.state != SessionState::Ended {
            return Ok(session);
        }
        let (project, id) = (session.project_id, session.id);
        let decision = self.decided(&ReopenSession, &session, (project, &id))?;
        let issue = match self.tx.last_issue_of(id)? {
            Some(issue) => self.tx.issue_by_id(issue, Lock::Row)?,
            None => None,
        };
        let session = self.record_session(project, Some(session), &decision)?;
        // A caller that does not reach that issue goes on without it.
        let Some(issue) = issue.filter(|issue| self.reach_issue(issue).is_ok()) else {
            return Ok(session);
        };
        let is_taken = self.tx.session_on(issue.id)?.is_some();
        match binds_again(issue.status.is_closed(), is_taken) {
            true => self.bind_session(session, issue, false).map(|(session, _)| session),
            false => Ok(session),
        }
    }

    /// A known session without an issue takes over the issue of the session that waits for its
    /// host. `locked`: the issue of that session.
    fn take_waiting(
        &mut self,
        host: Host,
        session: Session,
        locked: Option<IssueId>,
    ) -> Result<(Session, bool), Error> {
        let Some(waiting) = self.tx.waiting_session(session.project_id, host, Lock::Row)? else {
            return Ok((session, false));
        };
        if self.reach_session(&waiting).is_err() {
            return Ok((session, false));
        }
        if waiting.bound_issue != locked {
            return Err(changed_meanwhile());
        }
        let Some(issue) = self.bound_issue(&waiting, Lock::Row)? else {
            return Ok((session, false));
        };
        self.end_session(waiting)?;
        let number = issue.number;
        let issue = self.issue(number, Lock::Row)?;
        self.bind_session(session, issue, false).map(|(session, _)| (session, true))
    }

    fn remember_processes(&mut self, hook: &Input, session: &Session) -> Result<(), Error> {
        // The hook of a subagent may come from another process.
        if hook.event == Happened::End {
            return Ok(());
        }
        let replaces = hook.event == Happened::Start
            && matches!(hook.source, Some(Source::Clear | Source::Resume))
            && hook.host.has_one_session();
        for process in &hook.processes {
            if !self.may_name_process(process.as_str(), session)? {
                continue;
            }
            if replaces {
                self.tx.only_session_of_process(process.as_str(), session)?;
            }
            self.tx.put_host_process(process.as_str(), session.id, self.envelope.now)?;
        }
        self.tx.forget_host_processes(session.id, false)?;
        Ok(())
    }

    /// May the caller say that this process fires the hooks of its session? Not if the process has a
    /// session out of the caller's reach: that session would no longer be found by its process.
    fn may_name_process(&mut self, process: &str, session: &Session) -> Result<bool, Error> {
        let (_, are_all) = self.reached_sessions_of(session.project_id, process)?;
        Ok(are_all)
    }

    /// The sessions of a process that the caller reaches, and whether these are all.
    fn reached_sessions_of(
        &mut self,
        project: ProjectId,
        process: &str,
    ) -> Result<(Vec<SessionId>, bool), Error> {
        let all = self.tx.sessions_of_process(project, process)?;
        if !self.envelope.actor.reach.is_narrowed() {
            return Ok((all, true));
        }
        let mut reached = Vec::new();
        for id in &all {
            let session = self.tx.session_by_id(*id)?;
            if session.is_some_and(|session| self.reach_session(&session).is_ok()) {
                reached.push(*id);
            }
        }
        let are_all = reached.len() == all.len();
        Ok((reached, are_all))
    }

    /// A person wrote a prompt: resets the open run, or begins a new one.
    fn open_turn(&mut self, hook: &Input, session: &Session) -> Result<Run, Error> {
        match self.hosted_run(session)?.filter(|run| !run.is_over()) {
            Some(run) => {
                let (by, said) = (Trigger::UserMessage, false);
                let wake = WakeRun { by, said };
                match self.decided(&wake, &run, (session.project_id, &run.id))? {
                    Some(decision) => self.record_run(session.project_id, Some(run), &decision),
                    None => Ok(run),
                }
            }
            None => self.begin_hosted(hook, session),
        }
    }

    /// The run of a session that its host executes: the open run, otherwise the newest.
    fn hosted_run(&mut self, session: &Session) -> Result<Option<Run>, Error> {
        let open = self.tx.open_runs_of_session(session.id)?.into_iter().find(Run::is_hosted);
        let newest = match open {
            Some(open) => Some(open),
            None => self.tx.newest_run_in(session.conversation_id)?,
        };
        let Some(run) = newest.filter(Run::is_hosted) else { return Ok(None) };
        // The row is locked, so that two deliveries of one stop are handled one after the other.
        Ok(self.tx.run(session.project_id, run.id, Lock::Row)?.map(|(run, _)| run))
    }

    fn begin_hosted(&mut self, hook: &Input, session: &Session) -> Result<Run, Error> {
        let actor = &self.envelope.actor;
        let (agent, role) = (actor.agent.clone(), actor.role);
        let turn = match host_id("turn", hook.turn.0.as_ref().map(Title::as_str))? {
            Some(turn) => turn,
            None => self.ids.ulid().to_string(),
        };
        let new = NewRun {
            agent,
            role,
            mission: None,
            pillar: None,
            settings: self.hosted_settings(hook)?,
            plan: None,
            delegation: None,
            reach: None,
            names_model: false,
            held: false,
        };
        self.start_run(session.conversation_id, turn, Some(session), new)
    }

    /// The settings of a host's run. The agent with the host's name in a configuration file may
    /// change them.
    fn hosted_settings(&self, hook: &Input) -> Result<Settings, Error> {
        let (host, agents) = (hook.host, self.envelope.agents());
        let configured = agents.get(host.name()).and_then(|agent| agent.todo_driven_execution);
        let over = Overrides {
            model: Some(host.model()),
            drives: Some(host.drives(hook.auto_complete_todos, configured)),
            max_continuations: hook
                .max_todo_continuations
                .map(|n| u32::try_from(n).unwrap_or(if n < 0 { 0 } else { u32::MAX })),
            ..Overrides::default()
        };
        let (mut settings, _) = agents.settings(host.name(), &over)?;
        let max = &mut settings.budget.max_continuations;
        *max = host.capped(*max);
        Ok(settings)
    }

    /// Keeps the beginning of what a person wrote, so that runs can be told apart.
    fn keep_prompt(&mut self, hook: &Input, run: &Run) -> Result<(), Error> {
        let Some(prompt) = hook.prompt.0.clone() else { return Ok(()) };
        let said = (Speaker::User, MessageKind::Text);
        let (author, part) = (self.envelope.actor.principal.clone(), Some((run.id, None)));
        let text = prompt.into_string();
        self.post_as(author, run.project_id, run.conversation_id, said, text, part)?;
        Ok(())
    }

    /// Names the session after its first prompt, so that a person recognises it.
    fn title_session(&mut self, hook: &Input, session: &Session) -> Result<(), Error> {
        let Some(prompt) = hook.prompt.0.clone() else { return Ok(()) };
        let title = TitleSession { prompt: prompt.into_string() };
        let project = session.project_id;
        let decision = self.decided(&title, session, (project, &session.id))?;
        if !decision.events.is_empty() {
            self.record_session(project, Some(session.clone()), &decision)?;
        }
        Ok(())
    }

    fn stop_of_host(
        &mut self,
        hook: &Input,
        session: &Session,
        record: &mut HostRecord,
    ) -> Result<Said, Error> {
        let now = self.envelope.now;
        let stop = Stop {
            parked: hook.parked == Some(true),
            plan_mode: hook.plan_mode == Some(true),
            interrupted: hook.interrupted == Some(true),
            subagent: hook.subagent.0.is_some(),
        };
        let run = self.hosted_run(session)?;
        let (turn, content) = (&hook.turn.0, &hook.content.0);
        let key = Delivery::key(
            turn.as_ref().map(Title::as_str),
            hook.continued == Some(true),
            content.as_ref().map(Title::as_str),
        );
        let repeats = record.stop.as_ref().is_some_and(|last| last.is_repeated_by(&key, now));
        let moved = repeats && self.has_moved(run.as_ref(), session)?;
        let last = Last::of(run.as_ref());
        let course = Stopped { stop, repeats, moved, last }.course();
        match course {
            Course::Excused(why) => return Ok(Said::allow(why)),
            Course::Duplicate => {
                if let Some(last) = &mut record.stop {
                    last.doubled = true;
                }
                record.doubled_at = Some(now);
                return Ok(Said { run, ..Said::allow(Why::Duplicate) });
            }
            Course::Spent(_) | Course::Drive | Course::Begin => {}
        }
        record.stop = Some(Delivery { key, at: now, doubled: false });
        let run = match (course, run) {
            (Course::Spent(reason), run) => {
                let (answer, text, reason) = (Answer::Allow, None, reason.code().to_owned());
                return Ok(Said { answer, text, reason, run });
            }
            (Course::Drive, Some(run)) => run,
            _ => self.begin_hosted(hook, session)?,
        };
        self.drive_host(run, hook, session, record)
    }

    /// Lets the driver decide about a stop of an open run.
    fn drive_host(
        &mut self,
        run: Run,
        hook: &Input,
        session: &Session,
        record: &mut HostRecord,
    ) -> Result<Said, Error> {
        let now = self.envelope.now;
        let news = match run.counters.has_news() {
            true => self.news(session, record.told_at)?,
            false => None,
        };
        let caught_up = news.is_none();
        let run =
            self.step_hosted(run, RecordHosted { changed: hook.changed == Some(true), caught_up })?;
        let ways = Ways { hold: true, ask: true };
        let finish = Trigger::Stopped(Finish::EndTurn);
        let driven = self.drive(run, finish, &ListKind::ALL, ways, (None, None))?;
        let mut run = driven.run;
        let (answer, text, reason) = match driven.verdict {
            Verdict::Continue { prompted: true, .. } => {
                (Answer::Continue, driven.said, Why::Continued.name())
            }
            Verdict::Continue { prompted: false, .. } => {
                run = self.step_hosted(run, RecordHosted { caught_up: true, changed: false })?;
                record.told_at = Some(now);
                let parts = driven.said.into_iter().chain(news).collect::<Vec<_>>();
                (Answer::Continue, Some(parts.join("\n")), Why::Continued.name())
            }
            Verdict::Wait(wait) => (Answer::Allow, None, waits(&wait).code()),
            Verdict::Stop(reason) => (Answer::Allow, driven.said, reason.code()),
        };
        Ok(Said { answer, text, reason: reason.to_owned(), run: Some(run) })
    }

    /// Did the lists change since the last continuation? If so, a stop with the same content as the
    /// last one is a new stop and not a duplicate.
    fn has_moved(&mut self, run: Option<&Run>, session: &Session) -> Result<bool, Error> {
        let Some(run) = run.filter(|run| !run.is_over()) else { return Ok(false) };
        let lists = self.lists_of(run, Some(session), punchlist_store::Load::Open)?;
        let work = punchlist_core::driver::Work::of(&lists, self.envelope.now);
        Ok(run.counters.seen.is_some_and(|seen| seen != work.fingerprint))
    }

    /// The model's service failed: holds the current item for a while, and ends the run.
    fn failure_of_host(&mut self, hook: &Input, session: &Session) -> Result<Said, Error> {
        let error = hook.error.0.as_ref().map_or("unknown", Title::as_str);
        let run = match self.hosted_run(session)?.filter(|run| !run.is_over()) {
            Some(run) => run,
            None => {
                return Ok(Said {
                    reason: StopReason::Error.code().into(),
                    ..Said::allow(Why::Ended)
                });
            }
        };
        let item = self.next_item(&run)?;
        let detail = format!("the host's model failed: {error}");
        let failed = Trigger::Stopped(Finish::Error);
        let fault = (Some(detail.as_str()), Some("model_failed"));
        let driven = self.drive(run, failed, &ListKind::ALL, Ways::default(), fault)?;
        if let Some(item) = item {
            let until = self.envelope.now.plus_seconds(retry_after_s(error));
            self.hold_until(&driven.run, item, &detail, until)?;
        }
        let reason = StopReason::Error.code().to_owned();
        Ok(Said { answer: Answer::Allow, text: None, reason, run: Some(driven.run) })
    }

    fn step_hosted(&mut self, run: Run, step: RecordHosted) -> Result<Run, Error> {
        let decision = self.decided(&step, &run, (run.project_id, &run.id))?;
        match decision.events.is_empty() {
            true => Ok(run),
            false => self.record_run(run.project_id, Some(run), &decision),
        }
    }

    /// The session of the host process that the caller descends from. If that process has several
    /// sessions and the host names none of them, the call is refused as ambiguous.
    pub(super) fn session_of_process(&mut self) -> Result<Option<Session>, Error> {
        let context = &self.envelope.context;
        if !context.processes.may_exist() || !self.tx.knows_host_processes()? {
            return Ok(None);
        }
        let Some(project) = self.project()? else { return Ok(None) };
        for process in context.processes.get() {
            let (found, _) = self.reached_sessions_of(project, process)?;
            match found.as_slice() {
                [] => {}
                [only] => return Ok(self.tx.session_by_id(*only)?),
                several => {
                    let hosted = host_id("session", context.host_session.as_deref())?;
                    let named = match hosted {
                        Some(hosted) => self.tx.session(project, &hosted, Lock::No)?,
                        None => None,
                    };
                    return match named.filter(|named| several.contains(&named.id)) {
                        Some(named) => Ok(Some(named)),
                        None => Err(Refusal::SessionAmbiguous { sessions: found }.into()),
                    };
                }
            }
        }
        Ok(None)
    }
}

/// The stop reason of a run that waits.
const fn waits(wait: &Wait) -> StopReason {
    match wait {
        Wait::Gate(_) => StopReason::GateOpen,
        Wait::Pause => StopReason::Paused,
        Wait::Delegations(_) | Wait::Cooldown(_) => StopReason::Waiting,
    }
}
