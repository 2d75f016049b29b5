//! Columns that line up, and lines that fit the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Rows with aligned columns, two spaces apart; the last column is cut to the width.
pub(crate) fn aligned(rows: Vec<Vec<String>>, width: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        let last = row.len().saturating_sub(1);
        for (column, cell) in row.iter().enumerate() {
            if column == last {
                line.push_str(&cut(cell, width.saturating_sub(line.width())));
            } else {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', widths[column] - cell.width() + 2));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The text, or as much of it as fits with an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.max(1) - 1;
    let mut used = 0;
    let mut kept: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= room
        })
        .collect();
    kept.push('…');
    kept
}

/// The text in lines of at most that width, broken at spaces where there are any. A line that fits
/// is not changed, so that manual layout is kept.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.width() <= width {
            lines.push(line.trim_end().to_owned());
        } else {
            fill(line, width, &mut lines);
        }
    }
    lines
}

fn fill(text: &str, width: usize, lines: &mut Vec<String>) {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        // A word that is wider than a line is broken.
        for c in word.chars() {
            if line.width() + c.width().unwrap_or(0) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
}

/// A text after a lead, with its further lines aligned under the first. `lead` is the visible text
/// of `shown`, which may contain colours.
pub(crate) fn hanging(lead: &str, shown: &str, text: &str, width: usize) -> String {
    let indent = lead.width();
    let lines = wrapped(text, width.saturating_sub(indent));
    let mut block = String::new();
    for (n, line) in lines.iter().enumerate() {
        if n == 0 {
            block.push_str(shown);
        } else if !line.is_empty() {
            block.extend(std::iter::repeat_n(' ', indent));
        }
        block.push_str(line);
        block.push('\n');
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_visible_width() {
        let rows = vec![
            vec!["a".to_owned(), "first".to_owned()],
            vec!["漢字".to_owned(), "a long second line".to_owned()],
        ];
        assert_eq!(aligned(rows, 16), "a     first\n漢字  a long se…\n");
    }

    #[test]
    fn wrapped_lines_fit_and_lose_no_word() {
        let text = "  as it stands\n\none two  three four 漢字漢字漢字漢字";
        let lines = wrapped(text, 14);
        assert_eq!(lines, ["  as it stands", "", "one two three", "four", "漢字漢字漢字漢", "字"]);
        assert_eq!(hanging("- ", "<-> ", "one two three", 10), "<-> one two\n  three\n");
    }

    #[test]
    fn a_cut_never_exceeds_the_width() {
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("abcd", 0), "…");
    }
}
