//! The backlog in a file, TODO.md: its lines, the line a plan may come from, and ticking that line
//! (O-1, O-2, D-15).
//!
//! The file belongs to its author. Nothing here changes it: this module finds a line, and the
//! caller ticks that line and changes no other byte, only on request.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::line::Fence;
use crate::command::{CreateTodos, NewTodo};
use crate::text::{Body, Content, normalised};
use crate::{Refusal, Snapshot, Todo};

/// The default file.
pub const TODO_FILE: &str = "TODO.md";

/// An item of the file: `- [ ] Add authentication`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TodoLine<'a> {
    /// The number of its line, from 1.
    pub number: usize,
    /// The line, without its line ending.
    pub line: &'a str,
    pub content: &'a str,
    pub is_ticked: bool,
}

/// The line a plan came from; kept as the justification of its root task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub file: String,
    pub line: String,
}

/// Why no line of the file could be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoLineFault {
    /// No open line matches: it is gone, or has another text now.
    Gone,
    /// Several lines match.
    Ambiguous { lines: Vec<usize> },
    /// It is ticked already.
    Ticked { line: usize },
    /// The plan came from another file.
    Elsewhere { file: String },
}

impl fmt::Display for TodoLineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("no open line says that"),
            Self::Ambiguous { lines } => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                write!(f, "several lines match: {}", lines.join(", "))
            }
            Self::Ticked { line } => write!(f, "line {line} is ticked already"),
            Self::Elsewhere { file } => write!(f, "it is a line of {file}"),
        }
    }
}

/// The items of a file, ticked or not; lines in code blocks are ignored.
#[must_use]
pub fn todo_lines(text: &str) -> Vec<TodoLine<'_>> {
    let mut fence: Option<Fence> = None;
    let mut found = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match fence {
            Some(open) if open.is_closed_by(line) => fence = None,
            Some(_) => {}
            None => match Fence::opened(line) {
                None => found.extend(item(index + 1, line)),
                opened => fence = opened,
            },
        }
    }
    found
}

fn item(number: usize, line: &str) -> Option<TodoLine<'_>> {
    let line_start = line.trim_start_matches(['\u{feff}', ' ', '\t']);
    let rest = line_start.trim_start_matches(|c: char| c.is_ascii_digit());
    let bullets: &[char] =
        if rest.len() < line_start.len() { &['.', ')'] } else { &['-', '*', '+'] };
    let rest = rest.strip_prefix(bullets)?.strip_prefix([' ', '\t'])?.trim_start();
    let (mark, content) = rest.strip_prefix('[')?.split_once(']')?;
    let is_ticked = match mark {
        " " => false,
        "x" | "X" => true,
        _ => return None,
    };
    let content = content.strip_prefix([' ', '\t'])?.trim();
    (!content.is_empty()).then_some(TodoLine { number, line, content, is_ticked })
}

/// Finds an open line: by its number, by its text, or by a part of the text that no other line
/// contains.
pub fn pick<'a>(text: &'a str, file: &str, wanted: &str) -> Result<TodoLine<'a>, Refusal> {
    let lines = todo_lines(text);
    let wanted_text = normalised(wanted);
    let numbered = |line: &&TodoLine<'_>| wanted_text.parse() == Ok(line.number);
    let says = |line: &&TodoLine<'_>| normalised(line.content) == wanted_text;
    let part = wanted_text.to_lowercase();
    let holds = |line: &&TodoLine<'_>| normalised(line.content).to_lowercase().contains(&part);
    let by: [&dyn Fn(&&TodoLine<'a>) -> bool; 3] = [&numbered, &says, &holds];
    let mut fault = TodoLineFault::Gone;
    for is_meant in by {
        let meant: Vec<&TodoLine<'_>> = lines.iter().filter(is_meant).collect();
        let open: Vec<&&TodoLine<'_>> = meant.iter().filter(|line| !line.is_ticked).collect();
        fault = match (open.as_slice(), meant.first()) {
            ([line], _) => return Ok(***line),
            ([], None) => continue,
            ([], Some(ticked)) => TodoLineFault::Ticked { line: ticked.number },
            (several, _) => {
                TodoLineFault::Ambiguous { lines: several.iter().map(|line| line.number).collect() }
            }
        };
        break;
    }
    Err(refusal(file, wanted, fault))
}

/// The number of the exact line a plan came from, to tick it. A line with another text, or one that
/// occurs twice, is refused.
pub fn to_tick(text: &str, file: &str, origin: &Origin) -> Result<usize, Refusal> {
    if file != origin.file {
        let fault = TodoLineFault::Elsewhere { file: origin.file.clone() };
        return Err(refusal(file, &origin.line, fault));
    }
    let lines = todo_lines(text);
    let is_it = |line: &&TodoLine<'_>| line.line.trim_end() == origin.line.trim_end();
    let same: Vec<&TodoLine<'_>> = lines.iter().filter(is_it).collect();
    let fault = match same.as_slice() {
        [line] => return Ok(line.number),
        [] => {
            let ticked = lines.iter().find(|line| {
                line.is_ticked && opened(line.line).trim_end() == origin.line.trim_end()
            });
            ticked.map_or(TodoLineFault::Gone, |line| TodoLineFault::Ticked { line: line.number })
        }
        several => {
            TodoLineFault::Ambiguous { lines: several.iter().map(|line| line.number).collect() }
        }
    };
    Err(refusal(&origin.file, &origin.line, fault))
}

/// The line as it was before it was ticked.
fn opened(line: &str) -> String {
    line.replacen("[x]", "[ ]", 1).replacen("[X]", "[ ]", 1)
}

fn refusal(file: &str, line: &str, fault: TodoLineFault) -> Refusal {
    Refusal::BadTodoLine { file: file.to_owned(), line: line.to_owned(), fault }
}

/// The root task of a plan made from a line. A plan that has tasks already is not changed.
pub fn opening(
    snapshot: &Snapshot,
    plan_file: &str,
    content: Content,
    origin: &Origin,
    seq: i64,
) -> Result<CreateTodos, Refusal> {
    if snapshot.todos.values().any(|todo| todo.removed_at.is_none()) {
        return Err(Refusal::PlanExists { plan_file: plan_file.to_owned() });
    }
    // The key that an import would use, so that the plan's file later finds its root.
    let external_id = Some(normalised(content.as_str()));
    let justification = Body::new(&origin.written()).ok();
    let root = NewTodo { external_id, justification, seq: Some(seq), ..NewTodo::titled(content) };
    Ok(CreateTodos { items: vec![root] })
}

/// The expected file name of a plan made from this line.
#[must_use]
pub fn plan_file_for(content: &str) -> String {
    let mut slug = String::new();
    for c in content.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.chars().count() >= 60 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    format!("docs/plans/{}.md", if slug.is_empty() { "todo" } else { slug })
}

impl Origin {
    /// The stored form: the file on one line, the text on the next.
    fn written(&self) -> String {
        format!("{}\n{}", self.file, self.line)
    }

    /// The line a plan came from, if any.
    #[must_use]
    pub fn of(root: &Todo) -> Option<Self> {
        let (file, line) = root.justification.split_once('\n')?;
        let is_root = root.parent_id.is_none() && root.removed_at.is_none();
        is_root.then(|| Self { file: file.to_owned(), line: line.to_owned() })
    }
}
