//! Criteria and steps for people: a mark for each item, with its details below.

use punchlist_core::{Time, TodoKind};
use punchlist_ops::operations::{issue_show, todo};
use punchlist_ops::views::ItemView;
use punchlist_ops::views::issue::ItemStatus;
use punchlist_ops::views::todo::HoldView;

use super::columns::hanging;
use super::marks::Mark;
use super::times::{day_or_time, to_the_second};
use super::{ago, did, short_among};
use crate::output::{BOLD, DIM, YELLOW, clean, line, width};

/// Are items shown with their short ids? Agents name items of a checklist by their text (K-19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    Shown,
    Hidden,
}

/// The answer of the tool `todo`.
pub(super) fn kept(output: &todo::Output) -> String {
    let of = |kind: TodoKind| output.items.iter().filter(move |item| item.kind == kind);
    let criteria: Vec<String> = of(TodoKind::Criterion).map(tool_item).collect();
    let mut steps = Vec::new();
    for item in output.items.iter().filter(|item| item.kind != TodoKind::Criterion) {
        steps.push((item.phase.as_deref(), tool_item(item)));
    }
    let mut shown = sections(&criteria, &steps);
    let summary = &output.summary;
    if summary.total > 0 {
        let held = match summary.held {
            0 => String::new(),
            held => format!(", {held} held"),
        };
        let (open, closed) = (summary.open, summary.closed);
        shown.push_str(&format!("{DIM}{open} open, {closed} closed{held}{DIM:#}\n"));
    }
    if let Some(message) = &output.message {
        shown.push_str(&format!("{}\n", line(message)));
    }
    shown
}

/// A whole checklist, and its progress.
pub(crate) fn whole(shown: &issue_show::Output, ids: Ids, now: Time) -> String {
    let (number, progress) = (shown.issue.number, line(&shown.progress));
    let items = of_issue(&shown.criteria, &shown.steps, ids, now);
    if items.is_empty() {
        return format!(
            "#{number} has no items. `punch todo add --issue {number} TEXT` adds one.\n"
        );
    }
    format!("{items}{DIM}#{number}: {progress}{DIM:#}\n")
}

/// What was done to a checklist, in one line.
pub(crate) fn changed(
    verb: &str,
    what: &str,
    shown: &issue_show::Output,
    message: Option<&str>,
) -> String {
    let (number, progress) = (shown.issue.number, line(&shown.progress));
    let message = message.map(|message| format!(" {}", line(message))).unwrap_or_default();
    let progress = format!("(#{number}: {progress}){message}");
    match what {
        "" => did(verb, &progress),
        what => did(&format!("{verb}:"), &format!("{} {progress}", line(what))),
    }
}

fn tool_item(item: &todo::Item) -> String {
    one(item.status.into(), &item.content, item.hold.as_ref(), &item.notes, "  ")
}

/// The checklist of an issue.
pub(super) fn of_issue(criteria: &[ItemView], steps: &[ItemView], shown: Ids, now: Time) -> String {
    let ids: Vec<&str> = criteria.iter().chain(steps).map(|item| item.id.as_str()).collect();
    let lead = |item: &ItemView| match (shown, short_among(&item.id, &ids)) {
        (Ids::Hidden, _) | (_, "") => String::new(),
        (Ids::Shown, id) => format!("{id} "),
    };
    let criteria: Vec<String> =
        criteria.iter().map(|item| numbered(item, &lead(item), "  ", now)).collect();
    let step = |item| (item_phase(item), step(item, &lead(item), "  "));
    sections(&criteria, &steps.iter().map(step).collect::<Vec<_>>())
}

fn item_phase(item: &ItemView) -> Option<&str> {
    item.phase.as_deref()
}

/// Criteria first, then the steps under their phases.
fn sections(criteria: &[String], steps: &[(Option<&str>, String)]) -> String {
    let mut shown = String::new();
    if !criteria.is_empty() {
        shown.push_str(&format!("{BOLD}Criteria{BOLD:#}\n"));
    }
    shown.extend(criteria.iter().map(String::as_str));
    let mut phase = None;
    for (n, (here, item)) in steps.iter().enumerate() {
        if n == 0 || *here != phase {
            let heading = here.map_or("Steps".to_owned(), phase_heading);
            let heading = hanging("", "", &heading, width());
            shown.push_str(&format!("{BOLD}{}{BOLD:#}\n", heading.trim_end()));
            phase = *here;
        }
        shown.push_str(item);
    }
    shown
}

/// The headings of an issue's page.
const SECTIONS: [&str; 7] =
    ["Criteria", "Steps", "Links", "Ledger", "Open children", "Sessions", "Sign-offs"];

/// A phase. Agents name phases, and what one writes must not pass for a section of the page.
fn phase_heading(name: &str) -> String {
    let name = line(name);
    match SECTIONS.iter().any(|section| section.eq_ignore_ascii_case(name.trim())) {
        true => format!("Steps: {name}"),
        false => name,
    }
}

fn step(item: &ItemView, id: &str, indent: &str) -> String {
    let is_claimed = item.claim.is_some() && item.completed_at.is_none();
    let mark = Mark::from(item.status).or_claimed(is_claimed);
    let mut shown = named(mark, id, &item.content, item.hold.as_ref(), &item.notes, indent);
    if let Some(until) = item.defer_until.filter(|_| item.completed_at.is_none()) {
        shown.push_str(&under(indent, &format!("deferred until {}", day_or_time(until))));
    }
    shown
}

/// A criterion, and its claim with the evidence, if any.
pub(super) fn criterion(item: &ItemView, indent: &str, now: Time) -> String {
    numbered(item, "", indent, now)
}

/// The same after its short id.
fn numbered(item: &ItemView, id: &str, indent: &str, now: Time) -> String {
    let mut shown = step(item, id, indent);
    let mut add = |text: &str| shown.push_str(&under(indent, text));
    if let Some(claim) = &item.claim {
        let verb = if item.accepted_at.is_some() { "accepted; claimed" } else { "claimed" };
        add(&format!("{verb} by {} {}", claim.by, ago(claim.at, now)));
        if let Some(outcome) = &claim.outcome {
            add(&format!("→ {outcome}"));
        }
        let evidence: Vec<String> = claim.evidence.iter().map(ToString::to_string).collect();
        let said = if evidence.is_empty() { "no evidence".to_owned() } else { evidence.join(", ") };
        add(&said);
    }
    let is_open = matches!(item.status, ItemStatus::Pending | ItemStatus::Completed);
    if is_open && item.ratified_at.is_none() {
        add("proposed by an agent, not ratified");
    }
    shown
}

/// One item with its mark, its hold and its notes.
pub(super) fn one(
    mark: Mark,
    content: &str,
    hold: Option<&HoldView>,
    notes: &[String],
    indent: &str,
) -> String {
    named(mark, "", content, hold, notes, indent)
}

/// The same, with the short id that people type.
fn named(
    mark: Mark,
    id: &str,
    content: &str,
    hold: Option<&HoldView>,
    notes: &[String],
    indent: &str,
) -> String {
    let mark = mark.or_held(hold.is_some());
    let (text, style) = (mark.text(), mark.style());
    let lead = format!("{indent}{text} {id}");
    let shown = format!("{indent}{style}{text}{style:#} {DIM}{id}{DIM:#}");
    let mut shown = hanging(&lead, &shown, &line(content), width());
    if let Some(hold) = hold.filter(|_| mark == Mark::Held) {
        let kind = hold.kind.name().replace('_', " ");
        let again = hold.until.map(|until| format!(" (tried again at {})", to_the_second(until)));
        let reason = line(&hold.reason) + &again.unwrap_or_default();
        let lead = format!("{indent}    {kind}: ");
        let colored = format!("{indent}    {YELLOW}{kind}{YELLOW:#}: ");
        shown.push_str(&hanging(&lead, &colored, &reason, width()));
    }
    for note in notes {
        let lead = format!("{indent}    note: ");
        shown.push_str(&hanging(&lead, &lead, &clean(note), width()));
    }
    shown
}

fn under(indent: &str, text: &str) -> String {
    let lead = format!("{indent}    ");
    hanging(&lead, &lead, &line(text), width())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contract, Issues: the heading of the criteria is reserved. An agent names phases.
    #[test]
    fn a_phase_does_not_pass_for_a_section_of_the_page() {
        let steps = [("Build", "  [ ] a\n"), ("criteria ", "  [x] b\n"), ("Ledger", "  [x] c\n")];
        let steps = steps.map(|(phase, item)| (Some(phase), item.to_owned()));
        let shown = anstream::adapter::strip_str(&sections(&[], &steps)).to_string();
        assert_eq!(shown, "Build\n  [ ] a\nSteps: criteria\n  [x] b\nSteps: Ledger\n  [x] c\n");
    }
}
