//! `delegation_list`: the delegations of a project.

use punchlist_core::DelegationId;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::delegation::DelegationState;
use punchlist_core::text::Title;
use punchlist_store::rows::delegations::WantedDelegations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Cursor, Limit, Maybe, page};
use crate::views::DelegationView;

/// List the delegations of this project, oldest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Only delegations in this state; absent: all.
    #[serde(default)]
    pub state: Option<DelegationState>,
    /// Only delegations of this type.
    #[serde(default, rename = "type")]
    pub kind: Maybe<Title>,
    /// Only delegations of this todo.
    #[serde(default, deserialize_with = "crate::input::maybe_named")]
    #[schemars(with = "Maybe<crate::input::Reference>")]
    pub todo_id: Maybe<Title>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<DelegationId>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub delegations: Vec<DelegationView>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<DelegationId>,
}

#[derive(Debug)]
pub struct DelegationList;

impl Define for DelegationList {
    const NAME: &'static str = "delegation_list";
    const ACCESS: Access = Access::On(Subject::Delegation, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["delegation", "list"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"state":"queued"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let reach = call.envelope().actor.reach.clone();
        let limit = input.limit;
        let Some(project) = call.project()? else {
            return Ok(Output { delegations: Vec::new(), next_cursor: None });
        };
        let todo = match &input.todo_id.0 {
            Some(named) => Some(call.todo_named(named.as_str())?),
            None => None,
        };
        let wanted = WantedDelegations {
            state: input.state,
            kind: input.kind.0.clone().map(Title::into_string),
            todo,
            mission: reach.mission,
            pillar: reach.pillar,
            above: input.cursor.text(),
            ..WantedDelegations::default()
        };
        let mut found = call.tx().delegations(project, &wanted, limit.and_one())?;
        let next_cursor = page(&mut found, limit, |(last, _)| last.id);
        found.retain(|(delegation, _)| call.reach_delegation(delegation).is_ok());
        let delegations = found.into_iter().map(|(delegation, _)| delegation.into()).collect();
        Ok(Output { delegations, next_cursor })
    }
}
