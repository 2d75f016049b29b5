//! Programs: without a shell, without our environment, each in a process group of its own that ends
//! when the program does, when its time is over, or when nobody wants it any more.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[cfg(unix)]
use crate::strays;

/// How often a program that is waited for is looked after.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// Where programs are looked for if we do not know it ourselves.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How much of what it says on standard error is kept.
const COMPLAINT_MAX: usize = 2 << 10;

/// How long what it left behind may hold its output open once the program has ended.
const GRACE: Duration = Duration::from_millis(200);

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What went wrong.
    Failed(String),
    /// We were asked to stop: it says nothing about the program.
    Stopped,
}

impl Fault {
    pub(crate) fn failed(words: impl Into<String>) -> Self {
        Self::Failed(words.into())
    }
}

/// How long to wait, and for whom.
pub struct Patience<'a> {
    timeout: Duration,
    deadline: Instant,
    is_stopped: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patience").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl<'a> Patience<'a> {
    #[must_use]
    pub fn new(timeout: Duration, is_stopped: &'a dyn Fn() -> bool) -> Self {
        Self { timeout, deadline: Instant::now() + timeout, is_stopped }
    }

    /// Is it worth waiting on?
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if (self.is_stopped)() {
            return Err(Fault::Stopped);
        }
        if Instant::now() >= self.deadline {
            return Err(self.over());
        }
        Ok(())
    }

    pub(crate) fn over(&self) -> Fault {
        Fault::Failed(format!("took longer than {}s and was stopped", self.timeout.as_secs()))
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }
}

/// What to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) words: &'a [String],
    pub(crate) directory: Option<&'a Path>,
    /// The variables of our environment that it gets; PATH always.
    pub(crate) environment: &'a [&'a str],
}

impl Program<'_> {
    /// Starts it with these streams.
    pub(crate) fn start(&self, stdin: Stdio) -> Result<Group, Fault> {
        let (program, arguments) =
            self.words.split_first().ok_or_else(|| Fault::failed("names no program"))?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("PATH", PATH);
        let mark = mark();
        for name in ["PATH"].iter().chain(self.environment) {
            command.envs(std::env::var_os(name).map(|value| (*name, value)));
        }
        if let Some(folder) = self.directory {
            if !folder.is_dir() {
                let folder = folder.display();
                return Err(Fault::Failed(format!("has no folder `{folder}` on this machine")));
            }
            command.current_dir(folder);
        }
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.env(strays::MARK, &mark);
        Group::start(command, mark).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Fault::Failed(format!("there is no program `{program}`"))
            }
            _ => Fault::Failed(format!("cannot run `{program}`: {error}")),
        })
    }

    /// Runs it to its end. What it says beyond the limit is read, or the program ended for it.
    pub(crate) fn run(
        &self,
        input: Option<Vec<u8>>,
        output_max: usize,
        flood: Flood,
        patience: &Patience<'_>,
    ) -> Result<Ran, Fault> {
        let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut group = self.start(stdin)?;
        if let (Some(mut pipe), Some(input)) = (group.0.stdin.take(), input) {
            // A program that does not read its input closes the pipe under us; that is its right.
            std::thread::spawn(move || drop(pipe.write_all(&input)));
        }
        let keep = match flood {
            Flood::Ends => Keep::First(output_max + 1),
            Flood::IsCut => Keep::Beginning(output_max + 1),
        };
        let output = Tap::open(group.0.stdout.take(), keep);
        let complaint = Tap::open(group.0.stderr.take(), Keep::Last(COMPLAINT_MAX));
        let status = group.wait(patience, &output, |output| match flood {
            Flood::Ends if output.kept().len() > output_max => Err(flooded(output_max)),
            _ => Ok(()),
        })?;
        let mut said = output.kept();
        let is_cut = said.len() > output_max;
        if is_cut && flood == Flood::Ends {
            return Err(flooded(output_max));
        }
        said.truncate(output_max);
        if !status.success() {
            complaint.is_over_within(GRACE);
        }
        Ok(Ran { status, output: said, is_cut, complaint: complaint.kept() })
    }
}

/// What becomes of a program that says too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flood {
    Ends,
    IsCut,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) output: Vec<u8>,
    pub(crate) is_cut: bool,
    complaint: Vec<u8>,
}

impl Ran {
    /// How it ended, and what it said last, which is usually why.
    pub(crate) fn ending(&self) -> String {
        ended(self.status, &self.complaint)
    }
}

pub(crate) fn flooded(output_max: usize) -> Fault {
    Fault::Failed(format!("flooded its output: more than {} KiB", output_max >> 10))
}

pub(crate) fn ended(status: ExitStatus, complaint: &[u8]) -> String {
    let how = match status.code() {
        Some(code) => format!("ended with exit code {code}"),
        None => format!("was ended: {status}"),
    };
    // What a program says last is usually why.
    let complaint = String::from_utf8_lossy(complaint);
    let last = complaint.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or(how.clone(), |line| format!("{how}: {}", short(line)))
}

/// The beginning of a text, on one line.
pub(crate) fn short(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Which program of ours a process belongs to.
fn mark() -> String {
    #[cfg(unix)]
    return strays::next_mark();
    #[cfg(not(unix))]
    String::new()
}

/// A program and all that it starts, and its mark. Whatever of it is left when this goes is ended.
#[derive(Debug)]
pub(crate) struct Group(pub(crate) Child, String);

impl Group {
    fn start(mut command: Command, mark: String) -> std::io::Result<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        // A program inherits which signals are blocked. We block those that ask us to stop; it
        // must not, or nothing it starts could be ended by them. A thread of its own has a mask of
        // its own.
        std::thread::scope(|scope| {
            let starting = scope.spawn(|| {
                #[cfg(unix)]
                {
                    let _ = nix::sys::signal::SigSet::empty().thread_set_mask();
                    strays::begin(|| command.spawn())
                }
                #[cfg(not(unix))]
                command.spawn()
            });
            let crashed = |_| Err(std::io::Error::other("it could not be started"));
            let child = starting.join().unwrap_or_else(crashed)?;
            Ok(Self(child, mark))
        })
    }

    /// Waits until it has ended and nothing more comes from it.
    fn wait(
        &mut self,
        patience: &Patience<'_>,
        output: &Tap,
        check: impl Fn(&Tap) -> Result<(), Fault>,
    ) -> Result<ExitStatus, Fault> {
        let mut ended: Option<(ExitStatus, Instant)> = None;
        let mut is_over = false;
        loop {
            if is_over {
                std::thread::sleep(TICK);
            } else {
                is_over = output.is_over_within(TICK);
            }
            check(output)?;
            if ended.is_none() {
                let status = self.0.try_wait();
                let status = status.map_err(|error| Fault::Failed(error.to_string()))?;
                ended = status.map(|status| (status, Instant::now()));
            }
            match ended {
                Some((status, _)) if is_over => return Ok(status),
                // Something it left behind holds on to its output; that is not waited for.
                Some((status, at)) if at.elapsed() > GRACE => return Ok(status),
                _ => patience.check()?,
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        {
            use nix::sys::signal::{Signal, killpg};
            use nix::unistd::Pid;
            if let Ok(id) = i32::try_from(self.0.id()) {
                // It starts nothing more, and its children are known by their parent, until it
                // ends. Nobody is left of it: all the better.
                let _ = killpg(Pid::from_raw(id), Signal::SIGSTOP);
                strays::end_all_of(self.0.id(), &self.1);
                let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
            }
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
        #[cfg(unix)]
        strays::ended(self.0.id());
    }
}

/// Which part of a stream is kept.
#[derive(Clone, Copy)]
enum Keep {
    /// The beginning; what comes after it is not read.
    First(usize),
    /// The beginning; all is read, so that nobody waits for us.
    Beginning(usize),
    /// The end; all is read.
    Last(usize),
}

/// Reads a stream beside us.
pub(crate) struct Tap {
    kept: Arc<Mutex<Vec<u8>>>,
    over: Receiver<()>,
}

impl Tap {
    fn open(stream: Option<impl Read + Send + 'static>, keep: Keep) -> Self {
        let (done, over) = channel();
        let kept = Arc::new(Mutex::new(Vec::new()));
        if let Some(stream) = stream {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || drain(stream, keep, &kept, done));
        }
        Self { kept, over }
    }

    /// What a program says last on a stream.
    pub(crate) fn complaint(stream: Option<impl Read + Send + 'static>) -> Self {
        Self::open(stream, Keep::Last(COMPLAINT_MAX))
    }

    pub(crate) fn kept(&self) -> Vec<u8> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the end of the stream, for so long at most.
    fn is_over_within(&self, timeout: Duration) -> bool {
        matches!(self.over.recv_timeout(timeout), Err(RecvTimeoutError::Disconnected))
    }
}

/// `done` is dropped with the last byte, which is how the other side sees the end.
fn drain(mut stream: impl Read, keep: Keep, kept: &Mutex<Vec<u8>>, _done: Sender<()>) {
    let mut buffer = [0; 8 << 10];
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        match keep {
            Keep::Beginning(limit) => {
                let room = limit.saturating_sub(kept.len()).min(read);
                kept.extend_from_slice(&buffer[..room]);
            }
            Keep::First(limit) => {
                kept.extend_from_slice(&buffer[..read]);
                if kept.len() >= limit {
                    return;
                }
            }
            Keep::Last(limit) => {
                kept.extend_from_slice(&buffer[..read]);
                let surplus = kept.len().saturating_sub(limit);
                kept.drain(..surplus);
            }
        }
    }
}
