//! `punch plan sync FILE`: ticks the boxes of completed tasks in the plan's own file.
//!
//! Which boxes is decided in the core. Here the file is read, shown as a diff and written in one step;
//! every byte that is not inside a box stays as it was.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_core::plan::BYTES_MAX;
use punchlist_core::text::Title;
use punchlist_ops::Envelope;
use punchlist_ops::explain::Fault;
use punchlist_ops::input::Maybe;
use punchlist_ops::operations::plan_sync::{Edit, Input, Output, PlanSync};
use punchlist_store::outside;
use serde_json::json;

use super::{operation, plan, rewrite};
use crate::args::Globals;
use crate::failure::Failure;
use crate::output::{DIM, GREEN, RED};
use crate::{caller, output};

pub(crate) fn command() -> Command {
    Command::new("sync")
        .about("Tick the boxes of completed tasks in the plan's file")
        .long_about(
            "Tick the boxes of completed tasks in the plan's file.\n\n\
             Only what is between the brackets of a box changes; every other byte stays. A file \
             that has other tasks than the plan is not touched: import it first.",
        )
        .arg(
            Arg::new(operation::id("planFile"))
                .value_name("PLAN_FILE")
                .help("The plan's file [default: the only plan there is]"),
        )
        .arg(
            Arg::new("branch")
                .long("branch")
                .value_name("TEXT")
                .help("The plan's branch; absent: the one that is checked out, else main"),
        )
        .arg(
            Arg::new("dry-run")
                .long("dry-run")
                .action(ArgAction::SetTrue)
                .help("Show the changes and write nothing"),
        )
        .after_help("Example: punch plan sync docs/plans/auth.md --dry-run")
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let text = |id: &str| matches.get_one::<String>(id).cloned();
    let mut input = json!({});
    for (field, given) in
        [("planFile", text(&operation::id("planFile"))), ("branch", text("branch"))]
    {
        if let Some(given) = given {
            input[field] = given.into();
        }
    }
    plan::fill_in(&ops, &envelope, &mut input)?;
    let named = input["planFile"].as_str().unwrap_or_default().to_owned();
    let path = locate(&envelope, &named);
    let io = |error: std::io::Error| Failure::Io(format!("{}: {error}", path.display()));
    let before = outside::read(&path, BYTES_MAX).map_err(io)?;
    let bad = |why: &str| {
        let (path, found) = ("planFile".to_owned(), format!("`{named}`, {why}"));
        let expected = "a plan's file".to_owned();
        Failure::from(punchlist_ops::Error::from(Fault::BadValue { path, found, expected }))
    };
    let markdown = String::from_utf8(before.clone()).map_err(|_| bad("which is not UTF-8"))?;
    let plan_file = Title::new(&named).map_err(|_| bad("which has no name"))?;
    let branch = input["branch"].as_str().and_then(|branch| Title::new(branch).ok());
    let input = Input { plan_file, branch: Maybe(branch), markdown };
    let found = ops.run::<PlanSync>(&envelope, input)?;
    let after = with_edits(&before, &found.edits).ok_or_else(|| rewrite::changed(&named))?;
    let writes = !matches.get_flag("dry-run");
    if writes && after != before {
        rewrite::replace(&path, &named, &before, &after)?;
    }
    if globals.json {
        output::print_json(&serde_json::to_value(&found).unwrap_or_default())?;
        return Ok(());
    }
    if globals.quiet {
        return Ok(());
    }
    output::print(&words(&found, writes))?;
    Ok(())
}

/// The file as the caller names it: from the current folder, else from the project's.
fn locate(envelope: &Envelope, named: &str) -> PathBuf {
    let here = envelope.context.directory.as_deref().map_or_else(caller::folder, PathBuf::from);
    let near = here.join(named);
    if near.exists() { near } else { caller::folder().join(Path::new(named)) }
}

/// The bytes with every edit made; none: a line is not what it was.
fn with_edits(bytes: &[u8], edits: &[Edit]) -> Option<Vec<u8>> {
    let mut after = Vec::with_capacity(bytes.len());
    let mut edits = edits.iter().peekable();
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let Some(edit) = edits.next_if(|edit| edit.line == number) else {
            after.extend_from_slice(line);
            continue;
        };
        // In front of the first line there may be a byte order mark, behind each its ending.
        let at = line.windows(edit.before.len()).position(|part| part == edit.before.as_bytes())?;
        after.extend_from_slice(&line[..at]);
        after.extend_from_slice(edit.after.as_bytes());
        after.extend_from_slice(&line[at + edit.before.len()..]);
    }
    edits.next().is_none().then_some(after)
}

fn words(found: &Output, written: bool) -> String {
    let file = output::line(&found.plan_file);
    let mut shown = String::new();
    for edit in &found.edits {
        let (before, after) = (output::line(&edit.before), output::line(&edit.after));
        shown.push_str(&format!("{DIM}{:>4}{DIM:#} {RED}-{before}{RED:#}\n", edit.line));
        shown.push_str(&format!("     {GREEN}+{after}{GREEN:#}\n"));
    }
    let boxes = match found.edits.len() {
        0 => format!("Every completed task is ticked in {file} already"),
        1 if written => format!("Ticked 1 box in {file}"),
        1 => format!("1 box in {file} would be ticked"),
        count if written => format!("Ticked {count} boxes in {file}"),
        count => format!("{count} boxes in {file} would be ticked"),
    };
    let bare = match found.without_box.len() {
        0 => String::new(),
        1 => "; 1 completed task has no box".to_owned(),
        count => format!("; {count} completed tasks have no box"),
    };
    format!("{shown}{boxes}{bare}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_of_the_edits_change() {
        let edit = |line, before: &str, after: &str| Edit {
            line,
            before: before.to_owned(),
            after: after.to_owned(),
        };
        let bytes = b"\xef\xbb\xbf# [ ] T\r\n- [ ] a\r\n\r\n- [ ] a";
        let edits = [edit(1, "# [ ] T", "# [x] T"), edit(4, "- [ ] a", "- [x] a")];
        let after = with_edits(bytes, &edits).unwrap();
        assert_eq!(after, b"\xef\xbb\xbf# [x] T\r\n- [ ] a\r\n\r\n- [x] a");
        assert_eq!(with_edits(bytes, &[edit(2, "- [ ] b", "- [x] b")]), None);
        assert_eq!(with_edits(bytes, &[edit(9, "- [ ] a", "- [x] a")]), None);
    }
}
