//! Finds the checkboxes to tick in the plan's file for completed tasks.
//!
//! Ticks are only ever added. A reopened task keeps its tick, because somebody may have made it in
//! the file and not imported it yet. Nothing else of a line changes.

use super::line;
use super::pairing::{flat, pair};
use super::{Mark, Node, Tree};
use crate::{Refusal, Snapshot, Status};

/// A line of the file to tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The number of the line, from 1.
    pub line: usize,
    pub before: String,
    pub after: String,
}

/// What to change in a file, and which completed tasks have no checkbox there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    pub ticks: Vec<Tick>,
    /// The numbers of their lines.
    pub without_box: Vec<usize>,
}

/// The ticks that a file lacks. A file that has other tasks than the plan is refused.
pub fn to_sync(markdown: &str, root: &Node, snapshot: &Snapshot) -> Result<Ticks, Refusal> {
    let (nodes, tree) = (flat(root), Tree::of(snapshot));
    let pairing = pair(&nodes, &tree);
    let new = nodes.iter().zip(&pairing.found).filter(|(_, found)| found.is_none());
    let new: Vec<String> = new.map(|(flat, _)| flat.node.content.to_string()).collect();
    let gone = pairing.gone.iter().filter_map(|id| snapshot.todo(*id));
    let missing: Vec<String> = gone.map(|todo| todo.title.clone()).collect();
    if !new.is_empty() || !missing.is_empty() {
        return Err(Refusal::PlanChanged { new, missing });
    }
    let text = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Ticks::default();
    for (flat, task) in nodes.iter().zip(&pairing.found) {
        let todo = task.as_ref().and_then(|task| snapshot.todo(task.id));
        let is_done = todo.is_some_and(|todo| todo.status == Status::Completed);
        if !is_done || flat.node.mark != Mark::Open {
            continue;
        }
        let line = flat.node.line;
        let before = lines.get(line - 1).copied().unwrap_or_default();
        match line::inside_box(before) {
            Some(range) => {
                let mut after = before.to_owned();
                after.replace_range(range, "x");
                found.ticks.push(Tick { line, before: before.to_owned(), after });
            }
            None => found.without_box.push(line),
        }
    }
    found.ticks.sort_by_key(|tick| tick.line);
    Ok(found)
}
