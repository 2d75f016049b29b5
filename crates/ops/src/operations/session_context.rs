//! `session_context`: what an agent should know about its work, as text for its prompt.

use punchlist_core::Refusal;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::gate::GateState;
use punchlist_core::issue::context::{BUDGET, render};
use punchlist_core::text::Title;
use punchlist_store::rows::gates::WantedGates;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, range};

/// How many open gates are listed. A session rarely waits for more than a few.
const GATES_MAX: i64 = 20;

/// Show what an agent should know at the start, after a pause or after compaction: items, holds and
/// open questions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The session: its id, or its host's id; absent: the caller's session, or --issue.
    #[serde(default)]
    pub session: Maybe<Title>,
    /// At most this many characters; absent: 1,500.
    #[serde(default, deserialize_with = "range::<100, 100_000, _>")]
    #[schemars(range(min = 100, max = 100_000))]
    pub budget: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// Empty: there is nothing to tell.
    pub text: String,
    /// The number of its issue.
    pub number: Option<i64>,
}

#[derive(Debug)]
pub struct SessionContext;

impl Define for SessionContext {
    const NAME: &'static str = "session_context";
    const ACCESS: Access = Access::On(Subject::Session, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { command: &["session", "context"], positional: &["session"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"session":"abc-123","budget":800}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let session = match &input.session.0 {
            Some(named) => Some(call.session_named(named.as_str(), Lock::No)?),
            None => call.session(Lock::No)?,
        };
        let (issue, wanted) = match (call.named_issue(Lock::No)?, session) {
            (Some(issue), session) => {
                let named = session.filter(|_| input.session.0.is_some());
                let other = named.and_then(|s| s.bound_issue).filter(|id| *id != issue.id);
                if let Some(other) = other {
                    let bound = call.tx().issue_number(other)?;
                    return Err(Refusal::OtherIssue { number: issue.number, bound }.into());
                }
                let wanted = WantedGates { issue: Some(issue.id), ..WantedGates::default() };
                (Some(issue), wanted)
            }
            (None, Some(session)) => {
                let wanted = WantedGates { session: Some(session.id), ..WantedGates::default() };
                (call.bound_issue(&session, Lock::No)?, wanted)
            }
            (None, None) => (None, WantedGates::default()),
        };
        let Some(issue) = issue else {
            return Ok(Output { text: String::new(), number: None });
        };
        let checklist = call.checklist(&issue)?;
        let wanted = WantedGates { state: Some(GateState::Open), ..wanted };
        let gates = call.tx().gates(issue.project_id, &wanted, GATES_MAX)?;
        let budget = input.budget.and_then(|budget| usize::try_from(budget).ok());
        let text = render(&issue, checklist.as_ref(), &gates, budget.unwrap_or(BUDGET));
        Ok(Output { text, number: Some(issue.number) })
    }
}
