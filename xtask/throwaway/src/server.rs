//! A throwaway server: its folder, its free port, the shell that supervises it, and its end.
//!
//! Invariant: the server never outlives the process that started it. `supervise.sh` starts it and
//! waits on a pipe that only we hold; when the pipe closes, it stops the server and removes the
//! folder. So there is one way to stop, which works for success, failure, panic and every signal.
//! The shell has its own process group, because a Ctrl-C must reach us and not the server.

use std::fs::DirBuilder;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

const SUPERVISE: &str = include_str!("supervise.sh");
const START_TIME_MAX: Duration = Duration::from_secs(60);
/// A restart creates no cluster, so it is faster than a start, and its callers have their own
/// limits.
const RESTART_TIME_MAX: Duration = Duration::from_secs(40);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The user that the server runs as if we are root, because PostgreSQL refuses to run as root.
const SERVER_USER: &str = "postgres";

/// The durability of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// Commits may be lost in a crash: for tests.
    Fast,
    /// Commits survive a crash, as on a real server: for measurements.
    Durable,
}

/// Special settings of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup<'s> {
    /// A shell script that runs as the server's user before the server starts, with the folder of its
    /// data, the folder of its programs and its port as `$1`, `$2` and `$3`.
    pub script: &'s str,
    /// Does it also listen on a Unix socket in its folder?
    pub socket: bool,
}

/// How a server is stopped before it is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Like an administrator: connections are closed, transactions rolled back, everything is
    /// written.
    Fast,
    /// Like a crash: nothing is cleaned up, and the next start recovers from the server's log.
    Immediate,
}

/// A server that runs until this is dropped.
#[derive(Debug)]
pub struct Throwaway {
    supervisor: Child,
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    is_frozen: bool,
}

impl Throwaway {
    pub fn start(programs: &Path, commits: Commits) -> Result<Self> {
        Self::start_with(programs, commits, Setup::default())
    }

    pub fn start_with(programs: &Path, commits: Commits, setup: Setup<'_>) -> Result<Self> {
        let port = free_port()?;
        let folder = make_folder()?;
        let prefix = drop_rights(&folder)?;
        let supervisor = Command::new("sh")
            .args(["-c", SUPERVISE, "supervise"])
            .args([&folder, programs])
            .arg(port.to_string())
            .args(prefix)
            .env("LC_ALL", "C")
            .env("PUNCHLIST_POSTGRES_SETUP", setup.script)
            .env("PUNCHLIST_POSTGRES_SOCKETS", if setup.socket { "on" } else { "" })
            .env(
                "PUNCHLIST_POSTGRES_DURABLE",
                if commits == Commits::Durable { "on" } else { "off" },
            )
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot start sh")?;
        let programs = programs.to_owned();
        let mut server = Self { supervisor, programs, folder, port, is_frozen: false };
        server.wait_until_ready(None, START_TIME_MAX)?;
        Ok(server)
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://punchlist@127.0.0.1:{}/postgres", self.port)
    }

    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The folder of the server's files; its data is in `data`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stops every process of the server with a signal: it keeps its connections and does not
    /// answer.
    pub fn freeze(&mut self) -> Result<()> {
        self.is_frozen = true;
        self.signal("-STOP")
    }

    /// Lets a frozen server continue.
    pub fn thaw(&mut self) -> Result<()> {
        self.is_frozen = false;
        self.signal("-CONT")
    }

    /// Sends a signal to the server and its child processes.
    fn signal(&self, signal: &str) -> Result<()> {
        let server = self.process().context("the server has no process")?;
        let children = format!("/proc/{server}/task/{server}/children");
        let children = std::fs::read_to_string(&children).context(children)?;
        let mut kill = Command::new("kill");
        // A child that has already ended is not an error.
        kill.arg(signal).arg(&server).args(children.split_whitespace()).stderr(Stdio::null());
        kill.status().context("cannot start `kill`")?;
        Ok(())
    }

    /// Stops the server and starts it again. Returns when the new one answers.
    pub fn restart(&mut self, restart: Restart) -> Result<()> {
        let before = self.process();
        let word = match restart {
            Restart::Fast => "fast",
            Restart::Immediate => "immediate",
        };
        let pipe = self.supervisor.stdin.as_mut().context("the supervisor is gone")?;
        writeln!(pipe, "{word}").context("the supervisor does not listen")?;
        self.wait_until_ready(before.as_deref(), RESTART_TIME_MAX)
    }

    /// The server's process id, from its own file.
    fn process(&self) -> Option<String> {
        let written = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).ok()?;
        written.lines().next().map(str::to_owned)
    }

    /// Waits for a server that is not the previous one.
    fn wait_until_ready(&mut self, before: Option<&str>, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if self.supervisor.try_wait()?.is_some() {
                bail!("the throwaway PostgreSQL server did not start");
            }
            let now = self.process();
            if now.is_some() && now.as_deref() != before && self.answers()? {
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        bail!("the throwaway PostgreSQL server does not answer after {limit:?}")
    }

    fn answers(&self) -> Result<bool> {
        let port = self.port.to_string();
        let mut probe = Command::new(self.programs.join("pg_isready"));
        probe.args(["-q", "-h", "127.0.0.1", "-U", "punchlist", "-d", "postgres", "-p", &port]);
        Ok(probe.status().context("cannot start pg_isready")?.success())
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        if self.is_frozen
            && let Err(error) = self.thaw()
        {
            eprintln!("the throwaway PostgreSQL server stays stopped: {error:#}");
        }
        drop(self.supervisor.stdin.take());
        match self.supervisor.wait() {
            Ok(status) if status.success() => {}
            Ok(status) => eprintln!("the throwaway PostgreSQL server ended badly ({status})"),
            Err(error) => eprintln!("the throwaway PostgreSQL server cannot be awaited: {error}"),
        }
    }
}

/// A new folder that only its owner may enter.
pub(crate) fn make_folder() -> Result<PathBuf> {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let name = format!("punchlist-postgres-{}-{}", std::process::id(), since_epoch.as_nanos());
    let folder = std::env::temp_dir().join(name);
    DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Gives the folder to the server's user if we are root. Returns the words that run a program as
/// that user.
///
/// `setpriv` is used and not `runuser`, because it becomes the program: signals to its id reach the
/// server.
pub(crate) fn drop_rights(folder: &Path) -> Result<Vec<String>> {
    if !are_we_root()? {
        return Ok(Vec::new());
    }
    let id_of = |flag: &str| numeric_id(&[flag, SERVER_USER]);
    let given = id_of("-u").and_then(|uid| Ok((uid, id_of("-g")?))).and_then(|(uid, gid)| {
        chown(folder, Some(uid), Some(gid))?;
        Ok([
            "setpriv",
            &format!("--reuid={uid}"),
            &format!("--regid={gid}"),
            "--clear-groups",
            "--",
        ]
        .map(str::to_owned)
        .to_vec())
    });
    if given.is_err() {
        // No supervisor owns the folder yet.
        std::fs::remove_dir(folder).context("cannot remove the server's folder")?;
    }
    given.with_context(|| {
        format!("PostgreSQL refuses to run as root and cannot be run as user {SERVER_USER}")
    })
}

pub fn are_we_root() -> Result<bool> {
    Ok(numeric_id(&["-u"])? == 0)
}

fn numeric_id(args: &[&str]) -> Result<u32> {
    let said = Command::new("id").args(args).output().context("cannot start `id`")?;
    String::from_utf8(said.stdout)?.trim().parse().context("`id` did not print a number")
}

/// A port that is free now. The kernel assigns such ports in no order, so another process is
/// unlikely to take this one before the server does. If it happens, the start fails with a message.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no loopback port is free")?;
    Ok(listener.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_private_and_new_each_time() {
        use std::os::unix::fs::PermissionsExt;
        let (one, other) = (make_folder().unwrap(), make_folder().unwrap());
        let mode = one.metadata().unwrap().permissions().mode();
        std::fs::remove_dir(&one).unwrap();
        std::fs::remove_dir(&other).unwrap();
        assert_eq!(mode & 0o777, 0o700);
        assert_ne!(one, other);
    }

    #[test]
    fn a_server_that_cannot_start_is_an_error_and_leaves_no_folder() {
        let ours = format!("punchlist-postgres-{}-", std::process::id());
        let no_programs = std::env::temp_dir().join("xtask-no-programs-here");
        let started = Throwaway::start(&no_programs, Commits::Fast);
        assert!(started.is_err());
        let left =
            std::fs::read_dir(std::env::temp_dir()).unwrap().filter_map(Result::ok).any(|entry| {
                entry.file_name().to_string_lossy().starts_with(&ours)
                    && entry.path().join("log").exists()
            });
        assert!(!left);
    }
}
