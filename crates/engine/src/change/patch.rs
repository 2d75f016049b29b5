//! Reads what git writes about commits: counts (`--numstat -z`) and lines (`--patch`).
//!
//! Both list the same files in the same order, so a file's lines are found by its place, and no name
//! is read from a patch. Nothing in a file can look like the start of another one: its lines begin
//! with a space, `+`, `-` or `\`.

use punchlist_core::change::{Change, File, Part};

/// How many files are kept, how many lines of a file in one commit, how much of a line.
const FILES_MAX: usize = 2_000;
const FILE_LINES_MAX: usize = 400;
const LINE_MAX: usize = 400;

/// The files with their counts. A file that several commits change is here several times.
pub(super) fn counted(output: &[u8], is_cut: bool) -> Change {
    let mut change = Change { is_cut, ..Change::default() };
    let mut fields = output.split(|byte| *byte == 0);
    let mut commit = String::new();
    while let Some(field) = fields.next() {
        let text = String::from_utf8_lossy(field);
        let Some((added, rest)) = text.split_once('\t') else {
            commit = text.into_owned();
            continue;
        };
        let Some((removed, path)) = rest.split_once('\t') else { continue };
        let named = |path: Option<&[u8]>| Some(String::from_utf8_lossy(path?).into_owned());
        // A renamed file has its two paths in fields of their own.
        let (from, path) = match path.is_empty() {
            true => (named(fields.next()), named(fields.next()).unwrap_or_default()),
            false => (None, path.to_owned()),
        };
        if change.files.len() >= FILES_MAX {
            change.is_cut = true;
            break;
        }
        let count = |text: &str| text.parse().unwrap_or(0);
        let (added_lines, removed_lines) = (count(added), count(removed));
        change.files.push(File {
            path,
            from,
            added: added_lines,
            removed: removed_lines,
            is_binary: added == "-",
            parts: vec![Part { commit: commit.clone(), ..Part::default() }],
        });
    }
    change
}

/// Puts the lines to the files that [`counted`] found.
pub(super) fn fill(change: &mut Change, output: &[u8], is_cut: bool) {
    let mut files = change.files.iter_mut();
    let mut file: Option<&mut File> = None;
    let mut header: &[u8] = &[];
    let mut is_in_hunk = false;
    let end = if is_cut { output.iter().rposition(|byte| *byte == b'\n') } else { None };
    let whole = output.get(..end.unwrap_or(output.len())).unwrap_or_default();
    for line in whole.split(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            // A file that becomes a link is written as two, with the same names.
            if line != header || file.is_none() {
                file = files.next();
            }
            (header, is_in_hunk) = (line, false);
        } else if !line.is_empty() && line.iter().all(u8::is_ascii_hexdigit) {
            // The id of the next commit.
            (header, is_in_hunk) = (&[], false);
        } else if line.starts_with(b"@@") || (is_in_hunk && is_of_hunk(line)) {
            is_in_hunk = true;
            if let Some(part) = file.as_mut().and_then(|file| file.parts.last_mut()) {
                match part.lines.len() < FILE_LINES_MAX {
                    true => part.lines.push(shown(line)),
                    false => part.left += 1,
                }
            }
        }
    }
    change.is_cut |= is_cut;
}

fn is_of_hunk(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'+' | b'-' | b'\\'))
}

/// A line as text, cut if it is very long.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.strip_suffix('\r').unwrap_or(&text);
    match text.char_indices().nth(LINE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Each file once, in the order of the paths, with its parts in the order of the commits.
pub(super) fn by_path(mut change: Change) -> Change {
    change.files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut files: Vec<File> = Vec::new();
    for file in change.files {
        match files.last_mut().filter(|last| last.path == file.path) {
            Some(last) => {
                last.added += file.added;
                last.removed += file.removed;
                last.is_binary |= file.is_binary;
                last.from = last.from.take().or(file.from);
                last.parts.extend(file.parts);
            }
            None => files.push(file),
        }
    }
    change.files = files;
    change
}
