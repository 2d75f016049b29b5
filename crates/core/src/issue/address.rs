//! Items of an issue are addressed by their text; ids are never shown to an agent (K-19).
//!
//! An agent must give the exact text (white space collapsed, case kept). A person may be brief: in
//! another case, or with a part that only one item contains. Nothing is guessed.

use crate::authority::{Action, Subject, may_any};
use crate::select::ordered;
use crate::text::normalised;
use crate::{Refusal, Role, Snapshot, Todo, TodoId, TodoKind};

/// How many similar texts a refusal names.
const NEAR_MAX: usize = 3;

/// How exact a text must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// For agents.
    Exact,
    /// For people at a command line.
    Brief,
}

impl Precision {
    /// A person may be brief, an agent gives the exact text (K-24).
    #[must_use]
    pub fn of(role: Role) -> Self {
        match may_any(role, Subject::Issue, Action::Abbreviate) {
            true => Self::Brief,
            false => Self::Exact,
        }
    }
}

/// The item with this text: an open one before a settled one.
pub fn find(snapshot: &Snapshot, text: &str, precision: Precision) -> Result<TodoId, Refusal> {
    of_kind(snapshot, text, precision, &TodoKind::ALL)
}

/// Like [`find`], among criteria only.
pub fn find_criterion(
    snapshot: &Snapshot,
    text: &str,
    precision: Precision,
) -> Result<TodoId, Refusal> {
    of_kind(snapshot, text, precision, &[TodoKind::Criterion])
}

fn of_kind(
    snapshot: &Snapshot,
    text: &str,
    precision: Precision,
    kinds: &[TodoKind],
) -> Result<TodoId, Refusal> {
    let todos: Vec<&Todo> =
        ordered(snapshot).into_iter().filter(|todo| kinds.contains(&todo.kind)).collect();
    let wanted = normalised(text);
    let exact = |todo: &Todo| normalised(&todo.title) == wanted;
    let tests: [&dyn Fn(&Todo) -> bool; 3] = [
        &exact,
        &|todo| normalised(&todo.title).to_lowercase() == wanted.to_lowercase(),
        &|todo| normalised(&todo.title).to_lowercase().contains(&wanted.to_lowercase()),
    ];
    let tests = match precision {
        Precision::Exact => &tests[..1],
        Precision::Brief => &tests[..],
    };
    for test in tests {
        let found: Vec<&Todo> = todos.iter().copied().filter(|todo| test(todo)).collect();
        let open: Vec<&Todo> = found.iter().copied().filter(|t| !t.status.is_settled()).collect();
        // Of several settled items with the exact text, the newest is used.
        match (open.as_slice(), found.as_slice()) {
            ([todo], _) => return Ok(todo.id),
            ([], []) => {}
            ([], settled) if settled.iter().all(|todo| exact(todo)) => {
                let newest = settled.iter().max_by_key(|todo| todo.id);
                return newest.map(|todo| todo.id).ok_or_else(|| miss(&todos, &wanted));
            }
            ([], [todo]) => return Ok(todo.id),
            (several, settled) => {
                let of = if several.is_empty() { settled } else { several };
                let texts = of.iter().map(|todo| todo.title.clone()).collect();
                return Err(Refusal::AmbiguousText { text: wanted, texts });
            }
        }
    }
    Err(miss(&todos, &wanted))
}

fn miss(todos: &[&Todo], wanted: &str) -> Refusal {
    let mut near: Vec<(usize, &str)> =
        todos.iter().map(|todo| (distance(&todo.title, wanted), todo.title.as_str())).collect();
    near.sort_by_key(|(distance, _)| *distance);
    let nearest = near.into_iter().take(NEAR_MAX).map(|(_, text)| text.to_owned()).collect();
    Refusal::NoSuchText { text: wanted.to_owned(), nearest, is_empty: todos.is_empty() }
}

/// How different two texts are: the number of words they do not share. This is fast for long texts.
fn distance(a: &str, b: &str) -> usize {
    let words = |text: &str| -> Vec<String> {
        text.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (a, b) = (words(a), words(b));
    let shared = a.iter().filter(|word| b.iter().any(|other| begins(word, other))).count();
    (a.len() + b.len()).saturating_sub(2 * shared)
}

/// Words count as shared when they begin alike: `test`, `tests`, `tested`.
fn begins(a: &str, b: &str) -> bool {
    let alike = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    alike >= 3 || a == b
}
