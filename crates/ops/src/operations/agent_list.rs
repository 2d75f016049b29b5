//! `agent_list`: the agents of a project.

use punchlist_core::authority::{Action, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::views::AgentView;
use crate::views::agent::LeasedView;

/// How many items in work are shown.
const LEASES_MAX: i64 = 200;

/// List the agents of this project, with their status and when each was last heard from.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub agents: Vec<AgentView>,
    /// The items that somebody works on now, those whose lease ends first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<LeasedView>,
}

#[derive(Debug)]
pub struct AgentList;

impl Define for AgentList {
    const NAME: &'static str = "agent_list";
    const ACCESS: Access = Access::On(Subject::Agent, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["agent", "list"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = "{}";

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let Input {} = input;
        call.reach_project()?;
        let Some(project) = call.project()? else {
            return Ok(Output { agents: Vec::new(), leases: Vec::new() });
        };
        let agents = call.tx().agents(project)?;
        let now = call.envelope().now;
        let leased = call.tx().leased(project, now, LEASES_MAX)?;
        Ok(Output {
            agents: agents.into_iter().map(AgentView::from).collect(),
            leases: leased.into_iter().map(LeasedView::from).collect(),
        })
    }
}
