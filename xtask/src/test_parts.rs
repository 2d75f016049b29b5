//! Finds the lines of a source file that are test code. `tidy` and `ledger` treat those
//! differently.
//!
//! It reads lines formatted by rustfmt and is not a parser. The marker counts only at the start of
//! a line, so that a string that mentions it does not count.

/// Is a whole file test code, judged by its path?
pub(crate) fn is_test_file(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    folders.split('/').any(|folder| folder == "tests")
        || name == "tests.rs"
        || name.ends_with("_tests.rs")
}

/// For each line of a Rust file: is it test code?
pub(crate) fn test_lines(path: &str, text: &str) -> Vec<bool> {
    let lines: Vec<&str> = text.lines().collect();
    let mut is_test = vec![is_test_file(path); lines.len()];
    let mut index = 0;
    while index < lines.len() {
        let end = if is_marker(lines[index]) { item_end(&lines, index) } else { index };
        is_test[index..end].fill(true);
        index = end.max(index + 1);
    }
    is_test
}

/// The number of lines, without a test module at the end of the file.
pub(crate) fn code_line_count(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len())
        .find(|&index| {
            lines[index].starts_with('#')
                && is_marker(lines[index])
                && item_end(&lines, index) == lines.len()
        })
        .unwrap_or(lines.len())
}

fn is_marker(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test")
}

/// The line after the item whose marker is at `start`.
///
/// An inline module extends to the end of the file: clippy's `items_after_test_module` ensures
/// this, and a raw string in a test may contain a line that looks like the module's end.
fn item_end(lines: &[&str], start: usize) -> usize {
    let indent = indent_of(lines[start]);
    let Some(offset) = lines[start + 1..].iter().position(|line| !is_prelude(line)) else {
        return lines.len();
    };
    let head = start + 1 + offset;
    let words = lines[head].trim();
    if words.ends_with(';') || words.ends_with('}') || words.ends_with(',') {
        return head + 1;
    }
    if words.ends_with('{') && words.split(' ').any(|word| word == "mod") {
        return lines.len();
    }
    let closes = |line: &&str| indent_of(line) == indent && line.trim_start().starts_with('}');
    lines[head..].iter().position(closes).map_or(lines.len(), |offset| head + offset + 1)
}

/// Is this a further attribute or comment between the marker and its item?
fn is_prelude(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with("#[") || line.starts_with("//")
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        let flags = test_lines("crates/core/src/lease.rs", text);
        flags.iter().map(|&test| if test { 't' } else { '.' }).collect()
    }

    #[test]
    fn a_test_file_is_known_by_its_path() {
        assert!(is_test_file("crates/cli/tests/surface.rs"));
        assert!(is_test_file("crates/core/src/lease_tests.rs"));
        assert!(is_test_file("crates/core/src/tests.rs"));
        assert!(!is_test_file("crates/core/src/lease.rs"));
        assert!(!is_test_file("crates/testkit/src/attests.rs"));
        assert_eq!(test_lines("a/tests/b.rs", "one\ntwo\n"), [true, true]);
    }

    #[test]
    fn an_inline_module_reaches_to_the_end() {
        assert_eq!(marked("fn a() {}\n#[cfg(test)]\nmod tests {\n}\nfn in_it() {}\n"), ".tttt");
        assert_eq!(marked("#[cfg(all(test, unix))]\n#[rustfmt::skip]\nmod t {\n}\n"), "tttt");
    }

    #[test]
    fn a_module_declaration_is_only_itself() {
        assert_eq!(marked("#[cfg(test)]\nmod lease_tests;\n\nfn code() {}\n"), "tt..");
    }

    #[test]
    fn a_test_only_item_ends_with_its_brace() {
        let text = "#[cfg(test)]\nimpl A {\n    fn b() {\n    }\n}\nfn code() {}\n";
        assert_eq!(marked(text), "ttttt.");
        assert_eq!(marked("    #[cfg(test)]\n    fn b() {\n    }\n    fn c() {}\n"), "ttt.");
    }

    #[test]
    fn a_mention_in_a_string_or_comment_is_not_a_marker() {
        assert_eq!(marked("// #[cfg(test)]\nlet a = \"#[cfg(test)]\";\n"), "..");
    }

    #[test]
    fn a_trailing_test_module_is_not_counted_as_code() {
        assert_eq!(code_line_count("a\nb\n#[cfg(test)]\nmod tests {\n}\n"), 2);
        assert_eq!(code_line_count("#[cfg(test)]\nmod a_tests;\nfn a() {}\n"), 3);
        assert_eq!(code_line_count("a\n#[cfg(test)]"), 1);
    }
}
