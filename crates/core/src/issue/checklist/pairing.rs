//! Matches the lines of an edited checklist with items.
//!
//! Lines are matched by kind and text. If several items have the same text (a settled one may come
//! again), a line takes the one that is rendered exactly like it, so that an unchanged line always
//! finds its own item.

use std::collections::{BTreeMap, VecDeque};

use super::{Line, Mark};
use crate::select::phase_of;
use crate::text::normalised;
use crate::{Todo, TodoId, TodoKind};

/// For each line its item, `None` for a new one. Each item is taken at most once, in order. If
/// items look the same, open ones come before settled ones.
pub(crate) fn pair(lines: &[Line], todos: &[&Todo]) -> Vec<Option<TodoId>> {
    let lines: Vec<Face> = lines.iter().map(Face::of_line).collect();
    let mut todos: Vec<&Todo> = todos.to_vec();
    todos.sort_by_key(|todo| todo.status.is_settled());
    let faces: Vec<Face> = todos.iter().map(|todo| Face::of_todo(todo)).collect();
    let mut pairs = Pairs { of_line: vec![None; lines.len()], taken: vec![false; todos.len()] };
    pairs.add(&lines, &faces, |face| face);
    pairs.add(&lines, &faces, |face| (face.kind, &face.text, face.mark));
    pairs.add(&lines, &faces, |face| (face.kind, &face.text));
    pairs.of_line.into_iter().map(|row| row.map(|row| todos[row].id)).collect()
}

/// How an item is rendered.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Face {
    kind: TodoKind,
    text: String,
    phase: Option<String>,
    mark: Mark,
    claimed: bool,
}

impl Face {
    fn of_line(line: &Line) -> Self {
        let is_claimed = line.mark == Mark::Claimed;
        Self {
            kind: line.kind,
            text: normalised(line.content.as_str()),
            phase: line.shown_phase(),
            mark: if is_claimed { Mark::Completed } else { line.mark },
            claimed: is_claimed || line.claimed_by.is_some(),
        }
    }

    fn of_todo(todo: &Todo) -> Self {
        Self {
            kind: todo.kind,
            text: normalised(&todo.title),
            phase: phase_of(todo),
            mark: Mark::of(todo),
            claimed: todo.claim.is_some() && !todo.status.is_settled(),
        }
    }
}

struct Pairs {
    of_line: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Pairs {
    /// Pairs unmatched lines and items with the same key.
    fn add<'a, K: Ord>(
        &mut self,
        lines: &'a [Face],
        todos: &'a [Face],
        key: impl Fn(&'a Face) -> K,
    ) {
        let mut free: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
        for (row, face) in todos.iter().enumerate().filter(|(row, _)| !self.taken[*row]) {
            free.entry(key(face)).or_default().push_back(row);
        }
        for (line, face) in lines.iter().enumerate() {
            if self.of_line[line].is_none()
                && let Some(row) = free.get_mut(&key(face)).and_then(VecDeque::pop_front)
            {
                self.of_line[line] = Some(row);
                self.taken[row] = true;
            }
        }
    }
}
