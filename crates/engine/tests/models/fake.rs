//! A server that sends the bytes a test gives it, and records the requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// How often a server sends a sign of life.
const PULSE: Duration = Duration::from_millis(20);

/// One action of a server on a connection.
pub(crate) enum Act {
    Send(Vec<u8>),
    /// Waits until the test sends a signal, or ends.
    Await(Receiver<()>),
    /// Sends nothing and keeps the connection open until the test ends.
    Hang,
    /// Sends nothing until the client disconnects, then notifies the test.
    Gone(Sender<()>),
    /// Sends signs of life until the client disconnects.
    Drip,
}

/// A request that a server received.
pub(crate) struct Asked {
    pub(crate) line: String,
    /// Lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

pub(crate) struct Fake {
    pub(crate) address: String,
    pub(crate) asked: Receiver<Asked>,
    /// A server that hangs ends when the test does.
    pub(crate) over: Sender<()>,
}

/// Answers each connection with the next of these scenes, and refuses all later ones.
pub(crate) fn serve(scenes: Vec<Vec<Act>>) -> Fake {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, asked) = channel();
    let (over, is_over) = channel();
    thread::spawn(move || {
        for scene in scenes {
            let Ok((stream, _)) = listener.accept() else { return };
            play(stream, scene, &tell, &is_over);
        }
    });
    Fake { address, asked, over }
}

/// The streams of an ended test are closed, so nothing here may panic.
fn play(mut stream: TcpStream, scene: Vec<Act>, tell: &Sender<Asked>, is_over: &Receiver<()>) {
    let Some(asked) = read(&stream) else { return };
    let _ = tell.send(asked);
    for act in scene {
        match act {
            Act::Send(bytes) => {
                if stream.write_all(&bytes).and_then(|()| stream.flush()).is_err() {
                    return;
                }
            }
            Act::Await(sign) => drop(sign.recv()),
            Act::Hang => drop(is_over.recv()),
            Act::Gone(tell) => {
                let _ = stream.read(&mut [0]);
                let _ = tell.send(());
            }
            Act::Drip => {
                while is_over.recv_timeout(PULSE) == Err(RecvTimeoutError::Timeout)
                    && stream.write_all(b": ping\n\n").is_ok()
                {}
            }
        }
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
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
    Some(Asked { line: line.trim_end().to_owned(), headers, body })
}

/// The head of an event stream, which ends with the connection.
pub(crate) fn head() -> Act {
    answer("200 OK", &["Content-Type: text/event-stream; charset=utf-8"], "")
}

/// A whole response, or only its head if the body is empty.
pub(crate) fn answer(status: &str, headers: &[&str], body: &str) -> Act {
    let mut text = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    Act::Send(format!("{text}\r\n{body}").into_bytes())
}

/// Frames as providers write them: the name of an event is the `type` in its data.
pub(crate) fn frames(events: &[Value]) -> Act {
    let frame = |event: &Value| match event {
        Value::String(text) => format!("data: {text}\n\n"),
        event => match event["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        },
    };
    Act::Send(events.iter().map(frame).collect::<String>().into_bytes())
}
