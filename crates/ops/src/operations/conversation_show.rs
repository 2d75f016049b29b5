//! `conversation_show`: a chat and its messages.

use punchlist_core::conversation::{Channel, MessageKind, Speaker};
use punchlist_core::issue::KEEPERS;
use punchlist_core::text::Title;
use punchlist_core::{ConversationId, Refusal, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, limit};
use crate::{Envelope, Error};

/// Show a chat: its messages, the oldest first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id.
    pub conversation_id: String,
    /// Only messages after this one.
    #[serde(default)]
    pub after: Maybe<Title>,
    /// How many at most, from 1; absent: 50, more than 1,000 is cut to 1,000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub limit: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub conversation: ConversationView,
    pub messages: Vec<MessageView>,
}

/// A chat.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationView {
    pub id: String,
    pub channel: Channel,
    pub title: String,
    #[schemars(with = "String")]
    pub created_at: Time,
}

/// A message of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    pub id: String,
    pub role: Speaker,
    /// Synthetic: punchlist wrote it.
    pub kind: MessageKind,
    pub author: String,
    pub text: String,
    #[schemars(with = "String")]
    pub created_at: Time,
}

#[derive(Debug)]
pub struct ConversationShow;

impl Define for ConversationShow {
    const NAME: &'static str = "conversation_show";
    const ACCESS: Access = Access::Roles(&KEEPERS);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = r#"{"conversationId":"01JCQ0000000000000000000AB"}"#;

    type Input = Input;
    type Output = Output;

    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        limit(input.limit).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        call.reaches_issue(None)?;
        let limit = limit(input.limit)?;
        let unknown = || {
            let conversation = input.conversation_id.clone();
            Error::from(Refusal::UnknownConversation { conversation })
        };
        let id = ConversationId::parse(input.conversation_id.trim()).ok_or_else(unknown)?;
        let project = call.project()?.ok_or_else(unknown)?;
        let found = call.tx().conversation(project, id)?.ok_or_else(unknown)?;
        let after = input.after.0.as_ref().map(Title::as_str);
        let messages = call.tx().messages(id, after, limit)?;
        let conversation = ConversationView {
            id: id.to_string(),
            channel: found.channel,
            title: found.title,
            created_at: found.created_at,
        };
        let messages = messages.into_iter().map(|message| MessageView {
            id: message.id.to_string(),
            role: message.role,
            kind: message.kind,
            author: message.author,
            text: message.text,
            created_at: message.created_at,
        });
        Ok(Output { conversation, messages: messages.collect() })
    }
}
