//! `run_list`: the runs of a project.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::run::RunState;
use punchlist_core::text::Title;
use punchlist_core::{Run, RunId};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Cursor, Limit, Maybe, page};
use crate::views::run::{RunView, WaitView};

/// List the runs of this project, the newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Only runs in this state; completed and failed ones are ended. Absent: all.
    #[serde(default)]
    pub state: Option<RunState>,
    /// Only of this session.
    #[serde(default)]
    pub session: Maybe<Title>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<RunId>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub runs: Vec<RunView>,
    /// Give this as `cursor` to read on; absent: there is no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<RunId>,
}

#[derive(Debug)]
pub struct RunList;

impl Define for RunList {
    const NAME: &'static str = "run_list";
    const ACCESS: Access = Access::On(Subject::Run, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { command: &["runs", "list"], positional: &[], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"state":"running"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let limit = input.limit;
        let Some(project) = call.project()? else {
            return Ok(Output { runs: Vec::new(), next_cursor: None });
        };
        let session = match &input.session.0 {
            Some(named) => Some(call.session_named(named.as_str(), Lock::No)?.id),
            None => None,
        };
        let below = input.cursor.text();
        let mut found =
            call.tx().runs(project, input.state, session, below.as_deref(), limit.and_one())?;
        let next_cursor = page(&mut found, limit, |last| last.id);
        found.retain(|run| call.reach_run(run).is_ok());
        let mut runs = Vec::new();
        for run in &found {
            runs.push(listed(call, run)?);
        }
        Ok(Output { runs, next_cursor })
    }
}

/// How many characters of a prompt are shown.
const PROMPT_MAX: usize = 200;

/// A run with what it was asked, what it is about and what it cost.
fn listed(call: &mut Call<'_, '_>, run: &Run) -> Result<RunView, Error> {
    let mut view = RunView::from(run);
    view.waits_for = WaitView::of(call, run)?;
    let (input, output) = (run.counters.input_tokens, run.counters.output_tokens);
    view.usage.cost_usd = call.envelope().agents().cost_usd(&view.model, input, output);
    let said = call.tx().said_before(run.conversation_id, run.created_at)?;
    view.prompt = said.map(|said| said.chars().take(PROMPT_MAX).collect());
    let session = match run.session_id {
        Some(id) => call.tx().session_by_id(id)?,
        None => None,
    };
    if let Some(session) = session {
        let issue = session.bound_issue;
        view.number = issue.map(|id| call.tx().issue_number(id)).transpose()?.flatten();
        view.title = Some(session.title);
    }
    Ok(view)
}
