//! A program: without a shell, without our environment, in a process group of its own that ends
//! when the program does, or when its time is over.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Fault, OUTPUT_MAX, Patience, TICK, flooded, short, text};

/// All that a program learns of where it runs.
const ENVIRONMENT: [&str; 3] = ["PATH", "LANG", "TZ"];

/// Where programs are looked for if we do not know it ourselves.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How much of what it says on standard error is kept.
const COMPLAINT_MAX: usize = 2 << 10;

/// How long what it left behind may hold its output open once the program has ended.
const GRACE: Duration = Duration::from_millis(200);

pub(super) fn run(
    words: &[String],
    directory: Option<&Path>,
    patience: &Patience<'_>,
) -> Result<String, Fault> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| Fault::failed("names no program"))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH);
    for name in ENVIRONMENT {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    if let Some(folder) = directory {
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(Fault::Failed(format!("has no folder `{folder}` on this machine")));
        }
        command.current_dir(folder);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::start(command).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Fault::Failed(format!("there is no program `{program}`")),
        _ => Fault::Failed(format!("cannot run `{program}`: {error}")),
    })?;
    let output = Tap::open(group.0.stdout.take(), Keep::First(OUTPUT_MAX + 1));
    let complaint = Tap::open(group.0.stderr.take(), Keep::Last(COMPLAINT_MAX));
    let status = group.wait(&output, patience)?;
    let said = output.kept();
    if said.len() > OUTPUT_MAX {
        return Err(flooded());
    }
    if !status.success() {
        complaint.is_over_within(GRACE);
        return Err(Fault::Failed(ended(status, &complaint.kept())));
    }
    text(said)
}

fn ended(status: ExitStatus, complaint: &[u8]) -> String {
    let how = match status.code() {
        Some(code) => format!("ended with exit code {code}"),
        None => format!("was ended: {status}"),
    };
    // What a program says last is usually why.
    let complaint = String::from_utf8_lossy(complaint);
    let last = complaint.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or(how.clone(), |line| format!("{how}: {}", short(line)))
}

/// A program and all that it starts. Whatever of it is left when this goes is ended.
struct Group(Child);

impl Group {
    fn start(mut command: Command) -> std::io::Result<Self> {
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
                let _ = nix::sys::signal::SigSet::empty().thread_set_mask();
                command.spawn()
            });
            let crashed = |_| Err(std::io::Error::other("it could not be started"));
            starting.join().unwrap_or_else(crashed).map(Self)
        })
    }

    /// Waits until it has ended and nothing more comes from it.
    fn wait(&mut self, output: &Tap, patience: &Patience<'_>) -> Result<ExitStatus, Fault> {
        let mut ended: Option<(ExitStatus, Instant)> = None;
        let mut is_over = false;
        loop {
            if is_over {
                std::thread::sleep(TICK);
            } else {
                is_over = output.is_over_within(TICK);
            }
            if output.kept().len() > OUTPUT_MAX {
                return Err(flooded());
            }
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
                // Nobody is left of it: all the better.
                let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
            }
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Which part of a stream is kept.
#[derive(Clone, Copy)]
enum Keep {
    /// The beginning; what comes after it is not read.
    First(usize),
    /// The end; all is read, so that nobody waits for us.
    Last(usize),
}

/// Reads a stream beside us.
struct Tap {
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

    fn kept(&self) -> Vec<u8> {
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
        kept.extend_from_slice(&buffer[..read]);
        match keep {
            Keep::First(limit) if kept.len() >= limit => return,
            Keep::Last(limit) if kept.len() > limit => {
                let surplus = kept.len() - limit;
                kept.drain(..surplus);
            }
            Keep::First(_) | Keep::Last(_) => {}
        }
    }
}
