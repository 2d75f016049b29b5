//! The lines of MCP over stdio. Each request gets an answer, even an invalid one.
//!
//! Lines are read here and checked in `judge`; only valid messages are passed on to the library,
//! except that plain calls are answered here (`direct`). An invalid message is answered, and noted on
//! standard error. If a client does not read its answers, no more requests
//! are taken from it, so the queue stays small. The end of the input is still seen, and then the
//! answers that nobody reads are soon given up.

use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::McpServer;
use super::direct::{self, Era, Line};
use super::in_flight::InFlight;
use super::judge::{
    BATCHES, INTERNAL_ERROR, INVALID_REQUEST, Judged, MESSAGE_MAX, batch, error, judge, member,
    wrong,
};
use super::notes::Notes;

/// How much of an oversized line is searched for its id.
const HEAD_MAX: usize = 64 << 10;

/// How many messages may wait to be written.
const WAITING_MAX: usize = 64;

/// How many requests may be in progress before reading is delayed, and for how long. Reading is
/// delayed and not stopped, because a request may wait for a message that is not read yet.
const BUSY_MAX: usize = 32;
const PUT_OFF: Duration = Duration::from_millis(500);

/// How much is read ahead while no request is taken, so that the end of the input is seen: as much as
/// one message. If a client that reads nothing has sent more before it closed, the end is seen when
/// its side of the output is closed, too.
const AHEAD_MAX: usize = MESSAGE_MAX;
/// How much is read at once.
const CHUNK: usize = 8 << 10;

/// How long an answer may take after the end of the input.
const LAST: Duration = Duration::from_secs(2);

/// Messages over a pair of streams, one line each.
pub(crate) struct Wire<R, W> {
    read: R,
    /// What was read and is not taken yet.
    ahead: BytesMut,
    /// The input has ended behind it.
    is_at_end: bool,
    /// The part of the current line that was read. A read may be cancelled; the next one continues
    /// here.
    line: Vec<u8>,
    /// The current line is too long, and the rest of it is dropped.
    is_over: bool,
    /// Has a request begun the conversation? Until then, the library would end at anything else
    /// than a request.
    has_begun: bool,
    /// Does the library read while it writes? Before that, it waits for every write.
    is_served: bool,
    /// Answers plain calls here, if the store is near.
    near: Option<McpServer>,
    /// How the conversation has begun, once the client may call tools.
    era: Option<Era>,
    requests: InFlight,
    /// Has the client chosen the revision with batches?
    has_batches: bool,
    /// The messages of a batch that are not passed on yet.
    pending: VecDeque<Box<RxJsonRpcMessage<RoleServer>>>,
    batches: Vec<Batch>,
    write: Arc<Mutex<Option<W>>>,
    /// Our own answers that are being written. A read may be cancelled, but a write must not be.
    answers: JoinSet<()>,
    /// The slots for messages that wait to be written.
    places: Arc<Semaphore>,
    /// Signals the end of the input.
    end: watch::Sender<bool>,
    notes: Notes,
}

impl<R: AsyncRead + Send + Unpin + 'static, W: AsyncWrite + Send + Unpin + 'static> Wire<R, W> {
    pub(crate) fn new(
        read: R,
        write: W,
        end: watch::Sender<bool>,
        notes: Notes,
        near: Option<McpServer>,
    ) -> Self {
        Self {
            read,
            ahead: BytesMut::new(),
            is_at_end: false,
            line: Vec::new(),
            is_over: false,
            has_begun: false,
            is_served: false,
            near,
            era: None,
            requests: InFlight::default(),
            has_batches: false,
            pending: VecDeque::new(),
            batches: Vec::new(),
            write: Arc::new(Mutex::new(Some(write))),
            answers: JoinSet::new(),
            places: Arc::new(Semaphore::new(WAITING_MAX)),
            end,
            notes,
        }
    }

    /// Takes a slot for a message that waits to be written. While none is free, nothing is taken.
    fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Waits until a slot is free. Returns false if nobody reads any more.
    async fn has_place(&mut self) -> bool {
        let places = Arc::clone(&self.places);
        loop {
            let may_read = !self.is_at_end && self.ahead.len() < AHEAD_MAX;
            tokio::select! {
                biased;
                place = places.acquire() => return place.is_ok(),
                () = self.fill(), if may_read => {}
            }
        }
    }

    /// Reads some of the input, or its end.
    async fn fill(&mut self) {
        self.ahead.reserve(CHUNK);
        if !matches!(self.read.read_buf(&mut self.ahead).await, Ok(1..)) {
            self.is_at_end = true;
            // Calls that wait for something else can stop.
            self.end.send_replace(true);
        }
    }

    /// Takes a line from the input. Returns false at its end. The last line need not end with a
    /// newline, but one that is no JSON was cut off.
    async fn next_line(&mut self) -> bool {
        loop {
            while self.ahead.is_empty() {
                if self.is_at_end {
                    return serde_json::from_slice::<IgnoredAny>(&self.line).is_ok();
                }
                self.fill().await;
            }
            let available = &self.ahead;
            let end = available.iter().position(|byte| *byte == b'\n');
            let (part, used) = match end {
                Some(end) => (&available[..end], end + 1),
                None => (&available[..], available.len()),
            };
            if self.line.len() + part.len() > MESSAGE_MAX {
                self.is_over = true;
            }
            let room = if self.is_over { HEAD_MAX } else { MESSAGE_MAX };
            let kept = room.saturating_sub(self.line.len()).min(part.len());
            self.line.extend_from_slice(&part[..kept]);
            self.line.truncate(room);
            self.ahead.advance(used);
            if end.is_some() {
                return true;
            }
        }
    }

    fn judge(&mut self) -> Judged {
        let is_over = std::mem::take(&mut self.is_over);
        let has_batch = self.has_batches && !is_over;
        let (messages, judged) = match has_batch.then(|| batch(&self.line)).flatten() {
            Some(messages) => (messages, Judged::Nothing),
            None => (Vec::new(), judge(&self.line, is_over)),
        };
        self.line.clear();
        // Long messages are rare, so free their memory.
        self.line.shrink_to(HEAD_MAX);
        if !messages.is_empty() {
            self.take_batch(messages);
        }
        if let Judged::Message(message) = &judged {
            let is_request = matches!(**message, JsonRpcMessage::Request(_));
            if !self.has_begun && !is_request {
                return Judged::Nothing;
            }
            if let JsonRpcMessage::Request(request) = &**message {
                if self.is_used(&request.id) {
                    return doubled(&request.id);
                }
                if let ClientRequest::InitializeRequest(hello) = &request.request {
                    self.has_batches = hello.params.protocol_version.as_str() == BATCHES;
                } else if !self.has_begun && begins(&request.request) {
                    self.era = Some(Era::Stateless);
                }
                self.has_begun |= begins(&request.request);
            }
            self.note(message);
        }
        judged
    }

    /// Is a request with this id not answered yet, or was it cancelled?
    fn is_used(&self, id: &RequestId) -> bool {
        self.requests.is_used(id) || self.batches.iter().any(|batch| batch.waiting.contains(id))
    }

    /// Answers a plain call, if no other request is in progress: the library begins with a request
    /// only after the next line was read, so the call would overtake it. The library also begins
    /// every conversation. Returns false if the message has to be passed on.
    fn answer_here(&mut self, message: &mut RxJsonRpcMessage<RoleServer>) -> bool {
        let (Some(server), Some(era)) = (&self.near, self.era.filter(|_| self.is_served)) else {
            return false;
        };
        let JsonRpcMessage::Request(request) = &*message else { return false };
        let id = request.id.clone();
        if self.requests.has_other(&id) {
            return false;
        }
        let Some(plain) = direct::plain(era, message) else { return false };
        match direct::answer_here(server, plain) {
            Line::Ready(answer) => {
                self.requests.answered(&id);
                let writing = self.writing(line_of(&id, answer));
                self.write_apart(writing);
            }
            Line::Later(answer) => {
                let late = self.requests.answer_late(id.clone());
                let writer = self.writer();
                let end = self.end.subscribe();
                self.write_apart(async move {
                    let answer = tokio::select! {
                        answer = answer => answer,
                        // What waits for another process does not keep this one from ending.
                        () = too_late(end) => return Ok(()),
                    };
                    match late.was_wanted() {
                        true => writer.write(line_of(&id, answer)).await,
                        false => Ok(()),
                    }
                });
            }
        }
        true
    }

    /// Keeps track of a message: a request is unanswered now, or one is cancelled.
    fn note(&mut self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => self.requests.begin(&request.id),
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ClientNotification::CancelledNotification(cancelled) => {
                    if let Some(id) = &cancelled.params.request_id {
                        self.cancel(id);
                    }
                }
                // The end of the handshake; a conversation without one is of the other era.
                ClientNotification::InitializedNotification(_) => {
                    self.era.get_or_insert(Era::Handshake);
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Takes the messages of a batch. Its answers are sent together.
    fn take_batch(&mut self, messages: Vec<Value>) {
        let mut batch = Batch::default();
        for mut judged in messages.into_iter().map(member) {
            if let Judged::Message(message) = &judged
                && let JsonRpcMessage::Request(request) = &**message
                && (self.is_used(&request.id) || !batch.waiting.insert(request.id.clone()))
            {
                judged = doubled(&request.id);
            }
            match judged {
                Judged::Message(message) => self.pending.push_back(message),
                Judged::Nothing => {}
                Judged::Wrong(answer, why) => {
                    self.notes.refused(&why);
                    batch.answers.push(answer.to_string());
                }
            }
        }
        self.batches.push(batch);
        self.answer_batches();
    }

    /// The answers of a batch that is complete.
    fn complete_batch(&mut self) -> Option<String> {
        let complete = self.batches.iter().position(|batch| batch.waiting.is_empty())?;
        let Batch { answers, .. } = self.batches.swap_remove(complete);
        Some(if answers.is_empty() { String::new() } else { format!("[{}]\n", answers.join(",")) })
    }

    /// Sends the answers of batches that are complete without another answer.
    fn answer_batches(&mut self) {
        while let Some(line) = self.complete_batch() {
            if !line.is_empty() {
                let writing = self.writing(line.into_bytes());
                self.write_apart(writing);
            }
        }
    }

    /// The client no longer waits for a request. One that was answered already is over.
    fn cancel(&mut self, id: &RequestId) {
        if self.requests.cancel(id) {
            for batch in &mut self.batches {
                batch.waiting.remove(id);
            }
            self.answer_batches();
        }
    }

    /// Sends an answer. Those to a refused batch are messages of their own, because only the revision
    /// with batches knows a line that is an array.
    fn answer(&mut self, answer: &Value) {
        let answers = answer.as_array().map_or(std::slice::from_ref(answer), Vec::as_slice);
        let lines: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
        let writing = self.writing(lines.into_bytes());
        self.write_apart(writing);
    }

    /// Writes a line, which takes a slot until it is written.
    fn writing(&self, line: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send + use<R, W> {
        self.writer().write(line)
    }

    /// Takes a slot for a line.
    fn writer(&self) -> LineWriter<W> {
        LineWriter {
            write: Arc::clone(&self.write),
            place: self.place(),
            places: Arc::clone(&self.places),
            end: self.end.subscribe(),
        }
    }

    /// Writes in a task of its own. If the host no longer reads, the message is lost.
    fn write_apart(&mut self, writing: impl Future<Output = io::Result<()>> + Send + 'static) {
        while self.answers.try_join_next().is_some() {}
        self.answers.spawn(async move { drop(writing.await) });
    }
}

impl<R, W> Transport<RoleServer> for Wire<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.requests.answered(id);
        }
        let batch = answered.and_then(|id| {
            self.batches.iter_mut().find_map(|batch| batch.waiting.remove(id).then_some(batch))
        });
        let line = match (serde_json::to_string(&item), batch) {
            (Ok(line), Some(batch)) => {
                batch.answers.push(line);
                Ok(self.complete_batch())
            }
            (line, _) => line.map(|line| Some(line + "\n")),
        };
        let writing = line.map(|line| line.map(|line| self.writing(line.into_bytes())));
        // Before the library serves, it reads nothing while it waits for a write.
        let waited_for = match writing {
            Ok(Some(writing)) if !self.is_served => {
                self.write_apart(writing);
                Ok(None)
            }
            writing => writing,
        };
        async move {
            match waited_for? {
                Some(writing) => writing.await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.is_served = self.has_begun;
        loop {
            if self.requests.count() >= BUSY_MAX {
                tokio::time::sleep(PUT_OFF).await;
            }
            let has_place = self.has_place().await;
            if has_place && let Some(message) = self.pending.pop_front() {
                self.note(&message);
                return Some(*message);
            }
            if !has_place || !self.next_line().await {
                self.end.send_replace(true);
                while self.answers.join_next().await.is_some() {}
                return None;
            }
            match self.judge() {
                Judged::Message(mut message) => {
                    if !self.answer_here(&mut message) {
                        return Some(*message);
                    }
                    // So that it can be written before the next call is made.
                    tokio::task::yield_now().await;
                }
                Judged::Nothing => {}
                Judged::Wrong(answer, why) => {
                    self.notes.refused(&why);
                    self.answer(&answer);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // What was answered of a batch is not lost with the rest of it.
        for batch in &mut self.batches {
            batch.waiting.clear();
        }
        self.answer_batches();
        while self.answers.join_next().await.is_some() {}
        drop(self.write.lock().await.take());
        Ok(())
    }
}

/// Writes one line. It has a slot until then.
struct LineWriter<W> {
    write: Arc<Mutex<Option<W>>>,
    place: Option<OwnedSemaphorePermit>,
    places: Arc<Semaphore>,
    end: watch::Receiver<bool>,
}

impl<W: AsyncWrite + Send + Unpin> LineWriter<W> {
    async fn write(self, line: Vec<u8>) -> io::Result<()> {
        let written = put(&self.write, &line, self.end).await;
        if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            // No further request can be answered.
            self.places.close();
        }
        drop(self.place);
        written
    }
}

/// The line of an answer to a plain call.
fn line_of(id: &RequestId, answer: serde_json::Result<String>) -> Vec<u8> {
    let answer = answer.unwrap_or_else(|fault| {
        let id = serde_json::to_value(id).unwrap_or_default();
        error(&id, INTERNAL_ERROR, &fault.to_string()).to_string()
    });
    (answer + "\n").into_bytes()
}

/// A batch whose requests are not all answered.
#[derive(Default)]
struct Batch {
    waiting: HashSet<RequestId>,
    /// As JSON.
    answers: Vec<String>,
}

/// The answer to a request whose id another one has.
fn doubled(id: &RequestId) -> Judged {
    let id = serde_json::to_value(id).ok();
    let why = "a request with this id has not been answered yet; nothing was done";
    wrong(id, INVALID_REQUEST, why.to_owned())
}

/// Does this request begin the conversation? The library answers others before it, too, and goes on
/// waiting for one that does: `initialize`, or a complete request of the stateless era.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let is_known =
                |version: &ProtocolVersion| ProtocolVersion::KNOWN_VERSIONS.contains(version);
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && meta.protocol_version().as_ref().is_some_and(is_known)
        }
    }
}

/// Writes a line. After the end of the input, a client that does not read has two seconds; then the
/// stream is closed, and whatever waits for it fails.
async fn put<W: AsyncWrite + Unpin>(
    write: &Mutex<Option<W>>,
    line: &[u8],
    end: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut open = write.lock().await;
    let stream = open.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    let writing = async {
        stream.write_all(line).await?;
        stream.flush().await
    };
    tokio::select! {
        biased;
        written = writing => return written,
        () = too_late(end) => {}
    }
    *open = None;
    Err(io::ErrorKind::TimedOut.into())
}

/// Returns some time after the end of the input.
async fn too_late(mut end: watch::Receiver<bool>) {
    drop(end.wait_for(|end| *end).await);
    tokio::time::sleep(LAST).await;
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use punchlist_core::{Actor, AgentPath, Role, Time};
    use punchlist_ops::identity::Facts;
    use punchlist_ops::tools::Choice;
    use punchlist_ops::{Context, Envelope, Ops, Proof};
    use punchlist_store::{Options, Target};
    use serde_json::json;

    use super::*;

    /// The attack: a client repeats an id, and its second request would be executed without an
    /// answer.
    #[test]
    fn a_repeated_id_is_refused_until_the_first_is_answered() {
        let ping = |id: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
        let input = [ping("1"), ping("1"), ping("\"1\""), ping("1")].concat();
        let (written, mut seen) = tokio::io::duplex(4_096);
        let end = watch::Sender::new(false);
        let mut wire =
            Wire::new(Cursor::new(input.into_bytes()), written, end, Notes::start().0, None);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let is_request = |message| matches!(message, Some(JsonRpcMessage::Request(_)));
            assert!(is_request(wire.receive().await));
            // The second request is refused before the third is received. The third has another id:
            // a string.
            assert!(is_request(wire.receive().await));
            let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
            let answer = serde_json::from_value(answer).unwrap();
            wire.send(answer).await.unwrap();
            assert!(is_request(wire.receive().await), "answered: the id is free again");
            assert!(wire.receive().await.is_none());
            wire.close().await.unwrap();
            let mut text = String::new();
            tokio::io::AsyncReadExt::read_to_string(&mut seen, &mut text).await.unwrap();
            let lines: Vec<Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let refused: Vec<&Value> =
                lines.iter().filter(|line| line["error"]["code"] == INVALID_REQUEST).collect();
            assert_eq!(refused.len(), 1, "{text}");
            assert_eq!(refused[0]["id"], 1);
        });
    }

    /// A server for a store in memory.
    fn near() -> McpServer {
        let envelope = Envelope {
            actor: Actor::new(Role::Root, AgentPath::parse("primary").unwrap()),
            proof: Proof::Nothing,
            project: "p".to_owned(),
            context: Context::default(),
            idempotency_key: None,
            agents: Arc::default(),
            now: Time::parse("2026-11-15T08:00:00Z").unwrap(),
        };
        let ops = Ops::new(Target::Memory, Options::default());
        let clock = || Time::parse("2026-11-15T08:00:00Z").unwrap();
        McpServer::new(ops, (Facts::default(), None), envelope, clock, Choice::Default)
    }

    #[test]
    fn a_plain_call_is_not_passed_on_unless_it_would_overtake_another_request() {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" } });
        let arguments = json!({ "name": "issue_list", "arguments": {} });
        let call = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": arguments });
        let lines = [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            call(2),
            json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" }),
            call(4),
        ];
        let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let (written, mut seen) = tokio::io::duplex(64 << 10);
        let (end, notes) = (watch::Sender::new(false), Notes::start().0);
        let reader = Cursor::new(input.into_bytes());
        let mut wire = Wire::new(reader, written, end, notes, Some(near()));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let id = |message: Option<RxJsonRpcMessage<RoleServer>>| match message {
                Some(JsonRpcMessage::Request(request)) => json!(request.id),
                Some(JsonRpcMessage::Notification(_)) => json!("notification"),
                other => panic!("{other:?}"),
            };
            assert_eq!(id(wire.receive().await), 1);
            let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
            wire.send(serde_json::from_value(answer).unwrap()).await.unwrap();
            assert_eq!(id(wire.receive().await), "notification");
            assert_eq!(id(wire.receive().await), 3, "2 was answered here");
            assert_eq!(id(wire.receive().await), 4, "3 is not answered yet");
            assert!(wire.receive().await.is_none());
            wire.close().await.unwrap();
            let mut text = String::new();
            tokio::io::AsyncReadExt::read_to_string(&mut seen, &mut text).await.unwrap();
            let answer: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
            let issues = &answer["result"]["structuredContent"]["issues"];
            assert_eq!((&answer["id"], issues), (&json!(2), &json!([])), "{text}");
        });
    }

    /// Hosts keep one connection for days, and every interruption by their user cancels a call.
    #[test]
    fn cancelled_requests_do_not_count_as_busy() {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" } });
        let hello =
            json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params });
        let lines = (0..BUSY_MAX).flat_map(|id| {
            let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
            let method = "notifications/cancelled";
            let cancel =
                json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": id } });
            [format!("{ping}\n"), format!("{cancel}\n")]
        });
        let again = json!({ "jsonrpc": "2.0", "id": 0, "method": "ping" });
        let (hello, again) = (format!("{hello}\n"), format!("{again}\n"));
        let input: String = [hello].into_iter().chain(lines).chain([again]).collect();
        let (written, _seen) = tokio::io::duplex(4_096);
        let end = watch::Sender::new(false);
        let mut wire =
            Wire::new(Cursor::new(input.into_bytes()), written, end, Notes::start().0, None);
        // Without a timer: a delay would panic.
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for _ in 0..=2 * BUSY_MAX {
                assert!(wire.receive().await.is_some());
            }
            assert_eq!(wire.requests.count(), 1);
            let cancelled = i64::try_from(BUSY_MAX).unwrap();
            assert!((0..cancelled).all(|id| wire.requests.is_used(&RequestId::Number(id))));
            assert!(wire.receive().await.is_none(), "an id that was cancelled is refused");
        });
    }
}
