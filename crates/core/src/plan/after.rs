//! Which tasks wait for others.
//!
//! A task waits while one of the tasks in its `after` is open and not dropped; everything below it
//! waits with it. The plan file says it on a line below the task: `after: "task text"`, or several texts with commas.
//!
//! Invariant: no task waits for itself. A task ends after everything below it, and begins after the
//! task above it has begun, so a task can wait for neither of them ([`circle`]).

use std::collections::{BTreeMap, BTreeSet};

use super::dropped;
use super::line::{self, Fence};
use super::pairing::{Flat, flat};
use super::{Node, PlanFault};
use crate::text::normalised;
use crate::{Snapshot, Todo, TodoId};

/// The texts of the tasks that a task comes after, from its description.
#[must_use]
pub fn named(description: &str) -> Vec<String> {
    let (mut fence, mut in_comment): (Option<Fence>, bool) = (None, false);
    let mut texts = Vec::new();
    for raw in description.lines() {
        if let Some(open) = fence {
            fence = fence.filter(|_| !open.is_closed_by(raw));
        } else if in_comment {
            in_comment = !raw.contains("-->");
        } else {
            (fence, in_comment) = (Fence::opened(raw), line::comment(raw).unwrap_or(false));
            texts.extend(quoted(raw).into_iter().flatten());
        }
    }
    texts
}

/// Reads `after: "a", "b"`; `None` for any other line.
fn quoted(raw: &str) -> Option<Vec<String>> {
    let text = raw.trim();
    let text = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).unwrap_or(text);
    let (word, mut rest) = text.split_once(':')?;
    if !word.trim().eq_ignore_ascii_case("after") {
        return None;
    }
    let mut texts = Vec::new();
    loop {
        let (text, behind) = rest.trim().strip_prefix('"')?.split_once('"')?;
        texts.push(normalised(text));
        rest = behind.trim();
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None if rest.is_empty() => return Some(texts),
            None => return None,
        }
    }
}

/// For each task of a file the tasks it comes after, by their index.
pub(crate) fn in_file(nodes: &[Flat<'_>]) -> Result<Vec<Vec<usize>>, PlanFault> {
    let wanted: Vec<Vec<String>> = nodes.iter().map(|flat| named(&flat.node.description)).collect();
    let mut found = vec![Vec::new(); nodes.len()];
    if wanted.iter().all(Vec::is_empty) {
        return Ok(found);
    }
    let mut by_text: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, flat) in nodes.iter().enumerate() {
        by_text.entry(normalised(flat.node.content.as_str())).or_default().push(at);
    }
    for (at, texts) in wanted.into_iter().enumerate() {
        let line = nodes[at].node.line;
        for text in texts {
            match by_text.get(&text).map(Vec::as_slice) {
                Some([one]) => found[at].push(*one),
                None | Some([]) => return Err(PlanFault::UnknownAfter { line, text }),
                Some(many) => {
                    let lines = many.iter().map(|at| nodes[*at].node.line).collect();
                    return Err(PlanFault::AmbiguousAfter { line, text, lines });
                }
            }
        }
        found[at].sort_unstable();
        found[at].dedup();
    }
    Ok(found)
}

/// Checks that every `after` in the file names exactly one task, without a cycle.
pub(super) fn check(root: &Node) -> Result<(), PlanFault> {
    let nodes = flat(root);
    let after = in_file(&nodes)?;
    let parents: Vec<Option<usize>> = nodes.iter().map(|flat| flat.parent).collect();
    let Some(circle) = circle(&parents, &after) else { return Ok(()) };
    let line = circle.first().map_or(1, |at| nodes[*at].node.line);
    let tasks = circle.iter().map(|at| nodes[*at].node.content.to_string()).collect();
    Err(PlanFault::AfterItself { line, tasks })
}

/// Tasks that wait for each other in a cycle, in the order in which they wait.
///
/// Each task is two nodes: its beginning and its end. Nodes without predecessors are removed until
/// none is left, or only a cycle. Nothing is recursive, so long chains are safe.
pub(crate) fn circle(parents: &[Option<usize>], after: &[Vec<usize>]) -> Option<Vec<usize>> {
    if after.iter().all(Vec::is_empty) {
        return None;
    }
    let count = parents.len();
    let (begin, end) = (|at: usize| at, |at: usize| at + count);
    let mut edges: Vec<(usize, usize)> = Vec::with_capacity(3 * count);
    for at in 0..count {
        edges.push((begin(at), end(at)));
        if let Some(parent) = parents[at] {
            edges.push((begin(parent), begin(at)));
            edges.push((end(at), end(parent)));
        }
        edges.extend(after[at].iter().map(|first| (end(*first), begin(at))));
    }
    let mut waits = vec![0_usize; 2 * count];
    let mut then: Vec<Vec<usize>> = vec![Vec::new(); 2 * count];
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); 2 * count];
    for (first, second) in edges {
        waits[second] += 1;
        then[first].push(second);
        before[second].push(first);
    }
    let mut free: Vec<usize> = (0..2 * count).filter(|at| waits[*at] == 0).collect();
    while let Some(at) = free.pop() {
        for next in &then[at] {
            waits[*next] -= 1;
            if waits[*next] == 0 {
                free.push(*next);
            }
        }
    }
    let stuck = |at: &usize| waits[*at] > 0;
    let mut way: Vec<usize> = vec![(0..2 * count).find(stuck)?];
    // A remaining node waits for another remaining node, so this walk returns to a visited one.
    while let Some(at) = way.last().and_then(|at| before[*at].iter().copied().find(stuck)) {
        if let Some(from) = way.iter().position(|seen| *seen == at) {
            let mut tasks: Vec<usize> = way[from..].iter().map(|at| at % count).collect();
            tasks.dedup();
            while tasks.len() > 1 && tasks.first() == tasks.last() {
                tasks.pop();
            }
            return Some(tasks);
        }
        way.push(at);
    }
    None
}

/// The open tasks that a task comes after. A dropped one is not among them: nobody will complete it.
pub fn open_before<'a>(snapshot: &'a Snapshot, todo: &Todo) -> impl Iterator<Item = &'a Todo> {
    let found = todo.after.iter().filter_map(|id| snapshot.todos.get(id)).collect::<Vec<_>>();
    let is_open = |first: &&Todo| {
        !first.status.is_settled() && dropped::cancelled_above(snapshot, first).is_none()
    };
    found.into_iter().filter(is_open)
}

/// The items of a list that wait for others, themselves or with a task above them.
#[must_use]
pub fn waiting(snapshot: &Snapshot) -> BTreeSet<TodoId> {
    let mut found: BTreeSet<TodoId> = BTreeSet::new();
    let chained = snapshot.todos.values().filter(|todo| !todo.after.is_empty());
    found.extend(
        chained.filter(|todo| open_before(snapshot, todo).next().is_some()).map(|todo| todo.id),
    );
    if found.is_empty() {
        return found;
    }
    for (todo, parent) in crate::select::pre_order(snapshot) {
        // Parents come first, so a whole subtree follows in one pass.
        if parent.is_some() && todo.parent_id.is_some_and(|above| found.contains(&above)) {
            found.insert(todo.id);
        }
    }
    found
}
