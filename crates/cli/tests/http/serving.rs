//! A `punch serve` for a test, and a small HTTP client that sends exact bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{Place, Punch};

/// The longest wait in these tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Served {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    /// The sign-in link, if the operator started the server.
    pub(crate) sign_in: Option<String>,
}

impl Served {
    /// Serves the place's store on a free port without workers, in the project `test`.
    pub(crate) fn start(place: &Place) -> Self {
        Self::run(&place.punch(["serve", "--listen", "127.0.0.1:0", "--jobs", "0", "--json"]))
    }

    /// Like `start`, with more arguments.
    pub(crate) fn with(place: &Place, words: &[&str]) -> Self {
        let serve = place.punch(["serve", "--jobs", "0", "--json"]).words(words.iter().copied());
        Self::run(&serve)
    }

    /// Waits for the line that says the server is ready.
    pub(crate) fn run(serve: &Punch) -> Self {
        Self::of(serve.command())
    }

    /// Like `run`, for any command that serves.
    pub(crate) fn of(mut serve: Command) -> Self {
        serve.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = serve.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        if line.is_empty() {
            let output = child.wait_with_output().unwrap();
            panic!("{serve:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let ready: Value = serde_json::from_str(&line).unwrap();
        let sign_in = ready["signIn"].as_str().map(str::to_owned);
        let url = ready["url"].as_str().unwrap().to_owned();
        let address = url.split_once("://").unwrap().1.parse().unwrap();
        Self { child, _stdout: stdout, url, address, sign_in }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap())
    }

    /// Asks it to stop, and waits.
    pub(crate) fn stop(mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.child.wait().unwrap()
    }

    /// Waits until it ends by itself. Returns what it said on standard error, too.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// Sends these bytes, and reads until the server closes the connection.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Reply {
        let mut socket = self.connect();
        // A server that has read enough may close while we still write.
        let _ = socket.write_all(bytes);
        Reply::read(&mut socket)
    }

    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request.push_str(&format!("Host: {}\r\n", self.address));
        }
        if !body.is_empty() {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                request.push_str("Content-Type: application/json\r\n");
            }
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.raw(request.as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], "")
    }

    /// Calls an operation without a token.
    pub(crate) fn post(&self, operation: &str, input: &Value) -> Reply {
        self.ask("POST", &format!("/v1/{operation}"), &[], &input.to_string())
    }

    /// Calls an operation with a token.
    pub(crate) fn post_as(&self, secret: &str, operation: &str, input: &Value) -> Reply {
        let bearer = format!("Bearer {secret}");
        let headers = [("Authorization", bearer.as_str())];
        self.ask("POST", &format!("/v1/{operation}"), &headers, &input.to_string())
    }

    pub(crate) fn events(&self, query: &str, headers: &[(&str, &str)]) -> Events {
        Events::open(self.address, query, headers)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    fn read(socket: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        // A connection that is reset after the response has still delivered it.
        let _ = socket.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let rest = bytes.get(end + 4..).unwrap_or_default();
        let chunked =
            headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if chunked { unchunked(rest) } else { rest.to_owned() };
        Self { status: status.unwrap_or(0), headers, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{self:?}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The answer of a successful call.
    pub(crate) fn answer(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), Some("application/json"));
        self.json()
    }

    /// The status and code of a failed call, which must be a complete problem+json.
    pub(crate) fn refusal(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        let code = problem["code"].as_str().unwrap().to_owned();
        assert_eq!(problem["type"], format!("urn:punchlist:error:{code}"));
        assert_eq!(problem["status"], self.status);
        assert!(problem["title"].is_string() && problem["detail"].is_string(), "{problem}");
        assert!(self.header("x-request-id").is_some());
        (self.status, code)
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).ok();
        let Some(size) = size.and_then(|size| usize::from_str_radix(size, 16).ok()) else { break };
        let start = end + 2;
        if size == 0 || rest.len() < start + size {
            break;
        }
        body.extend_from_slice(&rest[start..start + size]);
        rest = &rest[(start + size + 2).min(rest.len())..];
    }
    body
}

/// One message of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) id: Option<i64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

/// An open event stream.
#[derive(Debug)]
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
    pub(crate) status: u16,
}

impl Events {
    /// Uses HTTP/1.0, where the body is everything until the end.
    fn open(address: SocketAddr, query: &str, headers: &[(&str, &str)]) -> Self {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!("GET /v1/events{query} HTTP/1.0\r\nHost: {address}\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        socket.write_all(format!("{request}\r\n").as_bytes()).unwrap();
        let mut reader = BufReader::new(socket);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        while !line.trim().is_empty() {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        Self { reader, status }
    }

    /// The next message; `None` if the server has ended the stream.
    pub(crate) fn next(&mut self) -> Option<Message> {
        let (mut id, mut event, mut data) = (None, None, None);
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).expect("a line in time") == 0 {
                return None;
            }
            let line = line.trim_end_matches('\n');
            match line.split_once(": ") {
                Some(("id", number)) => id = number.parse().ok(),
                Some(("event", name)) => event = Some(name.to_owned()),
                Some(("data", text)) => data = serde_json::from_str(text).ok(),
                _ => {}
            }
            if line.is_empty()
                && let Some(event) = event.take()
            {
                return Some(Message { id, event, data: data.unwrap_or(json!(null)) });
            }
        }
    }
}

/// Creates a token with these arguments, as the operator.
pub(crate) fn token(place: &Place, operator: &str, words: &[&str]) -> String {
    let made = place.punch(["token", "new", "--json"]).words(words.iter().copied()).with(operator);
    made.answer()["token"].as_str().unwrap().to_owned()
}
