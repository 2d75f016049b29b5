//! `conversation_show`: a chat and its messages.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::text::Title;
use punchlist_core::{MessageId, Refusal};
use punchlist_store::rows::conversations::WantedMessages;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Limit, Maybe, Name};
use crate::views::{ConversationView, MessageView};

/// Show a chat and its messages, oldest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id.
    pub conversation_id: Name,
    /// Only messages after this one.
    #[serde(default)]
    pub after: Maybe<Title>,
    /// Only messages before this one.
    #[serde(default)]
    pub before: Maybe<Title>,
    /// The newest of them instead of the oldest, in the same order.
    #[serde(default)]
    pub newest: Option<bool>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub conversation: ConversationView,
    pub messages: Vec<MessageView>,
}

/// The access table says which roles may read chats at all; the handler checks the single chat.

#[derive(Debug)]
pub struct ConversationShow;

impl Define for ConversationShow {
    const NAME: &'static str = "conversation_show";
    const ACCESS: Access = Access::On(Subject::Conversation, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { command: &["chat", "show"], positional: &["conversationId"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"conversationId":"01JCQ0000000000000000000AB"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let limit = input.limit;
        let conversation = call.conversation(&input.conversation_id)?;
        for named in [&input.after.0, &input.before.0].into_iter().flatten() {
            // Ids are ordered by time, so one that is not in this chat is still a position in it.
            if MessageId::parse(named.as_str()).is_none() {
                let message = named.as_str().to_owned();
                return Err(Refusal::UnknownMessage { message }.into());
            }
        }
        let wanted = WantedMessages {
            after: input.after.0.as_ref().map(Title::as_str),
            before: input.before.0.as_ref().map(Title::as_str),
            is_newest: input.newest == Some(true),
        };
        let messages = call.tx().messages(conversation.id, &wanted, limit.get())?;
        let messages = messages.into_iter().map(MessageView::from).collect();
        Ok(Output { conversation: conversation.into(), messages })
    }
}
