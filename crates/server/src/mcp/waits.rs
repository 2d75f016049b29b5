//! Calls that take long: a delegation that the caller waits for.
//!
//! The delegation is in the store and outlives the call, the connection and this process. The call
//! waits for its end and reports progress. If it has waited too long, it returns, and says where to
//! look.

use std::time::{Duration, Instant};

use punchlist_ops::catalogue::find;
use punchlist_ops::{Envelope, Error, Operation};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ProgressNotificationParam};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::asking::is_cancelled;
use super::calls::{Call, answered};

/// How long a delegation may wait for a worker before the caller gets a message.
const QUEUED_MAX: Duration = Duration::from_secs(2);
/// How long a call waits for a running delegation. A host that gets progress reports waits longer.
const RUNNING_MAX: Duration = Duration::from_secs(50);
const RUNNING_MAX_WITH_PROGRESS: Duration = Duration::from_secs(600);
/// How often progress is reported.
const TOLD: Duration = Duration::from_secs(5);

/// Did the call start a delegation that it should wait for?
pub(crate) fn is_long(operation: &Operation, result: &CallToolResult) -> bool {
    let output = result.structured_content.as_ref();
    operation.name == "delegate"
        && output.is_some_and(|output| output["mode"] == "sync" && is_going(output))
}

fn is_going(output: &Value) -> bool {
    matches!(output["state"].as_str(), Some("queued" | "running"))
}

/// Waits for the end of a delegation.
pub(crate) async fn delegation(
    call: &Call<'_>,
    context: &RequestContext<RoleServer>,
    begun: CallToolResult,
) -> CallToolResult {
    let mut output = begun.structured_content.clone().unwrap_or_default();
    let token = context.meta.get_progress_token();
    let running_max = match token {
        Some(_) => RUNNING_MAX_WITH_PROGRESS,
        None => RUNNING_MAX,
    };
    let (mut beats, start) = (call.server.pulse.beats(), Instant::now());
    let mut told = 0.0;
    loop {
        match now(call, &output).await {
            Ok(state) => output = state,
            // The store is unreachable right now, but the delegation continues.
            Err(_) if start.elapsed() < running_max => {}
            Err(_) => return begun,
        }
        let is_queued = output["state"] == "queued";
        let most = if is_queued { QUEUED_MAX } else { running_max };
        let left = most.saturating_sub(start.elapsed());
        let is_cancelled =
            context.ct.is_cancelled() || is_cancelled(call.server, &context.id).await;
        if !is_going(&output) || left.is_zero() || is_cancelled {
            return answered(call.operation, output);
        }
        if let Some(token) = &token {
            told += 1.0;
            let state = output["state"].as_str().unwrap_or_default();
            let progress = ProgressNotificationParam::new(token.clone(), told)
                .with_message(format!("the delegation is {state}"));
            drop(context.peer.notify_progress(progress).await);
        }
        tokio::select! {
            () = beats.next(left.min(TOLD)) => {}
            () = context.ct.cancelled() => {}
            // This server is stopping; the caller can ask another replica, or this one after its
            // restart.
            () = call.server.stopped() => return answered(call.operation, output),
        }
    }
}

/// The current state of the delegation, in the form of the call's own answer.
async fn now(call: &Call<'_>, before: &Value) -> Result<Value, Error> {
    let envelope = Envelope { idempotency_key: None, ..call.envelope() };
    let input = json!({ "delegationId": before["delegationId"] });
    let shown = call
        .asker()
        .run(envelope, move |ops, envelope| ops.call(find("delegation_show")?, envelope, input))
        .await?;
    let delegation = &shown["delegation"];
    let mut now = json!({ "delegationId": before["delegationId"], "mode": before["mode"] });
    for name in ["state", "result", "error", "proposal"] {
        if let Some(value) = delegation.get(name).filter(|value| !value.is_null()) {
            now[name] = value.clone();
        }
    }
    Ok(now)
}

/// The text about a delegation for a model.
pub(crate) fn words(operation: &Operation, output: &Value) -> Option<String> {
    if operation.name != "delegate" {
        return None;
    }
    let (id, state) = (output["delegationId"].as_str()?, output["state"].as_str()?);
    match state {
        "queued" | "running" => Some(format!(
            "Delegation {id} is {state} and goes on without you. Call delegation_show with this \
             id for its result."
        )),
        _ => None,
    }
}
