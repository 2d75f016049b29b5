//! Delegations: a table of many, a block for one.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::{aligned, hanging};
use super::{ago, list, number, text};
use crate::output::{BOLD, CYAN, DIM, YELLOW, clean, line, width};

pub(super) fn listed(answer: &Value, now: Time) -> String {
    let delegations = list(answer, "delegations");
    if delegations.is_empty() {
        return "No delegations to show.\n".to_owned();
    }
    let rows = delegations.iter().map(|delegation| {
        vec![
            text(delegation, "id").into_owned(),
            text(delegation, "state").into_owned(),
            ago(&delegation["updatedAt"], now),
            text(delegation, "type").into_owned(),
            text(delegation, "mission").into_owned(),
        ]
    });
    let mut shown = aligned(rows.collect(), width());
    if let Some(cursor) = answer["nextCursor"].as_str() {
        shown.push_str(&format!("{DIM}… more: the same with --cursor {cursor}{DIM:#}\n"));
    }
    shown
}

/// An answer `{delegation}`, perhaps with a lease or with what was skipped.
pub(super) fn shown(answer: &Value, now: Time) -> String {
    let delegation = &answer["delegation"];
    if delegation.is_null() {
        return "Nothing to take.\n".to_owned();
    }
    let (kind, state) = (text(delegation, "type"), text(delegation, "state"));
    let mut shown = format!("{BOLD}{kind}{BOLD:#}  {CYAN}{state}{CYAN:#}\n");
    let mut add = |text: &str| shown.push_str(&hanging("  ", "  ", text, width()));
    add(&clean(delegation["mission"].as_str().unwrap_or_default()));
    let (by, at) = (text(delegation, "delegatedBy"), ago(&delegation["createdAt"], now));
    add(&format!("delegated by {by} {at}; attempts: {}", number(delegation, "attempts")));
    if let Some(why) = delegation["rationale"].as_str() {
        add(&format!("because {}", clean(why)));
    }
    add(&format!("delegation {}", text(delegation, "id")));
    if let Some(result) = delegation["result"].as_str() {
        add(&format!("→ {}", clean(result)));
    }
    if let Some(error) = delegation["error"].as_str() {
        add(&format!("failed: {}", clean(error)));
    }
    let proposed = list(&delegation["proposal"], "items");
    if !proposed.is_empty() {
        add(&match delegation["decision"].as_str() {
            Some(decision) => format!("its proposal was answered with {}:", line(decision)),
            None => "it proposes, and nobody has decided (`punch delegation decide`):".to_owned(),
        });
    }
    for item in proposed {
        let phase = item["phase"].as_str().map(|phase| format!(" ({})", line(phase)));
        add(&format!("- {}{}", text(item, "content"), phase.unwrap_or_default()));
    }
    for skipped in list(answer, "skipped").iter().filter_map(Value::as_str) {
        add(&format!("on the list already: {}", line(skipped)));
    }
    shown.push_str(&lease(answer, now));
    shown
}

/// What a heartbeat answers, and the end of what taking answers.
pub(super) fn lease(answer: &Value, now: Time) -> String {
    match (answer["epoch"].as_i64(), answer["leaseUntil"].is_string()) {
        (Some(epoch), true) => {
            let ends = ago(&answer["leaseUntil"], now);
            format!("  {YELLOW}yours{YELLOW:#}, epoch {epoch}; the lease ends {ends}\n")
        }
        _ => String::new(),
    }
}

/// What handing work on answers.
pub(super) fn handed(answer: &Value) -> String {
    let (id, state) = (text(answer, "delegationId"), text(answer, "state"));
    let mut shown = format!("Delegation {id} is {CYAN}{state}{CYAN:#}.\n");
    for field in ["result", "error"] {
        if let Some(said) = answer[field].as_str() {
            shown.push_str(&hanging("  ", "  ", &clean(said), width()));
        }
    }
    shown
}
