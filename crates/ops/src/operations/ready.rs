//! `ready`: the issues that somebody could begin now.

use punchlist_core::authority::{Action, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Limit;
use crate::views::IssueView;

/// List the issues that can be started: open, not blocked, not deferred, assigned to nobody.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// The most urgent first, then the oldest.
    pub issues: Vec<IssueView>,
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
        let Some(project) = call.project()? else { return Ok(Output { issues: Vec::new() }) };
        let issues = call.tx().ready_issues(project, now, limit.get())?;
        Ok(Output { issues: IssueView::listed(call, project, issues)? })
    }
}
