//! `conversation_post`: post a message to a chat.

use punchlist_core::Role;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Name;
use crate::views::MessageView;

/// Post a message to a chat. In a mission's chat, "extend to 2026-12-01" or "cancel" answers an
/// escalation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id.
    pub conversation_id: Name,
    /// The message.
    pub text: Body,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub message: MessageView,
    /// The role that reads it at its next turn.
    pub addressee: Role,
    /// The effect of the message, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
}

#[derive(Debug)]
pub struct ConversationPost;

impl Define for ConversationPost {
    const NAME: &'static str = "conversation_post";
    const ACCESS: Access = Access::On(Subject::Conversation, Action::Post);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["chat", "post"],
        positional: &["conversationId", "text"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str =
        r#"{"conversationId":"01JCQ0000000000000000000AB","text":"extend to 2027-03-01"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let conversation = call.conversation(&input.conversation_id)?;
        let message = call.post_as_caller(&conversation, input.text.as_str())?;
        let done = call.heed(&conversation, input.text.as_str())?;
        if done.is_none() {
            call.hear(&conversation)?;
        }
        let (message, addressee) = (MessageView::from(message), conversation.addressee());
        Ok(Output { message, addressee, done })
    }
}
