//! The lines of MCP over stdio. Each request gets an answer, even an invalid one.
//!
//! Lines are read here and checked in `judge`; only valid messages are passed on. An invalid one is
//! answered, and noted on standard error. If a client does not read its answers, no more requests
//! are read from it, so the queue stays small.

use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::judge::{INVALID_REQUEST, Judged, MESSAGE_MAX, judge, wrong};
use super::notes::Notes;

/// How much of an oversized line is searched for its id.
const HEAD_MAX: usize = 64 << 10;

/// How many messages may wait to be written.
const WAITING_MAX: usize = 64;

/// How many requests may be in progress before reading is delayed, and for how long. Reading is
/// delayed and not stopped, because a request may wait for a message that is not read yet.
const BUSY_MAX: usize = 32;
const PUT_OFF: Duration = Duration::from_millis(500);

/// How many ids of cancelled requests are remembered.
const CANCELLED_MAX: usize = 1_024;

/// Messages over a pair of streams, one line each.
pub(crate) struct Wire<R, W> {
    read: BufReader<R>,
    /// The part of the current line that was read. A read may be cancelled; the next one continues
    /// here.
    line: Vec<u8>,
    /// The current line is too long, and the rest of it is dropped.
    is_over: bool,
    /// Has a request begun the conversation? Until then, the library would end at anything else
    /// than a request.
    has_begun: bool,
    /// The requests that were passed on and are not answered yet. The library tracks only one
    /// request per id, so a second one would be executed without an answer.
    unanswered: HashSet<RequestId>,
    /// The last requests that the client cancelled. They are never answered, so they do not count as
    /// busy, but their ids cannot be used again.
    cancelled: VecDeque<RequestId>,
    write: Arc<Mutex<Option<W>>>,
    /// Our own answers that are being written. A read may be cancelled, but a write must not be.
    answers: JoinSet<()>,
    /// The slots for messages that wait to be written.
    places: Arc<Semaphore>,
    /// Signals the end of the input.
    end: watch::Sender<bool>,
    notes: Notes,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Wire<R, W> {
    pub(crate) fn new(read: R, write: W, end: watch::Sender<bool>, notes: Notes) -> Self {
        let (read, write) = (BufReader::new(read), Arc::new(Mutex::new(Some(write))));
        let (line, is_over, has_begun, answers) = (Vec::new(), false, false, JoinSet::new());
        let (unanswered, cancelled) = (HashSet::new(), VecDeque::new());
        let places = Arc::new(Semaphore::new(WAITING_MAX));
        Self {
            read,
            line,
            is_over,
            has_begun,
            unanswered,
            cancelled,
            write,
            answers,
            places,
            end,
            notes,
        }
    }

    /// Takes a slot for a message that waits to be written. While no slot is free, nothing is read.
    fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Reads to the end of a line. Returns false at the end of the input.
    async fn next_line(&mut self) -> io::Result<bool> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(false);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let (part, used) = match end {
                Some(end) => (&available[..end], end + 1),
                None => (available, available.len()),
            };
            if self.line.len() + part.len() > MESSAGE_MAX {
                self.is_over = true;
            }
            let room = if self.is_over { HEAD_MAX } else { MESSAGE_MAX };
            let kept = room.saturating_sub(self.line.len()).min(part.len());
            self.line.extend_from_slice(&part[..kept]);
            self.line.truncate(room);
            self.read.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn judge(&mut self) -> Judged {
        let is_over = std::mem::take(&mut self.is_over);
        let judged = judge(&self.line, is_over);
        self.line.clear();
        // Long messages are rare, so free their memory.
        self.line.shrink_to(HEAD_MAX);
        if let Judged::Message(message) = &judged {
            let is_request = matches!(**message, JsonRpcMessage::Request(_));
            if !self.has_begun && !is_request {
                return Judged::Nothing;
            }
            if let JsonRpcMessage::Notification(notification) = &**message
                && let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                && let Some(id) = &cancelled.params.request_id
            {
                self.cancel(id);
            }
            if let JsonRpcMessage::Request(request) = &**message {
                if self.cancelled.contains(&request.id)
                    || !self.unanswered.insert(request.id.clone())
                {
                    let id = serde_json::to_value(&request.id).ok();
                    let why = "a request with this id has not been answered yet; nothing was done";
                    return wrong(id, INVALID_REQUEST, why.to_owned());
                }
                self.has_begun |= begins(&request.request);
            }
        }
        judged
    }

    /// The client no longer waits for a request. One that was answered already is over.
    fn cancel(&mut self, id: &RequestId) {
        if self.unanswered.remove(id) {
            if self.cancelled.len() >= CANCELLED_MAX {
                self.cancelled.pop_front();
            }
            self.cancelled.push_back(id.clone());
        }
    }

    fn answer(&mut self, answer: &Value) {
        let (write, place) = (Arc::clone(&self.write), self.place());
        let line = format!("{answer}\n");
        self.answers.spawn(async move {
            // If the host no longer reads, the answer is lost.
            drop(put(&write, line.as_bytes()).await);
            drop(place);
        });
    }
}

impl<R, W> Transport<RoleServer> for Wire<R, W>
where
    R: AsyncRead + Send + Unpin,
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
            self.unanswered.remove(id);
        }
        let (write, place) = (Arc::clone(&self.write), self.place());
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let written = put(&write, &line).await;
            drop(place);
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.unanswered.len() >= BUSY_MAX {
                tokio::time::sleep(PUT_OFF).await;
            }
            let is_open = self.places.acquire().await.is_ok();
            if !is_open || !matches!(self.next_line().await, Ok(true)) {
                // The input has ended, so calls that wait for something else can stop.
                self.end.send_replace(true);
                while self.answers.join_next().await.is_some() {}
                return None;
            }
            match self.judge() {
                Judged::Message(message) => return Some(*message),
                Judged::Nothing => {}
                Judged::Wrong(answer, why) => {
                    self.notes.refused(&why);
                    self.answer(&answer);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.write.lock().await.take());
        Ok(())
    }
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

async fn put<W: AsyncWrite + Unpin>(write: &Mutex<Option<W>>, line: &[u8]) -> io::Result<()> {
    let mut write = write.lock().await;
    let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    write.write_all(line).await?;
    write.flush().await
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use serde_json::json;

    /// The attack: a client repeats an id, and its second request would be executed without an
    /// answer.
    #[test]
    fn a_repeated_id_is_refused_until_the_first_is_answered() {
        let ping = |id: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
        let input = [ping("1"), ping("1"), ping("\"1\""), ping("1")].concat();
        let (written, mut seen) = tokio::io::duplex(4_096);
        let end = watch::Sender::new(false);
        let mut wire = Wire::new(Cursor::new(input.into_bytes()), written, end, Notes::start().0);
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
        let mut wire = Wire::new(Cursor::new(input.into_bytes()), written, end, Notes::start().0);
        // Without a timer: a delay would panic.
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for _ in 0..=2 * BUSY_MAX {
                assert!(wire.receive().await.is_some());
            }
            assert_eq!((wire.unanswered.len(), wire.cancelled.len()), (1, BUSY_MAX));
            assert!(wire.receive().await.is_none(), "an id that was cancelled is refused");
        });
    }
}
