//! Chats and their messages. The text of a message is kept beside the log, not in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::authority::{Action, Subject, may, may_any, owns_conversation};
use crate::driver::Finish;
use crate::named::named;
use crate::{
    Actor, AgentPath, ConversationId, MessageId, MissionId, PillarId, ProjectId, Reach, Refusal,
    Role, RunId, Time,
};

named! {
    /// What a chat is about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Channel {
        Session = "session",
        Mission = "mission",
        Pillar = "pillar",
        /// Where work on a pillar's items is delegated and reported.
        PillarTodo = "pillar-todo",
    }
}

/// The mission a chat belongs to, and its pillar if it is a pillar's chat (M-52).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    pub mission_id: MissionId,
    pub mission_slug: String,
    pub pillar: Option<(PillarId, String)>,
}

/// A chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    pub id: ConversationId,
    pub project_id: ProjectId,
    pub channel: Channel,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    pub created_at: Time,
}

named! {
    /// The author's role in a model's conversation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Speaker {
        User = "user",
        Assistant = "assistant",
    }
}

named! {
    /// Where a message comes from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum MessageKind {
        /// Somebody wrote it.
        Text = "text",
        /// punchlist wrote it, and marks it as such.
        Synthetic = "synthetic",
        /// The result of delegated work: done, or failed.
        Report = "report",
        /// The result of a tool call.
        Result = "result",
        /// Replaces all earlier messages when they no longer fit (M-57).
        Summary = "summary",
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: MessageId,
    pub conversation_id: ConversationId,
    pub role: Speaker,
    pub kind: MessageKind,
    /// The principal that wrote it.
    pub author: String,
    /// The reach of its author: an answer to it has no wider reach.
    pub reach: Reach,
    pub text: String,
    /// The run that wrote it.
    pub run_id: Option<RunId>,
    pub part: Option<Part>,
    pub created_at: Time,
}

/// What a message of an agent's loop holds besides its text, so that another process can continue
/// from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Part {
    /// A reply of a model: its tool calls, the data its provider wants back unchanged, and how it
    /// ended.
    Reply {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<Value>,
        finish: Finish,
        /// The newest message the model had seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<String>,
    },
    /// The result of one of these calls.
    Result { call_id: String, name: String, is_error: bool },
}

/// A call of a tool, as a model made it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The model's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input as JSON text, or what the model sent instead of JSON.
    pub input: String,
}

/// The beginning of every message that punchlist writes by itself.
pub const SYNTHETIC: &str = "[synthetic · punchlist]";

/// A message that punchlist writes by itself. A heading starts on its own line.
#[must_use]
pub fn synthetic(text: &str) -> String {
    let gap = if text.starts_with('#') { "\n\n" } else { " " };
    format!("{SYNTHETIC}{gap}{text}")
}

/// Do agents treat the actor's messages as a person's, and answer them?
#[must_use]
pub fn instructs(actor: &Actor) -> bool {
    may_any(actor.role, Subject::Conversation, Action::Instruct)
}

impl Conversation {
    /// The role that a person speaks to in this chat: root, the lead, or the pillar's owner (F-5).
    #[must_use]
    pub const fn addressee(&self) -> Role {
        match self.channel {
            Channel::Session => Role::Root,
            Channel::Mission | Channel::PillarTodo => Role::Lead,
            Channel::Pillar => Role::Owner,
        }
    }

    /// Is this the actor's own chat? All chats are the operator's.
    #[must_use]
    pub fn is_of(&self, actor: &Actor) -> bool {
        may(actor, Subject::Conversation, Action::View, || owns_conversation(actor, self))
    }

    /// May the actor write here, and as which speaker? While an agent works, people may only read
    /// (M-55).
    pub fn writes(&self, actor: &Actor, at_work: Option<&AgentPath>) -> Result<Speaker, Refusal> {
        if !self.is_of(actor) {
            return Err(Refusal::UnknownConversation { conversation: self.id.to_string() });
        }
        match (instructs(actor), at_work) {
            (true, Some(agent)) => {
                let (conversation, agent) = (self.id, agent.clone());
                Err(Refusal::AgentAtWork { conversation, agent, run: None })
            }
            (true, None) => Ok(Speaker::User),
            (false, _) => Ok(Speaker::Assistant),
        }
    }
}

/// The first message of a session that was given an issue: the operator's text, and how to fetch
/// the issue (K-7).
#[must_use]
pub fn first_message(number: i64, title: &str, typed: Option<&str>) -> String {
    let hint = format!(
        "Issue #{number} is yours: {title}. Fetch it with the tool `issue`, action view, number {number}."
    );
    match typed {
        Some(typed) => format!("{typed}\n\n{hint}"),
        None => hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// K-7: the operator's words come first, then the hint.
    #[test]
    fn the_first_message_names_the_issue() {
        let hint = "Issue #4 is yours: Log in fails. Fetch it with the tool `issue`, action view, \
                    number 4.";
        assert_eq!(first_message(4, "Log in fails", None), hint);
        assert_eq!(first_message(4, "Log in fails", Some("Hurry.")), format!("Hurry.\n\n{hint}"));
    }

    #[test]
    fn names_and_parsing_agree() {
        for channel in Channel::ALL {
            assert_eq!(Channel::parse(channel.name()), Some(channel));
        }
        for speaker in Speaker::ALL {
            assert_eq!(Speaker::parse(speaker.name()), Some(speaker));
        }
        for kind in MessageKind::ALL {
            assert_eq!(MessageKind::parse(kind.name()), Some(kind));
        }
    }
}
