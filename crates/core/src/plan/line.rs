//! Classifies one line of a plan file: a heading, an item, a fence, a comment or text.
//!
//! Earlier lines are not known here; `parse` decides where a line belongs.

use super::Mark;

/// A tab moves to the next multiple of this.
const TAB: usize = 4;

/// One classified line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort<'a> {
    Blank,
    /// A horizontal rule; it has no meaning.
    Rule,
    Heading(Heading<'a>),
    /// A checkbox item, or one with a number.
    Item(Item<'a>),
    /// A plain bullet: it is part of the list, but not a task.
    Bullet {
        indent: usize,
    },
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heading<'a> {
    /// The number of its `#`.
    pub(super) level: usize,
    pub(super) text: &'a str,
    /// The mark in its checkbox, if it has one.
    pub(super) mark: Option<Mark>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    /// The column of its bullet, number or bracket.
    pub(super) indent: usize,
    /// The column of its content.
    pub(super) inner: usize,
    pub(super) text: &'a str,
    pub(super) mark: Mark,
    /// A number other than one, without a checkbox: it cannot start a list inside a paragraph.
    pub(super) goes_on: bool,
}

/// Classifies a line outside fences and comments.
pub(super) fn sort(raw: &str) -> Sort<'_> {
    let (indent, text) = indentation(raw);
    let text = text.trim_end();
    if text.is_empty() {
        return Sort::Blank;
    }
    if is_rule(text) {
        return Sort::Rule;
    }
    if let Some(heading) = heading(text).filter(|_| indent < TAB) {
        return Sort::Heading(heading);
    }
    let item = |inner, mark, text, goes_on| {
        // A fence or a comment in an item cannot be the name of a task.
        if Fence::of(text).is_some() || comment_of(text) == Some(true) {
            return Sort::Bullet { indent };
        }
        Sort::Item(Item { indent, inner: indent + inner, text, mark, goes_on })
    };
    if let Some((mark, text)) = checkbox(text) {
        return item("[ ] ".len(), mark, text, false);
    }
    if let Some(rest) = bullet(text) {
        return match checkbox(rest) {
            Some((mark, text)) => item("- ".len(), mark, text, false),
            None => Sort::Bullet { indent },
        };
    }
    if let Some((number, rest)) = number(text) {
        let inner = number.len() + ". ".len();
        return match checkbox(rest) {
            Some((mark, text)) => item(inner, mark, text, false),
            None => item(inner, Mark::Open, rest, number != "1"),
        };
    }
    Sort::Text
}

/// The columns of white space before a line, and the rest of the line.
pub(super) fn indentation(raw: &str) -> (usize, &str) {
    let mut column = 0;
    for (at, c) in raw.char_indices() {
        match c {
            ' ' => column += 1,
            '\t' => column = (column / TAB + 1) * TAB,
            _ => return (column, &raw[at..]),
        }
    }
    (column, "")
}

/// The line without up to this many columns of white space.
pub(super) fn dedent(raw: &str, columns: usize) -> &str {
    let mut column = 0;
    for (at, c) in raw.char_indices() {
        match c {
            ' ' if column < columns => column += 1,
            '\t' if column < columns => column = (column / TAB + 1) * TAB,
            _ => return &raw[at..],
        }
    }
    ""
}

/// One to six `#`, white space, and a text, perhaps with closing `#`.
fn heading(text: &str) -> Option<Heading<'_>> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    if !(1..=6).contains(&level) || !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let rest = rest.trim();
    let open = rest.trim_end_matches('#');
    let closed = open.is_empty() || open.ends_with(char::is_whitespace);
    let text = if closed { open.trim_end() } else { rest };
    if text.is_empty() {
        return None;
    }
    Some(match checkbox(text) {
        Some((mark, text)) => Heading { level, text, mark: Some(mark) },
        None => Heading { level, text, mark: None },
    })
}

/// Does it begin with Task, Step or Phase and a number, with or without emphasis?
pub(super) fn is_numbered_step(text: &str) -> bool {
    let text = text.trim_start_matches(['*', '_']);
    ["task", "step", "phase"].iter().any(|word| {
        text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
            && text[word.len()..].starts_with(char::is_whitespace)
            && text[word.len()..].trim_start().starts_with(|c: char| c.is_ascii_digit())
    })
}

fn bullet(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['-', '*', '+'])?;
    if rest.is_empty() {
        return Some(rest);
    }
    rest.starts_with(char::is_whitespace).then_some(rest.trim_start())
}

/// `1.` or `1)` and the text after it; without a text it is not an item.
fn number(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    // Markdown's own limit.
    if !(1..=9).contains(&digits) {
        return None;
    }
    let rest = text[digits..].strip_prefix(['.', ')'])?;
    let apart = rest.starts_with(char::is_whitespace) && !rest.trim().is_empty();
    apart.then_some((&text[..digits], rest.trim_start()))
}

/// A mark in brackets and the text after it; without a text it is not an item.
///
/// A checklist (`issue::checklist::parse`) and TODO.md (`todo_file`) have readers of their own, which
/// share only the brackets with this one. A plan is read forgivingly: what is not a known mark is
/// text. A checklist must say which mark is wrong, and knows escapes. A line of TODO.md counts only
/// if ticking it changes one byte. One reader with parameters for all of this would be longer than
/// the three.
fn checkbox(text: &str) -> Option<(Mark, &str)> {
    let (mark, rest) = text.strip_prefix('[')?.split_once(']')?;
    let mark = match mark {
        "x" | "X" => Mark::Done,
        "-" | "~" => Mark::Dropped,
        " " | "" | "\t" | "\u{a0}" | "/" | ">" | "!" | "?" => Mark::Open,
        _ => return None,
    };
    let apart = rest.starts_with(char::is_whitespace) && !rest.trim().is_empty();
    apart.then_some((mark, rest.trim()))
}

/// The content of a task's checkbox, as a range of bytes; `None` without a checkbox.
pub(super) fn inside_box(raw: &str) -> Option<std::ops::Range<usize>> {
    let text = raw.trim_start();
    let hashes = text.trim_start_matches('#');
    let rest = if hashes.len() < text.len() {
        hashes.trim_start()
    } else {
        bullet(text).or_else(|| number(text).map(|(_, rest)| rest)).unwrap_or(text)
    };
    checkbox(rest)?;
    let open = raw.len() - rest.len() + 1;
    Some(open..raw[open..].find(']')? + open)
}

/// The text after a bullet or a number, and after a mark.
fn inside(text: &str) -> &str {
    let rest = bullet(text).or_else(|| number(text).map(|(_, rest)| rest)).unwrap_or(text);
    checkbox(rest).map_or(rest, |(_, text)| text)
}

/// Three or more of one of `-`, `*` and `_`, with nothing else but white space.
fn is_rule(text: &str) -> bool {
    let Some(sign @ ('-' | '*' | '_')) = text.chars().next() else {
        return false;
    };
    text.chars().all(|c| c == sign || c.is_whitespace())
        && text.chars().filter(|c| *c == sign).count() >= 3
}

/// A code fence: its sign and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    sign: u8,
    length: usize,
}

impl Fence {
    /// The fence that a line opens, perhaps within an item.
    pub(super) fn opened(raw: &str) -> Option<Self> {
        Self::of(inside(raw.trim()))
    }

    /// The fence that a text begins with.
    fn of(text: &str) -> Option<Self> {
        let sign = text.bytes().next().filter(|sign| matches!(sign, b'`' | b'~'))?;
        let length = text.bytes().take_while(|byte| *byte == sign).count();
        // Another backtick after the fence makes it inline code.
        let inline = sign == b'`' && text[length..].contains('`');
        (length >= 3 && !inline).then_some(Self { sign, length })
    }

    pub(super) fn is_closed_by(self, raw: &str) -> bool {
        let text = raw.trim();
        text.len() >= self.length && text.bytes().all(|byte| byte == self.sign)
    }
}

/// Does a comment begin with this line, perhaps within an item? `Some(true)` if it continues on the
/// next line.
pub(super) fn comment(raw: &str) -> Option<bool> {
    comment_of(inside(raw.trim()))
}

fn comment_of(text: &str) -> Option<bool> {
    // `<!-->` opens and closes at once.
    text.starts_with("<!--").then(|| !text["<!".len()..].contains("-->"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(indent: usize, inner: usize, mark: Mark) -> Sort<'static> {
        Sort::Item(Item { indent, inner, text: "a", mark, goes_on: false })
    }

    #[test]
    fn a_line_is_classified_by_how_it_begins() {
        for (raw, sorted) in [
            ("- [ ] a", item(0, 2, Mark::Open)),
            ("\t* [x]  a ", item(4, 6, Mark::Done)),
            ("  \t+ [X] a", item(4, 6, Mark::Done)),
            ("[-] a", item(0, 4, Mark::Dropped)),
            ("- [/] a", item(0, 2, Mark::Open)),
            ("1. a", item(0, 3, Mark::Open)),
            ("01) [x] a", item(0, 4, Mark::Done)),
            ("- [ ]", Sort::Bullet { indent: 0 }),
            ("- [a](b)", Sort::Bullet { indent: 0 }),
            ("1. ```rust", Sort::Bullet { indent: 0 }),
            ("- [ ] <!-- not", Sort::Bullet { indent: 0 }),
            ("  - a", Sort::Bullet { indent: 2 }),
            ("-", Sort::Bullet { indent: 0 }),
            ("-a", Sort::Text),
            ("1.5 a", Sort::Text),
            ("1234567890. a", Sort::Text),
            ("#a", Sort::Text),
            ("## ", Sort::Text),
            ("    # a", Sort::Text),
            ("####### a", Sort::Text),
            ("", Sort::Blank),
            (" \t", Sort::Blank),
            ("---", Sort::Rule),
            ("* * *", Sort::Rule),
            ("--", Sort::Text),
        ] {
            assert_eq!(sort(raw), sorted, "{raw:?}");
        }
        let second = Item { indent: 0, inner: 3, text: "a", mark: Mark::Open, goes_on: true };
        assert_eq!(sort("2. a"), Sort::Item(second));
    }

    #[test]
    fn a_heading_loses_its_closing_signs_and_its_mark() {
        let heading = |level, text, mark| Sort::Heading(Heading { level, text, mark });
        for (raw, sorted) in [
            ("# a", heading(1, "a", None)),
            ("   ### a b ##", heading(3, "a b", None)),
            ("## C#", heading(2, "C#", None)),
            ("## [x] a", heading(2, "a", Some(Mark::Done))),
            ("## **a**", heading(2, "**a**", None)),
        ] {
            assert_eq!(sort(raw), sorted, "{raw:?}");
        }
    }

    #[test]
    fn a_step_by_name_has_a_number() {
        for text in ["Task 1: a", "step 2", "PHASE 3 – b", "**Task 4**"] {
            assert!(is_numbered_step(text), "{text}");
        }
        for text in ["Tasks 1", "Task", "Task one", "Step-1", "Täsk 1", "Multitask 1"] {
            assert!(!is_numbered_step(text), "{text}");
        }
    }

    #[test]
    fn fences_and_comments_open_and_close() {
        let fence = |raw| Fence::opened(raw);
        assert_eq!(fence("  ```rust"), Some(Fence { sign: b'`', length: 3 }));
        assert_eq!(fence("- ~~~~ `x`"), Some(Fence { sign: b'~', length: 4 }));
        assert_eq!((fence("``` a ```"), fence("``")), (None, None));
        // The text of an item stays text, even if it looks like another item with a fence.
        for raw in ["- [ ] - [ ] ```", "- [ ] - <!-- a"] {
            assert!(matches!(sort(raw), Sort::Item(_)), "{raw}");
        }
        assert!(matches!(sort("- [ ] ```"), Sort::Bullet { .. }));
        let four = Fence { sign: b'`', length: 4 };
        assert!(four.is_closed_by("  `````  ") && !four.is_closed_by("```"));
        assert!(!four.is_closed_by("```` a"));
        assert_eq!(comment("<!-- a"), Some(true));
        assert_eq!(comment("- <!-- a --> b"), Some(false));
        assert_eq!((comment("<!-->"), comment("a <!--")), (Some(false), None));
    }
}
