//! `issue_transition`: move an issue to another status.

use punchlist_core::IssueStatus;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::issue::{TransitionIssue, left_open};
use punchlist_core::text::Body;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::{IssueRef, IssueView};

/// Move an issue to another status. The operator closes and reopens; an agent closes after a
/// sign-off.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// The new status.
    pub status: IssueStatus,
    /// Why, for the log.
    #[serde(default)]
    pub reason: Maybe<Body>,
    /// Close it even if child issues are open.
    #[serde(default)]
    pub confirm: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub issue: IssueView,
    /// Open child issues of a closed issue; they do not block closing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_children: Vec<IssueRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

#[derive(Debug)]
pub struct IssueTransition;

impl Define for IssueTransition {
    const NAME: &'static str = "issue_transition";
    const ACCESS: Access = Access::On(Subject::Issue, Action::Move);
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
        let issue = call.issue(input.number, Lock::Row)?;
        let children = if input.status.is_closed() && !issue.status.is_closed() {
            call.open_children(&issue)?
        } else {
            Vec::new()
        };
        let confirm = input.confirm == Some(true);
        let (status, reason) = (input.status, input.reason.0.clone());
        let numbers: Vec<i64> = children.iter().map(|child| child.number).collect();
        let command = TransitionIssue { status, reason, confirm };
        let issue = call.transition_issue(issue, &command, &numbers)?;
        let mut warnings = Vec::new();
        if !children.is_empty() {
            let numbers: Vec<String> = numbers.iter().map(|number| format!("#{number}")).collect();
            warnings.push(format!("Closed with open children: {}", numbers.join(", ")));
        }
        if issue.status == IssueStatus::Resolved {
            warnings.extend(call.checklist(&issue)?.as_ref().and_then(left_open));
        }
        let warning = (!warnings.is_empty()).then(|| warnings.join(". "));
        let open_children = children.into_iter().map(IssueRef::from).collect();
        Ok(Output { issue: issue.into(), open_children, warning })
    }
}
