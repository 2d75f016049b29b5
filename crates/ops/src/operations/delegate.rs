//! `delegate`: hand work to another agent.

use punchlist_core::DelegationId;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::delegation::{Delegate, DelegationState, Mode, Proposal};
use punchlist_core::text::{Body, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::Maybe;

/// Hand work to a specialist. It sees only what you write here.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The specialist, e.g. coder.
    #[serde(rename = "type")]
    #[schemars(with = "crate::input::Agent")]
    pub kind: Title,
    /// The work, with all the specialist needs to know.
    pub mission: Body,
    /// Why.
    #[serde(default)]
    pub rationale: Maybe<Body>,
    /// Do not wait for it.
    #[serde(default, rename = "async")]
    pub is_async: Option<bool>,
    /// The todo; its text comes before yours.
    #[serde(default, deserialize_with = "crate::input::maybe_named")]
    #[schemars(with = "Maybe<crate::input::Reference>")]
    pub todo_id: Maybe<Title>,
    /// Ignored.
    #[serde(default)]
    pub caller_agent_id: Maybe<Title>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub delegation_id: DelegationId,
    pub mode: Mode,
    pub state: DelegationState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
    /// The report will not become a claim, or nobody is known to do this type of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

#[derive(Debug)]
pub struct DelegateOp;

impl Define for DelegateOp {
    const NAME: &'static str = "delegate";
    const ACCESS: Access = Access::On(Subject::Delegation, Action::Create);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { profiles: &[Profile::Turn, Profile::Issue, Profile::Mission], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"type":"researcher","mission":"Find out why log in fails on Safari.","async":true}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let kind = input.kind.clone();
        let todo_id = match &input.todo_id.0 {
            Some(named) => Some(call.todo_named(named.as_str())?),
            None => None,
        };
        let (conversation_id, not_started) = match todo_id {
            Some(id) => call.hand_on(id)?,
            None => (None, None),
        };
        let mission = match todo_id {
            Some(id) => call.order_for(id, &input.mission)?,
            None => input.mission.clone(),
        };
        let is_async = input.is_async == Some(true);
        let (run, in_chat) = (call.envelope().context.run, conversation_id.is_some());
        let is_configured = call.envelope().agents().does(kind.as_str(), in_chat);
        let warnings = [
            not_started.map(|warning| warning.to_string()),
            (!is_configured).then(|| unconfigured(kind.as_str())),
        ];
        let warnings: Vec<String> = warnings.into_iter().flatten().collect();
        let warning = (!warnings.is_empty()).then(|| warnings.join(BETWEEN));
        let delegation = call.delegate(&Delegate {
            review: call.envelope().agents().review(kind.as_str()),
            kind,
            mission,
            rationale: input.rationale.0.clone(),
            mode: if is_async { Mode::Async } else { Mode::Sync },
            todo_id,
            conversation_id,
            // The caller reads an asynchronous report in its chat. Outside a chat, the report wakes
            // the run.
            run_id: run.filter(|_| !is_async || !in_chat),
        })?;
        Ok(Output {
            delegation_id: delegation.id,
            mode: delegation.mode,
            state: delegation.state,
            result: delegation.result,
            error: delegation.error,
            proposal: delegation.proposal,
            warning,
        })
    }
}

impl Output {
    /// The warning once the delegation is in this state: after the queue it waits for no worker.
    #[must_use]
    pub fn warning_in(&self, kind: &str, state: DelegationState) -> Option<String> {
        let warning = self.warning.as_deref()?;
        if state == DelegationState::Queued {
            return Some(warning.to_owned());
        }
        let left = warning.strip_suffix(&unconfigured(kind)).unwrap_or(warning);
        let left = left.strip_suffix(BETWEEN).unwrap_or(left);
        (!left.is_empty()).then(|| left.to_owned())
    }
}

/// Between two warnings.
const BETWEEN: &str = "; ";

fn unconfigured(kind: &str) -> String {
    format!(
        "no agent `{kind}` is configured in punchlist.toml: the work is queued until a worker takes \
         it with delegation_take"
    )
}
