//! Programs, run without a shell and without our environment. Each has its own process group, which is
//! killed when the program ends, times out or is cancelled.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[cfg(unix)]
use crate::cage::Cage;
#[cfg(unix)]
use crate::strays;

/// How often a wait checks the program and the deadline.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// The PATH of programs if we have none ourselves.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How much of standard error is kept, in bytes.
const COMPLAINT_MAX: usize = 2 << 10;

/// How long children may keep the output open after the program has ended.
const GRACE: Duration = Duration::from_millis(200);

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What went wrong.
    Failed(String),
    /// We were asked to stop; the program did not fail.
    Stopped,
}

impl Fault {
    pub(crate) fn failed(words: impl Into<String>) -> Self {
        Self::Failed(words.into())
    }
}

/// A deadline, and a way to be stopped before it.
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

    /// An error if the time is over or we were asked to stop.
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

/// A program to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) words: &'a [String],
    pub(crate) directory: Option<&'a Path>,
    /// The variables of our environment that it gets, besides PATH.
    pub(crate) environment: &'a [&'a str],
    /// Further variables, with their values.
    pub(crate) fixed: &'a [(&'a str, &'a str)],
}

impl Program<'_> {
    /// Starts it with this standard input.
    pub(crate) fn start(&self, stdin: Stdio) -> Result<Group, Fault> {
        let (program, arguments) =
            self.words.split_first().ok_or_else(|| Fault::failed("names no program"))?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("PATH", PATH);
        let mark = mark();
        for name in ["PATH"].iter().chain(self.environment) {
            command.envs(std::env::var_os(name).map(|value| (*name, value)));
        }
        command.envs(self.fixed.iter().copied());
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
        Group::start(command, &mark).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Fault::Failed(format!("there is no program `{program}`"))
            }
            _ => Fault::Failed(format!("cannot run `{program}`: {error}")),
        })
    }

    /// Runs it to its end. Output beyond the limit is discarded, or ends the program.
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
            // A program may close its input without reading it: the error is ignored.
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

/// What happens to a program with too much output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flood {
    Ends,
    IsCut,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) output: Vec<u8>,
    pub(crate) is_cut: bool,
    complaint: Vec<u8>,
}

impl Ran {
    /// How it ended, with the last line of standard error, which is usually the reason.
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
    // The last line is usually the reason.
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

/// The mark of the next program; all its children inherit it.
fn mark() -> String {
    #[cfg(unix)]
    return strays::next_mark();
    #[cfg(not(unix))]
    String::new()
}

/// A program with all its children, its mark, and its cgroup if it has one. Dropping it kills what is
/// left of them.
#[derive(Debug)]
pub(crate) struct Group(pub(crate) Child, String, #[cfg(unix)] Option<Cage>);

impl Group {
    fn start(mut command: Command, mark: &str) -> std::io::Result<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        // A program inherits our mask of blocked signals. We block the signals that ask us to stop,
        // but the program must not block them, or they could not end it. So it is started from a
        // thread with its own mask.
        std::thread::scope(|scope| {
            let starting = scope.spawn(|| {
                #[cfg(unix)]
                {
                    let _ = nix::sys::signal::SigSet::empty().thread_set_mask();
                    strays::begin(mark, || command.spawn())
                }
                #[cfg(not(unix))]
                command.spawn()
            });
            let crashed = |_| Err(std::io::Error::other("it could not be started"));
            #[cfg(unix)]
            {
                let (child, cage) = starting.join().unwrap_or_else(crashed)?;
                Ok(Self(child, mark.to_owned(), cage))
            }
            #[cfg(not(unix))]
            Ok(Self(starting.join().unwrap_or_else(crashed)?, mark.to_owned()))
        })
    }

    /// Waits until it has ended and its output is closed.
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
                // A child keeps the output open: do not wait for it.
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
                // Stopped, it starts nothing more, and its children can still be found by their parent.
                // An error means that nothing is left of it.
                let _ = killpg(Pid::from_raw(id), Signal::SIGSTOP);
                strays::end_all_of(self.0.id(), &self.1);
                let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
            }
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
        #[cfg(unix)]
        {
            self.2.iter().for_each(Cage::end);
            strays::ended(self.0.id());
        }
    }
}

/// Which part of a stream is kept.
#[derive(Clone, Copy)]
enum Keep {
    /// The beginning; the rest is not read.
    First(usize),
    /// The beginning; the rest is read and discarded, so that the writer does not block.
    Beginning(usize),
    /// The end; everything is read.
    Last(usize),
}

/// Reads a stream on its own thread.
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

    /// Keeps the end of a stream.
    pub(crate) fn complaint(stream: Option<impl Read + Send + 'static>) -> Self {
        Self::open(stream, Keep::Last(COMPLAINT_MAX))
    }

    pub(crate) fn kept(&self) -> Vec<u8> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the end of the stream, until a timeout.
    pub(crate) fn is_over_within(&self, timeout: Duration) -> bool {
        matches!(self.over.recv_timeout(timeout), Err(RecvTimeoutError::Disconnected))
    }
}

/// Dropping `done` after the last byte tells the other side that the stream has ended.
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
