//! `issue_defer`: defer an issue until a time.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::issue::DeferIssue;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, When};
use crate::views::OneIssue;

/// Defer an issue until a time; then it is shown again automatically.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// Until when: a date (the start of that day in UTC) or a time; absent: no longer deferred.
    #[serde(default)]
    pub until: Maybe<When>,
}

#[derive(Debug)]
pub struct IssueDefer;

impl Define for IssueDefer {
    const NAME: &'static str = "issue_defer";
    const ACCESS: Access = Access::On(Subject::Issue, Action::Defer);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["issue", "defer"],
        positional: &["number", "until"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"number":1,"until":"2030-01-31"}"#;

    type Input = Input;
    type Output = OneIssue;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneIssue, Error> {
        let until = input.until.0.as_ref().map(|until| until.0);
        let issue = call.issue(input.number, Lock::Row)?;
        Ok(OneIssue { issue: call.defer_issue(issue, DeferIssue { until })?.into() })
    }
}
