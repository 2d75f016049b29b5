//! The turn's plan as a checklist.

use punchlist_core::text::counted;
use punchlist_ops::operations::{complete_todo, create_todo, list_todo};

use super::columns::{aligned, cut};
use super::marks::Mark;
use crate::output::{DIM, GREEN, line, width};

pub(super) fn created(output: &create_todo::Output) -> String {
    let rows = output
        .created
        .iter()
        .map(|item| vec![format!("{:>3}.", item.order), item.id.clone(), line(&item.title)]);
    let rows = aligned(rows.collect(), width());
    let (count, pending) = (output.created.len(), output.total_pending);
    let items = counted(count, "item", "items");
    format!("{GREEN}Created{GREEN:#} {items}; {pending} pending in this turn.\n{rows}")
}

pub(super) fn listed(output: &list_todo::Output) -> String {
    let mut shown = String::new();
    for item in &output.items {
        let mark = Mark::from(item.status);
        let (mark, style) = (mark.text(), mark.style());
        let title = cut(&line(&item.title), width().saturating_sub(4));
        shown.push_str(&format!("{style}{mark}{style:#} {title}\n"));
        let agent = item.agent_type.as_deref().map(|agent| format!(" @{agent}"));
        let details = format!("{}{}", item.id, agent.unwrap_or_default());
        shown.push_str(&format!("    {DIM}{}{DIM:#}\n", line(&details)));
        if let Some(outcome) = &item.outcome {
            let outcome = cut(&line(outcome), width().saturating_sub(6));
            shown.push_str(&format!("    {DIM}→ {outcome}{DIM:#}\n"));
        }
    }
    if output.items.is_empty() {
        shown.push_str("Nothing to show.\n");
    }
    let of = &output.summary;
    let (total, done) = (of.total, of.completed);
    let (open, cancelled) = (of.pending + of.in_progress, of.cancelled);
    format!(
        "{shown}{DIM}{total} in this turn: {open} open, {done} completed, {cancelled} cancelled{DIM:#}\n"
    )
}

pub(super) fn completed(output: &complete_todo::Output) -> String {
    let (title, status) = (line(&output.title), output.status.name());
    let (first, rest) = status.split_at_checked(1).unwrap_or_default();
    let status = format!("{}{rest}", first.to_uppercase());
    let remaining = match output.remaining {
        0 => "nothing remains in this turn".to_owned(),
        n => counted(n, "item remains", "items remain"),
    };
    format!("{GREEN}{status}{GREEN:#}: {title}; {remaining}.\n")
}
