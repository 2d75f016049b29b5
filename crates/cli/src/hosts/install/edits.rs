//! An edit of one file, and its result.

use std::path::PathBuf;

use punchlist_store::outside;
use serde_json::Value;

use super::{json, toml};

/// The longest file of settings that is edited.
const FILE_MAX: usize = 4 << 20;

/// The lines around our part of a text.
const BEGIN: &str = "<!-- punchlist:begin -->";
const END: &str = "<!-- punchlist:end -->";

/// What we put into a file.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    /// A property of a JSON file, at a path; it belongs only to us.
    Property { path: Vec<&'static str>, value: Value },
    /// An element of an array of a JSON file, recognised by these words of its command.
    Element { path: Vec<&'static str>, value: Value, words: [&'static str; 2] },
    /// A property that others may have set already, and that stays when our edits are removed.
    Default { path: Vec<&'static str>, value: Value },
    /// A table of a TOML file.
    Table { path: [&'static str; 2], value: Value },
    /// A part of a text, between our markers.
    Block(&'static str),
    /// The whole file; it is ours.
    Whole(String),
}

/// A file and our edits of it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(super) path: PathBuf,
    pub(super) edits: Vec<Edit>,
}

/// A file that changes; `None` if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl Change {
    pub(crate) fn is_needed(&self) -> bool {
        self.before != self.after
    }
}

/// A file that is not changed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) path: PathBuf,
    pub(crate) message: String,
}

impl Target {
    pub(super) fn new(path: PathBuf, edits: Vec<Edit>) -> Self {
        Self { path, edits }
    }

    /// Does it contain hooks, and not only a server or instructions for the model?
    pub(crate) fn has_hooks(&self) -> bool {
        self.edits.iter().any(|edit| match edit {
            Edit::Element { .. } => true,
            Edit::Whole(text) => text.contains("hook") && text.contains("punch"),
            _ => false,
        })
    }

    /// Is it the text that all hosts share?
    pub(crate) fn is_shared(&self) -> bool {
        self.edits.iter().all(|edit| matches!(edit, Edit::Block(_)))
    }

    fn read(&self) -> Result<Option<String>, Fault> {
        match outside::text(&self.path, FILE_MAX) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.fault(error.to_string())),
        }
    }

    fn fault(&self, message: String) -> Fault {
        Fault { path: self.path.clone(), message }
    }

    /// The file with our edits in it.
    pub(crate) fn install(&self) -> Result<Change, Fault> {
        let before = self.read()?;
        let mut after = before.clone();
        for edit in &self.edits {
            let text = after.as_deref().unwrap_or_default();
            let edited = match edit {
                Edit::Property { path, value } => json::set(text, path, value),
                Edit::Default { path, value } => json::set_default(text, path, value),
                Edit::Element { path, value, words } => json::put(text, path, value, *words),
                Edit::Table { path, value } => toml::set(text, *path, value),
                Edit::Block(block) => Ok(with_block(text, block)),
                Edit::Whole(whole) => Ok(whole.clone()),
            };
            after = Some(edited.map_err(|message| self.fault(message))?);
        }
        Ok(Change { path: self.path.clone(), before, after })
    }

    /// The file without our edits.
    pub(crate) fn remove(&self) -> Result<Change, Fault> {
        let before = self.read()?;
        let Some(text) = &before else {
            return Ok(Change { path: self.path.clone(), before: None, after: None });
        };
        let mut after = text.clone();
        for edit in self.edits.iter().rev() {
            let edited = match edit {
                Edit::Property { path, .. } => json::unset(&after, path),
                Edit::Default { .. } => Ok(after),
                Edit::Element { path, words, .. } => json::take(&after, path, *words),
                Edit::Table { path, .. } => toml::unset(&after, *path),
                Edit::Block(_) => Ok(without_block(&after)),
                Edit::Whole(_) => Ok(String::new()),
            };
            after = edited.map_err(|message| self.fault(message))?;
        }
        // A file that is empty now was ours.
        let is_empty = matches!(after.split_whitespace().collect::<String>().as_str(), "" | "{}");
        let after = (!is_empty || after == *text).then_some(after);
        Ok(Change { path: self.path.clone(), before, after })
    }
}

/// The characters of a line break.
const BREAK: [char; 2] = ['\r', '\n'];

/// The line break that a file has: that of its first line.
pub(super) fn line_break(text: &str) -> &'static str {
    let is_crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    if is_crlf { "\r\n" } else { "\n" }
}

fn with_block(text: &str, block: &str) -> String {
    let end = line_break(text);
    let ours = format!("{BEGIN}\n{}\n{END}", block.trim_end()).replace('\n', end);
    match place(text) {
        Some((from, to)) => format!("{}{ours}{}", &text[..from], &text[to..]),
        None if text.trim().is_empty() => format!("{ours}{end}"),
        None => format!("{}{end}{end}{ours}{end}", text.trim_end_matches(BREAK)),
    }
}

fn without_block(text: &str) -> String {
    let Some((from, to)) = place(text) else { return text.to_owned() };
    let end = line_break(text);
    let (before, after) =
        (text[..from].trim_end_matches(BREAK), text[to..].trim_start_matches(BREAK));
    match (before.is_empty(), after.is_empty()) {
        (true, _) => after.to_owned(),
        (false, true) => format!("{before}{end}"),
        (false, false) => format!("{before}{end}{end}{after}"),
    }
}

fn place(text: &str) -> Option<(usize, usize)> {
    let from = text.find(BEGIN)?;
    let to = text[from..].find(END)? + from + END.len();
    Some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_added_once_and_removed_again() {
        for text in ["", "# Rules\n\nBe kind.\n", "# Rules\r\n\r\nBe kind.\r\n"] {
            let with = with_block(text, "ours\nand more");
            let has_bare = with.replace("\r\n", "").contains('\n');
            assert_eq!(has_bare, !text.contains('\r'), "the file's own line breaks: {with:?}");
            let with = with_block(text, "ours");
            assert_eq!(with_block(&with, "ours"), with);
            assert_eq!(with_block(&with, "new").matches("new").count(), 1);
            assert_eq!(without_block(&with), text);
        }
        let between = format!("a\n\n{BEGIN}\nours\n{END}\n\nb\n");
        assert_eq!(without_block(&between), "a\n\nb\n");
    }

    #[test]
    fn the_block_of_agents_md_has_at_most_twelve_lines() {
        let block = with_block("", include_str!("../files/agents.md"));
        assert!(block.lines().count() <= 12, "{block}");
    }
}
