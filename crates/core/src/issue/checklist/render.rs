//! Renders items as markdown. For any text, an item is one line and a note stays within its item.

use std::fmt::Write;

use super::escape::escape;
use super::{CRITERIA, Line, Mark, Notes, STEPS, is_reserved};
use crate::select::{ordered, phase_of};
use crate::text::{Body, normalised};
use crate::todo::HoldKind;
use crate::{Snapshot, Todo, TodoKind};

/// The current checklist of an issue; empty for an issue without items.
#[must_use]
pub fn markdown(snapshot: &Snapshot, notes: &Notes) -> String {
    let (criteria, steps): (Vec<&Todo>, Vec<&Todo>) =
        ordered(snapshot).into_iter().partition(|todo| todo.kind == TodoKind::Criterion);
    written(criteria.into_iter().chain(steps).map(|todo| Entry::of(todo, notes)))
}

/// The markdown of these lines, in their order.
#[must_use]
pub fn render(lines: &[Line]) -> String {
    written(lines.iter().map(Entry::from))
}

/// One item, from a line or from a todo.
struct Entry<'a> {
    kind: TodoKind,
    phase: Option<String>,
    mark: Mark,
    content: &'a str,
    notes: Vec<&'a str>,
    claimed_by: Option<&'a str>,
    hold: Option<(HoldKind, &'a str)>,
}

impl<'a> Entry<'a> {
    fn of(todo: &'a Todo, notes: &'a Notes) -> Self {
        let open = !todo.status.is_settled();
        let notes = notes.get(&todo.id).into_iter().flatten().map(|note| note.text.trim());
        Self {
            kind: todo.kind,
            phase: phase_of(todo),
            mark: Mark::of(todo),
            content: &todo.title,
            notes: notes.filter(|note| !note.is_empty()).collect(),
            // An accepted claim is not shown.
            claimed_by: todo.claim.as_deref().filter(|_| open).map(|claim| claim.by.as_str()),
            hold: todo.hold.as_deref().map(|hold| (hold.kind, hold.reason.as_str())),
        }
    }
}

impl<'a> From<&'a Line> for Entry<'a> {
    fn from(line: &'a Line) -> Self {
        Self {
            kind: line.kind,
            phase: line.shown_phase(),
            mark: line.mark,
            content: line.content.as_str(),
            notes: line.notes.iter().map(Body::as_str).collect(),
            claimed_by: line.claimed_by.as_deref(),
            hold: line.hold.as_ref().map(|hold| (hold.kind, hold.reason.as_str())),
        }
    }
}

fn written<'a>(entries: impl Iterator<Item = Entry<'a>>) -> String {
    let mut text = String::new();
    // Items before the first heading are steps without a phase.
    let mut section = (TodoKind::Step, None);
    for entry in entries {
        let here = (entry.kind, entry.phase.clone());
        if here != section {
            let gap = if text.is_empty() { "" } else { "\n" };
            push(&mut text, format_args!("{gap}# {}\n", heading(&here)));
            section = here;
        }
        item(&mut text, &entry);
    }
    text
}

fn heading((kind, phase): &(TodoKind, Option<String>)) -> String {
    match (kind, phase) {
        (TodoKind::Criterion, _) => CRITERIA.to_owned(),
        (TodoKind::Step, None) => STEPS.to_owned(),
        (TodoKind::Step, Some(phase)) if is_reserved(phase) => format!("\\{phase}"),
        (TodoKind::Step, Some(phase)) => escape(phase),
    }
}

fn item(text: &mut String, entry: &Entry<'_>) {
    let content = escape(&normalised(entry.content));
    push(text, format_args!("- [{}] {content}", entry.mark.sign()));
    if let Some(by) = entry.claimed_by {
        push(text, format_args!(" <!-- claimed by {} -->", escape(&normalised(by))));
    }
    if let Some((kind, reason)) = entry.hold {
        let reason = escape(&normalised(reason));
        push(text, format_args!(" <!-- {}: {reason} -->", kind.name()));
    }
    text.push('\n');
    for note in &entry.notes {
        let lines: Vec<String> = note.split('\n').map(escape).collect();
        push(text, format_args!("  - note: {}\n", lines.join("\\\n    ")));
    }
}

fn push(text: &mut String, words: std::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    let _ = text.write_fmt(words);
}
