//! Rules for the walks of ARCHITECTURE.md: every file and function that a walk names exists, and
//! the number in its title counts the files.
//!
//! `cli/caller.rs` is `crates/cli/src/caller.rs`. A file that a walk has named before may be named
//! again without its folders. Names after a file and a colon, joined by commas or "and", are
//! defined in that file.

use super::{Finding, contains_word};

/// How a name is defined.
const DEFINITIONS: [&str; 6] = ["fn", "struct", "enum", "trait", "const", "type"];

struct Walk<'a> {
    /// The line of its title.
    line: usize,
    title: &'a str,
    body: String,
}

/// `source` reads a file of the repository; `None` if there is none.
pub(super) fn findings(content: &str, source: &dyn Fn(&str) -> Option<String>) -> Vec<Finding> {
    let (mut findings, mut first) = (Vec::new(), Vec::new());
    for walk in walks(content) {
        let files = follow(&walk, source, &mut findings);
        let new = files.iter().filter(|file| !first.contains(*file)).count();
        findings.extend(count(&walk, files.len(), new));
        if walk.title.starts_with("Walk 1:") {
            first = files;
        }
    }
    findings
}

fn walks(content: &str) -> Vec<Walk<'_>> {
    let (mut walks, mut is_walk) = (Vec::<Walk<'_>>::new(), false);
    for (index, line) in content.lines().enumerate() {
        if let Some(title) = line.strip_prefix("## ") {
            is_walk = title.starts_with("Walk ");
            if is_walk {
                walks.push(Walk { line: index + 1, title, body: String::new() });
            }
        } else if let Some(walk) = walks.last_mut().filter(|_| is_walk) {
            walk.body.push_str(line);
            walk.body.push('\n');
        }
    }
    walks
}

/// What stands before a name in backticks.
enum Before {
    Prose,
    /// A file, by its path.
    File(String),
    /// A name that is defined in this file.
    Name(String),
}

/// Looks for everything that a walk names. Returns its files.
fn follow(
    walk: &Walk<'_>,
    source: &dyn Fn(&str) -> Option<String>,
    findings: &mut Vec<Finding>,
) -> Vec<String> {
    let (mut files, mut before) = (Vec::<String>::new(), Before::Prose);
    let mut line = walk.line + 1;
    let mut between = "";
    for (index, part) in walk.body.split('`').enumerate() {
        let (is_name, at) = (index % 2 == 1, line);
        line += part.matches('\n').count();
        if !is_name {
            between = part;
            continue;
        }
        if let Some(short) = part.strip_suffix(".rs").filter(|path| is_path(path)) {
            match path_of(part, &files) {
                Some(path) if source(&path).is_some() => {
                    if !files.contains(&path) {
                        files.push(path.clone());
                    }
                    before = Before::File(path);
                }
                _ => {
                    findings.push(Finding::error(at, format!("there is no file `{short}.rs`")));
                    before = Before::Prose;
                }
            }
            continue;
        }
        before = match before {
            Before::File(path) if between.trim() == ":" => Before::Name(path),
            Before::Name(path) if is_list(between) => Before::Name(path),
            _ => Before::Prose,
        };
        if let Before::Name(path) = &before
            && !source(path).is_some_and(|text| defines(&text, part))
        {
            findings.push(Finding::error(at, format!("`{path}` does not define `{part}`")));
        }
    }
    files
}

fn is_path(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "_/".contains(c))
}

/// The path of a file in the repository; without folders, of the file that was named before.
fn path_of(named: &str, files: &[String]) -> Option<String> {
    if let Some((krate, rest)) = named.split_once('/') {
        return Some(format!("crates/{krate}/src/{rest}"));
    }
    let end = format!("/{named}");
    let mut known = files.iter().filter(|file| file.ends_with(&end));
    known.next().filter(|_| known.next().is_none()).cloned()
}

fn is_list(between: &str) -> bool {
    matches!(between.trim(), "," | "and" | ", and")
}

fn defines(source: &str, name: &str) -> bool {
    let name = name.rsplit("::").next().unwrap_or(name);
    DEFINITIONS.iter().any(|kind| contains_word(source, &format!("{kind} {name}")))
}

/// Compares the numbers in the title with what the walk names.
fn count(walk: &Walk<'_>, files: usize, new: usize) -> Option<Finding> {
    let said = walk.title.rsplit_once('(').map_or("", |(_, said)| said);
    let is_right = said == format!("{files} files)")
        || said == format!("{files} files, {new} of them not in walk 1)");
    let message = format!("this walk names {files} files, {new} of them not in walk 1");
    (!is_right).then(|| Finding::error(walk.line, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String)> {
        let source = |path: &str| match path {
            "crates/cli/src/main.rs" => Some("fn main() {}\nfn run() {}\n".to_owned()),
            "crates/ops/src/call.rs" => Some("pub struct Call;\nfn decide() {}\n".to_owned()),
            _ => None,
        };
        findings(text, &source).into_iter().map(|found| (found.line, found.message)).collect()
    }

    #[test]
    fn a_walk_whose_names_exist_passes() {
        let text = "# A\n`no/such.rs`\n## Walk 1: a (2 files)\n\n`cli/main.rs`: `main`, `run` and\n\
                    `ops/call.rs`: `Call::decide`. `main.rs`: `run` again, `anything`.\n\n\
                    ## Walk 2: b (1 files, 0 of them not in walk 1)\n`cli/main.rs`\n## End\n`x/y.rs`\n";
        assert_eq!(found(text), []);
    }

    #[test]
    fn a_missing_file_a_missing_name_and_a_wrong_count_are_found() {
        let text = "## Walk 1: a (3 files)\n`cli/main.rs`: `main`,\n`gone`. `cli/gone.rs`: `x`.\n";
        let expected = [
            (3, "`crates/cli/src/main.rs` does not define `gone`".to_owned()),
            (3, "there is no file `cli/gone.rs`".to_owned()),
            (1, "this walk names 1 files, 1 of them not in walk 1".to_owned()),
        ];
        assert_eq!(found(text), expected);
        let other = "## Walk 2: b (1 files, 0 of them not in walk 1)\n`cli/main.rs`: `runs`\n";
        assert_eq!(found(other).len(), 2);
        assert_eq!(found("## Walk 3: c\n`main.rs`\n").len(), 2);
    }
}
