//! `conversation_list`: the chats of a project.

use punchlist_core::ConversationId;
use punchlist_core::authority::{Action, Subject, may_ever_on};
use punchlist_core::conversation::Channel;
use punchlist_core::text::Title;
use punchlist_store::rows::conversations::WantedConversations;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Cursor, Limit, Maybe, page};
use crate::views::ConversationView;

/// List the chats you may read, oldest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only this mission's chats, by its slug.
    #[serde(default)]
    pub mission: Maybe<Title>,
    /// Only this pillar's chats, by its slug.
    #[serde(default)]
    pub pillar: Maybe<Title>,
    /// Only chats of this kind.
    #[serde(default)]
    pub channel: Option<Channel>,
    /// Only this session's chats, by its id or its host's id.
    #[serde(default)]
    pub session: Maybe<Title>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<ConversationId>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub conversations: Vec<ConversationView>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<ConversationId>,
}

#[derive(Debug)]
pub struct ConversationList;

impl Define for ConversationList {
    const NAME: &'static str = "conversation_list";
    const ACCESS: Access = Access::On(Subject::Conversation, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["chat", "list"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"mission":"developer-experience","channel":"pillar-todo"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let limit = input.limit;
        let session = match &input.session.0 {
            Some(named) => Some(call.session_named(named.as_str(), Lock::No)?.id),
            None => None,
        };
        known_place(call, input)?;
        let Some(project) = call.project()? else {
            return Ok(Output { conversations: Vec::new(), next_cursor: None });
        };
        let text = |given: &Maybe<Title>| given.0.as_ref().map(|t| t.as_str().to_owned());
        let wanted = WantedConversations {
            mission: text(&input.mission),
            pillar: text(&input.pillar),
            channel: input.channel,
            session,
            above: input.cursor.text(),
        };
        let mut found = call.tx().conversations(project, &wanted, limit.and_one())?;
        let next_cursor = page(&mut found, limit, |last| last.id);
        found.retain(|conversation| call.may_read(conversation).is_ok());
        let conversations = found.into_iter().map(ConversationView::from).collect();
        Ok(Output { conversations, next_cursor })
    }
}

/// Refuses an unknown mission or pillar. A caller that sees no missions is not told which there are.
fn known_place(call: &mut Call<'_, '_>, input: &Input) -> Result<(), Error> {
    let role = call.envelope().actor.role;
    let Some(slug) = &input.mission.0 else { return Ok(()) };
    if !may_ever_on(role, Subject::Mission, Action::View) {
        return Ok(());
    }
    let mission = call.mission(slug.as_str(), Lock::No)?;
    if let Some(pillar) = &input.pillar.0 {
        mission.pillar(pillar.as_str()).ok_or_else(|| mission.unknown_pillar(pillar.as_str()))?;
    }
    Ok(())
}
