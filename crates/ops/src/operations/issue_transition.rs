//! `issue_transition`: move an issue to another status.

use punchlist_core::IssueStatus;
use punchlist_core::issue::{KEEPERS, TransitionIssue};
use punchlist_core::text::Body;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::issue::IssueView;

/// Move an issue to another status. The operator closes and reopens.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// Where it is to stand.
    pub status: IssueStatus,
    /// Why, for the log.
    #[serde(default)]
    pub reason: Maybe<Body>,
    /// Close it though issues below it are open.
    #[serde(default)]
    pub confirm: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub issue: IssueView,
}

#[derive(Debug)]
pub struct IssueTransition;

impl Define for IssueTransition {
    const NAME: &'static str = "issue_transition";
    const ACCESS: Access = Access::Roles(&KEEPERS);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["issue", "transition"],
        positional: &["number", "status"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"number":1,"status":"triaged","reason":"Seen twice"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        // No issue has children yet, so there is nothing that `confirm` would confirm.
        let issue = call.issue(input.number, Lock::Row)?;
        let command = TransitionIssue { status: input.status, reason: input.reason.0.clone() };
        Ok(Output { issue: call.transition_issue(issue, &command)?.into() })
    }
}
