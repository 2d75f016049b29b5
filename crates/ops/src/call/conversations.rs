//! The calls on chats: who may read and write them, and what follows from what a person says.

use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_core::command::{CancelTodo, Command, ReviseTodo};
use punchlist_core::conversation::{Channel, Conversation, Message, MessageKind};
use punchlist_core::delegation::Delegate;
use punchlist_core::gate::{AnswerGate, GateDecision};
use punchlist_core::mission::answer::{self, Answer};
use punchlist_core::run::RunState;
use punchlist_core::{ConversationId, Gate, Refusal, Scope, TodoId};
use punchlist_store::rows::lists::{Lock, TodoKey};
use punchlist_store::rows::names::Named;
use serde_json::Value;

use super::Call;
use crate::Error;

impl Call<'_, '_> {
    /// A chat the caller may read; any other is as good as not there.
    pub(crate) fn conversation(&mut self, named: &str) -> Result<Conversation, Error> {
        let unknown = || {
            let conversation = named.to_owned();
            Error::from(Refusal::UnknownConversation { conversation })
        };
        let meant = self.whole_id(named, &[Named::Conversation])?;
        let id = ConversationId::parse(&meant).ok_or_else(unknown)?;
        let project = self.project()?.ok_or_else(unknown)?;
        let conversation = self.tx.conversation(project, id)?.ok_or_else(unknown)?;
        self.may_read(&conversation)?;
        Ok(conversation)
    }

    /// Is this one of the caller's chats, and does its token reach it?
    pub(crate) fn may_read(&mut self, conversation: &Conversation) -> Result<(), Error> {
        if !conversation.is_of(&self.envelope.actor) {
            let conversation = conversation.id.to_string();
            return Err(Refusal::UnknownConversation { conversation }.into());
        }
        self.reach_conversation(conversation)
    }

    /// Writes what the caller says, where it may.
    pub(crate) fn post_as_caller(
        &mut self,
        conversation: &Conversation,
        text: &str,
    ) -> Result<Message, Error> {
        let clock = self.tx.clock()?;
        let at_work = self.tx.at_work_in(conversation.id, clock)?;
        let mut agent = at_work.map(|delegation| delegation.agent);
        if let Some(run) = self.tx.newest_run_in(conversation.id)?
            && run.state == RunState::Running
            && self.is_executed(&run)?
        {
            agent = Some(run.agent);
        }
        let role = conversation.writes(&self.envelope.actor, agent.as_ref())?;
        let said = (role, MessageKind::Text);
        self.post(conversation.project_id, conversation.id, said, text.to_owned())
    }

    /// Acts on what a person says in a mission's chat, where it answers an escalation (M-77). Says
    /// what was done, or what is not clear.
    pub(crate) fn heed(
        &mut self,
        conversation: &Conversation,
        text: &str,
    ) -> Result<Option<String>, Error> {
        let Some(about) = conversation.about.as_ref() else { return Ok(None) };
        let role = self.envelope.actor.role;
        let person = may_any(role, Subject::Conversation, Action::Instruct);
        if conversation.channel != Channel::Mission || !person {
            return Ok(None);
        }
        let Some((_, said)) = answer::parse(text) else { return Ok(None) };
        let open = self.tx.open_escalations(conversation.project_id, &about.mission_slug)?;
        if open.is_empty() {
            return Ok(None);
        }
        let mut titles = Vec::new();
        for gate in &open {
            let brief = gate.todo_id.map(|id| self.tx.brief(id)).transpose()?.flatten();
            titles.push(brief.map(|brief| brief.title).unwrap_or_default());
        }
        let names: Vec<&str> = titles.iter().map(String::as_str).collect();
        let gate = match answer::meant(&said, &names) {
            Ok(at) => &open[at],
            Err(candidates) => {
                let asked = format!("Which one? Name it: {}.", candidates.join("; "));
                return Ok(Some(asked));
            }
        };
        let response = Some(Value::String(text.trim().to_owned()));
        let command = AnswerGate::plain(GateDecision::Resume, response);
        self.answer_gate(&gate.id.to_string(), &command, None)?;
        let todo = gate.todo_id.map(|id| self.tx.brief(id)).transpose()?.flatten();
        let title = todo.map(|todo| todo.title).unwrap_or_default();
        Ok(Some(match answer::parse(text) {
            Some((Answer::Extend(deadline), _)) => format!("Extended to {deadline}: {title}"),
            _ => format!("Cancelled: {title}"),
        }))
    }

    /// What an answer to an escalation does to its item. An answer that says neither is refused; to
    /// refuse the question leaves the item as it is.
    pub(super) fn act_on_answer(&mut self, gate: &Gate, command: &AnswerGate) -> Result<(), Error> {
        let (GateDecision::Resume, Some(todo_id)) = (command.decision, gate.todo_id) else {
            return Ok(());
        };
        let text = match &command.response {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Object(fields)) => match fields.get("extend") {
                Some(Value::String(date)) => format!("extend to {date}"),
                _ if fields.contains_key("cancel") => "cancel".to_owned(),
                _ => String::new(),
            },
            _ => String::new(),
        };
        let Some((said, _)) = answer::parse(&text) else {
            let fault = format!("answer with {}", answer::SPELLING);
            return Err(Refusal::BadResponse { faults: vec![fault] }.into());
        };
        let (mut list, todo_id) = self.todo(&todo_id.to_string())?;
        let reason = Some(format!("answered: {}", text.trim()));
        let command: Command = match said {
            Answer::Cancel => CancelTodo { todo_id, outcome: reason }.into(),
            Answer::Extend(deadline) => ReviseTodo {
                todo_id,
                title: None,
                priority: None,
                position: None,
                deadline: Some(deadline),
                reason,
            }
            .into(),
        };
        self.decide(&mut list, command).map(|_| ())
    }

    /// Locks the mission an item belongs to, if it belongs to one, before what hangs on it.
    pub(super) fn lock_mission_of(&mut self, todo: TodoId) -> Result<(), Error> {
        let Some(project) = self.project()? else { return Ok(()) };
        if let Some((list, _)) = self.tx.list_of(project, TodoKey::Id(todo))?
            && let Scope::Pillar { mission, .. } = &list.scope
        {
            self.tx.mission_head(project, mission, Lock::Row)?;
        }
        Ok(())
    }

    /// May the caller hand this item on? Says the chat it is worked in, where it has one.
    pub(crate) fn hand_on(&mut self, todo: TodoId) -> Result<Option<ConversationId>, Error> {
        let Some(project) = self.project()? else { return Ok(None) };
        if let Some((list, _)) = self.tx.list_of(project, TodoKey::Id(todo))? {
            self.reach_scope(&list.scope)?;
            Delegate::may_concern(&list, &self.envelope.actor)?;
        }
        self.chat_of(todo)
    }

    /// The chat the items of a pillar are worked in, for an item of one.
    pub(crate) fn chat_of(&mut self, todo: TodoId) -> Result<Option<ConversationId>, Error> {
        let Some(project) = self.project()? else { return Ok(None) };
        let Some((list, _)) = self.tx.list_of(project, TodoKey::Id(todo))? else {
            return Ok(None);
        };
        self.reach_scope(&list.scope)?;
        let Scope::Pillar { mission, pillar } = &list.scope else { return Ok(None) };
        let mission = self.tx.mission(project, mission, Lock::No)?;
        Ok(mission.and_then(|m| m.pillar(pillar).map(|pillar| pillar.todos_conversation_id)))
    }
}
