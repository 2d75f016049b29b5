//! `run_list`: the runs of a project.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::run::RunState;
use punchlist_core::text::Title;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, limit, page};
use crate::views::run::RunView;
use crate::{Envelope, Error};

/// List the runs of this project, the newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Only runs in this state; absent: all.
    #[serde(default)]
    pub state: Option<RunState>,
    /// Only of this session.
    #[serde(default)]
    pub session: Maybe<Title>,
    /// How many at most, from 1; absent: 50, more than 1,000 is cut to 1,000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub limit: Option<i64>,
    /// The nextCursor of the page before.
    #[serde(default)]
    pub cursor: Maybe<Title>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub runs: Vec<RunView>,
    /// Give this as `cursor` to read on; absent: there is no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug)]
pub struct RunList;

impl Define for RunList {
    const NAME: &'static str = "run_list";
    const ACCESS: Access = Access::On(Subject::Run, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { command: &["runs", "list"], positional: &[], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"state":"waiting"}"#;

    type Input = Input;
    type Output = Output;

    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        limit(input.limit).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let limit = limit(input.limit)?;
        let Some(project) = call.project()? else {
            return Ok(Output { runs: Vec::new(), next_cursor: None });
        };
        let session = match &input.session.0 {
            Some(named) => Some(call.session_named(named.as_str(), Lock::No)?.id),
            None => None,
        };
        let below = input.cursor.0.as_ref().map(Title::as_str);
        let mut found = call.tx().runs(project, input.state, session, below, limit + 1)?;
        let next_cursor = page(&mut found, limit, |last| last.id.to_string());
        found.retain(|run| call.reach_run(run).is_ok());
        Ok(Output { runs: found.iter().map(RunView::from).collect(), next_cursor })
    }
}
