//! `issue_list`: the issues of a project, newest first, filtered by status and words.
//!
//! The cursor is an issue number. An issue that is created while somebody pages through the list
//! appears before the first page and shifts nothing.

use punchlist_core::IssueStatus;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::text::Title;
use punchlist_store::rows::issue_lists::Wanted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::{Cursor, Limit, Maybe, Words, page};
use crate::views::issue::IssueView;

/// List the issues of this project, newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only issues in this status; absent: all.
    #[serde(default)]
    pub status: Option<IssueStatus>,
    /// Words or prefixes that must all occur in title or body.
    #[serde(default)]
    pub text: Maybe<Words>,
    /// Only those that are not closed.
    #[serde(default)]
    pub open: Option<bool>,
    /// Only issues with this label.
    #[serde(default)]
    pub label: Maybe<Title>,
    /// Only issues assigned to this person.
    #[serde(default)]
    pub assignee: Maybe<Title>,
    /// Only those that wait for a person: a question, a proposal or a review.
    #[serde(default)]
    pub waiting: Option<bool>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<i64>,
}

impl Input {
    /// A page of the open issues.
    #[must_use]
    pub const fn open(limit: Limit, cursor: Cursor<i64>) -> Self {
        Self {
            status: None,
            text: Maybe(None),
            open: Some(true),
            label: Maybe(None),
            assignee: Maybe(None),
            waiting: None,
            limit,
            cursor,
        }
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub issues: Vec<IssueView>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<i64>,
}

#[derive(Debug)]
pub struct IssueList;

impl Define for IssueList {
    const NAME: &'static str = "issue_list";
    const ACCESS: Access = Access::On(Subject::Issue, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { profiles: &[Profile::Inbox], command: &["issue", "list"], positional: &[] };
    const EXAMPLE: &'static str = r#"{"status":"open","text":"log in","limit":20}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        call.reach_project()?;
        let limit = input.limit;
        let Some(project) = call.project()? else {
            return Ok(Output { issues: Vec::new(), next_cursor: None });
        };
        let text = |given: &Maybe<Title>| given.0.as_ref().map(|text| text.as_str().to_owned());
        let wanted = Wanted {
            status: input.status,
            words: input.text.0.as_ref().map_or_else(Vec::new, Words::all),
            before: input.cursor.0,
            open: input.open == Some(true),
            label: text(&input.label),
            assignee: text(&input.assignee),
            waiting: input.waiting == Some(true),
        };
        let mut issues = call.tx().issues(project, &wanted, limit.and_one())?;
        let next_cursor = page(&mut issues, limit, |last| last.number);
        Ok(Output { issues: IssueView::listed(call, project, issues)?, next_cursor })
    }
}
