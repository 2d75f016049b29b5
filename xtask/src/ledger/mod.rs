//! `cargo xtask ledger`: which requirements of docs/requirements.md no test names.
//!
//! This file decides what counts as a test, compares, and reports; `ids` parses ids. A test that
//! names a requirement is a pointer for the reader, not a proof that it covers the requirement.

mod ids;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::{repository, test_parts};
use ids::Id;

const REQUIREMENTS: &str = "docs/requirements.md";
const REPORT_WIDTH: usize = 100;

/// The tests of this crate mention ids as examples and cover no requirement.
const NOT_SEARCHED: &str = "xtask/";

/// The selected requirements, and which of them a test names.
struct Ledger {
    asked: Vec<Id>,
    named: BTreeSet<Id>,
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    let is_json = args.iter().any(|arg| arg == "--json");
    let questions: Vec<&str> = args.iter().map(String::as_str).filter(|a| *a != "--json").collect();
    let root = repository::root()?;
    let mut ledger = read(&root)?;
    if !questions.is_empty() {
        ledger.asked = select(&ledger.asked, &questions)?;
    }
    if is_json {
        println!("{:#}", ledger.to_json());
    } else {
        print!("{}", ledger.report());
    }
    let missing_count = ledger.asked.len() - ledger.named_count();
    if !questions.is_empty() && missing_count > 0 {
        bail!("{missing_count} of the requirements asked for are named by no test");
    }
    Ok(())
}

/// One line for the end of a test run.
pub(crate) fn summary(root: &Path) -> Result<String> {
    let ledger = read(root)?;
    let (named, all) = (ledger.named_count(), ledger.asked.len());
    Ok(format!("{named} of {all} requirements are named by a test"))
}

fn read(root: &Path) -> Result<Ledger> {
    let document = fs::read_to_string(root.join(REQUIREMENTS)).context(REQUIREMENTS)?;
    let asked = ids::defined(&document);
    let mut named = BTreeSet::new();
    for path in repository::files(root)?.iter().filter(|path| may_hold_tests(path)) {
        let text = fs::read_to_string(root.join(path)).with_context(|| path.clone())?;
        named.extend(ids::named(&test_text(path, &text)));
    }
    Ok(Ledger { asked, named })
}

fn may_hold_tests(path: &str) -> bool {
    let below = |folder| path.split('/').rev().skip(1).any(|part| part == folder);
    let is_script = [".py", ".mjs", ".js"].iter().any(|end| path.ends_with(end));
    let is_test_script = is_script && (below("tests") || below("e2e"));
    !path.starts_with(NOT_SEARCHED) && (path.ends_with(".rs") || is_test_script)
}

/// The part of a file that is test code.
fn test_text(path: &str, text: &str) -> String {
    if !path.ends_with(".rs") {
        return text.to_owned();
    }
    let is_test = test_parts::test_lines(path, text);
    let lines = text.lines().zip(is_test).filter(|(_, is_test)| *is_test);
    lines.flat_map(|(line, _)| [line, "\n"]).collect()
}

/// The defined ids that the arguments select: an id, a range, or a prefix such as `T`, `T-`, `Q-M`.
fn select(defined: &[Id], questions: &[&str]) -> Result<Vec<Id>> {
    let mut chosen = Vec::new();
    for question in questions {
        let meant = match ids::parse(question) {
            Some(ids) => ids,
            None => {
                let fits = |id: &&Id| id.family.starts_with(question);
                defined.iter().filter(fits).cloned().collect()
            }
        };
        if meant.is_empty() {
            bail!("{question:?} is no id, range or prefix of {REQUIREMENTS}");
        }
        if let Some(unknown) = meant.iter().find(|id| !defined.contains(id)) {
            bail!("{REQUIREMENTS} does not define {unknown}");
        }
        chosen.extend(meant);
    }
    // In the document's order, without duplicates.
    Ok(defined.iter().filter(|id| chosen.contains(id)).cloned().collect())
}

impl Ledger {
    fn named_count(&self) -> usize {
        self.asked.iter().filter(|id| self.named.contains(id)).count()
    }

    /// By letter, in the document's order: the letter, the number of ids, and the missing ones.
    fn groups(&self) -> Vec<(String, usize, Vec<String>)> {
        let mut groups: Vec<(String, usize, Vec<String>)> = Vec::new();
        for id in &self.asked {
            let label = format!("{}-", id.letter());
            let at = groups.iter().position(|group| group.0 == label).unwrap_or_else(|| {
                groups.push((label, 0, Vec::new()));
                groups.len() - 1
            });
            groups[at].1 += 1;
            if !self.named.contains(id) {
                groups[at].2.push(id.to_string());
            }
        }
        groups
    }

    fn report(&self) -> String {
        let mut report = String::new();
        for (label, count, missing) in self.groups() {
            let named = count - missing.len();
            report += &format!("{label} {named} of {count} named by a test\n");
            report += &wrapped(&missing);
        }
        report
    }

    fn to_json(&self) -> Value {
        let mut families = Map::new();
        for (label, count, missing) in self.groups() {
            let named = count - missing.len();
            families.insert(label, json!({"count": count, "named": named, "missing": missing}));
        }
        json!({"count": self.asked.len(), "named": self.named_count(), "families": families})
    }
}

fn wrapped(words: &[String]) -> String {
    let mut text = String::new();
    let mut width = 0;
    for word in words {
        if width == 0 || width + 1 + word.len() > REPORT_WIDTH {
            text += if width == 0 { "   " } else { "\n   " };
            width = 3;
        }
        text += &format!(" {word}");
        width += 1 + word.len();
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        let asked = ids::defined("- T-1 a\n- T-2 b\n- M-1 c\n| Q-M1 | d |\n| Q-K1 | e |\n");
        Ledger { asked, named: ids::named("T-2 Q-M1 X-9").into_iter().collect() }
    }

    #[test]
    fn the_report_lists_what_is_missing_by_letter() {
        let expected = "T- 1 of 2 named by a test\n    T-1\nM- 0 of 1 named by a test\n    M-1\n\
                        Q- 1 of 2 named by a test\n    Q-K1\n";
        assert_eq!(ledger().report(), expected);
    }

    #[test]
    fn the_json_says_the_same() {
        let value = ledger().to_json();
        assert_eq!((&value["count"], &value["named"]), (&json!(5), &json!(2)));
        assert_eq!(value["families"]["T-"], json!({"count": 2, "named": 1, "missing": ["T-1"]}));
    }

    #[test]
    fn questions_are_ids_ranges_and_prefixes() {
        let defined = ledger().asked;
        let chosen = |questions: &[&str]| {
            let ids = select(&defined, questions).unwrap();
            ids.iter().map(Id::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(chosen(&["Q-M1", "T-1..T-2", "T-2"]), "T-1 T-2 Q-M1");
        assert_eq!((chosen(&["T"]), chosen(&["M-"])), ("T-1 T-2".into(), "M-1".into()));
        assert_eq!((chosen(&["Q"]), chosen(&["Q-K"])), ("Q-M1 Q-K1".into(), "Q-K1".into()));
        assert!(select(&defined, &["T-3"]).is_err());
        assert!(select(&defined, &["T-1..T-3"]).is_err());
        assert!(select(&defined, &["--all"]).is_err());
    }

    #[test]
    fn only_test_code_names_requirements() {
        let text = "//! T-1\n#[cfg(test)]\nmod tests {\n    // T-2\n}\n";
        assert_eq!(ids::named(&test_text("crates/core/src/a.rs", text)).len(), 1);
        assert_eq!(ids::named(&test_text("crates/core/tests/a.rs", text)).len(), 2);
        assert_eq!(ids::named(&test_text("e2e/a.py", "# T-1\n")).len(), 1);
    }

    #[test]
    fn scripts_count_below_their_test_folders() {
        assert!(may_hold_tests("integrations/x/tests/a.mjs"));
        assert!(may_hold_tests("e2e/a.py"));
        assert!(!may_hold_tests("integrations/x/a.js"));
        assert!(!may_hold_tests("docs/tests.md"));
        assert!(!may_hold_tests("xtask/src/ledger/ids.rs"));
    }

    #[test]
    fn long_lists_are_wrapped() {
        let ids: Vec<String> = (100..140).map(|number| format!("M-{number}")).collect();
        let text = wrapped(&ids);
        assert!(text.lines().count() == 3 && text.lines().all(|line| line.len() <= REPORT_WIDTH));
        assert_eq!(wrapped(&[]), "");
    }
}
