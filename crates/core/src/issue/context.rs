//! What an agent should know about its work at the start, after a pause or after compaction.
//!
//! Facts, not commands: what is open, what is closed (so that nothing is done twice, P-7), what is
//! held and why, and what waits for a person. If it does not fit, closed steps are left out first,
//! then open ones from the end, and the omitted ones are counted.

use super::checklist::shown_status;
use super::{Issue, progress};
use crate::gate::{Gate, Purpose};
use crate::select::ordered;
use crate::text::normalised;
use crate::{Snapshot, Status, Todo, TodoKind};

/// The default length limit, in characters.
pub const BUDGET: usize = 1_500;

/// The length limit of one item's text.
const TEXT_MAX: usize = 160;

/// The text for an agent whose session is bound to this issue.
#[must_use]
pub fn render(
    issue: &Issue,
    checklist: Option<&Snapshot>,
    gates: &[Gate],
    budget: usize,
) -> String {
    let mut head =
        vec![format!("Issue #{} ({}): {}", issue.number, issue.status, cut(&issue.title))];
    let todos: Vec<&Todo> = checklist.map(ordered).unwrap_or_default();
    match checklist.map(progress::line).filter(|line| !line.is_empty()) {
        Some(line) => head.push(format!("Checklist: {line}.")),
        None => head.push("The checklist is empty.".to_owned()),
    }
    head.extend(checklist.and_then(progress::removed_notice));
    for gate in gates {
        let what = match gate.purpose {
            Some(Purpose::SignOff) => "sign-off",
            _ => gate.kind().name(),
        };
        let asked = gate.created_at;
        head.push(format!("Waiting for the operator since {asked}: {what}: {}", cut(&gate.text)));
    }
    let (criteria, steps): (Vec<&Todo>, Vec<&Todo>) =
        todos.into_iter().partition(|todo| todo.kind == TodoKind::Criterion);
    let (closed, open): (Vec<&Todo>, Vec<&Todo>) =
        steps.into_iter().partition(|todo| todo.status.is_settled());
    let mut sections = vec![
        Section::of("Criteria", &criteria),
        Section::of("Open steps", &open),
        Section::of("Closed steps", &closed),
    ];
    sections.retain(|section| !section.lines.is_empty());
    // Closed steps are left out first, then open ones, then criteria.
    loop {
        let text = whole(&head, &sections);
        if text.chars().count() <= budget {
            return text;
        }
        let Some(section) = sections.iter_mut().rev().find(|section| !section.lines.is_empty())
        else {
            return text.chars().take(budget).collect();
        };
        section.lines.pop();
        section.left_out += 1;
    }
}

/// Some lines under a heading, and how many did not fit.
struct Section {
    heading: &'static str,
    count: usize,
    lines: Vec<String>,
    left_out: usize,
}

impl Section {
    fn of(heading: &'static str, todos: &[&Todo]) -> Self {
        let lines: Vec<String> = todos.iter().map(|todo| line(todo)).collect();
        Self { heading, count: lines.len(), lines, left_out: 0 }
    }
}

fn whole(head: &[String], sections: &[Section]) -> String {
    let mut text = head.join("\n");
    for section in sections {
        text.push_str(&format!("\n{} ({}):", section.heading, section.count));
        for line in &section.lines {
            text.push('\n');
            text.push_str(line);
        }
        if section.left_out > 0 {
            text.push_str(&format!("\n… and {} more", section.left_out));
        }
    }
    text
}

fn line(todo: &Todo) -> String {
    let mark = match (shown_status(todo), &todo.hold) {
        (Status::Backlog | Status::Pending | Status::InProgress, Some(_)) => '!',
        (Status::Backlog | Status::Pending, None) => ' ',
        (Status::InProgress, None) => '/',
        (Status::Completed, _) => 'x',
        (Status::Cancelled, _) => '-',
    };
    let mut line = format!("- [{mark}] {}", cut(&todo.title));
    if let Some(hold) = todo.hold.as_deref().filter(|_| !todo.status.is_settled()) {
        line.push_str(&format!(" (held: {})", cut(&hold.reason)));
    } else if todo.claim.is_some() && !todo.status.is_settled() {
        line.push_str(" (claimed, waits for sign-off)");
    }
    line
}

fn cut(text: &str) -> String {
    let text = normalised(text);
    match text.char_indices().nth(TEXT_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
