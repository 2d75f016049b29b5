//! A collector for tests: it records requests, and responds as the test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::Value;

/// One request.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) path: String,
    /// Lower-case names.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

pub(super) struct Listener {
    pub(super) address: String,
    sent: Receiver<Sent>,
}

const TAKEN: &str = "200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

impl Listener {
    /// A collector that accepts everything.
    pub(super) fn new() -> Self {
        Self::answering(|_| TAKEN)
    }

    /// A collector that answers each request, by its number, with a status and a body.
    pub(super) fn answering(answer: impl Fn(usize) -> &'static str + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, sent) = channel();
        thread::spawn(move || {
            let mut number = 0;
            while let Ok((stream, _)) = listener.accept() {
                // One request per connection, so that it is certain which answer belongs to which
                // request.
                if take(stream, &tell, answer(number)).is_some() {
                    number += 1;
                }
            }
        });
        Self { address, sent }
    }

    /// All requests so far, including those of a dropped `Telemetry`.
    pub(super) fn sent(&self) -> Vec<Sent> {
        self.sent.try_iter().collect()
    }

    /// Waits for the next request.
    pub(super) fn next(&self) -> Sent {
        self.sent.recv().unwrap()
    }
}

fn take(mut stream: TcpStream, tell: &Sender<Sent>, answer: &str) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.strip_prefix("POST ")?.split(' ').next()?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length?.1.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).ok()?;
    tell.send(Sent { path, headers, body }).ok()?;
    let (status, rest) = answer.split_once("\r\n")?;
    write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\n{rest}").ok()
}
