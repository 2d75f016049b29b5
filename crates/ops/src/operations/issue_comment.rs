//! `issue_comment`: comment on an issue.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::issue::CommentIssue;
use punchlist_core::text::Body;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::views::OneIssue;

/// Comment on an issue: what was found, what was decided.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// The comment.
    pub text: Body,
}

#[derive(Debug)]
pub struct IssueComment;

impl Define for IssueComment {
    const NAME: &'static str = "issue_comment";
    const ACCESS: Access = Access::On(Subject::Issue, Action::Comment);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["issue", "comment"],
        positional: &["number", "text"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"number":1,"text":"It also fails on Firefox."}"#;

    type Input = Input;
    type Output = OneIssue;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneIssue, Error> {
        let issue = call.issue(input.number, Lock::Row)?;
        let command = CommentIssue { text: input.text.clone() };
        Ok(OneIssue { issue: call.comment(issue, &command)?.into() })
    }
}
