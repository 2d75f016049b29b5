//! Issues as whole processes, in turns: `punch issue new` against the minimal program and against
//! Taskwarrior's `task add`, and `punch issue list` against `task list`.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::process::{peak_of_command, timed};
use crate::table::{Line, Target, median, shown};

const LISTED: usize = 1_000;

pub(crate) fn measure(programs: &Path, rounds: usize) -> Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("punch.db");
    let tasks = Tasks::new(&folder.path().join("tasks"))?;
    let new = |n: usize| new_issue(&programs.join("punch"), &store, n);
    let mut bare = Command::new(programs.join("bare_insert"));
    bare.arg(folder.path().join("bare.db")).stdout(Stdio::null());
    timed(&mut new(0))?;
    timed(&mut bare)?;
    timed(&mut tasks.add(0))?;
    let (mut ours, mut bares, mut adds) = (Vec::new(), Vec::new(), Vec::new());
    for n in 1..=rounds {
        ours.push(timed(&mut new(n))?);
        bares.push(timed(&mut bare)?);
        adds.push(timed(&mut tasks.add(n))?);
    }
    let memory = peak_of_command(&new(rounds + 1))?;
    for n in rounds + 2..LISTED {
        timed(&mut new(n))?;
        timed(&mut tasks.add(n))?;
    }
    let (mut lists, mut task_lists) = (Vec::new(), Vec::new());
    for _ in 0..rounds.min(100) {
        lists.push(timed(&mut list_issues(&programs.join("punch"), &store))?);
        task_lists.push(timed(&mut tasks.list())?);
    }
    let (ours, bares, adds) = (median(ours), median(bares), median(adds));
    let (lists, task_lists) = (median(lists), median(task_lists));
    let line = |what: &str, ours: f64, reference: f64, name: &str, limit: f64| Line {
        what: what.to_owned(),
        ours: shown(ours),
        reference: format!("{} {name}", shown(reference)),
        value: ours / reference,
        target: Target::AtMost(limit),
    };
    Ok(vec![
        line("`punch issue new`, whole process, durable", ours, bares, "bare rusqlite", 2.0),
        line("the same against Taskwarrior (which does not sync)", ours, adds, "`task add`", 1.0),
        Line {
            what: "its peak memory, MiB".into(),
            ours: format!("{memory:.1} MiB"),
            reference: "–".into(),
            value: memory,
            target: Target::AtMost(12.0),
        },
        line("`punch issue list`, 1,000 present", lists, task_lists, "`task list`", 0.5),
    ])
}

fn new_issue(program: &Path, store: &Path, n: usize) -> Command {
    let mut command = Command::new(program);
    command
        .args(["issue", "new", &format!("Measure the build, run {n}"), "--project", "bench"])
        .arg("--db")
        .arg(store)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

fn list_issues(program: &Path, store: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["issue", "list", "--limit", "1000", "--project", "bench", "--db"])
        .arg(store)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Taskwarrior with its own data folder.
struct Tasks {
    folder: std::path::PathBuf,
}

impl Tasks {
    fn new(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("taskrc"), "confirmation=off\n").context("a taskrc")?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn task(&self) -> Command {
        let mut command = Command::new("task");
        command
            .env("TASKRC", self.folder.join("taskrc"))
            .env("TASKDATA", &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn add(&self, n: usize) -> Command {
        let mut command = self.task();
        command.args(["add", &format!("Measure the build, run {n}")]);
        command
    }

    fn list(&self) -> Command {
        let mut command = self.task();
        command.arg("list");
        command
    }
}
