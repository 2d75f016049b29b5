//! `issue_show`: one issue and all that hangs on it.

use punchlist_core::issue::{KEEPERS, checklist};
use punchlist_core::select::ordered;
use punchlist_core::{Scope, Todo, TodoKind};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::views::issue::{IssueView, ItemView};

/// Show one issue: its text, its criteria and steps, and what belongs to it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub issue: IssueView,
    pub criteria: Vec<ItemView>,
    pub steps: Vec<ItemView>,
    /// Nothing links issues yet.
    pub links: Vec<Value>,
    /// Nobody comments on issues yet.
    pub updates: Vec<Value>,
    /// No session is bound to an issue yet.
    pub sessions: Vec<Value>,
    /// No issue has children yet.
    pub open_children: Vec<Value>,
    /// Criteria and steps as markdown.
    pub checklist: String,
}

#[derive(Debug)]
pub struct IssueShow;

impl Define for IssueShow {
    const NAME: &'static str = "issue_show";
    const ACCESS: Access = Access::Roles(&KEEPERS);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { command: &["issue", "show"], positional: &["number"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"number":1}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let issue = call.issue(input.number, Lock::No)?;
        let scope = Scope::Issue { issue_id: issue.id.to_string() };
        let snapshot = call.look(&scope, Load::All)?;
        let todos: Vec<&Todo> = snapshot.as_ref().map(ordered).unwrap_or_default();
        let (criteria, steps): (Vec<&Todo>, Vec<&Todo>) =
            todos.into_iter().partition(|todo| todo.kind == TodoKind::Criterion);
        Ok(Output {
            issue: issue.into(),
            criteria: criteria.into_iter().map(ItemView::from).collect(),
            steps: steps.into_iter().map(ItemView::from).collect(),
            links: Vec::new(),
            updates: Vec::new(),
            sessions: Vec::new(),
            open_children: Vec::new(),
            checklist: snapshot
                .map(|snapshot| checklist::markdown(&snapshot, &checklist::Notes::new()))
                .unwrap_or_default(),
        })
    }
}
