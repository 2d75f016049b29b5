//! `issue_close_as_duplicate`: reject an issue as a duplicate of another (K-44).

use punchlist_core::authority::{Action, Subject};
use punchlist_core::issue::{CloseAsDuplicate, LinkKind};
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::LinkedIssue;

/// Close an issue as a duplicate of another: linked, rejected and noted in one step.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// The issue it is a duplicate of.
    pub of: i64,
    /// Why.
    #[serde(default)]
    pub note: Maybe<Body>,
}

#[derive(Debug)]
pub struct IssueCloseAsDuplicate;

impl Define for IssueCloseAsDuplicate {
    const NAME: &'static str = "issue_close_as_duplicate";
    const ACCESS: Access = Access::On(Subject::Issue, Action::Duplicate);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["issue", "dup"], positional: &["number", "of"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"number":2,"of":1,"note":"The same page"}"#;

    type Input = Input;
    type Output = LinkedIssue;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<LinkedIssue, Error> {
        let (issue, of) = call.two_duplicates(input.number, input.of)?;
        let command = CloseAsDuplicate { note: input.note.0.clone() };
        let issue = call.close_as_duplicate(issue, &of, &command)?.into();
        Ok(LinkedIssue { issue, kind: LinkKind::DuplicateOf, to: input.of })
    }
}
