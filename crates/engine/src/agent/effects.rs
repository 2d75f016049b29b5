//! The handler of every effect: it collects metrics, executes runs and answers in chats.

use punchlist_core::effect::Effect;
use punchlist_core::{ConversationId, Role, RunId};
use punchlist_ops::Error;
use punchlist_ops::input::{Maybe, text};
use punchlist_ops::operations::run_begin::{self, RunBegin};
use punchlist_store::rows::outbox::Work;

use super::{Outcome, Runtime};
use crate::Collector;
use crate::pump::{Handler, Setback};
use crate::system::{again, is_temporary};

/// Handles the effects of the outbox.
#[derive(Debug)]
pub struct EffectHandler<'a> {
    pub collector: Collector<'a>,
    pub runtime: Runtime<'a>,
    kinds: String,
}

impl<'a> EffectHandler<'a> {
    /// Answers in chats for the roles that have a configured agent.
    #[must_use]
    pub fn new(collector: Collector<'a>, runtime: Runtime<'a>) -> Self {
        let mut kinds = String::from(" collect_metric drive ");
        for (role, kind) in [
            (Role::Lead, "answer_lead "),
            (Role::Owner, "answer_owner "),
            (Role::Root, "answer_root "),
        ] {
            if runtime.player(role).is_some() {
                kinds.push_str(kind);
            }
        }
        Self { collector, runtime, kinds }
    }

    fn drive(&self, id: RunId, work: &Work) -> Result<(), Setback> {
        let store = self.runtime.ops.store().map_err(|error| again(&error))?;
        let home = store.read(move |tx| tx.home_of_run(id)).map_err(|error| again(&error))?;
        let Some((_, project)) = home else { return Ok(()) };
        match self.runtime.drive_entry(&project, id, work) {
            Ok(Outcome::Ended(_) | Outcome::Waiting | Outcome::Lost) => Ok(()),
            Ok(Outcome::Stopped) => Err(Setback::Stopped),
            Err(error) => settle(&error),
        }
    }

    /// Begins a run for the agent that a message is for. The run is queued in the outbox.
    fn answer(&self, conversation: ConversationId, role: Role) -> Result<(), Setback> {
        let store = self.runtime.ops.store().map_err(|error| again(&error))?;
        let home = store.read(move |tx| tx.home_of_conversation(conversation));
        let Some(project) = home.map_err(|error| again(&error))? else { return Ok(()) };
        let Some(agent) = self.runtime.agents.in_project(&project).player(role) else {
            return Err(Setback::Retry("no agent is configured for this project here".to_owned()));
        };
        match self.begin(&project, &agent, conversation) {
            Ok(begun) if begun.at_work => {
                Err(Setback::Retry("an agent is at work in the chat".to_owned()))
            }
            Ok(_) => Ok(()),
            Err(error) => settle(&error),
        }
    }

    fn begin(
        &self,
        project: &str,
        agent: &str,
        conversation: ConversationId,
    ) -> Result<run_begin::Output, Error> {
        let input = run_begin::Input {
            agent: text("agent", agent)?,
            conversation_id: Maybe(Some(text("conversationId", &conversation.to_string())?)),
            delegation_id: Maybe(None),
        };
        self.runtime.ops.run::<RunBegin>(&self.runtime.system(project), input)
    }
}

impl Handler for EffectHandler<'_> {
    fn kinds(&self) -> &str {
        &self.kinds
    }

    fn handle(&self, work: &Work) -> Result<(), Setback> {
        match work.effect {
            Effect::CollectMetric { .. } => self.collector.handle(work),
            Effect::Drive { run_id } => self.drive(run_id, work),
            Effect::Answer { conversation_id, role } => self.answer(conversation_id, role),
        }
    }
}

/// Returns the error as a setback: temporary errors are retried, all others are given up.
fn settle(error: &Error) -> Result<(), Setback> {
    Err(if is_temporary(error) { again(error) } else { Setback::GiveUp(error.to_string()) })
}
