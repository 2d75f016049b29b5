//! `session_bind`: bind a session to an issue.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::text::Title;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::OneSession;

/// Bind a session to an issue, which gives it the issue's checklist. Nothing else changes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The session: its id, or its host's id; absent: the caller's session.
    #[serde(default)]
    pub session: Maybe<Title>,
    /// The issue's number.
    pub number: i64,
    /// Take the issue from the session that has it; operator only.
    #[serde(default)]
    pub take_over: Option<bool>,
}

#[derive(Debug)]
pub struct SessionBind;

impl Define for SessionBind {
    const NAME: &'static str = "session_bind";
    const ACCESS: Access = Access::On(Subject::Session, Action::Bind);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["session", "bind"], positional: &["number"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"session":"abc-123","number":1}"#;

    type Input = Input;
    type Output = OneSession;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneSession, Error> {
        let issue = call.issue(input.number, Lock::No)?;
        let named = input.session.0.as_ref().map(Title::as_str);
        let session = call.session_to_bind(named, Some(issue.id))?;
        let issue = call.issue(input.number, Lock::Row)?;
        let take_over = input.take_over == Some(true);
        let (session, _) = call.bind_session(session, issue, take_over)?;
        OneSession::of(call, session)
    }
}
