//! `cargo xtask tidy`: checks the repository's files for what rustfmt and clippy do not see.
//!
//! This file walks over the files and reports. The rules are functions from text to findings:
//! `text` for any file, `rust` for any Rust file, `layers` for what a crate may not use, with the
//! string literals from `literals`, and `walks` for ARCHITECTURE.md. No file can opt out of a rule.

mod layers;
mod literals;
mod rust;
mod text;
mod walks;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::repository;

/// One thing a rule found; `line` counts from 1.
#[derive(Debug, PartialEq)]
struct Finding {
    line: usize,
    message: String,
    severity: Severity,
}

#[derive(Debug, PartialEq)]
enum Severity {
    Error,
    Note,
}

impl Finding {
    fn error(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), severity: Severity::Error }
    }

    fn note(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), severity: Severity::Note }
    }
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    if let Some(arg) = args.first() {
        bail!("`cargo xtask tidy` takes no arguments, got {arg:?}");
    }
    check(&repository::root()?)
}

/// Prints every finding. Fails if one is an error.
pub(crate) fn check(root: &Path) -> Result<()> {
    let files = repository::files(root)?;
    let mut error_count = 0;
    for path in &files {
        for finding in findings_in(root, path)? {
            let Finding { line, message, severity } = finding;
            match severity {
                Severity::Error => {
                    error_count += 1;
                    println!("{path}:{line}: {message}");
                }
                Severity::Note => println!("{path}:{line}: note: {message}"),
            }
        }
    }
    if error_count > 0 {
        bail!("errors found by tidy in {} files: {error_count}", files.len());
    }
    println!("{} files are tidy", files.len());
    Ok(())
}

fn findings_in(root: &Path, path: &str) -> Result<Vec<Finding>> {
    let full = root.join(path);
    let size = full.metadata().with_context(|| format!("cannot read {path}"))?.len();
    let mut findings: Vec<Finding> = text::size(size).into_iter().collect();
    let is_rust = path.ends_with(".rs");
    if is_rust || path.ends_with(".md") || path.ends_with(".toml") {
        let bytes = fs::read(&full).with_context(|| format!("cannot read {path}"))?;
        match String::from_utf8(bytes) {
            Ok(content) => {
                findings.extend(text::white_space(&content));
                if path == "ARCHITECTURE.md" {
                    let source = |path: &str| fs::read_to_string(root.join(path)).ok();
                    findings.extend(walks::findings(&content, &source));
                }
                if is_rust {
                    findings.extend(rust::findings(path, &content));
                    findings.extend(layers::findings(path, &content));
                }
            }
            Err(_) => findings.push(Finding::error(1, "is not UTF-8")),
        }
    }
    findings.sort_by_key(|finding| finding.line);
    Ok(findings)
}

/// Does `text` contain `needle` as separate words, not as part of a longer name?
fn contains_word(text: &str, needle: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let edge = |inner: Option<char>, outer: Option<char>| {
        !(inner.is_some_and(is_word) && outer.is_some_and(is_word))
    };
    text.match_indices(needle).any(|(start, found)| {
        let (before, after) = (&text[..start], &text[start + found.len()..]);
        edge(found.chars().next(), before.chars().next_back())
            && edge(found.chars().next_back(), after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_not_found_inside_a_longer_one() {
        assert!(contains_word("use tokio::time;", "tokio"));
        assert!(contains_word("std::fs::read", "std::fs"));
        assert!(!contains_word("use mytokio;", "tokio"));
        assert!(!contains_word("std::fs_extra", "std::fs"));
        assert!(contains_word("mytokio, tokio", "tokio"));
    }

    #[test]
    fn a_needle_that_ends_in_a_sign_may_be_followed_by_a_word() {
        assert!(contains_word("a!(b)", "a!("));
        assert!(!contains_word("ba!(b)", "a!("));
    }

    #[test]
    fn the_rules_are_applied_by_the_files_kind() {
        let root = std::env::temp_dir().join(format!("xtask-tidy-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        for (name, content) in [("a.rs", "fn a() {} \n"), ("b.md", "b"), ("c.txt", "c ")] {
            fs::write(root.join(name), content).unwrap();
        }
        fs::write(root.join("d.toml"), [0xff, b'\n']).unwrap();
        let count = |name| findings_in(&root, name).unwrap().len();
        let counts = [count("a.rs"), count("b.md"), count("c.txt"), count("d.toml")];
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(counts, [2, 1, 0, 1]);
    }
}
