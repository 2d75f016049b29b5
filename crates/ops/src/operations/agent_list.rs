//! `agent_list`: the agents of a project.

use punchlist_core::AgentPath;
use punchlist_core::authority::{Action, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{AFTER, Cursor, Limit, page};
use crate::views::AgentView;
use crate::views::agent::LeasedView;

/// How many items in work are shown.
const LEASES_MAX: i64 = 200;

/// List the agents of this project, with their status and when each was last heard from.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<AgentPath>,
}

impl Input {
    /// As many as one page may have.
    pub const MOST: Self = Self { limit: Limit::MAX, cursor: Cursor::FIRST };
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// By path.
    pub agents: Vec<AgentView>,
    /// The items that somebody works on now, those whose lease ends first; on the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<LeasedView>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug)]
pub struct AgentList;

impl Define for AgentList {
    const NAME: &'static str = "agent_list";
    const ACCESS: Access = Access::On(Subject::Agent, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["agent", "list"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"limit":20}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        call.reach_project()?;
        let Some(project) = call.project()? else {
            return Ok(Output { agents: Vec::new(), leases: Vec::new(), next_cursor: None });
        };
        let (limit, after) = (input.limit, input.cursor.text());
        let mut agents = call.tx().agents_after(project, after.as_deref(), limit.and_one())?;
        let next_cursor = page(&mut agents, limit, |last| format!("{AFTER}{}", last.path));
        let now = call.envelope().now;
        let leased = match after {
            None => call.tx().leased(project, now, LEASES_MAX)?,
            Some(_) => Vec::new(),
        };
        Ok(Output {
            agents: agents.into_iter().map(AgentView::from).collect(),
            leases: leased.into_iter().map(LeasedView::from).collect(),
            next_cursor,
        })
    }
}
