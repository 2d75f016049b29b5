//! Parses markdown into lines, and reports every fault of every line; nothing in the text is
//! ignored.
//!
//! Accepted besides the format we write: CRLF, `*` and `+` bullets, `[X]`, `[>]`, `[~]`, `[]`, `[?]`,
//! `[!]`, escaped brackets, headings of any level, `blocker` for `blocked`. A comment is allowed only at
//! the end of an item's line: alone or over several lines, it would hide text from readers.

use std::collections::BTreeMap;

use super::comment::Tail;
use super::escape::{find, unescape};
use super::{CRITERIA, Line, LineFault, MARKDOWN_LIMIT, Mark, STEPS, is_reserved};
use crate::TodoKind;
use crate::text::{Body, Title, normalised};

/// Reads a checklist. Reports all faults at once, in the order of their lines.
pub fn parse(markdown: &str) -> Result<Vec<Line>, Vec<LineFault>> {
    if markdown.len() > MARKDOWN_LIMIT {
        let what =
            format!("the markdown has {} bytes; the limit is {MARKDOWN_LIMIT}", markdown.len());
        return Err(vec![LineFault { line: 1, what }]);
    }
    let mut reader = Reader::default();
    let text = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    for (at, raw) in (1..).zip(text.split('\n')) {
        reader.read(at, raw.strip_suffix('\r').unwrap_or(raw));
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    kind: TodoKind,
    phase: Option<Title>,
    lines: Vec<Line>,
    faults: Vec<LineFault>,
    /// The first line of each open text.
    open: BTreeMap<String, usize>,
    above: Above,
    /// A note whose last line ended in a backslash.
    unfinished: Option<Unfinished>,
}

/// What a note at this point would belong to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Above {
    #[default]
    Nothing,
    Item,
    /// An item with a fault that is already reported.
    Faulty,
}

struct Unfinished {
    /// `None` if one of its lines had a fault.
    text: Option<String>,
    at: usize,
    last_at: usize,
}

impl Reader {
    fn read(&mut self, at: usize, raw: &str) {
        let (indented, text) = (raw.starts_with(char::is_whitespace), raw.trim());
        if let Some(note) = self.unfinished.take() {
            if indented && !text.is_empty() {
                return self.go_on(at, note, raw);
            }
            self.breaks_off(&note);
        }
        if text.is_empty() {
            return;
        }
        if indented {
            self.indented(at, text);
        } else if let Some(name) = heading(text) {
            self.heading(at, name);
        } else if let Some((mark, rest)) = item(text) {
            self.item(at, mark, rest);
        } else {
            self.fault(at, "is not a heading, an item or a note; an item begins with `- [ ] `");
        }
    }

    fn finish(mut self) -> Result<Vec<Line>, Vec<LineFault>> {
        if let Some(note) = self.unfinished.take() {
            self.breaks_off(&note);
        }
        if self.faults.is_empty() {
            return Ok(self.lines);
        }
        // Faults of a note are found at its end, so they may be out of order.
        self.faults.sort_by_key(|fault| fault.line);
        Err(self.faults)
    }

    fn fault(&mut self, line: usize, what: impl Into<String>) {
        self.faults.push(LineFault { line, what: what.into() });
    }

    fn heading(&mut self, at: usize, raw: &str) {
        self.above = Above::Nothing;
        if raw.eq_ignore_ascii_case(CRITERIA) || raw.eq_ignore_ascii_case(STEPS) {
            let criteria = raw.eq_ignore_ascii_case(CRITERIA);
            self.kind = if criteria { TodoKind::Criterion } else { TodoKind::Step };
            self.phase = None;
            return;
        }
        let name = match raw.strip_prefix('\\').filter(|name| is_reserved(name)) {
            Some(name) => Ok(name.to_owned()),
            None => plain(raw),
        };
        let name = name.and_then(|name| {
            Title::new(&normalised(&name)).map_err(|fault| format!("the name of the phase {fault}"))
        });
        match name {
            Ok(name) => (self.kind, self.phase) = (TodoKind::Step, Some(name)),
            Err(what) => self.fault(at, what),
        }
    }

    fn item(&mut self, at: usize, mark: &str, rest: &str) {
        self.above = Above::Faulty;
        let mark = self.or_fault(at, read_mark(mark));
        let tail = self.or_fault(at, Tail::read(rest));
        let (Some(mark), Some(Tail { content, claimed_by, hold })) = (mark, tail) else {
            return;
        };
        if mark == Mark::InProgress && self.kind == TodoKind::Criterion {
            return self.fault(at, "a criterion is never in progress");
        }
        if mark == Mark::Held && hold.is_none() {
            return self.fault(at, "`[!]` needs its reason: `<!-- blocked: the reason -->`");
        }
        if mark.is_open()
            && let Some(first) = self.open.insert(content.as_str().to_owned(), at)
        {
            let what = format!("says the same as line {first}; open items differ in their texts");
            return self.fault(at, what);
        }
        let (kind, phase, notes) = (self.kind, self.phase.clone(), Vec::new());
        self.lines.push(Line { at, kind, phase, mark, content, notes, claimed_by, hold });
        self.above = Above::Item;
    }

    fn indented(&mut self, at: usize, text: &str) {
        match note(text) {
            Some(_) if self.above == Above::Nothing => {
                self.fault(at, "there is no item above this note");
            }
            Some(raw) => {
                let note = Unfinished { text: Some(String::new()), at, last_at: at };
                self.add(note, raw);
            }
            None if item(text).is_some() => {
                self.fault(at, "items do not nest: begin the line without white space");
            }
            None => self.fault(
                at,
                "only notes (`- note: …`) are indented; a note continues after a line that ends in `\\`",
            ),
        }
    }

    fn go_on(&mut self, at: usize, note: Unfinished, raw: &str) {
        let raw = raw.strip_prefix("    ").or(raw.strip_prefix('\t')).unwrap_or(raw.trim_start());
        self.add(Unfinished { last_at: at, ..note }, raw);
    }

    /// Adds a line to a note. A line that ends in a single backslash continues on the next line.
    fn add(&mut self, mut note: Unfinished, raw: &str) {
        let backslashes = raw.len() - raw.trim_end_matches('\\').len();
        let more = backslashes % 2 == 1;
        let raw = if more { &raw[..raw.len() - 1] } else { raw };
        let line = self.or_fault(note.last_at, plain(raw));
        note.text = note.text.zip(line).map(|(text, line)| text + &line);
        if more {
            note.text = note.text.map(|text| text + "\n");
            self.unfinished = Some(note);
            return;
        }
        let Some(text) = note.text else {
            return;
        };
        let text = Body::new(&text).map_err(|fault| format!("the note {fault}"));
        let text = self.or_fault(note.at, text);
        if self.above == Above::Item
            && let (Some(text), Some(line)) = (text, self.lines.last_mut())
        {
            line.notes.push(text);
        }
    }

    fn breaks_off(&mut self, note: &Unfinished) {
        let what =
            "the note ends in `\\`, but no indented line follows; write `\\\\` for a backslash";
        self.fault(note.last_at, what);
    }

    fn or_fault<T>(&mut self, at: usize, read: Result<T, String>) -> Option<T> {
        read.map_err(|what| self.fault(at, what)).ok()
    }
}

/// The name after one to six `#`.
fn heading(text: &str) -> Option<&str> {
    let name = text.trim_start_matches('#');
    let level = text.len() - name.len();
    let apart = name.is_empty() || name.starts_with(char::is_whitespace);
    ((1..=6).contains(&level) && apart).then_some(name.trim())
}

fn bullet(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['-', '*', '+'])?;
    rest.starts_with(char::is_whitespace).then_some(rest.trim_start())
}

/// The text in the brackets of an item, and the text after them.
fn item(text: &str) -> Option<(&str, &str)> {
    let rest = bullet(text)?;
    let rest = rest.strip_prefix("\\[").or(rest.strip_prefix('['))?;
    let (mark, rest) = rest.split_once(']')?;
    let apart = rest.is_empty() || rest.starts_with(char::is_whitespace);
    apart.then_some((mark.strip_suffix('\\').unwrap_or(mark).trim(), rest))
}

fn note(text: &str) -> Option<&str> {
    let (word, rest) = bullet(text)?.split_once(':')?;
    word.eq_ignore_ascii_case("note").then_some(rest.trim_start())
}

fn read_mark(mark: &str) -> Result<Mark, String> {
    Ok(match mark {
        "" => Mark::Pending,
        "x" | "X" => Mark::Completed,
        "/" | ">" => Mark::InProgress,
        "-" | "~" => Mark::Abandoned,
        "!" => Mark::Held,
        "?" => Mark::Claimed,
        _ => {
            let shown: String = mark.chars().take(20).collect();
            return Err(format!("unknown mark `[{shown}]`; there are [ ], [/], [x], [-] and [?]"));
        }
    })
}

/// Reads a text that must not contain a comment.
fn plain(raw: &str) -> Result<String, String> {
    match find(raw, "<!--") {
        Some(_) => Err("a comment may only be at the end of an item; write `\\<!--`".to_owned()),
        None => Ok(unescape(raw)),
    }
}
