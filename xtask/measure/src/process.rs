//! Whole processes: `punch call create_todo` against the minimal program, in turns; peak memory.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};

use crate::table::{Line, Target, median, shown};

/// Runs both programs in turns and compares their medians.
pub(crate) fn measure(programs: &Path, rounds: usize) -> Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let ours = folder.path().join("punch.db");
    let bare_file = folder.path().join("bare.db");
    let mut punch = create(&programs.join("punch"), &ours);
    let mut bare = Command::new(programs.join("bare_insert"));
    bare.arg(&bare_file).stdout(Stdio::null());
    // The first run creates the file, which users do not wait for every day.
    timed(&mut punch)?;
    timed(&mut bare)?;
    let (mut punch_times, mut bare_times) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        punch_times.push(timed(&mut punch)?);
        bare_times.push(timed(&mut bare)?);
    }
    let (punch_median, bare_median) = (median(punch_times), median(bare_times));
    let memory = peak_of_command(&create(&programs.join("punch"), &ours))?;
    let size = std::fs::metadata(programs.join("punch"))?.len() as f64 / 1e6;
    Ok(vec![
        Line {
            what: "the program, MB".into(),
            ours: format!("{size:.1} MB"),
            reference: "–".into(),
            value: size,
            target: Target::AtMost(25.0),
        },
        Line {
            what: "`punch call create_todo`, whole process, durable".into(),
            ours: shown(punch_median),
            reference: format!("{} bare rusqlite", shown(bare_median)),
            value: punch_median / bare_median,
            target: Target::AtMost(2.0),
        },
        Line {
            what: "its peak memory, MiB".into(),
            ours: format!("{memory:.1} MiB"),
            reference: "–".into(),
            value: memory,
            target: Target::AtMost(16.0),
        },
    ])
}

fn create(program: &Path, store: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["call", "create_todo", r#"{"items":[{"title":"Measure the build"}]}"#, "--json"])
        .args(["--conversation", "c", "--turn", "t", "--project", "bench", "--db"])
        .arg(store)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

pub(crate) fn timed(command: &mut Command) -> Result<f64> {
    let start = Instant::now();
    let status = command.status().context("the program starts")?;
    let micros = start.elapsed().as_secs_f64() * 1e6;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(micros)
}

/// The peak memory of one run, in MiB. It is measured by a process that has no other child.
pub(crate) fn peak_of_command(command: &Command) -> Result<f64> {
    let output = Command::new(std::env::current_exe()?)
        .arg("rss")
        .arg(command.get_program())
        .args(command.get_args())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let kib: f64 = text.lines().last().unwrap_or_default().trim().parse()?;
    Ok(kib / 1024.0)
}

/// Runs one program and prints its peak memory in KiB.
pub(crate) fn peak_of(words: &[String]) -> Result<()> {
    let (program, args) = words.split_first().context("usage: measure rss PROGRAM ARGS…")?;
    let status = Command::new(program).args(args).stdout(Stdio::null()).status()?;
    if !status.success() {
        bail!("{program} ended with {status}");
    }
    println!("{}", getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss());
    Ok(())
}
