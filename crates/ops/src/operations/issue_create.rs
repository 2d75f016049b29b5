//! `issue_create`: file an issue, with the criteria it is to meet.

use punchlist_core::command::{CreateTodos, NewTodo};
use punchlist_core::issue::{CreateIssue, KEEPERS};
use punchlist_core::text::{Body, Content, Title};
use punchlist_core::{Scope, TodoKind};
use punchlist_store::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, up_to};
use crate::views::issue::IssueView;

/// File an issue. One that looks like an open issue is refused, and that one named.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// What it is about, in one line.
    pub title: Title,
    /// What is known about it.
    #[serde(default)]
    pub body: Maybe<Body>,
    /// What must hold when it is done; an agent's are proposals until ratified.
    #[serde(default, deserialize_with = "up_to::<100, _, _>")]
    #[schemars(length(max = 100))]
    pub criteria: Option<Vec<Content>>,
    /// File it though an open issue looks the same.
    #[serde(default)]
    pub force_new: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub issue: IssueView,
}

#[derive(Debug)]
pub struct IssueCreate;

impl Define for IssueCreate {
    const NAME: &'static str = "issue_create";
    const ACCESS: Access = Access::Roles(&KEEPERS);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["issue", "new"], positional: &["title"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = concat!(
        r#"{"title":"Log in fails on Safari","body":"The page stays white.","#,
        r#""criteria":["Log in works on Safari 19","A test covers it"]}"#
    );

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let command = CreateIssue {
            title: input.title.clone(),
            body: input.body.0.clone(),
            force_new: input.force_new == Some(true),
        };
        let issue = call.create_issue(&command)?;
        let criteria = input.criteria.as_deref().unwrap_or_default();
        if !criteria.is_empty() {
            let scope = Scope::Issue { issue_id: issue.id.to_string() };
            let mut checklist = call.open(scope, Load::All)?;
            let criterion = |text: &Content| NewTodo {
                kind: TodoKind::Criterion,
                ..NewTodo::titled(text.clone())
            };
            let items = criteria.iter().map(criterion).collect();
            call.decide(&mut checklist, CreateTodos { items })?;
        }
        Ok(Output { issue: issue.into() })
    }
}
