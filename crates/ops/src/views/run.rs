//! A run as callers see it.

use std::borrow::Cow;

use punchlist_core::driver::{StopReason, Wait};
use punchlist_core::run::RunState;
use punchlist_core::{ConversationId, DelegationId, GateId, Role, Run, RunId, SessionId, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::call::Call;

/// One execution of an agent's loop.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    pub id: RunId,
    pub agent: String,
    pub role: Role,
    pub model: String,
    pub state: RunState,
    pub conversation_id: ConversationId,
    pub turn_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation_id: Option<DelegationId>,
    /// Does it continue automatically while its lists are open?
    pub drives: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_detail: Option<String>,
    /// The error's stable code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_code: Option<String>,
    /// Model calls.
    pub iterations: u32,
    pub continuations: u32,
    /// How often it may be continued automatically.
    #[serde(default)]
    pub max_continuations: u32,
    /// How much of the model's window the last call filled, in percent; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<u32>,
    pub usage: UsageView,
    /// The beginning of what it was asked, where several runs are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The title of its session, where several runs are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The issue its session works on, where several runs are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    pub started_by: String,
    pub created_at: Time,
    pub updated_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
}

impl RunView {
    /// Is it being executed now? Only where a run is listed or shown.
    pub fn is_at_work(&self) -> bool {
        self.state == RunState::Running && self.waits_for.is_none()
    }
}

/// The tokens of a run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    #[schemars(with = "i64")]
    pub input_tokens: u64,
    /// How many of these came from the provider's cache.
    #[schemars(with = "i64")]
    pub cached_tokens: u64,
    #[schemars(with = "i64")]
    pub output_tokens: u64,
    /// In US dollars; absent if the model has no price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// The reason why a run waits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitView {
    /// `gate`, `delegations`, `cooldown`, `pause`, or `worker`: no process executes it.
    pub kind: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate_id: Option<GateId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegation_ids: Vec<DelegationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

impl WaitView {
    /// What a run waits for now. A run whose process has ended is not shown as one that goes on.
    pub(crate) fn of(call: &mut Call<'_, '_>, run: &Run) -> Result<Option<Self>, Error> {
        if let Some(wait) = &run.waits_for {
            return Ok(Some(Self::from(wait)));
        }
        let is_ours = run.state == RunState::Running && !run.is_hosted();
        if !is_ours || call.is_executed(run)? {
            return Ok(None);
        }
        Ok(Some(Self {
            kind: "worker".into(),
            gate_id: None,
            delegation_ids: Vec::new(),
            until: None,
        }))
    }
}

impl From<&Wait> for WaitView {
    fn from(wait: &Wait) -> Self {
        let mut view = Self {
            kind: wait.name().into(),
            gate_id: None,
            delegation_ids: Vec::new(),
            until: None,
        };
        match wait {
            Wait::Gate(id) => view.gate_id = Some(*id),
            Wait::Delegations(ids) => view.delegation_ids.clone_from(ids),
            Wait::Cooldown(until) => view.until = Some(*until),
            Wait::Pause => {}
        }
        view
    }
}

impl From<&Run> for RunView {
    fn from(run: &Run) -> Self {
        let counters = &run.counters;
        Self {
            id: run.id,
            agent: run.agent.to_string(),
            role: run.role,
            model: run.settings.model.clone(),
            state: run.state,
            conversation_id: run.conversation_id,
            turn_id: run.turn_id.clone(),
            session_id: run.session_id,
            delegation_id: run.delegation_id,
            drives: run.settings.drives,
            waits_for: run.waits_for.as_ref().map(WaitView::from),
            stop_reason: run.stop_reason,
            stop_detail: run.stop_detail.clone(),
            stop_code: run.stop_code.clone(),
            iterations: counters.calls,
            continuations: counters.continuations,
            max_continuations: run.settings.budget.max_continuations,
            context_percent: context_percent(run),
            usage: UsageView {
                input_tokens: counters.input_tokens,
                cached_tokens: counters.cached_tokens,
                output_tokens: counters.output_tokens,
                cost_usd: None,
            },
            prompt: None,
            title: None,
            number: None,
            started_by: run.started_by.clone(),
            created_at: run.created_at,
            updated_at: run.updated_at,
            ended_at: run.ended_at,
        }
    }
}

fn context_percent(run: &Run) -> Option<u32> {
    let (used, window) = (run.counters.context_tokens, run.counters.window);
    let window = window.unwrap_or(run.settings.budget.window);
    let percent = used.checked_mul(100)?.checked_div(window)?;
    u32::try_from(percent).ok().filter(|_| used > 0)
}
