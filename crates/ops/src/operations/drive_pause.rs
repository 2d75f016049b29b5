//! `drive_pause`: stop a session from continuing automatically.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::session::PauseSession;
use punchlist_core::text::{Body, Title};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::OneSession;

/// Stop a session from continuing automatically. It stays paused through messages and restarts,
/// until resumed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The session; absent: the one you are in.
    #[serde(default)]
    pub session: Maybe<Title>,
    /// Why.
    #[serde(default)]
    pub reason: Maybe<Body>,
}

#[derive(Debug)]
pub struct DrivePause;

impl Define for DrivePause {
    const NAME: &'static str = "drive_pause";
    const ACCESS: Access = Access::On(Subject::Session, Action::Pause);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["session", "pause"], positional: &["session"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"reason":"lunch"}"#;

    type Input = Input;
    type Output = OneSession;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneSession, Error> {
        let named = input.session.0.as_ref().map(Title::as_str);
        let session = call.session_or_own(named, Lock::Row)?;
        let reason = input.reason.0.clone().map(Body::into_string);
        let session = call.pause_session(session, &PauseSession { reason })?;
        OneSession::of(call, session)
    }
}
