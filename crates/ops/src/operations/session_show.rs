//! `session_show`: one session.

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

/// Show a session and its issue.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The session: its id, or its host's id; absent: the caller's session.
    #[serde(default)]
    pub session: Maybe<Title>,
}

#[derive(Debug)]
pub struct SessionShow;

impl Define for SessionShow {
    const NAME: &'static str = "session_show";
    const ACCESS: Access = Access::On(Subject::Session, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { command: &["session", "show"], positional: &["session"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"session":"abc-123"}"#;

    type Input = Input;
    type Output = OneSession;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneSession, Error> {
        let named = input.session.0.as_ref().map(Title::as_str);
        let session = call.session_or_own(named, Lock::No)?;
        OneSession::of(call, session)
    }
}
