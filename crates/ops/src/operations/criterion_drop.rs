//! `criterion_drop`: the operator drops a criterion.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::command::CancelTodo;
use punchlist_core::issue::address::{Precision, find_criterion};
use punchlist_core::text::{Body, Content};
use punchlist_core::{ListKind, TodoKind};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::operations::issue_show;

/// Drop a criterion: it is no longer required. It stays visible as abandoned.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// The criterion's text, or a unique part of it.
    pub content: Content,
    /// Why.
    #[serde(default)]
    pub reason: Maybe<Body>,
}

#[derive(Debug)]
pub struct CriterionDrop;

impl Define for CriterionDrop {
    const NAME: &'static str = "criterion_drop";
    const ACCESS: Access =
        Access::On(Subject::Todo(ListKind::Issue, TodoKind::Criterion), Action::Cancel);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["criterion", "drop"],
        positional: &["number", "content"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"number":1,"content":"A test covers it"}"#;

    type Input = Input;
    type Output = issue_show::Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<issue_show::Output, Error> {
        let issue = call.issue(input.number, Lock::Row)?;
        let mut checklist = call.open_checklist(&issue)?;
        let todo_id = find_criterion(&checklist, input.content.as_str(), Precision::Brief)?;
        call.decide(
            &mut checklist,
            CancelTodo { todo_id, outcome: input.reason.0.clone().map(Body::into_string) },
        )?;
        issue_show::show(call, input.number)
    }
}
