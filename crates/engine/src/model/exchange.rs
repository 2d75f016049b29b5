//! One POST with a streaming response, limited in time and size, that can be cancelled at any moment.
//!
//! A blocking read cannot be interrupted, so the exchange runs on its own thread, which sends what
//! arrives. When we stop waiting, the thread ends by its own timeouts. The [`Wire`] interprets the
//! events.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http::{HeaderMap, Uri};
use ureq::{Agent, Body};

use super::fault::{is_page, page, quoted, without_key};
use super::sse::{Bad, EVENT_MAX, Event, Reader};
use super::{Cancel, Fault, FaultKind, Progress, Reply};
use crate::web;

/// How often a waiting call checks whether it was cancelled.
const TICK: Duration = Duration::from_millis(50);

/// The longest reply, in bytes.
const REPLY_MAX: usize = 64 << 20;

/// How much of an error response is read, in bytes.
const ERROR_MAX: usize = 64 << 10;

const CHUNK: usize = 16 << 10;

/// How many chunks may wait: a slow reader slows the sender down.
const CHUNKS_WAITING_MAX: usize = 64;

/// The timeouts of an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Between two bytes.
    pub(super) idle: Duration,
    pub(super) connect: Duration,
    /// For the whole reply.
    pub(super) whole: Duration,
}

/// Reads the stream of one wire format.
pub(super) trait Wire {
    /// Takes one event; breaks when the reply is complete.
    fn event(
        &mut self,
        event: &Event,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ControlFlow<()>, Fault>;

    /// Takes a whole reply, from a server that does not stream.
    fn whole(&mut self, body: Value, observer: &mut dyn FnMut(Progress<'_>)) -> Result<(), Fault>;

    /// Is the reply complete, if the stream ends without an event that says so?
    fn is_whole(&self) -> bool {
        false
    }

    /// The reply, once it is complete.
    fn reply(self) -> Reply
    where
        Self: Sized;
}

/// Passes on a piece of text as it arrives.
pub(super) fn tell(text: &str, observer: &mut dyn FnMut(Progress<'_>)) {
    if !text.is_empty() {
        observer(Progress::Text(text));
    }
}

/// An address with its headers and timeouts.
#[derive(Debug)]
pub(super) struct Endpoint {
    agent: Agent,
    address: Uri,
    host: String,
    headers: Vec<(&'static str, String)>,
    key: Option<Key>,
    limits: Limits,
}

/// A key, and the variable it came from.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) variable: &'static str,
    pub(super) value: String,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.variable)
    }
}

impl Endpoint {
    /// `name` is the variable that configures the address.
    pub(super) fn new(
        name: &str,
        address: &str,
        headers: Vec<(&'static str, String)>,
        key: Option<Key>,
        limits: Limits,
    ) -> Result<Self, Fault> {
        let parsed = address.parse::<Uri>().ok();
        let address = parsed.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
        let host = address.as_ref().and_then(Uri::host).map(str::to_owned);
        let (Some(address), Some(host)) = (address, host) else {
            let message = format!("{name} is not an http or https URL");
            return Err(Fault::new(FaultKind::BadRequest, message));
        };
        // A little longer than our own timeouts, which give better messages. These end abandoned threads.
        let idle = limits.idle + limits.idle / 4;
        let config = Agent::config_builder()
            .timeout_resolve(Some(limits.connect))
            .timeout_connect(Some(limits.connect))
            .timeout_per_read(Some(idle))
            .timeout_per_write(Some(idle))
            .timeout_global(Some(limits.whole + idle))
            // A redirect would send the key elsewhere.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(web::USER_AGENT);
        let config = if web::is_loopback(&host) { config.proxy(None) } else { config };
        let host = match address.port_u16() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        Ok(Self { agent: config.build().into(), address, host, headers, key, limits })
    }

    /// Sends a request, and passes the response to the wire until the reply is complete.
    pub(super) fn post(
        &self,
        body: &Value,
        wire: &mut dyn Wire,
        cancel: &Cancel,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), Fault> {
        if cancel.is_cancelled() {
            return Err(Fault::cancelled());
        }
        let until = Instant::now() + self.limits.whole;
        let coming = Coming { parts: self.send(body)?, cancel, idle: self.limits.idle, until };
        let done = self.read(&coming, wire, observer);
        done.map_err(
            |fault| if cancel.is_cancelled() { Fault::cancelled() } else { self.named(&fault) },
        )
    }

    fn send(&self, body: &Value) -> Result<Receiver<Part>, Fault> {
        let mut request = self.agent.post(self.address.clone());
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let request = request
            .header("content-type", "application/json")
            .header("accept", "text/event-stream, application/json");
        let body = body.to_string();
        let (send, parts) = mpsc::sync_channel(CHUNKS_WAITING_MAX);
        let exchange = move || match request.send(body) {
            Ok(response) => hand_over(response, &send),
            Err(error) => drop(send.send(Part::Unsent(error))),
        };
        let thread = thread::Builder::new().name("model".into()).spawn(exchange);
        thread.map_err(|error| {
            Fault::new(FaultKind::Network, format!("cannot begin a call of {}: {error}", self.host))
        })?;
        Ok(parts)
    }

    fn read(
        &self,
        coming: &Coming<'_>,
        wire: &mut dyn Wire,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), Fault> {
        // The sender has its own timeouts for resolving and connecting.
        let connect = self.limits.connect * 2;
        let (status, headers) = match coming.next(connect)? {
            Part::Head(status, headers) => (status, headers),
            Part::Unsent(error) => return Err(unsent(&error, self.limits)),
            Part::Bytes(_) | Part::End | Part::Silent | Part::Cut => return Err(cut()),
        };
        if !(200..300).contains(&status) {
            return Err(Fault::of_answer(status, &headers, &coming.error_body()));
        }
        let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or("");
        if kind.starts_with("application/json") {
            return one_piece(&coming.whole_body()?, wire, observer);
        }
        if kind.starts_with("text/html") {
            let text = coming.error_body();
            let text = String::from_utf8_lossy(&text);
            let what = if is_page(&text) { page(&text) } else { quoted(&text) };
            return Err(Fault::garbled(format!("answered with no reply but {what}")));
        }
        stream(coming, wire, observer)
    }

    /// Adds the host's name and what to do, and removes the key.
    fn named(&self, fault: &Fault) -> Fault {
        let key = self.key.as_ref().map(|key| key.value.as_str());
        let said = without_key(&fault.message, key);
        let host = &self.host;
        let message = match (fault.kind, fault.status, &self.key) {
            (FaultKind::Key, _, Some(Key { variable, .. })) => {
                format!("{host} {said}; set {variable} to a key that it accepts")
            }
            (FaultKind::Spend, ..) => format!("{host} {said}; asking again does not help"),
            (_, Some(301..=308), _) => {
                format!("{host} {said}: it sends us elsewhere; set the base URL to that address")
            }
            (_, Some(404), _) => format!("{host} {said}; check the model's name and the base URL"),
            _ => format!("{host} {said}"),
        };
        Fault { message, ..fault.clone() }
    }
}

/// A piece of a response.
enum Part {
    Head(u16, HeaderMap),
    Bytes(Vec<u8>),
    End,
    /// There was no response.
    Unsent(ureq::Error),
    /// The response did not go on in time.
    Silent,
    /// The response broke off.
    Cut,
}

/// Ends with the response, when the receiver is dropped, or by the agent's timeouts.
fn hand_over(response: ureq::http::Response<Body>, parts: &SyncSender<Part>) {
    let (head, body) = response.into_parts();
    if parts.send(Part::Head(head.status.as_u16(), head.headers)).is_err() {
        return;
    }
    let mut reader = body.into_reader();
    let mut chunk = vec![0; CHUNK];
    loop {
        let part = match reader.read(&mut chunk) {
            Ok(0) => Part::End,
            Ok(length) => Part::Bytes(chunk[..length].to_vec()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => match ureq::Error::from(error) {
                ureq::Error::Timeout(ureq::Timeout::PerRead) => Part::Silent,
                _ => Part::Cut,
            },
        };
        let is_last = !matches!(part, Part::Bytes(_));
        if parts.send(part).is_err() || is_last {
            return;
        }
    }
}

struct Coming<'a> {
    parts: Receiver<Part>,
    cancel: &'a Cancel,
    idle: Duration,
    until: Instant,
}

impl Coming<'_> {
    /// The next piece, within the idle timeout plus this.
    fn next(&self, more: Duration) -> Result<Part, Fault> {
        let silent_until = Instant::now() + self.idle + more;
        loop {
            if self.cancel.is_cancelled() {
                return Err(Fault::cancelled());
            }
            let now = Instant::now();
            if now >= silent_until {
                return Err(silent(self.idle));
            }
            if now >= self.until {
                let message = "had not finished its reply when its time was over";
                return Err(Fault::new(FaultKind::Network, message));
            }
            match self.parts.recv_timeout(TICK.min(silent_until - now).min(self.until - now)) {
                Ok(Part::Silent) => return Err(silent(self.idle)),
                Ok(part) => return Ok(part),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(cut()),
            }
        }
    }

    fn whole_body(&self) -> Result<Vec<u8>, Fault> {
        let mut body = Vec::new();
        loop {
            match self.next(Duration::ZERO)? {
                Part::Bytes(_) if body.len() > EVENT_MAX => return Err(flooded()),
                Part::Bytes(bytes) => body.extend(bytes),
                Part::End => return Ok(body),
                _ => return Err(cut()),
            }
        }
    }

    /// The body as far as it arrived: if the rest is missing, the status is enough.
    fn error_body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < ERROR_MAX
            && let Ok(Part::Bytes(bytes)) = self.next(Duration::ZERO)
        {
            body.extend(bytes);
        }
        body
    }
}

fn stream(
    coming: &Coming<'_>,
    wire: &mut dyn Wire,
    observer: &mut dyn FnMut(Progress<'_>),
) -> Result<(), Fault> {
    let (mut reader, mut events, mut length) = (Reader::new(EVENT_MAX), Vec::new(), 0);
    loop {
        match coming.next(Duration::ZERO)? {
            Part::Bytes(bytes) => {
                length += bytes.len();
                let read = reader.feed(&bytes, &mut events);
                for event in events.drain(..) {
                    if wire.event(&event, observer)?.is_break() {
                        return Ok(());
                    }
                }
                read.map_err(|bad| match bad {
                    Bad::TooLong => flooded(),
                    Bad::NotUtf8 => Fault::garbled("sent bytes that are not text"),
                })?;
                if length > REPLY_MAX {
                    return Err(flooded());
                }
            }
            Part::End if wire.is_whole() => return Ok(()),
            _ => return Err(cut()),
        }
    }
}

fn one_piece(
    body: &[u8],
    wire: &mut dyn Wire,
    observer: &mut dyn FnMut(Progress<'_>),
) -> Result<(), Fault> {
    let body = serde_json::from_slice(body).ok().filter(Value::is_object);
    let body = body.ok_or_else(|| Fault::garbled("answered with JSON that cannot be read"))?;
    match &body["error"] {
        Value::Null => wire.whole(body, observer),
        error => Err(Fault::of_error(error)),
    }
}

/// The data of an event, which is an object in every format.
pub(super) fn json(event: &Event) -> Result<Value, Fault> {
    let data = serde_json::from_str(&event.data).ok().filter(Value::is_object);
    data.ok_or_else(|| {
        let start: String = event.data.chars().take(80).collect();
        Fault::garbled(format!("sent an event that is no JSON object: {}", quoted(&start)))
    })
}

fn cut() -> Fault {
    Fault::new(FaultKind::Server, "broke off before its reply was whole")
}

fn flooded() -> Fault {
    Fault::garbled("sent more than a reply may hold")
}

fn silent(idle: Duration) -> Fault {
    let message = format!("fell silent for {} s", idle.as_secs_f64());
    Fault::new(FaultKind::Network, message)
}

/// The error without the address, which may contain a password.
fn unsent(error: &ureq::Error, limits: Limits) -> Fault {
    let message = match error {
        ureq::Error::Timeout(ureq::Timeout::PerRead | ureq::Timeout::PerWrite) => {
            return silent(limits.idle);
        }
        ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => {
            let seconds = limits.connect.as_secs_f64();
            format!("cannot be reached within {seconds} s; check the base URL and the network")
        }
        ureq::Error::Timeout(_) => "did not answer in time".to_owned(),
        ureq::Error::HostNotFound => {
            "cannot be found; check the base URL and the network".to_owned()
        }
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => {
            return Fault::garbled("answered with something that is no HTTP");
        }
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            return cut();
        }
        error => format!("cannot be reached: {error}; is it running, and is the base URL right?"),
    };
    Fault::new(FaultKind::Network, message)
}
