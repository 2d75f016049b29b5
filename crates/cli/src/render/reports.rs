//! The digest and the audit, for people.

use punchlist_core::Time;
use punchlist_ops::operations::digest::{Counts, Kind};
use punchlist_ops::operations::{audit_closes, digest};

use super::columns::{aligned, cut};
use super::times::relative;
use crate::output::{BOLD, DIM, YELLOW, line, width};

/// `3 completed, 1 held`: without zero counts.
fn counts(counts: &Counts) -> String {
    let parts = [
        (counts.completed, Kind::Completed),
        (counts.cancelled, Kind::Cancelled),
        (counts.returned, Kind::Returned),
        (counts.held, Kind::Held),
        (counts.escalated, Kind::Escalated),
        (counts.claimed, Kind::Claimed),
    ];
    let said: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {}", name(kind)))
        .collect();
    if said.is_empty() { "nothing".to_owned() } else { said.join(", ") }
}

const fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Completed => "completed",
        Kind::Cancelled => "cancelled",
        Kind::Returned => "returned",
        Kind::Held => "held",
        Kind::Escalated => "escalated",
        Kind::Claimed => "claimed",
    }
}

pub(super) fn digest(output: &digest::Output, now: Time) -> String {
    let (project, since) = (line(&output.project), output.since.to_the_second());
    let all = counts(&output.total);
    let mut shown = format!("{BOLD}{project}{BOLD:#}  {DIM}since {since}:{DIM:#} {all}\n");
    for actor in &output.actors {
        let (name_of, all) = (line(&actor.actor), counts(&actor.counts));
        shown.push_str(&format!("\n{BOLD}{name_of}{BOLD:#}  {all}\n"));
        let rows = actor.deeds.iter().map(|deed| {
            let mut what = line(&deed.title);
            if let Some(said) = &deed.said {
                what = format!("{what} → {}", line(said));
            }
            if deed.set_clock {
                what.push_str(" (clock set)");
            }
            vec![format!("  {}", name(deed.deed)), relative(deed.at, now), what]
        });
        shown.push_str(&aligned(rows.collect(), width()));
        if actor.more {
            shown.push_str(&format!("  {DIM}… and older ones{DIM:#}\n"));
        }
    }
    shown
}

pub(super) fn audit(output: &audit_closes::Output, now: Time) -> String {
    let (project, since) = (line(&output.project), output.since.to_the_second());
    let completions = output.completions;
    let mut shown =
        format!("{BOLD}{project}{BOLD:#}  {DIM}since {since}:{DIM:#} {completions} completed\n");
    if output.closes.is_empty() {
        shown.push_str("None of them needs a second look.\n");
        return shown;
    }
    let counts = &output.counts;
    shown.push_str(&format!(
        "{YELLOW}{} without evidence, {} by the agent that created the item, {} self-accepted, {} after a \
         return, {} in a burst{YELLOW:#}\n",
        counts.no_evidence, counts.own_work, counts.self_accepted, counts.returned, counts.burst
    ));
    let rows = output.closes.iter().map(|close| {
        let reasons: Vec<&str> = close.reasons.iter().map(|reason| reason.name()).collect();
        let mut why = reasons.join(", ").replace('_', " ");
        if close.set_clock {
            why.push_str(", clock set");
        }
        vec![relative(close.at, now), line(&close.actor), why, cut(&line(&close.title), 60)]
    });
    shown.push_str(&aligned(rows.collect(), width()));
    if let Some(cursor) = &output.next_cursor {
        shown.push_str(&format!("{DIM}… and older ones: --cursor {cursor}{DIM:#}\n"));
    }
    shown
}
