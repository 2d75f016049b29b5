//! `punch serve` over HTTP: many connections, many streams, a large store, and a remote command.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::process::timed;
use crate::reads::filled;
use crate::table::{Line, Target, median, shown};
use crate::writers::one_by_one;

pub(crate) const CONNECTIONS: usize = 64;
const THREADS: usize = 2;
const STREAMS: usize = 1_000;
const EVENTS: usize = 10_000;

/// A server on a store, stopped after the measurement.
pub(crate) struct Served {
    child: Child,
    address: String,
}

impl Served {
    pub(crate) fn start(punch: &Path, store: &Path) -> Result<Self> {
        let words = ["serve", "--listen", "127.0.0.1:0", "--jobs", "0", "--rate", "0"];
        let mut child = Command::new(punch)
            .args(words)
            .args(["--streams", "2000", "--project", "bench", "--json", "--db"])
            .arg(store)
            .env_remove("PUNCHLIST_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("its output")?).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line)?;
        let url = ready["url"].as_str().context("a url")?;
        Ok(Self { child, address: url.trim_start_matches("http://").to_owned() })
    }

    pub(crate) fn connect(&self) -> Result<Connection> {
        let socket = TcpStream::connect(&self.address)?;
        socket.set_nodelay(true)?;
        Ok(Connection { reader: BufReader::new(socket) })
    }

    /// Its peak memory, in MiB.
    fn peak(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: f64 = line.context("VmHWM")?.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that is kept open.
pub(crate) struct Connection {
    pub(crate) reader: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Result<String> {
        self.send_request(&request(method, path, headers, body))?;
        self.receive(path)
    }

    fn send_request(&mut self, request: &str) -> Result<()> {
        Ok(self.reader.get_mut().write_all(request.as_bytes())?)
    }

    /// The answer to the request that was sent last.
    fn receive(&mut self, what: &str) -> Result<String> {
        let (mut line, mut length) = (String::new(), 0);
        self.reader.read_line(&mut line)?;
        ensure!(line.contains(" 200 "), "{what}: {line}");
        while line != "\r\n" {
            line.clear();
            self.reader.read_line(&mut line)?;
            if let Some(bytes) = line.strip_prefix("content-length: ") {
                length = bytes.trim().parse()?;
            }
        }
        let mut answer = vec![0; length];
        self.reader.read_exact(&mut answer)?;
        Ok(String::from_utf8(answer)?)
    }

    pub(crate) fn create(&mut self, title: &str) -> Result<String> {
        self.send_request(&creation(title))?;
        self.receive("issue_create")
    }
}

/// The text of a request.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// The request that creates an issue.
pub(crate) fn creation(title: &str) -> String {
    let input = json!({ "title": title, "forceNew": true }).to_string();
    request("POST", "/v1/issue_create", "", &input)
}

/// Requests per second over 64 connections, each with at most one open request. Two threads drive
/// them, as load generators do: with a thread for each connection the client would take most of the
/// cores from the server.
pub(crate) fn rate(
    served: &Served,
    calls: usize,
    request: impl Fn(usize) -> String + Sync,
    check: impl Fn(&str) -> Result<()> + Sync,
) -> Result<f64> {
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    thread::scope(|scope| {
        let worker = || -> Result<()> {
            let connect = |_| served.connect().context("a connection");
            let mut connections: Vec<_> =
                (0..CONNECTIONS / THREADS).map(connect).collect::<Result<_>>()?;
            loop {
                let mut sent = 0;
                for connection in &mut connections {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= calls {
                        break;
                    }
                    connection.send_request(&request(n))?;
                    sent += 1;
                }
                if sent == 0 {
                    return Ok(());
                }
                for connection in &mut connections[..sent] {
                    check(&connection.receive("a request of many")?)?;
                }
            }
        };
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| anyhow!("a client panicked"))?)
    })?;
    Ok(calls as f64 / start.elapsed().as_secs_f64())
}

/// `POST /v1/issue_create` on 64 connections, against one row per commit.
pub(crate) fn crowd(programs: &Path, writes: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let (mut raw, mut ours) = (0.0_f64, 0.0_f64);
    for round in 0..3 {
        raw += one_by_one(&folder.path().join(format!("raw{round}.db")), writes / 20)?;
        let store = folder.path().join(format!("punch{round}.db"));
        let served = Served::start(&programs.join("punch"), &store)?;
        served.connect()?.create("the first")?;
        ours += rate(&served, writes, |n| creation(&format!("Issue {n}")), |_| Ok(()))?;
    }
    let (raw, ours) = (raw / 3.0, ours / 3.0);
    Ok(Line {
        what: format!("`POST /v1/issue_create` on {CONNECTIONS} connections"),
        ours: format!("{ours:.0}/s"),
        reference: format!("{raw:.0}/s raw, one row per commit"),
        value: ours / raw,
        target: Target::AtLeast(4.0),
    })
}

/// `GET /v1/issue_list` in a large store, against a small one.
pub(crate) fn large_store(programs: &Path, large: usize, rounds: usize) -> Result<Line> {
    const SMALL: usize = 1_000;
    let folder = tempfile::tempdir()?;
    let serve = |name: &str, todos: usize| -> Result<Served> {
        let store = folder.path().join(name);
        drop(filled(&store, todos)?);
        let served = Served::start(&programs.join("punch"), &store)?;
        let mut connection = served.connect()?;
        (0..50).try_for_each(|n| connection.create(&format!("Issue {n}")).map(|_| ()))?;
        Ok(served)
    };
    let (small, big) = (serve("small.db", SMALL)?, serve("large.db", large)?);
    let (mut to_small, mut to_big) = (small.connect()?, big.connect()?);
    let (mut at_small, mut at_large) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for (connection, times) in [(&mut to_small, &mut at_small), (&mut to_big, &mut at_large)] {
            let start = Instant::now();
            connection.ask("GET", "/v1/issue_list", "", "")?;
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    let (at_small, at_large) = (median(at_small), median(at_large));
    Ok(Line {
        what: format!("`GET /v1/issue_list` with {large} todos in the store"),
        ours: shown(at_large),
        reference: format!("{} with {SMALL}", shown(at_small)),
        value: at_large / at_small,
        target: Target::AtMost(1.5),
    })
}

/// A thousand streams each get a burst of ten thousand events, all of them in order.
pub(crate) fn streams(programs: &Path) -> Result<Vec<Line>> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(65_536), hard)?;
    let folder = tempfile::tempdir()?;
    let served = Served::start(&programs.join("punch"), &folder.path().join("punch.db"))?;
    let mut writer = served.connect()?;
    writer.create("the first")?;
    let latency = latency(&served, &mut writer)?;
    let (send, done) = channel::<Result<usize>>();
    let mut readers = Vec::new();
    for _ in 0..STREAMS {
        let mut socket = TcpStream::connect(&served.address)?;
        socket.write_all(b"GET /v1/events HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut reader = BufReader::with_capacity(16 << 10, socket);
        let mut line = String::new();
        // The first line shows that the stream is open.
        while !line.starts_with("retry:") {
            line.clear();
            reader.read_line(&mut line)?;
        }
        let send = send.clone();
        let work = move || drop(send.send(read_burst(reader)));
        readers.push(thread::Builder::new().stack_size(128 << 10).spawn(work)?);
    }
    let start = Instant::now();
    let items: Vec<Value> = (0..100).map(|n| json!({ "title": format!("Item {n}") })).collect();
    let body = json!({ "items": items }).to_string();
    for turn in 0..EVENTS / 100 {
        let headers = format!("Punchlist-Conversation: c\r\nPunchlist-Turn: {turn}\r\n");
        writer.ask("POST", "/v1/create_todo", &headers, &body)?;
    }
    for _ in 0..STREAMS {
        let seen = done.recv()??;
        ensure!(seen >= EVENTS, "a stream saw {seen} events");
    }
    let seconds = start.elapsed().as_secs_f64();
    let peak = served.peak()?;
    drop(served);
    for reader in readers {
        reader.join().map_err(|_| anyhow!("a reader panicked"))?;
    }
    let memory = Line {
        what: format!("{STREAMS} streams get {EVENTS} events in order: the server's memory, MiB"),
        ours: format!("{peak:.0} MiB in {seconds:.1} s"),
        reference: "–".into(),
        value: peak,
        target: Target::AtMost(150.0),
    };
    Ok(vec![memory, latency])
}

/// Counts the events of a burst, which must be in order.
fn read_burst(mut reader: BufReader<TcpStream>) -> Result<usize> {
    let (mut line, mut last, mut seen) = (String::new(), 0, 0);
    while seen < EVENTS {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "the stream ended after {seen} events");
        if let Some(id) = line.strip_prefix("id: ") {
            let id: i64 = id.trim().parse()?;
            ensure!(id > last, "{id} after {last}");
            (last, seen) = (id, seen + 1);
        }
    }
    Ok(seen)
}

/// The time from a write's request to its event.
fn latency(served: &Served, writer: &mut Connection) -> Result<Line> {
    let mut socket = TcpStream::connect(&served.address)?;
    socket.write_all(b"GET /v1/events?types=issue_created HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    while !line.starts_with("retry:") {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let mut times = Vec::new();
    for n in 0..60 {
        let start = Instant::now();
        writer.create(&format!("Latency {n}"))?;
        line.clear();
        while !line.starts_with("id: ") {
            line.clear();
            reader.read_line(&mut line)?;
        }
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let median = median(times);
    Ok(Line {
        what: "an event reaches a stream".into(),
        ours: shown(median),
        reference: "100 ms".into(),
        value: median / 1e5,
        target: Target::AtMost(1.0),
    })
}

/// A remote `punch issue new` against `curl` with the same request, in turns.
pub(crate) fn remote(programs: &Path, rounds: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let served = Served::start(&programs.join("punch"), &folder.path().join("punch.db"))?;
    served.connect()?.create("the first")?;
    let url = format!("http://{}", served.address);
    let mut punch = Command::new(programs.join("punch"));
    punch.args(["issue", "new", "Measure it", "--force-new", "--project", "bench", "--json"]);
    punch.args(["--db", &url]).env_remove("PUNCHLIST_TOKEN");
    let mut curl = Command::new("curl");
    let call = format!("{url}/v1/issue_create");
    curl.args([
        "-s",
        "-f",
        "-H",
        "Content-Type: application/json",
        "-H",
        "Punchlist-Project: bench",
    ]);
    curl.args(["-d", r#"{"title":"Measure it","forceNew":true}"#, &call]);
    for command in [&mut punch, &mut curl] {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        timed(command)?;
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(timed(&mut punch)?);
        theirs.push(timed(&mut curl)?);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    Ok(Line {
        what: "a remote `punch issue new`, whole process".into(),
        ours: shown(ours),
        reference: format!("{} curl", shown(theirs)),
        value: ours / theirs,
        target: Target::AtMost(2.0),
    })
}
