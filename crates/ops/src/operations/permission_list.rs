//! `permission_list`: the permanent permissions.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::gate::{GateKind, GateState};
use punchlist_core::text::Title;
use punchlist_core::{Gate, GateId, Time};
use punchlist_store::rows::gates::WantedGates;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Cursor, Limit, Maybe, page};

/// List the permissions given always, oldest first: the tools that agents call without asking.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only permissions for this tool.
    #[serde(default)]
    pub tool: Maybe<Title>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<GateId>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub permissions: Vec<PermissionView>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<GateId>,
}

/// A standing permission.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionView {
    /// The gate with the answer.
    pub id: String,
    pub tool: String,
    pub agent: String,
    /// The tool's definition when it was permitted; if it changes, a person is asked again.
    pub definition: Value,
    pub granted_by: Option<String>,
    pub granted_at: Option<Time>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Value>,
}

impl From<Gate> for PermissionView {
    fn from(gate: Gate) -> Self {
        let wanted = gate.details.wanted_call();
        let revoked = gate.response.as_ref().and_then(|said| said.get("revokedAt"));
        Self {
            id: gate.id.to_string(),
            revoked_at: revoked.cloned(),
            definition: wanted.map(|call| call.definition.clone()).unwrap_or_default(),
            tool: gate.text,
            agent: gate.agent.to_string(),
            granted_by: gate.answered_by,
            granted_at: gate.answered_at,
        }
    }
}

#[derive(Debug)]
pub struct PermissionList;

impl Define for PermissionList {
    const NAME: &'static str = "permission_list";
    const ACCESS: Access = Access::On(Subject::Permission, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["permission", "list"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"tool":"deploy"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        call.reach_project()?;
        let limit = input.limit;
        let Some(project) = call.project()? else {
            return Ok(Output { permissions: Vec::new(), next_cursor: None });
        };
        let (state, kind) = (Some(GateState::Resumed), Some(GateKind::Permission));
        let above = input.cursor.text();
        let mut wanted = WantedGates { state, kind, above, ..WantedGates::default() };
        let is_meant = |gate: &Gate| {
            gate.is_standing_permission()
                && input.tool.0.as_ref().is_none_or(|tool| tool.as_str() == gate.text)
        };
        // Most permissions are for one call only: skip them until the page is full.
        let mut found: Vec<Gate> = Vec::new();
        while found.len() <= usize::try_from(limit.get()).unwrap_or(usize::MAX) {
            let read = call.tx().gates(project, &wanted, limit.and_one())?;
            let Some(last) = read.last() else { break };
            wanted.above = Some(last.id.to_string());
            found.extend(read.into_iter().filter(is_meant));
        }
        let next_cursor = page(&mut found, limit, |last| last.id);
        let permissions = found.into_iter().map(PermissionView::from).collect();
        Ok(Output { permissions, next_cursor })
    }
}
