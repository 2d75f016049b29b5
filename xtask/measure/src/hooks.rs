//! `punch hook claude stop` as a whole process, against `punch --version`, in a store of many todos.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::process::timed;
use crate::reads::filled;
use crate::table::{Line, Target, median, shown};

pub(crate) fn measure(programs: &Path, todos: usize, rounds: usize) -> Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let mut lines = Vec::new();
    for (name, count) in [("an empty store", 20), ("a store of many todos", todos)] {
        let store = folder.path().join(format!("{count}.db"));
        drop(filled(&store, count)?);
        lines.push(line(programs, folder.path(), &store, name, rounds)?);
    }
    Ok(lines)
}

fn line(programs: &Path, folder: &Path, store: &Path, name: &str, rounds: usize) -> Result<Line> {
    let payload = folder.join("payload.json");
    let turn = |round: usize| {
        let text = format!(
            "{{\"session_id\":\"s\",\"prompt_id\":\"p{round}\",\
             \"last_assistant_message\":\"x{round}\"}}"
        );
        std::fs::write(&payload, text)
    };
    turn(0)?;
    let punch = |words: &[&str]| -> Result<Command> {
        let mut command = Command::new(programs.join("punch"));
        command.args(words).args(["--project", "bench", "--db"]).arg(store).current_dir(folder);
        command.stdin(File::open(&payload)?).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    };
    for words in [
        &["issue", "new", "Measure", "--json"][..],
        &["hook", "claude", "session-start"],
        &["session", "bind", "1", "--session", "s", "--json"],
        &["todo", "add", "One", "--session", "s", "--json"],
    ] {
        if !punch(words)?.status()?.success() {
            bail!("{words:?} failed");
        }
    }
    let mut version = Command::new(programs.join("punch"));
    version.arg("--version").stdout(Stdio::null());
    let (mut hooks, mut versions) = (Vec::new(), Vec::new());
    let stop = ["hook", "claude", "stop"];
    for round in 1..=rounds {
        // A person's prompt resets what was counted, so that each stop is continued.
        turn(round)?;
        if !punch(&["hook", "claude", "prompt"])?.status()?.success() {
            bail!("the prompt hook failed");
        }
        hooks.push(timed(&mut punch(&stop)?)?);
        versions.push(timed(&mut version)?);
    }
    // The last stop again, as another turn: it is still continued, so the others were.
    turn(rounds + 1)?;
    punch(&["hook", "claude", "prompt"])?.status()?;
    let said = punch(&stop)?.stdout(Stdio::piped()).output()?;
    if !String::from_utf8_lossy(&said.stdout).contains("\"block\"") {
        bail!("the stop was not continued, so the times are those of another path");
    }
    let (hook, version) = (median(hooks), median(versions));
    Ok(Line {
        what: format!("`punch hook claude stop`, whole process, {name}"),
        ours: shown(hook),
        reference: format!("{} `punch --version`", shown(version)),
        value: hook / version,
        target: Target::AtMost(2.0),
    })
}
