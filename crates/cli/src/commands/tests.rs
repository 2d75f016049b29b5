//! Checks that texts name only commands that exist: the help, the hints, the README and the docs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Command;
use punchlist_ops::CATALOGUE;

use super::{FIXED, built};
use crate::args;

/// Every command by its first word.
fn tree() -> BTreeMap<&'static str, Command> {
    let words = CATALOGUE.iter().filter_map(|operation| operation.surfaces.command.first());
    let words = words.copied().chain(FIXED);
    words.map(|word| (word, built(word, None).unwrap())).collect()
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        && !text.starts_with('-')
}

/// The first command in the text that does not exist. The text follows `punch `.
fn unknown(tree: &BTreeMap<&str, Command>, text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    if !is_word(first) {
        return None;
    }
    let Some(command) = tree.get(first) else { return Some(first.to_owned()) };
    command.get_subcommands().next()?;
    // `todo view|set` names two commands.
    let seconds = words.next().unwrap_or_default().split('|').filter(|word| is_word(word));
    let missing = seconds.filter(|word| command.find_subcommand(word).is_none());
    missing.map(|word| format!("{first} {word}")).next()
}

/// The text of each `punch …` in backticks.
fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.split("`punch ").skip(1).filter_map(|rest| rest.split('`').next())
}

/// A source text with sentences on one line: comments and continued strings are joined.
fn joined(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines() {
        let line = line.trim_start().trim_start_matches(['/', '!']).trim_start();
        match line.strip_suffix('\\') {
            Some(start) => joined.push_str(start),
            None => joined.extend([line, " "]),
        }
    }
    joined
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_text = path.extension().is_some_and(|kind| kind == "rs" || kind == "md");
        if path.is_dir() {
            files(&path, found);
        } else if is_text && !path.ends_with("commands/tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn sources_and_readme_name_only_commands_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md")];
    for name in ["core", "ops", "engine", "server", "store", "cli"] {
        files(&root.join("crates").join(name).join("src"), &mut found);
    }
    let tree = tree();
    let (mut count, mut faults) = (0, Vec::new());
    for path in found {
        let text = joined(&std::fs::read_to_string(&path).unwrap());
        for mention in in_backticks(&text) {
            count += 1;
            let fault = unknown(&tree, mention);
            faults.extend(fault.map(|fault| format!("{}: `punch {fault}`", path.display())));
        }
    }
    assert!(count > 50, "only {count} mentions were found");
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The commands that a page's source shows: its string literals that begin with `punch `, with a
/// word in place of each value.
fn shown(source: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for rest in source.split("\"punch ").skip(1) {
        let (mut command, mut is_escaped) = (String::from("punch "), false);
        for c in rest.chars() {
            match c {
                '"' if !is_escaped => break,
                '\\' if !is_escaped => {}
                c => command.push(c),
            }
            is_escaped = c == '\\' && !is_escaped;
        }
        let values =
            command.split('{').map(|part| part.split_once('}').map_or(part, |(_, end)| end));
        commands.push(values.collect::<Vec<_>>().join("word"));
    }
    commands
}

/// Does the command line take these words?
fn parse(command: &str) -> Result<(), String> {
    let words = shlex::split(command).ok_or_else(|| format!("{command}: a quote is open"))?;
    let words: Vec<std::ffi::OsString> = words.into_iter().map(Into::into).collect();
    let (first, second) = (args::first_word(&words), args::second_word(&words));
    let parsed = args::tree(first.as_deref(), second.as_deref()).try_get_matches_from(words);
    parsed.map(|_| ()).map_err(|error| format!("{command}: {error}"))
}

/// A page that shows a command shows one that works, also on the rarest empty page.
#[test]
fn every_command_on_a_page_is_one_that_the_command_line_takes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src/pages");
    let mut found = Vec::new();
    files(&root, &mut found);
    let (mut count, mut faults) = (0, Vec::new());
    for path in found {
        let source = std::fs::read_to_string(&path).unwrap();
        let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = code.collect::<Vec<_>>().join("\n");
        let commands = shown(&code);
        // A command in the middle of a text would escape this test.
        assert_eq!(commands.len(), code.matches("punch ").count(), "{}", path.display());
        count += commands.len();
        faults.extend(commands.iter().filter_map(|command| parse(command).err()));
    }
    assert!(count > 10, "only {count} commands were found");
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_command_on_a_page_that_does_not_parse_is_found() {
    let source =
        r#"code { (format!("punch mission add {} {} \"…\"", a, b)) } code { "punch lunch" }"#;
    assert_eq!(shown(source), ["punch mission add word word \"…\"", "punch lunch"]);
    let taken = ["punch mission add word word \"…\"", "punch mission init missions/word.json"];
    taken.iter().for_each(|command| parse(command).unwrap());
    for command in
        ["punch lunch", "punch mission init --file word.json", "punch mission todo add a b c"]
    {
        parse(command).unwrap_err();
    }
}

/// All of a command's help, with its examples.
fn help(command: &mut Command, texts: &mut Vec<String>) {
    texts.push(command.render_long_help().to_string());
    for child in command.get_subcommands_mut() {
        help(child, texts);
    }
}

#[test]
fn help_and_its_examples_name_only_commands_that_exist() {
    let tree = tree();
    let mut texts = Vec::new();
    for command in tree.values() {
        help(&mut command.clone(), &mut texts);
    }
    let mut faults = Vec::new();
    for text in &texts {
        let examples = text.lines().map(str::trim_start);
        let examples = examples.map(|line| line.strip_prefix("Example: ").unwrap_or(line));
        let examples = examples.filter_map(|line| line.strip_prefix("punch "));
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        faults.extend(in_backticks(&joined).chain(examples).filter_map(|at| unknown(&tree, at)));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let tree = tree();
    for (text, expected) in [
        ("lunch", Some("lunch")),
        ("plan tree FILE --watch", None),
        ("plan forget", Some("plan forget")),
        ("todo view|forget", Some("todo forget")),
        ("call no_operation_is_looked_up", None),
        ("inbox | less", None),
        ("--help", None),
        ("{command}", None),
    ] {
        assert_eq!(unknown(&tree, text).as_deref(), expected, "{text}");
    }
}
