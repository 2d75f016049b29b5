//! A pgbouncer in transaction mode in front of a throwaway server. Like the server, it ends with
//! the process that started it.

use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::server::{drop_rights, free_port, make_folder};

const START_TIME_MAX: Duration = Duration::from_secs(20);

/// Runs the pooler until standard input ends, then stops it and removes its folder.
const SUPERVISE: &str = r#"
dir=$1; shift
exec 3<&0 </dev/null
"$@" 3<&- >>"$dir/log" 2>&1 &
pooler=$!
cat <&3 >/dev/null
kill -INT "$pooler" 2>/dev/null
wait "$pooler"
rm -rf "$dir"
"#;

/// A pooler that runs until this is dropped.
#[derive(Debug)]
pub struct Pooler {
    supervisor: Child,
    port: u16,
}

impl Pooler {
    /// Starts a pooler with so few connections to the server that callers must share them.
    pub fn start(program: &Path, server_port: u16, connections: u32) -> Result<Self> {
        let (port, folder) = (free_port()?, make_folder()?);
        let settings = format!(
            "[databases]\npostgres = host=127.0.0.1 port={server_port} user=punchlist\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = {connections}\n\
             max_client_conn = 200\n"
        );
        std::fs::write(folder.join("pgbouncer.ini"), settings)?;
        let prefix = drop_rights(&folder)?;
        let supervisor = Command::new("sh")
            .args(["-c", SUPERVISE, "supervise"])
            .arg(&folder)
            .args(prefix)
            .arg(program)
            .arg(folder.join("pgbouncer.ini"))
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot start sh")?;
        let pooler = Self { supervisor, port };
        let deadline = Instant::now() + START_TIME_MAX;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > deadline {
                let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
                bail!("pgbouncer does not answer: {log}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(pooler)
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://punchlist@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        if let Err(error) = self.supervisor.wait() {
            eprintln!("pgbouncer cannot be awaited: {error}");
        }
    }
}
