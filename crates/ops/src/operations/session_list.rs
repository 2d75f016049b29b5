//! `session_list`: the sessions of a project, newest first.

use punchlist_core::SessionId;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::session::SessionState;
use punchlist_store::rows::sessions::WantedSessions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Cursor, Limit, page};
use crate::views::SessionView;

/// List the sessions of this project, newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Only sessions in this state; absent: all.
    #[serde(default)]
    pub state: Option<SessionState>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<SessionId>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub sessions: Vec<SessionView>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<SessionId>,
}

#[derive(Debug)]
pub struct SessionList;

impl Define for SessionList {
    const NAME: &'static str = "session_list";
    const ACCESS: Access = Access::On(Subject::Session, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["session", "list"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"state":"active"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        call.reach_project()?;
        let limit = input.limit;
        let Some(project) = call.project()? else {
            return Ok(Output { sessions: Vec::new(), next_cursor: None });
        };
        let below = input.cursor.text();
        let wanted = WantedSessions { state: input.state, below: below.as_deref() };
        let mut found = call.tx().sessions(project, wanted, limit.and_one())?;
        let next_cursor = page(&mut found, limit, |last| last.id);
        let mut sessions = Vec::new();
        for session in found {
            sessions.push(SessionView::of(call, session)?);
        }
        Ok(Output { sessions, next_cursor })
    }
}
