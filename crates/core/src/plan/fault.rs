//! Why a file is not a plan, with line numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a plan file was refused. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PlanFault {
    /// Neither a title nor a task.
    Empty,
    /// It contains U+0000, so it is not text.
    Binary {
        line: usize,
    },
    /// It is not UTF-8, so it is not text.
    NotText {
        line: usize,
    },
    TooLarge {
        bytes: usize,
        limit: usize,
    },
    TooManyLines {
        lines: usize,
        limit: usize,
    },
    TooDeep {
        line: usize,
        limit: usize,
    },
    /// The text of a task is too long; in characters.
    LongText {
        line: usize,
        length: usize,
        limit: usize,
    },
    /// The description of a task is too long; in bytes.
    LongDescription {
        line: usize,
        length: usize,
        limit: usize,
    },
    /// Two tasks under one parent have the same text, so they cannot be distinguished.
    Duplicate {
        first: usize,
        line: usize,
        text: String,
    },
    /// It comes after a task that the file does not have.
    UnknownAfter {
        line: usize,
        text: String,
    },
    /// Several tasks of the file have this text.
    AmbiguousAfter {
        line: usize,
        text: String,
        lines: Vec<usize>,
    },
    /// Tasks that wait for each other.
    AfterItself {
        line: usize,
        tasks: Vec<String>,
    },
    /// There is no H1, and the file's own name cannot be a title.
    Untitled,
}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the plan has no task: neither a title, a step nor an item"),
            Self::Binary { line } => {
                write!(f, "line {line}: a NUL character; the file is not text")
            }
            Self::NotText { line } => {
                write!(f, "line {line}: bytes that are not UTF-8; the file is not text")
            }
            Self::TooLarge { bytes, limit } => {
                write!(f, "the plan has {bytes} bytes or more; the limit is {limit}")
            }
            Self::TooManyLines { lines, limit } => {
                write!(f, "the plan has {lines} lines; the limit is {limit}")
            }
            Self::TooDeep { line, limit } => {
                write!(f, "line {line}: the task is nested deeper than {limit} levels")
            }
            Self::LongText { line, length, limit } => {
                write!(f, "line {line}: the task has {length} characters; the limit is {limit}")
            }
            Self::LongDescription { line, length, limit } => write!(
                f,
                "line {line}: what describes the task has {length} bytes; the limit is {limit}"
            ),
            Self::Duplicate { first, line, text } => {
                let short = short(text);
                write!(f, "line {line}: `{short}` says the same as line {first}, its sibling")
            }
            Self::UnknownAfter { line, text } => {
                write!(
                    f,
                    "line {line}: the task comes after `{}`, which is not a task of the plan",
                    short(text)
                )
            }
            Self::AmbiguousAfter { line, text, lines } => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                let (text, lines) = (short(text), lines.join(", "));
                write!(f, "line {line}: several tasks say `{text}`: lines {lines}")
            }
            Self::AfterItself { line, tasks } => {
                write!(f, "line {line}: the task waits for itself: {}", in_a_circle(tasks))
            }
            Self::Untitled => {
                f.write_str("the plan has no H1, and the name of its file cannot be a title")
            }
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Tasks that wait for each other, with the first once more at the end.
pub(crate) fn in_a_circle(tasks: &[String]) -> String {
    let around = tasks.iter().chain(tasks.first());
    around.map(|task| format!("`{}`", short(task))).collect::<Vec<_>>().join(" after ")
}

impl std::error::Error for PlanFault {}
