//! `criterion_ratify`: the operator confirms a criterion.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::RatifyTodo;
use punchlist_core::issue::address::{Precision, find_criterion};
use punchlist_core::text::Content;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::operations::issue_show;

/// Ratify a criterion that an agent proposed: it becomes part of the definition of done.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// The criterion's text, or a unique part of it.
    pub content: Content,
}

#[derive(Debug)]
pub struct CriterionRatify;

impl Define for CriterionRatify {
    const NAME: &'static str = "criterion_ratify";
    const ACCESS: Access = Access::List(ListKind::Issue, &[Action::Ratify]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["criterion", "ratify"],
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
        call.decide(&mut checklist, RatifyTodo { todo_id })?;
        issue_show::show(call, input.number)
    }
}
