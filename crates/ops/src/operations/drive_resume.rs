//! `drive_resume`: let a paused session continue.

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

/// Let a paused session continue, with everything that is waiting in it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The session; absent: the one you are in.
    #[serde(default)]
    pub session: Maybe<Title>,
}

#[derive(Debug)]
pub struct DriveResume;

impl Define for DriveResume {
    const NAME: &'static str = "drive_resume";
    const ACCESS: Access = Access::On(Subject::Session, Action::Resume);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["session", "resume"], positional: &["session"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = "{}";

    type Input = Input;
    type Output = OneSession;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneSession, Error> {
        let named = input.session.0.as_ref().map(Title::as_str);
        let session = call.session_or_own(named, Lock::Row)?;
        let session = call.resume_session(session)?;
        OneSession::of(call, session)
    }
}
