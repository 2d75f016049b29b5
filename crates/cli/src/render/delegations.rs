//! Delegations: a table of many, a block for one, a line for what was done to one.

use punchlist_core::Time;
use punchlist_core::delegation::{DelegationState, ProposalDecision};
use punchlist_core::text::counted;
use punchlist_ops::operations::{delegate, delegation_list, delegation_take, proposal_decide};
use punchlist_ops::views::DelegationView;

use super::columns::{aligned, hanging};
use super::{ago, did, short, short_among, todos};
use crate::output::{BOLD, CYAN, YELLOW, clean, line, width};

pub(super) fn listed(output: &delegation_list::Output, now: Time) -> String {
    if output.delegations.is_empty() {
        return "No delegations to show.\n".to_owned();
    }
    let ids: Vec<String> = output.delegations.iter().map(|one| one.id.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let rows = output.delegations.iter().zip(&ids).map(|(delegation, id)| {
        vec![
            short_among(id, &ids).to_owned(),
            delegation.state.name().to_owned(),
            ago(delegation.updated_at, now),
            line(&delegation.kind),
            line(&delegation.mission),
        ]
    });
    aligned(rows.collect(), width()) + &super::more(output.next_cursor.as_ref())
}

/// The answer of `delegation_take`.
pub(super) fn taken(output: &delegation_take::Output, now: Time) -> String {
    match &output.delegation {
        None => "Nothing to take.\n".to_owned(),
        Some(delegation) => {
            let renew =
                format!("delegation heartbeat {}", super::short(&delegation.id.to_string()));
            let lease = todos::held_until(output.epoch, output.lease_until, &renew, now);
            let mission = line(&delegation.mission);
            did("Yours:", &format!("delegation {}: {mission}; {lease}", named(delegation)))
        }
    }
}

/// The end of a lease that is the caller's.
pub(super) fn renewed(until: Time, now: Time) -> String {
    did("Yours:", &format!("the lease ends {}", super::ago(until, now)))
}

/// A report or a cancellation: what it is now, and what came of it.
pub(super) fn changed(delegation: &DelegationView) -> String {
    let (verb, said) = match delegation.state {
        DelegationState::Returned => ("Returned", &delegation.result),
        DelegationState::Failed => ("Failed:", &delegation.error),
        DelegationState::Cancelled => ("Cancelled", &None),
        DelegationState::Queued | DelegationState::Running => ("Changed", &None),
    };
    let said = said.as_deref().map(|said| format!(": {}", line(said).trim_end_matches('.')));
    let proposed = match delegation.proposal.as_ref().map_or(0, |proposal| proposal.items.len()) {
        _ if delegation.decision.is_some() => String::new(),
        0 => String::new(),
        n => {
            let items = counted(n, "item", "items");
            format!("; it proposes {items} (`punch delegation decide`)")
        }
    };
    let (named, said) = (named(delegation), said.unwrap_or_default());
    did(verb, &format!("delegation {named}{said}{proposed}"))
}

/// The answer of `proposal_decide`.
pub(super) fn decided(output: &proposal_decide::Output) -> String {
    let verb = match output.delegation.decision {
        Some(ProposalDecision::Accept) => "Accepted",
        Some(ProposalDecision::Modify) => "Modified",
        Some(ProposalDecision::Reject) | None => "Rejected",
    };
    let mut what = format!("the proposal of delegation {}", named(&output.delegation));
    if !output.skipped.is_empty() {
        let skipped: Vec<String> = output.skipped.iter().map(|text| line(text)).collect();
        what.push_str(&format!("; on the list already: {}", skipped.join(", ")));
    }
    did(verb, &what)
}

/// What people call one: its short id, and for which agent it is.
fn named(delegation: &DelegationView) -> String {
    format!("{} ({})", short(&delegation.id.to_string()), line(&delegation.kind))
}

pub(super) fn shown(delegation: &DelegationView, now: Time) -> String {
    let (kind, state) = (line(&delegation.kind), delegation.state.name());
    let mut shown = format!("{BOLD}{kind}{BOLD:#}  {CYAN}{state}{CYAN:#}\n");
    let mut add = |text: &str| shown.push_str(&hanging("  ", "  ", text, width()));
    add(&clean(&delegation.mission));
    let (by, at) = (line(&delegation.delegated_by), ago(delegation.created_at, now));
    add(&format!("delegated by {by} {at}; attempts: {}", delegation.attempts));
    if let Some(why) = &delegation.rationale {
        add(&format!("because {}", clean(why)));
    }
    add(&format!("delegation {}", short(&delegation.id.to_string())));
    if let Some(result) = &delegation.result {
        add(&format!("→ {}", clean(result)));
    }
    if let Some(error) = &delegation.error {
        add(&format!("failed: {}", clean(error)));
    }
    let proposed = delegation.proposal.as_ref().map_or(&[][..], |proposal| &proposal.items);
    if !proposed.is_empty() {
        add(match delegation.decision {
            Some(ProposalDecision::Accept) => "its proposal was answered with accept:",
            Some(ProposalDecision::Modify) => "its proposal was answered with modify:",
            Some(ProposalDecision::Reject) => "its proposal was answered with reject:",
            None => "it proposes, and nobody has decided (`punch delegation decide`):",
        });
    }
    if let Some(reason) = &delegation.decision_reason {
        add(&format!("because {}", clean(reason)));
    }
    for item in proposed {
        let phase = item.phase.as_ref().map(|phase| format!(" ({})", line(phase.as_str())));
        add(&format!("- {}{}", line(item.content.as_str()), phase.unwrap_or_default()));
    }
    shown
}

/// The answer of `delegate`.
pub(super) fn handed(output: &delegate::Output) -> String {
    let (id, state) = (output.delegation_id.to_string(), output.state.name());
    let mut shown = format!("Delegation {} is {CYAN}{state}{CYAN:#}.\n", short(&id));
    for said in [&output.result, &output.error].into_iter().flatten() {
        shown.push_str(&hanging("  ", "  ", &clean(said), width()));
    }
    if let Some(warning) = &output.warning {
        let warning = hanging("", "", &line(warning), width());
        shown.push_str(&format!("{YELLOW}{}{YELLOW:#}\n", warning.trim_end()));
    }
    shown
}
