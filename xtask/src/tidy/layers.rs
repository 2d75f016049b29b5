//! Rules about what a crate may not use: SQL outside the store; clocks and I/O in the core.
//!
//! Cargo.toml already restricts which crates a crate can use. These rules cover what it cannot
//! forbid.

use super::literals::literals;
use super::{Finding, contains_word};

/// The sources that must not contain SQL.
const WITHOUT_SQL: [&str; 5] = [
    "crates/core/src/",
    "crates/ops/src/",
    "crates/engine/src/",
    "crates/server/src/",
    "crates/cli/src/",
];

/// A literal is SQL if it contains all parts of one of these, in this order.
const SQL: [&[&str]; 4] =
    [&["SELECT ", " FROM "], &["INSERT INTO "], &["UPDATE ", " SET "], &["DELETE FROM "]];

const CORE: &str = "crates/core/";
const CORE_SOURCE: &str = "crates/core/src/";
const CLOCKS: [&str; 3] = ["SystemTime::now", "Instant::now", "Timestamp::now"];
const WORLD: [&str; 7] =
    ["std::fs", "std::net", "std::env", "std::thread", "tokio", "rusqlite", "postgres"];

/// The only file that may open files of other people; its documentation says why.
const READER: &str = "crates/store/src/outside.rs";
const READS: [&str; 2] = ["fs::read(", "fs::read_to_string("];

pub(super) fn findings(path: &str, content: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if WITHOUT_SQL.iter().any(|folder| path.starts_with(folder)) {
        findings.extend(sql(content));
    }
    if path.starts_with("crates/") && path.contains("/src/") && !is_for_tests(path) {
        findings.extend(unbounded_reads(content));
    }
    if path.starts_with(CORE) {
        findings.extend(words(content, &CLOCKS, "time comes in as a value"));
    }
    if path.starts_with(CORE_SOURCE) {
        findings.extend(words(content, &WORLD, "the core only decides"));
        findings.extend(grouped_imports(content));
    }
    findings
}

fn is_for_tests(path: &str) -> bool {
    path == READER || path.starts_with("crates/testkit/") || path.ends_with("/tests.rs")
}

/// Finds reads without a limit: a large file would fill the memory, and a pipe would block forever.
fn unbounded_reads(content: &str) -> Vec<Finding> {
    let code = content.split("#[cfg(test)]").next().unwrap_or_default();
    let mut findings = Vec::new();
    for (index, line) in code.lines().enumerate().filter(|(_, line)| !is_comment(line)) {
        for needle in READS.iter().filter(|needle| line.contains(**needle)) {
            let message = format!("`{needle}…)`: read files through store::outside, with a limit");
            findings.push(Finding::error(index + 1, message));
        }
    }
    findings
}

fn sql(content: &str) -> Vec<Finding> {
    literals(content)
        .into_iter()
        .filter(|literal| SQL.iter().any(|parts| has_in_order(&literal.text, parts)))
        .map(|literal| Finding::error(literal.line, "SQL outside crates/store"))
        .collect()
}

/// The first part must start a word; the others come after it. Parts may share a space.
fn has_in_order(text: &str, parts: &[&str]) -> bool {
    let Some((first, rest)) = parts.split_first() else {
        return true;
    };
    text.match_indices(first).any(|(start, _)| {
        let begins = !text[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let mut tail = &text[start + first.trim_end().len()..];
        begins
            && rest.iter().all(|part| match tail.find(part) {
                Some(at) => {
                    tail = &tail[at + part.trim_end().len()..];
                    true
                }
                None => false,
            })
    })
}

fn words(content: &str, needles: &[&str], why: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in content.lines().enumerate().filter(|(_, line)| !is_comment(line)) {
        for needle in needles.iter().filter(|needle| contains_word(line, needle)) {
            findings.push(Finding::error(index + 1, format!("`{needle}` in the core: {why}")));
        }
    }
    findings
}

/// Finds grouped imports: `use std::{fs, io};` names a module without its path.
fn grouped_imports(content: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (start, _) in content.match_indices("use std::{") {
        let group = content[start..].split(';').next().unwrap_or_default();
        let line = content[..start].matches('\n').count() + 1;
        for needle in WORLD.iter().filter_map(|needle| needle.strip_prefix("std::")) {
            if contains_word(group, needle) {
                let message = format!("`std::{needle}` in the core: the core only decides");
                findings.push(Finding::error(line, message));
            }
        }
    }
    findings
}

/// Comments may mention what the code may not use.
fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, content: &str) -> Vec<usize> {
        findings(path, content).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn sql_is_found_outside_the_store() {
        for text in [
            "SELECT id FROM todo",
            "SELECT id\n     FROM todo",
            "WITH a AS (SELECT 1 FROM b) x",
            "INSERT INTO todo VALUES (1)",
            "UPDATE todo SET status = 1",
            "DELETE FROM todo",
        ] {
            let content = format!("\nlet sql = \"{text}\";\n");
            assert_eq!(lines("crates/ops/src/a.rs", &content), [2], "{text}");
            assert!(lines("crates/store/src/a.rs", &content).is_empty(), "{text}");
            assert!(lines("crates/ops/tests/a.rs", &content).is_empty(), "{text}");
        }
    }

    #[test]
    fn prose_and_comments_are_not_sql() {
        for content in [
            "// SELECT id FROM todo",
            "\"Select a todo from the list\"",
            "\"FROM a SELECT \"",
            "(\"SELECT id\", \" FROM todo\")",
            "\"MYUPDATE a SET b\"",
        ] {
            assert!(lines("crates/cli/src/a.rs", content).is_empty(), "{content}");
        }
    }

    #[test]
    fn the_core_reads_no_clock_not_even_in_its_tests() {
        assert_eq!(lines("crates/core/tests/a.rs", "let t = Timestamp::now();"), [1]);
        assert_eq!(lines("crates/core/src/a.rs", "\nInstant::now()"), [2]);
        assert!(lines("crates/ops/src/a.rs", "SystemTime::now()").is_empty());
    }

    #[test]
    fn files_are_read_with_a_limit_in_one_place() {
        let content = "let a = std::fs::read(path);\nlet b = fs::read_to_string(path);\n";
        assert_eq!(lines("crates/cli/src/a.rs", content), [1, 2]);
        for path in ["crates/store/src/outside.rs", "crates/cli/tests/a.rs", "xtask/src/a.rs"] {
            assert!(lines(path, content).is_empty(), "{path}");
        }
        let tests = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{ {content} }}\n");
        assert!(lines("crates/cli/src/a.rs", &tests).is_empty());
        assert!(lines("crates/cli/src/a.rs", "std::fs::read_dir(path)").is_empty());
    }

    #[test]
    fn the_core_does_not_touch_the_world() {
        assert_eq!(lines("crates/core/src/a.rs", "use std::fs;\nuse tokio::time;\n"), [1, 2]);
        assert_eq!(lines("crates/core/src/a.rs", "use std::{env, fmt,\n  fs};\n"), [1, 1]);
        assert!(lines("crates/core/src/a.rs", "use std::fmt;\nuse std::{fmt, io};\n").is_empty());
        assert!(lines("crates/core/src/a.rs", "//! Knows no tokio and no std::fs.\n").is_empty());
        assert!(lines("crates/core/tests/a.rs", "use std::fs;\n").is_empty());
    }
}
