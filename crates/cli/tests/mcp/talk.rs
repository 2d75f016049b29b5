//! A client of MCP that sends messages unchanged, over either transport and in either era.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::serving::Served;
use crate::support::{Place, Punch};

/// Longer than anything here takes; a test that waits this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Handshake,
    Stateless,
}

pub(crate) const ERAS: [Era; 2] = [Era::Handshake, Era::Stateless];

impl Era {
    pub(crate) const fn version(self) -> &'static str {
        match self {
            Self::Handshake => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

/// A client. Messages other than answers are kept in `heard`.
pub(crate) struct Talk {
    way: Way,
    pub(crate) era: Era,
    capabilities: Value,
    next: u64,
    pub(crate) heard: Vec<Value>,
}

enum Way {
    Stdio(Pipes),
    Http { address: std::net::SocketAddr, headers: Vec<(String, String)>, session: Option<String> },
}

pub(crate) struct Pipes {
    pub(crate) child: Child,
    pub(crate) stdin: ChildStdin,
    lines: Receiver<Value>,
}

impl Pipes {
    pub(crate) fn start(punch: &Punch) -> Self {
        let mut child = punch.spawn();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "no": line }));
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, lines }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    pub(crate) fn receive(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("a message in time")
    }

    /// Closes the input. Returns the server and its next message, if there is one.
    pub(crate) fn close(self) -> (Child, Option<Value>) {
        let Self { child, stdin, lines } = self;
        drop(stdin);
        (child, lines.recv_timeout(PATIENCE).ok())
    }

    /// The next message within this time; `None` if nothing came or the server has ended.
    pub(crate) fn receive_within(&self, time: Duration) -> Option<Value> {
        self.lines.recv_timeout(time).ok()
    }
}

impl Talk {
    /// A client with its own server, over stdio.
    pub(crate) fn stdio(place: &Place, era: Era, words: &[&str]) -> Self {
        Self::with(&place.punch(["mcp"]).words(words.iter().copied()), era, json!({}))
    }

    /// Like `stdio`, with a client that can ask its user.
    pub(crate) fn asking(place: &Place, era: Era, words: &[&str]) -> Self {
        let can = json!({ "elicitation": {} });
        Self::with(&place.punch(["mcp"]).words(words.iter().copied()), era, can)
    }

    pub(crate) fn with(punch: &Punch, era: Era, capabilities: Value) -> Self {
        let way = Way::Stdio(Pipes::start(punch));
        let mut talk = Self { way, era, capabilities, next: 1, heard: Vec::new() };
        talk.greet();
        talk
    }

    pub(crate) fn http(served: &Served, era: Era, headers: &[(&str, &str)]) -> Self {
        Self::http_with(served, era, headers, json!({}))
    }

    pub(crate) fn http_with(
        served: &Served,
        era: Era,
        headers: &[(&str, &str)],
        capabilities: Value,
    ) -> Self {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let way = Way::Http { address: served.address, headers, session: None };
        let mut talk = Self { way, era, capabilities, next: 1, heard: Vec::new() };
        talk.greet();
        talk
    }

    /// The same session, continued at another server.
    pub(crate) fn at(&self, served: &Served) -> Self {
        let Way::Http { headers, session, .. } = &self.way else { panic!("there is no server") };
        let (headers, session) = (headers.clone(), session.clone());
        let way = Way::Http { address: served.address, headers, session };
        let (era, capabilities) = (self.era, self.capabilities.clone());
        Self { way, era, capabilities, next: self.next + 1_000, heard: Vec::new() }
    }

    /// The id of the session over HTTP.
    pub(crate) fn session(&self) -> Option<&str> {
        match &self.way {
            Way::Http { session, .. } => session.as_deref(),
            Way::Stdio(_) => None,
        }
    }

    /// The same client with this session id instead of its own.
    pub(crate) fn in_session(mut self, id: Option<&str>) -> Self {
        if let Way::Http { session, .. } = &mut self.way {
            *session = id.map(str::to_owned);
        }
        self
    }

    fn greet(&mut self) {
        if self.era == Era::Handshake {
            let params = json!({ "protocolVersion": self.era.version(),
                "capabilities": self.capabilities,
                "clientInfo": { "name": "test", "version": "0" } });
            let greeted = match &self.way {
                Way::Stdio(_) => self.request("initialize", &params),
                Way::Http { .. } => {
                    let message = self.message("initialize", &params);
                    let mut stream = self.open(&message);
                    let greeted = stream.next().expect("an answer");
                    if let Way::Http { session, .. } = &mut self.way {
                        session.clone_from(&stream.session);
                    }
                    greeted
                }
            };
            assert_eq!(greeted["result"]["protocolVersion"], self.era.version(), "{greeted}");
            self.notify("notifications/initialized", &json!({}));
        }
    }

    pub(crate) const fn pipes(&mut self) -> &mut Pipes {
        match &mut self.way {
            Way::Stdio(pipes) => pipes,
            Way::Http { .. } => panic!("there are no pipes"),
        }
    }

    /// The parameters with the fields that the era requires.
    fn params(&self, params: &Value) -> Value {
        let mut params = params.clone();
        if self.era == Era::Stateless {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(self.era.version());
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        params
    }

    pub(crate) fn message(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let params = self.params(params);
        json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params })
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        match &mut self.way {
            Way::Stdio(pipes) => pipes.send(&message),
            Way::Http { .. } => drop(self.post(&message)),
        }
    }

    /// Sends a request. Returns the whole answer.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.request_and(method, params, |_| panic!("the server asked something"))
    }

    /// Like `request`, and answers the server's own requests meanwhile.
    pub(crate) fn request_and(
        &mut self,
        method: &str,
        params: &Value,
        mut user: impl FnMut(&Value) -> Option<Value>,
    ) -> Value {
        let message = self.message(method, params);
        let id = message["id"].clone();
        if matches!(self.way, Way::Http { .. }) {
            let mut stream = self.open(&message);
            while let Some(message) = stream.next() {
                if message["id"] == id && message.get("method").is_none() {
                    return message;
                }
                if message.get("method").is_none() || message.get("id").is_none() {
                    self.heard.push(message);
                } else if let Some(result) = user(&message["params"]) {
                    assert_eq!(self.respond(&message["id"], &result), 202);
                }
            }
            panic!("no answer: {} {:?}", stream.status, self.heard);
        }
        let pipes = self.pipes();
        pipes.send(&message);
        loop {
            let message = self.pipes().receive();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            if message.get("method").is_some() && message.get("id").is_some() {
                if let Some(result) = user(&message["params"]) {
                    let id = &message["id"];
                    self.pipes().send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
                }
            } else {
                self.heard.push(message);
            }
        }
    }

    /// Answers a request of the server. Returns the status.
    pub(crate) fn respond(&self, id: &Value, result: &Value) -> u16 {
        self.post(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).0
    }

    /// Sends a request without a body in the session: `GET` opens its stream, `DELETE` ends it.
    pub(crate) fn bare(&self, method: &str) -> Stream {
        let head = self.head(&json!({})).replacen("POST", method, 1);
        self.send(&format!("{head}\r\n"))
    }

    /// The headers that the era requires for a message.
    fn head(&self, message: &Value) -> String {
        let Way::Http { address, headers, session } = &self.way else {
            panic!("there is no server")
        };
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n"
        );
        if let Some(session) = session {
            head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        if message["method"] != "initialize" {
            head.push_str(&format!("MCP-Protocol-Version: {}\r\n", self.era.version()));
        }
        if self.era == Era::Stateless {
            let method = message["method"].as_str().unwrap();
            head.push_str(&format!("Mcp-Method: {method}\r\n"));
            let name = match method {
                "resources/read" => message["params"]["uri"].as_str(),
                "tools/call" | "prompts/get" => message["params"]["name"].as_str(),
                _ => None,
            };
            if let Some(name) = name {
                head.push_str(&format!("Mcp-Name: {name}\r\n"));
            }
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head
    }

    /// Sends one message over HTTP. Returns the status and the messages that came back.
    pub(crate) fn post(&self, message: &Value) -> (u16, Vec<Value>) {
        let mut stream = self.open(message);
        let mut messages = Vec::new();
        while let Some(message) = stream.next() {
            messages.push(message);
        }
        (stream.status, messages)
    }

    /// Sends one message over HTTP, and leaves the response to be read.
    pub(crate) fn open(&self, message: &Value) -> Stream {
        let (head, body) = (self.head(message), message.to_string());
        self.send(&format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()))
    }

    fn send(&self, request: &str) -> Stream {
        let Way::Http { address, .. } = &self.way else { panic!("there is no server") };
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        Stream::read(socket)
    }

    /// `subscriptions/listen` over HTTP: its stream.
    pub(crate) fn listen(&mut self, wish: &Value) -> Stream {
        let message = self.message("subscriptions/listen", wish);
        self.open(&message)
    }

    /// `tools/call`. Returns the result.
    pub(crate) fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let mut answer = self.request("tools/call", &params);
        assert!(answer.get("result").is_some(), "{name} {arguments}: {answer}");
        answer["result"].take()
    }

    /// The structured content of a successful call.
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let mut result = self.tool(name, arguments);
        assert_ne!(result["isError"], true, "{name} {arguments}: {result}");
        result["structuredContent"].take()
    }

    /// Waits for a notification of this method.
    pub(crate) fn hear(&mut self, method: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(index) = self.heard.iter().position(|heard| heard["method"] == method) {
                return self.heard.remove(index);
            }
            assert!(Instant::now() < deadline, "nothing was heard of {method}");
            let message = self.pipes().receive();
            self.heard.push(message);
        }
    }

    /// Closes the input of its server, which then ends.
    pub(crate) fn end(self) -> Option<i32> {
        match self.way {
            Way::Stdio(Pipes { mut child, stdin, .. }) => {
                drop(stdin);
                child.wait().unwrap().code()
            }
            Way::Http { .. } => None,
        }
    }
}

/// The response to a POST: one message, or a stream of them.
pub(crate) struct Stream {
    reader: BufReader<TcpStream>,
    pub(crate) status: u16,
    pub(crate) kind: String,
    /// The id of the session that the response begins.
    session: Option<String>,
    is_chunked: bool,
    text: String,
    is_over: bool,
}

impl Stream {
    fn read(socket: TcpStream) -> Self {
        let mut reader = BufReader::new(socket);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let (mut kind, mut is_chunked, mut session) = (String::new(), false, None);
        loop {
            line.clear();
            if reader.read_line(&mut line).unwrap() == 0 || line.trim().is_empty() {
                break;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-type:") {
                value.trim().clone_into(&mut kind);
            }
            if let Some(value) = lower.strip_prefix("mcp-session-id:") {
                session = Some(value.trim().to_owned());
            }
            is_chunked |= lower.starts_with("transfer-encoding:") && lower.contains("chunked");
        }
        Self { reader, status, kind, session, is_chunked, text: String::new(), is_over: false }
    }

    /// Reads more of the body.
    fn more(&mut self) {
        if !self.is_chunked {
            self.reader.read_to_string(&mut self.text).unwrap();
            self.is_over = true;
            return;
        }
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
        if size == 0 {
            self.is_over = true;
            return;
        }
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).unwrap();
        self.text.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
    }

    /// The next message; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let is_stream = self.kind.starts_with("text/event-stream");
        loop {
            if is_stream && let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let data = event.lines().find_map(|line| line.strip_prefix("data:"));
                if let Some(message) = data.and_then(|data| serde_json::from_str(data).ok()) {
                    return Some(message);
                }
                continue;
            }
            if self.is_over {
                let text = std::mem::take(&mut self.text);
                return serde_json::from_str(&text).ok().filter(|_| !is_stream);
            }
            self.more();
        }
    }
}

/// A call of the operator, as the command line makes it.
pub(crate) fn operate(place: &Place, operator: &str, operation: &str, input: &Value) -> Value {
    place.punch(["call", operation, &input.to_string(), "--json"]).with(operator).answer()
}

/// The log, with complete events.
pub(crate) fn log(place: &Place, operator: &str) -> Vec<Value> {
    place.wait_for_log();
    let input = json!({ "limit": 1_000 });
    let listed = operate(place, operator, "event_list", &input);
    listed["events"].as_array().unwrap().clone()
}
