//! `session_unbind`: unbind a session from its issue.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::text::Title;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::OneSession;

/// Unbind a session from its issue. The checklist stays as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The session: its id, or its host's id; absent: the caller's session.
    #[serde(default)]
    pub session: Maybe<Title>,
}

#[derive(Debug)]
pub struct SessionUnbind;

impl Define for SessionUnbind {
    const NAME: &'static str = "session_unbind";
    const ACCESS: Access = Access::On(Subject::Session, Action::Unbind);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["session", "unbind"], positional: &["session"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"session":"abc-123"}"#;

    type Input = Input;
    type Output = OneSession;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneSession, Error> {
        let named = input.session.0.as_ref().map(Title::as_str);
        let session = call.session_to_bind(named, None)?;
        let session = call.unbind_session(session)?;
        OneSession::of(call, session)
    }
}
