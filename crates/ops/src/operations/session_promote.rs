//! `session_promote`: create an issue from a session and bind it, in one transaction (K-8). Open
//! todos of the session's own list become steps of the issue (X-6).

use punchlist_core::authority::{Action, Subject};
use punchlist_core::text::{Body, Content, Title};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, up_to};
use crate::operations::issue_create;
use crate::views::{IssueView, SessionView};

/// Create an issue from a session that has none, and bind it. The session's open todos become its
/// steps.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The session: its id, or its host's id; absent: the caller's session.
    #[serde(default)]
    pub session: Maybe<Title>,
    /// The issue's title, in one line.
    pub title: Title,
    /// The issue's description.
    #[serde(default)]
    pub body: Maybe<Body>,
    /// What must be true when it is done.
    #[serde(default, deserialize_with = "up_to::<100, _, _>")]
    #[schemars(length(max = 100))]
    pub criteria: Option<Vec<Content>>,
    /// Create it even if an open issue looks the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_new: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub session: SessionView,
    pub issue: IssueView,
}

#[derive(Debug)]
pub struct SessionPromote;

impl Define for SessionPromote {
    const NAME: &'static str = "session_promote";
    const ACCESS: Access = Access::On(Subject::Session, Action::Promote);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["session", "promote"], positional: &["title"], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"session":"abc-123","title":"Log in fails","criteria":["It works"]}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let named = input.session.0.as_ref().map(Title::as_str);
        let looked = call.session_or_own(named, Lock::No)?;
        call.may_promote(&looked)?;
        let new = issue_create::Input {
            title: input.title.clone(),
            body: input.body.clone(),
            criteria: input.criteria.clone(),
            force_new: input.force_new,
        };
        // The new issue has locked the project, which comes before the session.
        let issue = issue_create::file(call, &new, None)?;
        let session = call.session_to_bind(named, Some(issue.id))?;
        call.may_promote(&session)?;
        let (session, issue) = call.bind_session(session, issue, false)?;
        let issue = call.hand_list_on(&session, issue)?;
        Ok(Output { session: SessionView::of(call, session)?, issue: issue.into() })
    }
}
