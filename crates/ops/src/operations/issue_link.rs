//! `issue_link`: link two issues.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::issue::LinkKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::views::LinkedIssue;

/// Link an issue to another. Links do not block anything.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// Its relation to the other issue.
    pub kind: LinkKind,
    /// The other issue's number.
    pub to: i64,
}

#[derive(Debug)]
pub struct IssueLink;

impl Define for IssueLink {
    const NAME: &'static str = "issue_link";
    const ACCESS: Access = Access::On(Subject::Issue, Action::Link);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["issue", "link"],
        positional: &["number", "kind", "to"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"number":2,"kind":"blocked_by","to":1}"#;

    type Input = Input;
    type Output = LinkedIssue;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<LinkedIssue, Error> {
        let (from, to) = call.two_issues(input.number, input.to)?;
        let issue = call.link(from, &to, input.kind)?.into();
        Ok(LinkedIssue { issue, kind: input.kind, to: input.to })
    }
}
