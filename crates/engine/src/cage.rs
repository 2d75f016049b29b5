//! A cgroup of its own for each program we start, where we may make one: cgroup v2, in the group that
//! we are in ourselves. What is in it cannot leave it by a new session, another parent or an empty
//! environment, and is killed at once. Elsewhere [`crate::strays`] looks for it alone.
//!
//! A program is in its cgroup from its first instruction on: we enter the cgroup, start the program,
//! and go back. A group's name has the mark of its program, so the groups of an ended process are
//! found by the next start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, thread};

use punchlist_store::outside;

use crate::strays;

/// The beginning of the names of our cgroups.
const PREFIX: &str = "punch-";

/// How much is read of a file of the kernel.
const FILE_MAX: usize = 1 << 20;

/// How often we try to remove a cgroup whose processes are ending, and how long we wait in between.
const ROUNDS_MAX: usize = 200;
const PAUSE: Duration = Duration::from_millis(2);

/// The cgroup of one program.
#[derive(Debug)]
pub(crate) struct Cage(PathBuf);

impl Cage {
    /// Starts something in a cgroup of its own, where there can be one.
    pub(crate) fn around<T>(
        mark: &str,
        start: impl FnOnce() -> io::Result<T>,
    ) -> (io::Result<T>, Option<Self>) {
        let Some(home) = home() else { return (start(), None) };
        let cage = home.join(format!("{PREFIX}{}", mark.replace(':', "-")));
        if fs::create_dir(&cage).and_then(|()| enter(&cage)).is_err() {
            let _ = fs::remove_dir(&cage);
            return (start(), None);
        }
        let started = start();
        match enter(home) {
            Ok(()) => (started, Some(Self(cage))),
            // We are in it ourselves, so it is not to be killed.
            Err(_) => (started, None),
        }
    }

    /// Kills what is in it, and removes it.
    pub(crate) fn end(&self) {
        end(&self.0);
    }
}

/// Does each program get a cgroup of its own here?
pub(crate) fn is_in_force() -> bool {
    home().is_some()
}

/// Kills what is in the cgroups of processes that have ended. Returns how many processes it killed.
pub(crate) fn end_left() -> usize {
    let Some(home) = home() else { return 0 };
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let is_left = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let mark =
            name.and_then(|name| name.strip_prefix(PREFIX)).map(|rest| rest.replace('-', ":"));
        mark.is_some_and(|mark| strays::is_left(&mark))
    };
    entries.map(|entry| entry.path()).filter(is_left).map(|group| end(&group)).sum()
}

/// Our own cgroup, if we may make others in it and come back to it.
fn home() -> Option<&'static Path> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = HOME.get_or_init(|| {
        let home = own()?;
        let probe = home.join(format!("{PREFIX}{}", strays::next_mark().replace(':', "-")));
        fs::create_dir(&probe).ok()?;
        let works = probe.join("cgroup.kill").exists() && enter(&home).is_ok();
        let _ = fs::remove_dir(&probe);
        works.then_some(home)
    });
    found.as_deref()
}

/// The folder of the cgroup that we are in.
fn own() -> Option<PathBuf> {
    let groups = text(Path::new("/proc/self/cgroup"))?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = text(Path::new("/proc/self/mountinfo"))?;
    // id parent device root folder options … - type source options
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, folder) = (fields.next()?, fields.next()?);
        let below = Path::new(own).strip_prefix(root).ok()?;
        after.starts_with("cgroup2 ").then(|| Path::new(folder).join(below))
    })
}

fn text(path: &Path) -> Option<String> {
    let bytes = outside::beginning(path, FILE_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Moves this process into a cgroup; programs that it starts begin there.
fn enter(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), "0")
}

fn end(group: &Path) -> usize {
    let left = processes(group);
    let _ = fs::write(group.join("cgroup.kill"), "1");
    if !left.is_empty() {
        strays::end(&left);
    }
    for _ in 0..ROUNDS_MAX {
        if remove(group).is_ok() {
            break;
        }
        thread::sleep(PAUSE);
    }
    left.len()
}

/// The cgroups that a program made in its own.
fn below(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn processes(group: &Path) -> Vec<i32> {
    let listed = text(&group.join("cgroup.procs")).unwrap_or_default();
    let mut found: Vec<i32> = listed.lines().filter_map(|line| line.parse().ok()).collect();
    found.extend(below(group).iter().flat_map(|group| processes(group)));
    found
}

fn remove(group: &Path) -> io::Result<()> {
    below(group).iter().try_for_each(|group| remove(group))?;
    fs::remove_dir(group)
}
