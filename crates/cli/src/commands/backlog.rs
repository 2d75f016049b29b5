//! `punch plan from-todo` and `punch plan tick`: the backlog that people keep in TODO.md.
//!
//! This is the only place that ever writes that file, and only for `tick`: one mark in one line,
//! every other byte as it was, in one step. The core decides which line that is, and who may tick
//! it.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use punchlist_core::plan::{BYTES_MAX, TODO_FILE, TodoLine, todo_lines};
use punchlist_ops::catalogue::{Define, find};
use punchlist_ops::operations::plan_tick::{self, PlanTick};
use punchlist_store::outside;
use serde_json::{Map, Value, json};

use super::{call, prompt, rewrite};
use crate::args::Globals;
use crate::failure::Failure;
use crate::output::{DIM, clean};
use crate::{caller, output};

pub(crate) fn commands() -> [Command; 2] {
    let file = || {
        Arg::new("file")
            .long("file")
            .value_name("FILE")
            .help("The backlog; absent: TODO.md in the project's folder")
            .value_parser(value_parser!(PathBuf))
    };
    let branch = || {
        Arg::new("branch")
            .long("branch")
            .value_name("TEXT")
            .help("The plan's branch; absent: the one that is checked out, else main")
    };
    let from_todo =
        Command::new("from-todo")
            .about("Open a plan from a line of TODO.md, or list the open lines")
            .arg(Arg::new("item").value_name("LINE|TEXT").help(
                "The line: its number, its text, or a part of it; absent: list the open lines",
            ))
            .arg(file())
            .arg(branch())
            .arg(
                Arg::new("plan-file")
                    .long("plan-file")
                    .value_name("TEXT")
                    .help("The plan's file; absent: docs/plans/, named after the line"),
            )
            .after_help("Example: punch plan from-todo 'Sign in with a passkey'");
    let tick = Command::new("tick")
        .about("Tick the line of TODO.md that a plan came from")
        .long_about(
            "Tick the line of TODO.md that a plan came from.\n\n\
             `- [ ]` of that line becomes `- [x]`; nothing else in the file changes. If the line \
             is missing, was changed, occurs twice or is ticked already, the file is not touched. \
             No other command writes this file.",
        )
        .arg(
            Arg::new("plan")
                .value_name("PLAN_FILE")
                .help("The plan's file, as `punch plan from-todo` named it")
                .required(true),
        )
        .arg(file())
        .arg(branch())
        .after_help("Example: punch plan tick docs/plans/sign-in-with-a-passkey.md");
    [from_todo, tick]
}

pub(crate) fn from_todo(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let backlog = Backlog::of(matches);
    let markdown = String::from_utf8_lossy(&backlog.read()?).into_owned();
    let given = matches.get_one::<String>("item").cloned();
    let item = match given {
        Some(item) => item,
        None => match choose(globals, &backlog, &markdown)? {
            Some(item) => item,
            None => return Ok(()),
        },
    };
    let mut input = backlog.input(matches, &markdown);
    input.insert("item".to_owned(), item.into());
    if let Some(plan_file) = matches.get_one::<String>("plan-file") {
        input.insert("planFile".to_owned(), plan_file.as_str().into());
    }
    call::call(globals, find("plan_from_todo")?, Value::Object(input))
}

/// Shows the open lines; a person at a terminal is asked for one.
fn choose(globals: &Globals, backlog: &Backlog, markdown: &str) -> Result<Option<String>, Failure> {
    let lines = todo_lines(markdown);
    let open: Vec<_> = lines.iter().filter(|line| !line.is_ticked).collect();
    if globals.json {
        let line = |line: &&TodoLine<'_>| {
            let (number, content, line) = (line.number, line.content, line.line);
            json!({ "lineNumber": number, "content": content, "line": line })
        };
        let lines: Vec<Value> = open.iter().map(line).collect();
        let answer = json!({ "file": backlog.name, "lines": lines });
        output::print_json(&answer)?;
        return Ok(None);
    }
    if open.is_empty() {
        output::print(&format!("Nothing is open in {}.\n", clean(&backlog.name)))?;
        return Ok(None);
    }
    let shown = |line: &&TodoLine<'_>| {
        format!("{DIM}{:>4}{DIM:#}  {}\n", line.number, output::line(line.content))
    };
    output::print(&open.iter().map(shown).collect::<String>())?;
    if !output::is_interactive() || globals.quiet {
        return Ok(None);
    }
    let said = prompt::ask("Open a plan from which line? ")?;
    Ok(said.filter(|said| !said.is_empty()))
}

pub(crate) fn tick(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let backlog = Backlog::of(matches);
    let before = backlog.read()?;
    let mut input = backlog.input(matches, &String::from_utf8_lossy(&before));
    let plan = matches.get_one::<String>("plan").cloned().unwrap_or_default();
    input.insert("planFile".to_owned(), plan.into());
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let answer = ops.answer(find(PlanTick::NAME)?, &envelope, Value::Object(input))?;
    let done: plan_tick::Output = answer.into_output()?;
    let after = ticked(&before, done.line_number).ok_or_else(|| rewrite::changed(&backlog.name))?;
    backlog.replace(&before, &after)?;
    call::show_output::<PlanTick>(globals, done, envelope.now)
}

/// The bytes with the mark of one line set.
fn ticked(bytes: &[u8], number: usize) -> Option<Vec<u8>> {
    let before: usize =
        bytes.split_inclusive(|byte| *byte == b'\n').take(number - 1).map(<[u8]>::len).sum();
    let line = bytes[before..].split(|byte| *byte == b'\n').next()?;
    let mark = line.windows(3).position(|window| window == b"[ ]")?;
    let mut after = bytes.to_owned();
    after[before + mark + 1] = b'x';
    Some(after)
}

/// The file, by its path and by the name that plans remember.
struct Backlog {
    path: PathBuf,
    name: String,
}

impl Backlog {
    fn of(matches: &ArgMatches) -> Self {
        let root = caller::folder();
        match matches.get_one::<PathBuf>("file") {
            None => Self { path: root.join(TODO_FILE), name: TODO_FILE.to_owned() },
            Some(file) => {
                let path = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                let below = path.strip_prefix(&root).unwrap_or(&path);
                Self { name: below.to_string_lossy().into_owned(), path }
            }
        }
    }

    fn input(&self, matches: &ArgMatches, markdown: &str) -> Map<String, Value> {
        let mut input = Map::new();
        input.insert("file".to_owned(), self.name.as_str().into());
        input.insert("markdown".to_owned(), markdown.into());
        let branch = matches.get_one::<String>("branch");
        input.extend(branch.map(|branch| ("branch".to_owned(), branch.as_str().into())));
        input
    }

    fn read(&self) -> Result<Vec<u8>, Failure> {
        outside::read(&self.path, BYTES_MAX).map_err(|error| self.fault(&error))
    }

    /// Puts the new bytes in the place of the old ones, unless somebody wrote meanwhile.
    fn replace(&self, before: &[u8], after: &[u8]) -> Result<(), Failure> {
        rewrite::replace(&self.path, &self.name, before, after)
    }

    fn fault(&self, error: &std::io::Error) -> Failure {
        Failure::Io(format!("{}: {error}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_of_one_line_changes() {
        let bytes = b"\xef\xbb\xbf# \xff\r\n- [ ] a\r\n- [ ] [ ] b";
        let second = ticked(bytes, 2).unwrap();
        assert_eq!(second, b"\xef\xbb\xbf# \xff\r\n- [x] a\r\n- [ ] [ ] b");
        assert_eq!(ticked(bytes, 3).unwrap(), b"\xef\xbb\xbf# \xff\r\n- [ ] a\r\n- [x] [ ] b");
        assert_eq!((ticked(bytes, 1), ticked(bytes, 9)), (None, None));
    }
}
