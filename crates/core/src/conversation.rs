//! Chats and their messages. The text of a message is kept beside the log, not in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConversationId, MessageId, MissionId, PillarId, ProjectId, Time};

/// What a chat is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    Session,
    Mission,
    Pillar,
    /// Where the items of a pillar are handed out and reported on.
    PillarTodo,
}

impl Channel {
    pub const ALL: [Self; 4] = [Self::Session, Self::Mission, Self::Pillar, Self::PillarTodo];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Mission => "mission",
            Self::Pillar => "pillar",
            Self::PillarTodo => "pillar-todo",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.name() == text)
    }
}

/// The mission a chat belongs to, and the pillar where it is one of a pillar's (M-52).
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

/// Who speaks, to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    User,
    Assistant,
}

impl Speaker {
    pub const ALL: [Self; 2] = [Self::User, Self::Assistant];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|speaker| speaker.name() == text)
    }
}

/// Where a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Somebody wrote it.
    Text,
    /// punchlist wrote it, and says so.
    Synthetic,
}

impl MessageKind {
    pub const ALL: [Self; 2] = [Self::Text, Self::Synthetic];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Synthetic => "synthetic",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == text)
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
    pub text: String,
    pub created_at: Time,
}

/// The first message of a session that an issue was sent to: what the operator typed, and where
/// to look (K-7).
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
