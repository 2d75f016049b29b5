//! `issue_update`: the operator changes the fields of an issue.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::issue::{LABELS_MAX, UpdateIssue};
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::Priority;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, up_to};
use crate::views::OneIssue;

/// Change an issue: its title, body, labels, priority or assignee. What is absent stays.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// A new title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// A new body; an empty text removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(max = 65536))]
    pub body: Option<Maybe<Body>>,
    /// All its labels; they replace the present ones.
    #[serde(
        default,
        deserialize_with = "up_to::<LABELS_MAX, _, _>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(max = 20))]
    pub labels: Option<Vec<Title>>,
    /// How urgent it is; null: not said.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Priority>")]
    pub priority: Option<Option<Priority>>,
    /// The person who is responsible; null: nobody.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Title>")]
    pub assignee: Option<Option<Title>>,
    /// Change nothing if the issue has another revision than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<i64>,
}

/// Keeps null apart from an absent field: null clears it.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[derive(Debug)]
pub struct IssueUpdate;

impl Define for IssueUpdate {
    const NAME: &'static str = "issue_update";
    const ACCESS: Access = Access::On(Subject::Issue, Action::Update);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str =
        r#"{"number":1,"title":"Log in twice","labels":["login"],"priority":"high"}"#;

    type Input = Input;
    type Output = OneIssue;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneIssue, Error> {
        let issue = call.issue(input.number, Lock::Row)?;
        let command = UpdateIssue {
            title: input.title.clone(),
            body: input.body.clone().map(|body| body.0),
            labels: input.labels.clone(),
            priority: input.priority,
            assignee: input.assignee.clone(),
            expected_revision: input.expected_revision,
        };
        Ok(OneIssue { issue: call.update_issue(issue, &command)?.into() })
    }
}
