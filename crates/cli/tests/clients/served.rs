//! opencode as a server. `opencode run` ends with its first idle state, so a session that is
//! prompted again has to live in a process that stays.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::desk::{Desk, installed};
use crate::fake::Fake;

/// How long the whole session may take.
const MOST: Duration = Duration::from_secs(300);

/// A process that ends with the test.
struct Server {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A session in a server of opencode.
pub(crate) struct Served {
    server: Server,
    address: String,
    session: String,
}

impl Served {
    /// Starts a server, and a session with this prompt.
    pub(crate) fn new(desk: &Desk, fake: &Fake, prompt: &str) -> Self {
        desk.configure_opencode(fake);
        let mut command = desk.command(&installed("node_modules/.bin/opencode"));
        command.args(["serve", "--port", "0"]).env("OPENCODE_DISABLE_MODELS_FETCH", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let said = Arc::new(Mutex::new(String::new()));
        let server = Server { child, said: Arc::clone(&said) };
        let address = { &mut lines }
            .find_map(|line| Some(line.split_once("listening on http://")?.1.trim().to_owned()))
            .unwrap();
        thread::spawn(move || {
            for line in lines {
                said.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        let session = post(&address, "/session", &json!({}));
        let session: Value = serde_json::from_str(&session).unwrap();
        let session = session["id"].as_str().unwrap().to_owned();
        let served = Self { server, address, session };
        served.post("prompt_async", &json!({ "parts": [{ "type": "text", "text": prompt }] }));
        served
    }

    /// Asks for this of the session.
    pub(crate) fn post(&self, what: &str, body: &Value) {
        post(&self.address, &format!("/session/{}/{what}", self.session), body);
    }

    /// Waits until this is so. It happens in other processes, which tell nobody.
    pub(crate) fn wait(&self, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < MOST, "it did not happen: {}", self.said());
            thread::park_timeout(Duration::from_millis(200));
        }
    }

    pub(crate) fn said(&self) -> String {
        self.server.said.lock().unwrap().clone()
    }
}

/// Prompts a new session once, and waits until its run has ended.
pub(crate) fn drive(desk: &Desk, fake: &Fake, prompt: &str) -> String {
    let served = Served::new(desk, fake, prompt);
    served.wait(|| desk.punch(&["runs", "--json"])["runs"][0]["stopReason"].is_string());
    served.said()
}

/// The body of the answer to a request.
fn post(address: &str, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 20"), "{answer}");
    // A chunked body has its length in lines of its own.
    match body.find('{') {
        Some(from) => body[from..=body.rfind('}').unwrap()].to_owned(),
        None => String::new(),
    }
}
