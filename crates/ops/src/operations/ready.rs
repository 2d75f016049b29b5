//! `ready`: the issues that somebody could begin now. The cursor is the rank of an issue.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::issue::ready::rank;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Cursor, Limit, page};
use crate::views::IssueView;

/// List the issues that can be started: open, not blocked, not deferred, assigned to nobody.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<i64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The most urgent first, then the oldest.
    pub issues: Vec<IssueView>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<i64>,
}

#[derive(Debug)]
pub struct ReadyOp;

impl Define for ReadyOp {
    const NAME: &'static str = "ready";
    const ACCESS: Access = Access::On(Subject::Issue, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["ready"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"limit":10}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        call.reach_project()?;
        let (limit, now) = (input.limit, call.envelope().now);
        let Some(project) = call.project()? else {
            return Ok(Output { issues: Vec::new(), next_cursor: None });
        };
        let mut issues = call.tx().ready_issues(project, now, input.cursor.0, limit.and_one())?;
        let next_cursor = page(&mut issues, limit, rank);
        Ok(Output { issues: IssueView::listed(call, project, issues)?, next_cursor })
    }
}
