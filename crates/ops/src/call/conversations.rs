//! The calls on chats: who may read and write them, and how a person's message is handled.

use punchlist_core::conversation::{Conversation, Message, MessageKind};
use punchlist_core::delegation::Delegate;
use punchlist_core::mission::answer::{self, Heeded};
use punchlist_core::run::RunState;
use punchlist_core::{ConversationId, Refusal, Scope, TodoId, Warning};
use punchlist_store::rows::lists::{Lock, TodoKey};
use punchlist_store::rows::names::Named;

use super::Call;
use crate::Error;

impl Call<'_, '_> {
    /// Finds a chat that the caller may read. Any other is refused as unknown.
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
        let id = conversation.id.to_string();
        let unknown = || Error::from(Refusal::UnknownConversation { conversation: id });
        if !conversation.is_of(&self.envelope.actor) {
            return Err(unknown());
        }
        super::or_unknown(self.reach_conversation(conversation), unknown)
    }

    /// Posts the caller's message, if the caller may write here.
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

    /// Handles a person's message in a mission's chat that answers an escalation (M-77). Returns a
    /// text that says what was done, or what is unclear.
    pub(crate) fn heed(
        &mut self,
        conversation: &Conversation,
        text: &str,
    ) -> Result<Option<String>, Error> {
        let Some(about) = answer::asked_in(conversation, &self.envelope.actor, text) else {
            return Ok(None);
        };
        let open = self.tx.open_escalations(conversation.project_id, &about.mission_slug)?;
        let mut titles = Vec::new();
        for gate in &open {
            let brief = gate.todo_id.map(|id| self.tx.brief(id)).transpose()?.flatten();
            titles.push(brief.map(|brief| brief.title).unwrap_or_default());
        }
        let names: Vec<&str> = titles.iter().map(String::as_str).collect();
        match answer::heed(text, &names) {
            Heeded::Nothing => Ok(None),
            Heeded::Unclear(asked) => Ok(Some(asked)),
            Heeded::Answer { at, answer, reply } => {
                self.answer_gate(&open[at].id.to_string(), &answer, None)?;
                Ok(Some(reply))
            }
        }
    }

    /// Locks the mission of an item, if it has one, before anything that belongs to the mission.
    pub(super) fn lock_mission_of(&mut self, todo: TodoId) -> Result<(), Error> {
        let Some(project) = self.project()? else { return Ok(()) };
        if let Some((list, _)) = self.tx.list_of(project, TodoKey::Id(todo))?
            && let Scope::Pillar { mission, .. } = &list.scope
        {
            self.tx.mission_head(project, mission, Lock::Row)?;
        }
        Ok(())
    }

    /// May the caller delegate this item? Returns the chat in which it is worked on, if there is
    /// one, and what the caller should know.
    pub(crate) fn hand_on(
        &mut self,
        todo: TodoId,
    ) -> Result<(Option<ConversationId>, Option<Warning>), Error> {
        let Some(project) = self.project()? else { return Ok((None, None)) };
        let mut warning = None;
        if let Some((list, id)) = self.tx.list_of(project, TodoKey::Id(todo))? {
            self.reach_scope(&list.scope)?;
            let item = self.tx.todo(list.id, id)?;
            Delegate::may_concern(&list, item.as_ref(), &self.envelope.actor)?;
            warning = Delegate::warning(&list, item.as_ref());
        }
        Ok((self.chat_of(todo)?, warning))
    }

    /// The chat in which the items of a pillar are worked on; `None` if the item is in no pillar.
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
