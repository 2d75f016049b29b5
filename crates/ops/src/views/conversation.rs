//! A chat and its messages.

use punchlist_core::conversation::{
    Channel, Conversation, Message, MessageKind, Part, Speaker, ToolCall,
};
use punchlist_core::{MissionId, PillarId, RunId, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A chat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationView {
    pub id: String,
    pub channel: Channel,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    pub created_at: Time,
}

/// The mission and the pillar of a chat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub channel: Channel,
    pub mission_id: MissionId,
    pub mission_slug: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pillar_id: Option<PillarId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pillar_slug: Option<String>,
}

/// A message in a chat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    pub id: String,
    pub role: Speaker,
    /// Synthetic: punchlist wrote it. Report: the result of delegated work.
    pub kind: MessageKind,
    pub author: String,
    pub text: String,
    /// The run that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The tools that this reply of a model calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub calls: Vec<ToolCall>,
    /// The call that this is the result of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_of: Option<ResultOf>,
    pub created_at: Time,
}

/// A call of a tool that a message answers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultOf {
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// The call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub is_error: bool,
}

impl From<Conversation> for ConversationView {
    fn from(conversation: Conversation) -> Self {
        let channel = conversation.channel;
        let metadata = conversation.about.map(|about| {
            let (pillar_id, pillar_slug) = about.pillar.unzip();
            Metadata {
                channel,
                mission_id: about.mission_id,
                mission_slug: about.mission_slug,
                pillar_id,
                pillar_slug,
            }
        });
        Self {
            id: conversation.id.to_string(),
            channel,
            title: conversation.title,
            metadata,
            created_at: conversation.created_at,
        }
    }
}

impl From<Message> for MessageView {
    fn from(message: Message) -> Self {
        let (calls, result_of) = match message.part {
            Some(Part::Reply { calls, .. }) => (calls, None),
            Some(Part::Result { call_id, name, is_error }) => {
                (Vec::new(), Some(ResultOf { call_id, name, is_error }))
            }
            None => (Vec::new(), None),
        };
        Self {
            id: message.id.to_string(),
            role: message.role,
            kind: message.kind,
            author: message.author,
            text: message.text,
            run_id: message.run_id,
            calls,
            result_of,
            created_at: message.created_at,
        }
    }
}
