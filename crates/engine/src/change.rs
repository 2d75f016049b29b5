//! What commits changed, read with git in the folder of their project: files, counts and lines.
//!
//! The repository and the commits come from agents, so git runs without a shell, for a limited time,
//! with nothing but the ids of commits as input. No program that the repository's own configuration
//! names is run, and nothing is fetched. Reading the output is in `patch`.

mod patch;

use std::path::Path;
use std::time::Duration;

use punchlist_core::change::{Change, Unread};

use crate::process::{Fault, Flood, Patience, Program, Ran};

/// How long git may take for one change.
const TIME_MAX: Duration = Duration::from_secs(5);

/// How many commits are read.
const COMMITS_MAX: usize = 200;

/// How much output is read: the counts, and the lines.
const COUNTS_MAX: usize = 1 << 20;
const LINES_MAX: usize = 4 << 20;

/// The environment variables that git gets, besides PATH. They locate the user's git configuration,
/// which says which repositories of other users git may read.
const ENVIRONMENT: [&str; 2] = ["HOME", "XDG_CONFIG_HOME"];

/// A repository's configuration can name programs that fetch missing objects: no protocol is allowed.
const FIXED: [(&str, &str); 4] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

fn unread(fault: Fault) -> Unread {
    match fault {
        Fault::Failed(words) => Unread::Git(words),
        Fault::Stopped => Unread::Git("was stopped".to_owned()),
    }
}

/// Reads what these commits changed. An id that is not a number to base 16 is not a commit.
pub fn read(folder: &Path, commits: &[String]) -> Result<Change, Unread> {
    if !folder.is_absolute() || !folder.is_dir() {
        return Err(Unread::NoFolder);
    }
    let patience = Patience::new(TIME_MAX, &|| false);
    let known = resolved(folder, commits, &patience)?;
    let missing = commits.len().saturating_sub(known.len());
    if known.is_empty() {
        return Ok(Change { missing, ..Change::default() });
    }
    let ids = known.join("\n") + "\n";
    let counts = ask(folder, &["--numstat", "-z"], &ids, COUNTS_MAX, &patience)?;
    let mut change = patch::counted(&counts.output, counts.is_cut);
    // Without the lines, the files and their counts are still worth showing.
    match ask(folder, &["--patch", "-U3"], &ids, LINES_MAX, &patience) {
        Ok(lines) => patch::fill(&mut change, &lines.output, lines.is_cut),
        Err(_) => change.is_cut = true,
    }
    (change.commits, change.missing) = (known.len(), missing);
    Ok(patch::by_path(change))
}

/// The whole ids of the commits that the repository has, each once.
fn resolved(
    folder: &Path,
    commits: &[String],
    patience: &Patience<'_>,
) -> Result<Vec<String>, Unread> {
    let is_id = |id: &&String| !id.is_empty() && id.bytes().all(|c| c.is_ascii_hexdigit());
    let wanted = commits.iter().filter(is_id).take(COMMITS_MAX);
    let asked: String = wanted.map(|id| format!("{id}^{{commit}}\n")).collect();
    let ran = git(folder, &["cat-file", "--batch-check"], asked, COUNTS_MAX, patience)?;
    let said = String::from_utf8_lossy(&ran.output).into_owned();
    let mut known: Vec<&str> = Vec::new();
    for line in said.lines() {
        if let Some((id, kind)) = line.split_once(' ')
            && kind.starts_with("commit ")
            && !known.contains(&id)
        {
            known.push(id);
        }
    }
    if known.is_empty() {
        return Ok(Vec::new());
    }
    // The oldest first.
    let sorted = ["rev-list", "--no-walk=sorted", "--reverse", "--stdin"];
    let ids = known.join("\n") + "\n";
    let ran = git(folder, &sorted, ids, COUNTS_MAX, patience)?;
    Ok(String::from_utf8_lossy(&ran.output).lines().map(str::to_owned).collect())
}

/// Asks for the differences of the commits to their parents; for a merge, to its first parent.
fn ask(
    folder: &Path,
    form: &[&str],
    ids: &str,
    output_max: usize,
    patience: &Patience<'_>,
) -> Result<Ran, Unread> {
    let always = ["diff-tree", "--stdin", "-r", "--root", "-M", "--diff-merges=first-parent"];
    // Programs that a repository names for showing files are not run.
    let never = ["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short"];
    let words: Vec<&str> = always.iter().chain(&never).chain(form).copied().collect();
    git(folder, &words, ids.to_owned(), output_max, patience)
}

fn git(
    folder: &Path,
    words: &[&str],
    input: String,
    output_max: usize,
    patience: &Patience<'_>,
) -> Result<Ran, Unread> {
    let before = ["git", "--no-pager", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false"];
    let further = ["-c", "core.sshCommand=false", "-c", "diff.suppressBlankEmpty=false"];
    let words: Vec<String> =
        before.iter().chain(&further).chain(words).map(|word| (*word).to_owned()).collect();
    let program = Program {
        words: &words,
        directory: Some(folder),
        environment: &ENVIRONMENT,
        fixed: &FIXED,
    };
    let ran = program.run(Some(input.into_bytes()), output_max, Flood::IsCut, patience);
    let ran = ran.map_err(unread)?;
    match ran.status.success() {
        true => Ok(ran),
        false => Err(Unread::Git(ran.ending())),
    }
}

#[cfg(test)]
mod tests;
