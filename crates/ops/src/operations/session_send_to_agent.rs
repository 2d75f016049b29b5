//! `session_send_to_agent`: start a session for an issue, with a first message (K-7).

use punchlist_core::authority::{Action, Subject};
use punchlist_core::conversation::{MessageKind, Speaker, first_message};
use punchlist_core::host::Host;
use punchlist_core::text::{Body, Title};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::call::NewSession;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::OneSession;

/// Send an issue to an agent: start a session bound to it, whose first message names it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// A message to the agent.
    #[serde(default)]
    pub message: Maybe<Body>,
    /// Take the issue from the session that has it; operator only.
    #[serde(default)]
    pub take_over: Option<bool>,
    /// The host whose next session in this project gets the issue; absent: a configured agent.
    #[serde(default)]
    pub to: Option<Host>,
}

#[derive(Debug)]
pub struct SessionSendToAgent;

impl Define for SessionSendToAgent {
    const NAME: &'static str = "session_send_to_agent";
    const ACCESS: Access = Access::On(Subject::Session, Action::Send);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["issue", "send"],
        positional: &["number", "message"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"number":1,"message":"Start with the tests."}"#;

    type Input = Input;
    type Output = OneSession;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneSession, Error> {
        let issue = call.issue(input.number, Lock::Row)?;
        let title = Title::new(&issue.title)
            .map_err(|fault| Error::Internal { detail: format!("the title {fault}") })?;
        let typed = input.message.0.as_ref().map(Body::as_str);
        let text = first_message(issue.number, &issue.title, typed);
        let directory = call.envelope().context.directory.clone();
        let host = input.to.and_then(|host| Title::new(host.name()).ok());
        let session =
            call.start_session(NewSession { title, host, external_id: None, directory })?;
        let take_over = input.take_over == Some(true);
        let (session, _) = call.bind_session(session, issue, take_over)?;
        let speaker = (Speaker::User, MessageKind::Text);
        call.post(session.project_id, session.conversation_id, speaker, text)?;
        let conversation = call.conversation(&session.conversation_id.to_string())?;
        call.hear(&conversation)?;
        OneSession::of(call, session)
    }
}
