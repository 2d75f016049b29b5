//! `session_start`: start a session, or find the one with the host's id.

use punchlist_core::Refusal;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::text::Title;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::{Call, NewSession, or_unknown};
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::OneSession;

/// Start a session, or return the one that already has the host's id. One that had ended goes on,
/// without its issue.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its title; absent: named after the caller.
    #[serde(default)]
    pub title: Maybe<Title>,
    /// The host it runs in, e.g. claude.
    #[serde(default)]
    pub host: Maybe<Title>,
    /// The host's own id of the session.
    #[serde(default)]
    pub external_id: Maybe<Title>,
}

#[derive(Debug)]
pub struct SessionStart;

impl Define for SessionStart {
    const NAME: &'static str = "session_start";
    const ACCESS: Access = Access::On(Subject::Session, Action::Start);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["session", "start"], positional: &["title"], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"title":"Fix the log in","host":"claude","externalId":"abc-123"}"#;

    type Input = Input;
    type Output = OneSession;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneSession, Error> {
        if let Some(known) = &input.external_id.0
            && let Some(project) = call.project()?
            && let Some(session) = call.tx().session(project, known.as_str(), Lock::No)?
        {
            // The error repeats the host's id, so that it reveals nothing else about the session.
            let missing = format!("session `{}`", known.as_str());
            or_unknown(call.reach_session(&session), || Refusal::OutOfReach { missing }.into())?;
            let session = call.reopen(&session)?;
            return OneSession::of(call, session);
        }
        let envelope = call.envelope();
        let named = || Title::new(&format!("Session of {}", envelope.actor.agent));
        let title = match input.title.0.clone() {
            Some(title) => title,
            None => named().map_err(|fault| Error::Internal { detail: fault.to_string() })?,
        };
        let session = call.start_session(NewSession {
            title,
            host: input.host.0.clone(),
            external_id: input.external_id.0.clone(),
            directory: envelope.context.directory.clone(),
        })?;
        OneSession::of(call, session)
    }
}
