//! Parses a plan file into a tree of tasks.
//!
//! - The first H1 is the root, else the file's stem. Checkbox items, numbered items, and headings
//!   that hold such items or begin with Task, Step or Phase and a number are tasks. They nest as
//!   written; an item nests in the one above it from two columns on, a tab counts four.
//! - Paragraphs and plain bullets describe the task above them, code fences and comments too. A
//!   heading that is not a task belongs to the description of the task above it, with all its text.
//! - `after: "text"` in a description names a task of the file that must be settled first (`after`).
//! - `[x]` is done, `[-]` dropped, everything else open. Emphasis stays text.
//!
//! Each line is read once and no function is recursive, so that a hostile file can exhaust neither
//! time nor the stack.

use std::collections::BTreeMap;
use std::mem::take;

use super::after;
use super::line::{self, Fence, Heading, Item, Sort};
use super::{BYTES_MAX, LEVELS_MAX, LINES_MAX, Mark, Node, Plan, PlanFault};
use crate::text::{Body, Content, TextFault, normalised};

/// The bytes of a plan file as text.
pub fn text(bytes: &[u8]) -> Result<&str, PlanFault> {
    if bytes.len() > BYTES_MAX {
        return Err(PlanFault::TooLarge { bytes: bytes.len(), limit: BYTES_MAX });
    }
    std::str::from_utf8(bytes).map_err(|fault| {
        let read = &bytes[..fault.valid_up_to()];
        PlanFault::NotText { line: read.iter().filter(|byte| **byte == b'\n').count() + 1 }
    })
}

/// Reads a plan. `stem` names the root if there is no H1.
pub fn parse(markdown: &str, stem: &str) -> Result<Plan, PlanFault> {
    let markdown = text(markdown.as_bytes())?;
    let text = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    if let Some(at) = text.find('\0') {
        let line = text[..at].bytes().filter(|byte| *byte == b'\n').count() + 1;
        return Err(PlanFault::Binary { line });
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        return Err(PlanFault::TooManyLines { lines, limit: LINES_MAX });
    }
    let (front_matter, above) = front_matter(text);
    let mut reader = Reader::new();
    for (at, raw) in (1..).zip(text.lines()).skip(above) {
        reader.read(at, raw)?;
    }
    Ok(Plan { front_matter, root: reader.finish(stem)? })
}

/// The text between two `---` at the very top, and its number of lines.
fn front_matter(text: &str) -> (Option<String>, usize) {
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return (None, 0);
    }
    let mut kept = String::new();
    for (count, line) in (2..).zip(lines) {
        if matches!(line.trim_end(), "---" | "...") {
            return (Some(kept), count);
        }
        if count > 2 {
            kept.push('\n');
        }
        kept.push_str(line);
    }
    // Without an end it is a horizontal rule.
    (None, 0)
}

/// A task, or a heading that may become one.
struct Entry<'a> {
    parent: usize,
    /// The root has level 1.
    level: usize,
    line: usize,
    text: &'a str,
    mark: Mark,
    /// The indentation of its description, in columns.
    inner: usize,
    /// The heading as written, in case it is not a task.
    heading: &'a str,
    is_task: bool,
    description: String,
}

/// An open item of a list.
struct Open {
    indent: usize,
    /// The task that nested lines belong to: the item itself, or the task around a plain bullet.
    owner: usize,
}

struct Reader<'a> {
    /// The root, then all others in the order of the file; parents come before their children.
    entries: Vec<Entry<'a>>,
    titled: bool,
    /// The headings around the current line, by their level.
    headings: Vec<(usize, usize)>,
    items: Vec<Open>,
    /// The entry that the next text describes.
    last: usize,
    fence: Option<Fence>,
    in_comment: bool,
    after_text: bool,
}

const ROOT: usize = 0;

impl<'a> Reader<'a> {
    fn new() -> Self {
        let root = Entry {
            parent: ROOT,
            level: 1,
            line: 1,
            text: "",
            mark: Mark::Open,
            inner: 0,
            heading: "",
            is_task: true,
            description: String::new(),
        };
        Self {
            entries: vec![root],
            titled: false,
            headings: Vec::new(),
            items: Vec::new(),
            last: ROOT,
            fence: None,
            in_comment: false,
            after_text: false,
        }
    }

    fn read(&mut self, at: usize, raw: &'a str) -> Result<(), PlanFault> {
        if let Some(fence) = self.fence {
            if fence.is_closed_by(raw) {
                self.fence = None;
            }
            self.describe(raw);
            return Ok(());
        }
        if self.in_comment {
            self.in_comment = !raw.contains("-->");
            self.describe(raw);
            return Ok(());
        }
        let sorted = line::sort(raw);
        let after_text = std::mem::replace(&mut self.after_text, sorted == Sort::Text);
        match sorted {
            Sort::Rule => {}
            Sort::Heading(heading) => self.heading(at, raw, heading)?,
            Sort::Item(item) if !(item.goes_on && after_text && self.items.is_empty()) => {
                self.item(at, item)?;
            }
            Sort::Bullet { indent } => {
                let owner = self.owner(indent);
                self.items.push(Open { indent, owner });
                self.text(raw);
            }
            Sort::Blank | Sort::Text | Sort::Item(_) => self.text(raw),
        }
        Ok(())
    }

    fn text(&mut self, raw: &str) {
        self.fence = Fence::opened(raw);
        self.in_comment = line::comment(raw).unwrap_or(false);
        self.describe(raw);
    }

    fn describe(&mut self, raw: &str) {
        let entry = &mut self.entries[self.last];
        let text = line::dedent(raw, entry.inner).trim_end();
        if !entry.description.is_empty() {
            entry.description.push('\n');
        }
        entry.description.push_str(text);
    }

    fn heading(&mut self, at: usize, raw: &'a str, heading: Heading<'a>) -> Result<(), PlanFault> {
        self.items.clear();
        let Heading { level, text, mark } = heading;
        while self.headings.pop_if(|(above, _)| *above >= level).is_some() {}
        if level == 1 && !self.titled {
            self.titled = true;
            let root = &mut self.entries[ROOT];
            (root.line, root.text, root.mark) = (at, text, mark.unwrap_or_default());
            self.last = ROOT;
            return Ok(());
        }
        let parent = self.headings.last().map_or(ROOT, |(_, entry)| *entry);
        let is_task = mark.is_some() || line::is_numbered_step(text);
        let mark = mark.unwrap_or_default();
        self.enter(Entry { heading: raw.trim(), ..self.entry(at, parent, text, mark) })?;
        if is_task {
            self.is_a_task(self.last);
        }
        self.headings.push((level, self.last));
        Ok(())
    }

    fn item(&mut self, at: usize, item: Item<'a>) -> Result<(), PlanFault> {
        let parent = self.owner(item.indent);
        self.enter(Entry { inner: item.inner, ..self.entry(at, parent, item.text, item.mark) })?;
        self.is_a_task(self.last);
        self.items.push(Open { indent: item.indent, owner: self.last });
        Ok(())
    }

    /// The task that an item at this column belongs to; the lists that end here are closed.
    fn owner(&mut self, indent: usize) -> usize {
        while self.items.pop_if(|open| indent < open.indent + 2).is_some() {}
        let heading = self.headings.last().map_or(ROOT, |(_, entry)| *entry);
        self.items.last().map_or(heading, |open| open.owner)
    }

    fn entry(&self, line: usize, parent: usize, text: &'a str, mark: Mark) -> Entry<'a> {
        let level = self.entries[parent].level + 1;
        let (heading, description) = ("", String::new());
        Entry { parent, level, line, text, mark, inner: 0, heading, is_task: false, description }
    }

    fn enter(&mut self, entry: Entry<'a>) -> Result<(), PlanFault> {
        if entry.level > LEVELS_MAX {
            return Err(PlanFault::TooDeep { line: entry.line, limit: LEVELS_MAX });
        }
        self.last = self.entries.len();
        self.entries.push(entry);
        Ok(())
    }

    /// Marks an entry as a task, and all headings around it.
    fn is_a_task(&mut self, entry: usize) {
        let mut next = entry;
        while !self.entries[next].is_task {
            self.entries[next].is_task = true;
            next = self.entries[next].parent;
        }
    }

    fn finish(mut self, stem: &'a str) -> Result<Node, PlanFault> {
        if !self.titled {
            if !self.entries[1..].iter().any(|entry| entry.is_task) {
                return Err(PlanFault::Empty);
            }
            Content::new(&normalised(stem)).map_err(|_| PlanFault::Untitled)?;
            self.entries[ROOT].text = stem;
        }
        self.fold_headings();
        tree(self.entries)
    }

    /// Headings that are not tasks become part of the description of the task around them.
    fn fold_headings(&mut self) {
        for index in 1..self.entries.len() {
            let entry = &mut self.entries[index];
            if entry.is_task {
                continue;
            }
            // A heading that is not a task has no tasks below it, so its parent is a task or was
            // folded before.
            let (heading, text, parent) =
                (entry.heading, take(&mut entry.description), entry.parent);
            let owner =
                if self.entries[parent].is_task { parent } else { self.entries[parent].parent };
            self.entries[index].parent = owner;
            let description = &mut self.entries[owner].description;
            description.truncate(description.trim_end().len());
            for part in ["\n\n", heading, "\n", &text] {
                description.push_str(part);
            }
        }
    }
}

/// Builds the nodes from the leaves up, without recursion.
fn tree(entries: Vec<Entry<'_>>) -> Result<Node, PlanFault> {
    let mut nodes: Vec<Option<Node>> = Vec::with_capacity(entries.len());
    let mut parents = Vec::with_capacity(entries.len());
    let mut seen: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for (index, entry) in entries.into_iter().enumerate() {
        parents.push(entry.parent);
        if !entry.is_task {
            nodes.push(None);
            continue;
        }
        let line = entry.line;
        let text = normalised(entry.text);
        let content = Content::new(&text).map_err(|fault| match fault {
            TextFault::TooLong { limit, length, .. } => PlanFault::LongText { line, length, limit },
            // Cannot happen: a blank line is not a task, and a file with a NUL is refused before.
            TextFault::Blank | TextFault::Nul => PlanFault::Binary { line },
        })?;
        let description = entry.description.trim().to_owned();
        let (length, limit) = (description.len(), Body::LIMIT);
        if length > limit {
            return Err(PlanFault::LongDescription { line, length, limit });
        }
        // The root has no siblings.
        if index != ROOT
            && let Some(first) = seen.insert((entry.parent, text.clone()), line)
        {
            return Err(PlanFault::Duplicate { first, line, text });
        }
        nodes.push(Some(Node { content, description, mark: entry.mark, children: vec![], line }));
    }
    for index in (1..nodes.len()).rev() {
        if let Some(mut node) = nodes[index].take() {
            node.children.reverse();
            if let Some(parent) = &mut nodes[parents[index]] {
                parent.children.push(node);
            }
        }
    }
    let mut root = nodes.swap_remove(ROOT).ok_or(PlanFault::Empty)?;
    root.children.reverse();
    after::check(&root)?;
    Ok(root)
}
