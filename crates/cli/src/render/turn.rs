//! The turn's plan as a checklist.

use serde_json::Value;

use super::columns::{aligned, cut};
use super::{number, text};
use crate::output::{BOLD, CYAN, DIM, GREEN, width};

pub(crate) fn created(answer: &Value) -> String {
    let items = answer["created"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rows = items.iter().map(|item| {
        let order = format!("{:>3}.", number(item, "order"));
        vec![order, text(item, "id").into_owned(), text(item, "title").into_owned()]
    });
    let rows = aligned(rows.collect(), width());
    let (count, pending) = (items.len(), number(answer, "totalPending"));
    let noun = if count == 1 { "item" } else { "items" };
    format!("{GREEN}Created{GREEN:#} {count} {noun}; {pending} pending in this turn.\n{rows}")
}

pub(crate) fn listed(answer: &Value) -> String {
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let summary = &answer["summary"];
    let mut shown = String::new();
    for item in items {
        let (mark, style) = match item["status"].as_str() {
            Some("completed") => ("[x]", GREEN),
            Some("cancelled") => ("[-]", DIM),
            Some("in_progress") => ("[/]", CYAN),
            _ => ("[ ]", BOLD),
        };
        let title = cut(&text(item, "title"), width().saturating_sub(4));
        shown.push_str(&format!("{style}{mark}{style:#} {title}\n"));
        let agent = item["agentType"].as_str().map(|agent| format!(" @{agent}"));
        let details = format!("{}{}", text(item, "id"), agent.unwrap_or_default());
        shown.push_str(&format!("    {DIM}{}{DIM:#}\n", crate::output::line(&details)));
        if let Some(outcome) = item["outcome"].as_str() {
            let outcome = cut(&crate::output::line(outcome), width().saturating_sub(6));
            shown.push_str(&format!("    {DIM}→ {outcome}{DIM:#}\n"));
        }
    }
    if items.is_empty() {
        shown.push_str("Nothing to show.\n");
    }
    let of = |name| number(summary, name);
    let (total, done) = (of("total"), of("completed"));
    let (open, cancelled) = (of("pending") + of("inProgress"), of("cancelled"));
    format!(
        "{shown}{DIM}{total} in this turn: {open} open, {done} completed, {cancelled} cancelled{DIM:#}\n"
    )
}

pub(crate) fn completed(answer: &Value) -> String {
    let (title, status) = (text(answer, "title"), text(answer, "status"));
    let (first, rest) = status.split_at_checked(1).unwrap_or_default();
    let status = format!("{}{rest}", first.to_uppercase());
    let remaining = match number(answer, "remaining") {
        0 => "nothing remains in this turn".to_owned(),
        1 => "1 item remains".to_owned(),
        n => format!("{n} items remain"),
    };
    format!("{GREEN}{status}{GREEN:#}: {title}; {remaining}.\n")
}
