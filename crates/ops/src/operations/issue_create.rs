//! `issue_create`: create an issue with its criteria.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::command::{CreateTodos, NewTodo};
use punchlist_core::issue::{CreateIssue, LinkKind};
use punchlist_core::text::{Body, Content, Title};
use punchlist_core::{Issue, IssueId, TodoKind};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, up_to};
use crate::views::OneIssue;

/// Create an issue. If an open issue looks the same, this is refused and that issue is named.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The title, in one line.
    pub title: Title,
    /// The description.
    #[serde(default)]
    pub body: Maybe<Body>,
    /// What must be true when it is done; an agent's criteria are proposals until ratified.
    #[serde(default, deserialize_with = "up_to::<100, _, _>")]
    #[schemars(length(max = 100))]
    pub criteria: Option<Vec<Content>>,
    /// Create it even if an open issue looks the same.
    #[serde(default)]
    pub force_new: Option<bool>,
}

#[derive(Debug)]
pub struct IssueCreate;

impl Define for IssueCreate {
    const NAME: &'static str = "issue_create";
    const ACCESS: Access = Access::On(Subject::Issue, Action::Create);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["issue", "new"], positional: &["title"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = concat!(
        r#"{"title":"Log in fails on Safari","body":"The page stays white.","#,
        r#""criteria":["Log in works on Safari 19","A test covers it"]}"#
    );

    type Input = Input;
    type Output = OneIssue;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneIssue, Error> {
        let parent = call.session_if_clear()?.and_then(|session| session.bound_issue);
        Ok(OneIssue { issue: file(call, input, parent)?.into() })
    }
}

/// Creates an issue with its criteria. An issue found while working on another becomes a child of
/// that one (K-45).
pub(crate) fn file(
    call: &mut Call<'_, '_>,
    input: &Input,
    parent: Option<IssueId>,
) -> Result<Issue, Error> {
    let command = CreateIssue {
        title: input.title.clone(),
        body: input.body.0.clone(),
        force_new: input.force_new == Some(true),
    };
    let issue = call.create_issue(&command)?;
    let criteria = input.criteria.as_deref().unwrap_or_default();
    if !criteria.is_empty() {
        let mut checklist = call.open_checklist(&issue)?;
        let criterion =
            |text: &Content| NewTodo { kind: TodoKind::Criterion, ..NewTodo::titled(text.clone()) };
        let items = criteria.iter().map(criterion).collect();
        call.decide(&mut checklist, CreateTodos { items })?;
    }
    let parent = match parent {
        Some(id) => call.tx().issue_by_id(id, Lock::No)?,
        None => None,
    };
    if criteria.is_empty() && parent.is_none() {
        return Ok(issue);
    }
    if let Some(parent) = parent {
        let issue = call.reload(&issue)?;
        call.link(issue, &parent, LinkKind::ChildOf)?;
    }
    call.reload(&issue)
}
