//! Processes that left the group of the program that started them (`setsid`, a double fork), and
//! those that a killed `punch` left behind.
//!
//! Every program we start has a mark in its environment: which of our processes started it, and its
//! number there. Its children inherit the mark, and stay our descendants, because orphans are adopted by
//! the nearest subreaper. So strays are found by their parents and by their mark. A process that cleared
//! its environment and lost its parent is found once no other program of ours runs, or at once if its
//! program has a cgroup (`crate::cage`). This works on Linux; elsewhere only the process group is
//! killed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use punchlist_store::outside;

use crate::cage::{self, Cage};

/// The variable that marks what we start.
pub(crate) const MARK: &str = "PUNCH_STARTED_BY";

/// How often we look again for processes that were started during the last look.
const ROUNDS_MAX: usize = 50;

/// How long a killed process gets to exit before the next look.
const PAUSE: Duration = Duration::from_millis(2);

/// How many bytes are read of a process's environment and of its `stat` line.
const ENVIRONMENT_MAX: usize = 4 << 20;
const STAT_MAX: usize = 4 << 10;

/// Does this process start only programs through [`crate::process`]? Then every other child of it
/// is an orphan of one of them.
static OWNS_ALL: AtomicBool = AtomicBool::new(false);

static NEXT: AtomicU64 = AtomicU64::new(1);

/// The process ids of our running programs.
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn running() -> MutexGuard<'static, BTreeSet<i32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adopts orphans, and kills the processes that an earlier process of ours left behind. A process that
/// executes agents calls it before it starts any program. Returns how many it killed.
pub fn take_charge() -> usize {
    OWNS_ALL.store(true, Ordering::SeqCst);
    become_subreaper();
    let us = std::process::id().cast_signed();
    let mut ended = cage::end_left();
    for _ in 0..ROUNDS_MAX {
        let left = marks().into_iter().filter(|(id, mark)| *id != us && is_left(mark));
        let left: Vec<i32> = left.map(|(id, _)| id).collect();
        if left.is_empty() {
            break;
        }
        ended = ended.max(left.len());
        end(&left);
    }
    ended
}

/// Makes us, not init, the parent of orphans.
fn become_subreaper() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        #[cfg(target_os = "linux")]
        let _ = nix::sys::prctl::set_child_subreaper(true);
    });
}

/// The mark of the next program.
pub(crate) fn next_mark() -> String {
    become_subreaper();
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    format!("{}:{number}", owner())
}

/// Identifies this process, even after its process id is reused.
fn owner() -> &'static str {
    static OWNER: OnceLock<String> = OnceLock::new();
    OWNER.get_or_init(|| {
        let id = std::process::id();
        let began = facts(id.cast_signed()).map_or(0, |facts| facts.began);
        format!("{}:{id}:{began}", namespace())
    })
}

/// Our pid namespace: process ids of another container mean nothing here.
fn namespace() -> &'static str {
    static NAMESPACE: OnceLock<String> = OnceLock::new();
    NAMESPACE.get_or_init(|| {
        let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
    })
}

/// Has the process that started it ended without killing it?
pub(crate) fn is_left(mark: &str) -> bool {
    let Some((found, mark)) = mark.split_once(':') else { return false };
    if found != namespace() {
        return false;
    }
    let mut parts = mark.split(':').map(str::parse::<u64>);
    let (Some(Ok(id)), Some(Ok(began))) = (parts.next(), parts.next()) else { return false };
    let Ok(id) = i32::try_from(id) else { return false };
    facts(id).is_none_or(|facts| facts.began != began)
}

/// Starts a program in a cgroup of its own, where there can be one, and registers it while the list is
/// locked, so that it is not taken for an orphan.
pub(crate) fn begin(
    mark: &str,
    start: impl FnOnce() -> io::Result<Child>,
) -> io::Result<(Child, Option<Cage>)> {
    let mut running = running();
    let (child, cage) = Cage::around(mark, start);
    if child.is_err() {
        cage.iter().for_each(Cage::end);
    }
    let child = child?;
    running.insert(child.id().cast_signed());
    Ok((child, cage))
}

/// Does each program get a cgroup of its own here? Then nothing that it starts outlives it.
#[must_use]
pub fn are_caged() -> bool {
    cage::is_in_force()
}

/// Kills all processes that a program has left behind. The caller ends the program itself.
pub(crate) fn end_all_of(id: u32, mark: &str) {
    let id = id.cast_signed();
    for _ in 0..ROUNDS_MAX {
        let parents = parents();
        let mut left = descendants(&parents, id);
        left.extend(marks().into_iter().filter(|(_, found)| found == mark).map(|(id, _)| id));
        left.remove(&id);
        let left: Vec<i32> = left.into_iter().filter(|id| !is_gone(*id)).collect();
        if left.is_empty() {
            break;
        }
        end(&left);
    }
}

/// Removes a program that has ended. After the last one, all our remaining descendants are orphans and
/// are killed.
pub(crate) fn ended(id: u32) {
    let mut running = running();
    running.remove(&id.cast_signed());
    if !running.is_empty() || !OWNS_ALL.load(Ordering::SeqCst) {
        return;
    }
    let us = std::process::id().cast_signed();
    for _ in 0..ROUNDS_MAX {
        let left: Vec<i32> = descendants(&parents(), us).into_iter().collect();
        if left.is_empty() {
            break;
        }
        end(&left);
    }
}

pub(crate) fn end(processes: &[i32]) {
    for id in processes {
        let _ = kill(Pid::from_raw(*id), Signal::SIGKILL);
    }
    std::thread::sleep(PAUSE);
    for id in processes {
        // Reaps an adopted orphan; for any other process this does nothing.
        let _ = waitpid(Pid::from_raw(*id), Some(WaitPidFlag::WNOHANG));
    }
}

struct Facts {
    parent: i32,
    is_zombie: bool,
    /// In clock ticks since boot.
    began: u64,
}

/// Parses `pid (name) state ppid …`, where the name may contain anything.
fn facts(id: i32) -> Option<Facts> {
    let stat = outside::beginning(&Path::new("/proc").join(id.to_string()).join("stat"), STAT_MAX);
    let stat = String::from_utf8_lossy(&stat.ok()?).into_owned();
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let is_zombie = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let began = fields.nth(17)?.parse().ok()?;
    Some(Facts { parent, is_zombie, began })
}

fn is_gone(id: i32) -> bool {
    facts(id).is_none_or(|facts| facts.is_zombie)
}

/// Every process of the system.
fn all() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parents() -> BTreeMap<i32, i32> {
    all().into_iter().filter_map(|id| Some((id, facts(id)?.parent))).collect()
}

fn descendants(parents: &BTreeMap<i32, i32>, of: i32) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    loop {
        let is_new = |(id, parent): &(&i32, &i32)| {
            !found.contains(*id) && (**parent == of || found.contains(*parent))
        };
        let more: Vec<i32> = parents.iter().filter(is_new).map(|(id, _)| *id).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// The marks of all processes whose environment we may read: those of the same user.
fn marks() -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for id in all() {
        let path = Path::new("/proc").join(id.to_string()).join("environ");
        let Ok(environment) = outside::beginning(&path, ENVIRONMENT_MAX) else { continue };
        let is_mark = |word: &&[u8]| word.starts_with(MARK.as_bytes());
        let mark = environment.split(|byte| *byte == 0).find(is_mark);
        let mark = mark.and_then(|word| word.get(MARK.len() + 1..));
        found.extend(mark.map(|mark| (id, String::from_utf8_lossy(mark).into_owned())));
    }
    found
}
