//! Rules for every Rust file: its first line, its size, and words that must not be in it.
//!
//! The words are built with `concat!`, because otherwise this file would violate its own rule.

use super::{Finding, contains_word};
use crate::test_parts;

const LINE_CHARS_MAX: usize = 120;
const FILE_LINES_MAX: usize = 800;
const FILE_LINES_NOTE: usize = 500;

/// Matched only with a sign after it or a comment before it, because the bare word is a term of our
/// domain.
const UNFINISHED: [&str; 12] = [
    concat!("TO", "DO:"),
    concat!("TO", "DO("),
    concat!("// TO", "DO"),
    concat!("FIX", "ME:"),
    concat!("FIX", "ME("),
    concat!("// FIX", "ME"),
    concat!("XX", "X:"),
    concat!("XX", "X("),
    concat!("// XX", "X"),
    concat!("to", "do!("),
    concat!("db", "g!("),
    concat!("unimple", "mented!("),
];

const SLEEPS: [&str; 2] = [concat!("thread::", "sleep"), concat!("time::", "sleep")];
const IGNORE: &str = concat!("#[", "ignore");
const ALLOWS: [&str; 2] = [concat!("#[", "allow("), concat!("#![", "allow(")];

pub(super) fn findings(path: &str, content: &str) -> Vec<Finding> {
    let is_test = test_parts::test_lines(path, content);
    let mut findings: Vec<Finding> = opening(content).into_iter().chain(length(content)).collect();
    for (index, line) in content.lines().enumerate() {
        let messages = [width(line), unfinished(line), attributes(line)];
        let sleep = if is_test[index] { sleep(line) } else { None };
        let messages = messages.into_iter().flatten().chain(sleep);
        findings.extend(messages.map(|message| Finding::error(index + 1, message)));
    }
    findings
}

fn opening(content: &str) -> Option<Finding> {
    (!content.starts_with("//!"))
        .then(|| Finding::error(1, "does not open with `//!`: what lives here, and what does not"))
}

fn length(content: &str) -> Option<Finding> {
    let count = test_parts::code_line_count(content);
    if count > FILE_LINES_MAX {
        return Some(Finding::error(1, format!("{count} lines, over {FILE_LINES_MAX}: split it")));
    }
    (count > FILE_LINES_NOTE)
        .then(|| Finding::note(1, format!("{count} lines: think about splitting it")))
}

fn width(line: &str) -> Option<String> {
    let count = line.chars().count();
    let has_url = line.contains("https://") || line.contains("http://");
    (count > LINE_CHARS_MAX && !has_url)
        .then(|| format!("{count} characters, over {LINE_CHARS_MAX}"))
}

fn unfinished(line: &str) -> Option<String> {
    let needle = UNFINISHED.iter().find(|needle| contains_word(line, needle))?;
    Some(format!("`{needle}` marks unfinished work: finish it or open an issue"))
}

fn sleep(line: &str) -> Option<String> {
    let needle = SLEEPS.iter().find(|needle| line.contains(**needle))?;
    Some(format!("`{needle}` in a test: wait for a notification or move an injected clock"))
}

fn attributes(line: &str) -> Option<String> {
    if line.contains(IGNORE) {
        return Some(format!("`{IGNORE}`: a test that does not run proves nothing"));
    }
    let needle = ALLOWS.iter().find(|needle| line.contains(**needle))?;
    Some(format!("`{needle}`: use `expect` with a reason"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, content: &str) -> Vec<(usize, String)> {
        findings(path, content).into_iter().map(|f| (f.line, f.message)).collect()
    }

    #[test]
    fn a_clean_file_has_no_findings() {
        assert_eq!(findings("a.rs", "//! A.\n\nfn a() {}\n"), []);
    }

    #[test]
    fn a_file_opens_with_its_docs() {
        assert!(opening("//! Docs.\n").is_none());
        assert!(opening("// No docs.\n").is_some());
        assert!(opening("\n//! Late.\n").is_some());
        assert!(opening("").is_some());
    }

    #[test]
    fn long_files_are_noted_and_then_refused() {
        assert_eq!(length(&"a\n".repeat(500)), None);
        assert_eq!(
            length(&"a\n".repeat(501)),
            Some(Finding::note(1, "501 lines: think about splitting it"))
        );
        assert_eq!(
            length(&"a\n".repeat(801)),
            Some(Finding::error(1, "801 lines, over 800: split it"))
        );
        let tests = "#[cfg(test)]\nmod tests {\n".to_owned() + &"a\n".repeat(900) + "}\n";
        assert_eq!(length(&("a\n".repeat(500) + &tests)), None);
    }

    #[test]
    fn a_long_line_is_refused_unless_it_holds_a_url() {
        assert_eq!(width(&"é".repeat(120)), None);
        assert_eq!(width(&"é".repeat(121)), Some("121 characters, over 120".to_owned()));
        assert_eq!(width(&("https://example.org/".to_owned() + &"a".repeat(120))), None);
    }

    #[test]
    fn unfinished_work_is_refused() {
        for needle in UNFINISHED {
            assert!(unfinished(&format!("    {needle} later")).is_some(), "{needle}");
        }
        assert!(unfinished(concat!("/// TO", "DO later")).is_some());
    }

    #[test]
    fn our_domains_own_words_are_not_unfinished_work() {
        for line in ["\"Active TODO limit\"", "see TODO.md", "[TODOs]", "my_todo!(1)", "AXXX: one"]
        {
            assert_eq!(unfinished(line), None, "{line}");
        }
    }

    #[test]
    fn only_tests_may_not_sleep() {
        let nap = concat!("std::thread::", "sleep(d);");
        let content = format!("//! A.\n{nap}\n#[cfg(test)]\nmod tests {{\n    {nap}\n}}\n");
        let lines = |path| messages(path, &content).into_iter().map(|(line, _)| line);
        assert_eq!(lines("src/a.rs").collect::<Vec<_>>(), [5]);
        assert_eq!(lines("tests/a.rs").collect::<Vec<_>>(), [2, 5]);
        assert!(sleep(concat!("tokio::time::", "sleep_until(t).await;")).is_some());
    }

    #[test]
    fn ignored_tests_and_allowed_lints_are_refused() {
        assert!(attributes(concat!("    #[", "ignore = \"slow\"]")).is_some());
        assert!(attributes(concat!("#[", "allow(dead_code)]")).is_some());
        assert!(attributes(concat!("#![", "allow(dead_code)]")).is_some());
        assert_eq!(attributes("#[expect(dead_code, reason = \"why\")]"), None);
    }
}
