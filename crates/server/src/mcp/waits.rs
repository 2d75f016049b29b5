//! Calls that take long: a delegation that the caller waits for.
//!
//! The delegation is in the store and outlives the call, the connection and this process. The call
//! waits for its end and reports progress. If it has waited too long, it returns, and says where to
//! look.

use std::time::{Duration, Instant};

use punchlist_core::delegation::{DelegationState, Mode};
use punchlist_ops::operations::delegate;
use punchlist_ops::operations::delegation_show::{self, DelegationShow};
use punchlist_ops::{Answer, Envelope, Error, Operation, Ops};
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, ProgressNotificationParam};
use rmcp::service::RequestContext;

use super::asking::is_cancelled;
use super::calls::Call;
use super::changes::PAUSE;

/// How long a delegation may wait for a worker before the caller gets a message.
const QUEUED_MAX: Duration = Duration::from_secs(2);
/// How long a call waits for a running delegation. A host that gets progress reports waits longer.
const RUNNING_MAX: Duration = Duration::from_secs(50);
const RUNNING_MAX_WITH_PROGRESS: Duration = Duration::from_secs(600);
/// How often progress is reported while the state is the same.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// Can a call of this operation start a delegation that it waits for?
pub(crate) fn may_be_long(operation: &Operation) -> bool {
    operation.name == "delegate"
}

/// Did the call start a delegation that it should wait for?
pub(crate) fn is_long(answer: &Answer) -> bool {
    let delegation = answer.output::<delegate::Output>();
    delegation.is_some_and(|made| made.mode == Mode::Sync && is_going(made.state))
}

const fn is_going(state: DelegationState) -> bool {
    matches!(state, DelegationState::Queued | DelegationState::Running)
}

/// Waits for the end of a delegation.
pub(crate) async fn delegation(
    call: &Call<'_>,
    context: &RequestContext<RoleServer>,
    begun: Answer,
) -> Result<CallToolResponse, Error> {
    let first = call.complete(&begun)?;
    let mut delegation = begun.into_output::<delegate::Output>()?;
    let token = context.meta.get_progress_token();
    let running_max = match token {
        Some(_) => RUNNING_MAX_WITH_PROGRESS,
        None => RUNNING_MAX,
    };
    let (mut beats, start) = (call.server.pulse.beats(), Instant::now());
    let (mut reports, mut reported) = (0.0, None);
    loop {
        match now(call, &delegation).await {
            Ok(now) => delegation = now,
            // The store is unreachable right now, but the delegation continues.
            Err(_) if start.elapsed() < running_max => {}
            Err(_) => return Ok(first),
        }
        let is_queued = delegation.state == DelegationState::Queued;
        let most = if is_queued { QUEUED_MAX } else { running_max };
        let left = most.saturating_sub(start.elapsed());
        let is_cancelled =
            context.ct.is_cancelled() || is_cancelled(call.server, &context.id).await;
        if !is_going(delegation.state) || left.is_zero() || is_cancelled {
            return call.complete(&Answer::new(delegation));
        }
        let is_due = reported.is_none_or(|(state, at): (_, Instant)| {
            state != delegation.state || at.elapsed() >= PROGRESS_EVERY
        });
        if let Some(token) = token.as_ref().filter(|_| is_due) {
            reports += 1.0;
            reported = Some((delegation.state, Instant::now()));
            let state = delegation.state.name();
            let progress = ProgressNotificationParam::new(token.clone(), reports)
                .with_message(format!("the delegation is {state}"));
            drop(context.peer.notify_progress(progress).await);
        }
        let next =
            reported.map_or(PROGRESS_EVERY, |(_, at)| PROGRESS_EVERY.saturating_sub(at.elapsed()));
        tokio::select! {
            // A busy store is not read at every commit.
            () = beats.next(left.min(next)) => tokio::time::sleep(PAUSE.min(left)).await,
            () = context.ct.cancelled() => {}
            // This server is stopping; the caller can ask another replica, or this one after its
            // restart.
            () = call.server.stopped() => return call.complete(&Answer::new(delegation)),
        }
    }
}

/// The current state of the delegation, in the form of the call's own answer.
async fn now(call: &Call<'_>, before: &delegate::Output) -> Result<delegate::Output, Error> {
    let mut envelope = call.envelope()?;
    envelope.idempotency_key = None;
    let input = delegation_show::Input { delegation_id: before.delegation_id.into() };
    let show = move |ops: &Ops, envelope: &Envelope| ops.run::<DelegationShow>(envelope, input);
    let now = call.asker().run(envelope, show).await?.delegation;
    Ok(delegate::Output {
        delegation_id: before.delegation_id,
        mode: before.mode,
        warning: before.warning_in(&now.kind, now.state),
        state: now.state,
        result: now.result,
        error: now.error,
        proposal: now.proposal,
    })
}

/// The text about a delegation for a model.
pub(crate) fn words(answer: &Answer) -> Option<String> {
    let made = answer.output::<delegate::Output>().filter(|made| is_going(made.state))?;
    let (id, state) = (&made.delegation_id, made.state.name());
    Some(match &made.warning {
        Some(warning) => {
            format!("Delegation {id} is {state}; see delegation_show. Warning: {warning}.")
        }
        None => format!(
            "Delegation {id} is {state} and continues without you. Call delegation_show with this \
             id for its result."
        ),
    })
}
