//! The change that an agent's commits make: its size, its files, and their lines.
//!
//! It is read with git only when the reader asks for it (`?change=`), and kept for the next draw:
//! commits do not change. Without a script, every fold and every step is an address.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use maud::{Markup, html};
use punchlist_core::change::{Change, File, Part, Unread};
use punchlist_core::evidence::{Evidence, EvidenceKind};

use crate::http::ReadChange;

use super::icons::Icon;
use super::plain::plain;
use super::visit::{Asked, Visit};
use super::{parts, words};

/// How many files are shown at a time.
const FILES: usize = 20;

/// How many changes are kept.
const KEPT: usize = 16;

/// Commits of a project.
type Key = (String, Vec<String>);

/// What reads changes, and those that were read lately, the newest last.
#[derive(Debug)]
pub(crate) struct Changes {
    read: ReadChange,
    kept: Mutex<VecDeque<(Key, Arc<Change>)>>,
}

impl Changes {
    pub(crate) const fn new(read: ReadChange) -> Self {
        Self { read, kept: Mutex::new(VecDeque::new()) }
    }

    fn find(&self, key: &Key) -> Option<Arc<Change>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == key).map(|(_, change)| Arc::clone(change))
    }

    fn keep(&self, key: Key, change: &Arc<Change>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != key);
        kept.push_back((key, Arc::clone(change)));
        if kept.len() > KEPT {
            kept.pop_front();
        }
    }
}

/// Does a request ask for a change?
pub(crate) fn is_asked(asked: &Asked) -> bool {
    let is_named = |name: &str| matches!(name, "change" | "size");
    asked.query.iter().any(|(name, value)| is_named(name) && !value.is_empty())
}

/// The commits that a decision or an issue is about.
#[derive(Debug)]
pub(crate) struct Cited<'a> {
    pub(crate) project: &'a str,
    /// The name of this change on its page.
    pub(crate) key: &'a str,
    /// The ids of the commits, as claims cite them.
    pub(crate) commits: Vec<String>,
    /// The sessions that worked on it.
    pub(crate) sessions: Vec<String>,
}

/// The commits among pieces of evidence, each once.
pub(crate) fn commits<'a>(evidence: impl Iterator<Item = &'a Evidence>) -> Vec<String> {
    let of_kind = evidence.filter(|one| one.kind() == EvidenceKind::Commit);
    let id = |one: &Evidence| one.to_string().split_once(':').map(|(_, id)| id.to_lowercase());
    let mut commits: Vec<String> = of_kind.filter_map(id).collect();
    commits.sort_unstable();
    commits.dedup();
    commits
}

impl Cited<'_> {
    fn anchor(&self) -> String {
        format!("change-{}", self.key)
    }

    pub(crate) fn is_shown(&self, visit: &Visit) -> bool {
        visit.query("change") == Some(self.key)
    }

    fn known(&self, visit: &Visit) -> Option<Arc<Change>> {
        visit.changes().find(&(self.project.to_owned(), self.commits.clone()))
    }

    fn read(&self, visit: &Visit) -> Result<Arc<Change>, String> {
        if let Some(known) = self.known(visit) {
            return Ok(known);
        }
        let folders = visit.folders(self.project, &self.sessions);
        let mut trouble = "The server does not know the folder of this project.".to_owned();
        for folder in folders.map_err(|error| words::told(&error))? {
            match (visit.changes().read)(Path::new(&folder), &self.commits) {
                Ok(change) if change.commits == 0 => {
                    trouble = match self.commits.len() {
                        1 => "The commit is not in the repository of this project.".to_owned(),
                        _ => "None of the commits is in the repository of this project.".to_owned(),
                    };
                }
                Ok(change) => {
                    let change = Arc::new(change);
                    // A commit that is missing may come later.
                    if change.missing == 0 {
                        let key = (self.project.to_owned(), self.commits.clone());
                        visit.changes().keep(key, &change);
                    }
                    return Ok(change);
                }
                Err(Unread::NoFolder) => {
                    trouble = "The folder of this project is not on the server's machine, \
                               so the change cannot be shown here."
                        .to_owned();
                }
                Err(Unread::Git(said)) => {
                    trouble = words::sentence(&format!("The change cannot be read: git {said}"));
                }
            }
        }
        Err(trouble)
    }

    /// The size of the change, and the button that shows or hides it.
    pub(crate) fn facts(&self, visit: &Visit) -> Markup {
        if self.commits.is_empty() {
            return html! {};
        }
        let size = |n: usize| i64::try_from(n).unwrap_or(0);
        html! {
            span { b { (self.commits.len()) } @if self.commits.len() == 1 { " commit" } @else { " commits" } }
            @let known = self.known(visit).or_else(|| match visit.query("size") == Some(self.key) {
                true => self.read(visit).ok(),
                false => None,
            });
            // The script asks for the size once the page is shown; git may take long.
            @if known.is_none() { span data-size=(self.key) hidden {} }
            @if let Some(change) = known {
                @let files = size(change.files.len());
                span { b { (words::grouped(files)) } @if files == 1 { " file" } @else { " files" } }
                (counts(change.added(), change.removed()))
            }
            form.form-row method="get" action=(format!("{}#{}", visit.path(), self.anchor())) {
                (visit.filters(&["change", "from"]))
                @if self.is_shown(visit) { button.link type="submit" { "Hide the change" } }
                @else { button.link type="submit" name="change" value=(self.key) { "Show the change" } }
            }
        }
    }

    /// The files with their lines, if the reader asked for them.
    pub(crate) fn draw(&self, visit: &Visit) -> Markup {
        if !self.is_shown(visit) || self.commits.is_empty() {
            return html! { span id=(self.anchor()) hidden {} };
        }
        let read = self.read(visit);
        html! {
            div.change id=(self.anchor()) tabindex="-1" role="group" aria-label="The change" {
                @match &read {
                    Err(trouble) => p.hint { (trouble) },
                    Ok(change) => (self.files(visit, change)),
                }
            }
        }
    }

    fn files(&self, visit: &Visit, change: &Change) -> Markup {
        let all = change.files.len();
        let from = visit.query("from").and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
        let from = if from < all { from } else { 0 };
        let size = |n: usize| i64::try_from(n).unwrap_or(0);
        let to = |from: usize| {
            let from = from.to_string();
            let asked = [("change", Some(self.key)), ("from", Some(from.as_str()))];
            format!("{}#{}", visit.here(&asked), self.anchor())
        };
        html! {
            @if change.missing > 0 {
                p.hint {
                    (words::count(size(change.missing), "commit is", "commits are"))
                    " not in the repository of this project."
                }
            }
            @if change.is_cut { p.hint { "The change is too large to be shown completely." } }
            @if all == 0 { p.hint { "These commits change no file." } }
            ul.files {
                @for (n, file) in change.files.iter().enumerate().skip(from).take(FILES) {
                    li { (one(&format!("file-{}-{n}", self.key), file, all == 1, change.is_cut)) }
                }
            }
            @if all > FILES {
                p.files-more {
                    span {
                        "Files " (words::grouped(size(from + 1))) " to " (words::grouped(size((from + FILES).min(all))))
                        " of " (words::grouped(size(all))) "."
                    }
                    @if from > 0 { a href=(to(from.saturating_sub(FILES))) { "Show the previous " (FILES) } }
                    @if from + FILES < all {
                        a href=(to(from + FILES)) { "Show the next " (FILES.min(all - from - FILES)) }
                    }
                }
            }
        }
    }
}

/// "+312 −48".
fn counts(added: u64, removed: u64) -> Markup {
    let grouped = |n: u64| words::grouped(i64::try_from(n).unwrap_or(i64::MAX));
    html! {
        span.counts {
            @if added > 0 || removed == 0 { span.green { "+" (grouped(added)) } " " }
            @if removed > 0 { span.red { "−" (grouped(removed)) } }
            span.hidden { " lines" }
        }
    }
}

/// A file, which unfolds to its lines.
fn one(id: &str, file: &File, is_open: bool, is_cut: bool) -> Markup {
    let has_lines = file.parts.iter().any(|part| !part.lines.is_empty());
    html! {
        details.file id=(id) open[is_open] {
            summary {
                (parts::chevron())
                span.mono {
                    (plain(&file.path))
                    @if let Some(from) = &file.from { span.hint { " from " (plain(from)) } }
                }
                @if file.is_binary && file.added == 0 { span.hint { "binary" } }
                @else { (counts(file.added, file.removed)) }
            }
            @if file.is_binary && !has_lines { p.hint { "A binary file: there are no lines to show." } }
            @else if !has_lines && is_cut { p.hint { "Its lines are not shown, because the change is too large." } }
            @else if !has_lines { p.hint { "No line changed." } }
            @for part in &file.parts { (lines(part, file.parts.len() > 1)) }
        }
    }
}

/// The lines of a file in one commit.
fn lines(part: &Part, is_named: bool) -> Markup {
    let class = |line: &str| match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "cut",
        Some(b'@') => "place",
        _ => "",
    };
    html! {
        @if !part.lines.is_empty() {
            @if is_named {
                p.hint {
                    (Icon::Commit.draw()) " In " span.mono { (part.commit.get(..7).unwrap_or_default()) }
                }
            }
            pre.lines { @for line in &part.lines { span class=(class(line)) { (plain(line)) "\n" } } }
            @if part.left > 0 {
                p.hint { (words::count(i64::try_from(part.left).unwrap_or(0), "more line", "more lines")) "." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_taken_from_evidence_each_once() {
        let all = ["commit:4F2A91C", "test:a", "commit:4f2a91c", "commit:0123abcd"];
        let all: Vec<Evidence> = all.iter().filter_map(|one| Evidence::parse(one)).collect();
        assert_eq!(commits(all.iter()), ["0123abcd", "4f2a91c"]);
    }

    #[test]
    fn only_the_newest_changes_are_kept() {
        let changes = Changes::new(|_, _| Err(Unread::NoFolder));
        let key = |n: usize| ("shop".to_owned(), vec![n.to_string()]);
        for n in 0..=KEPT {
            changes.keep(key(n), &Arc::new(Change::default()));
        }
        assert!(changes.find(&key(0)).is_none());
        assert!(changes.find(&key(KEPT)).is_some());
    }
}
