//! The lines of MCP over stdio: each request gets an answer, also one that cannot be read.
//!
//! The protocol library drops lines that are not JSON, and takes a known method with wrong
//! parameters for an unknown one; whoever sent such a line would wait for ever. So lines are read
//! and judged here, and only whole messages are handed on. What is wrong is answered with a
//! JSON-RPC error, with the request's id where it can be found, and noted on standard error.

use std::collections::HashSet;
use std::future::Future;
use std::io::{self, Write as _};
use std::sync::Arc;

use punchlist_ops::Error;
use punchlist_ops::explain::Fault;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, InitializeRequestParams, JsonRpcMessage, PaginatedRequestParams,
    RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::mcp::refusal;

/// The longest message, in bytes.
pub(crate) const MESSAGE_MAX: usize = 8 << 20;

/// How much of a longer one is searched for its id.
const HEAD_MAX: usize = 64 << 10;

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const INVALID_PARAMS: i64 = -32_602;

/// Messages over a pair of streams, one line each.
pub(crate) struct Wire<R, W> {
    read: BufReader<R>,
    /// What was read of the current line. Reading may be broken off and goes on here.
    line: Vec<u8>,
    /// The current line is too long: what comes of it is dropped.
    is_over: bool,
    /// The handshake has begun: before it the library takes a notification for the end.
    has_begun: bool,
    /// The requests that were handed on and not answered yet. The library keeps one of each id, so
    /// the others would be carried out without an answer.
    unanswered: HashSet<RequestId>,
    write: Arc<Mutex<Option<W>>>,
    /// Answers of our own on their way. A read may be broken off, a write must not be.
    answers: JoinSet<()>,
}

/// What a line is.
enum Judged {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// Nothing to hand on: what is answered, and what is wrong.
    Wrong(Value, String),
    /// A notification that is not known, or an empty line.
    Nothing,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Wire<R, W> {
    pub(crate) fn new(read: R, write: W) -> Self {
        let (read, write) = (BufReader::new(read), Arc::new(Mutex::new(Some(write))));
        let (line, is_over, has_begun, answers) = (Vec::new(), false, false, JoinSet::new());
        let unanswered = HashSet::new();
        Self { read, line, is_over, has_begun, unanswered, write, answers }
    }

    /// Reads to the end of a line; false: there will be no more.
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
        // A long message is rare: its memory is given back.
        self.line.shrink_to(HEAD_MAX);
        if let Judged::Message(message) = &judged {
            let is_request = matches!(**message, JsonRpcMessage::Request(_));
            if !self.has_begun && !is_request {
                return Judged::Nothing;
            }
            self.has_begun = true;
            if let JsonRpcMessage::Request(request) = &**message
                && !self.unanswered.insert(request.id.clone())
            {
                let id = serde_json::to_value(&request.id).ok();
                let why = "a request with this id has not been answered yet; nothing was done";
                return wrong(id, INVALID_REQUEST, why.to_owned());
            }
        }
        judged
    }

    fn answer(&mut self, answer: &Value) {
        let write = Arc::clone(&self.write);
        let line = format!("{answer}\n");
        self.answers.spawn(async move {
            // A host that does not read any more has its answer coming to nobody.
            drop(put(&write, line.as_bytes()).await);
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
        let write = Arc::clone(&self.write);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            put(&write, &line).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if !matches!(self.next_line().await, Ok(true)) {
                while self.answers.join_next().await.is_some() {}
                return None;
            }
            match self.judge() {
                Judged::Message(message) => return Some(*message),
                Judged::Nothing => {}
                Judged::Wrong(answer, why) => {
                    note(&why);
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

async fn put<W: AsyncWrite + Unpin>(write: &Mutex<Option<W>>, line: &[u8]) -> io::Result<()> {
    let mut write = write.lock().await;
    let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    write.write_all(line).await?;
    write.flush().await
}

/// One line for whoever runs the host. What the line said may hold anything.
fn note(why: &str) {
    let why: String = why.chars().take(200).flat_map(char::escape_debug).collect();
    drop(writeln!(io::stderr(), "note: a message was refused: {why}"));
}

fn judge(line: &[u8], is_over: bool) -> Judged {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if is_over {
        let why = format!("the message is longer than {} MiB", MESSAGE_MAX >> 20);
        return wrong(id_in(line), INVALID_REQUEST, why);
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return Judged::Nothing;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return wrong(id_in(line), PARSE_ERROR, format!("not JSON: {error}")),
    };
    message(value)
}

fn message(value: Value) -> Judged {
    let Value::Object(fields) = &value else {
        let why = "a message is one JSON object; batches are not supported";
        return wrong(None, INVALID_REQUEST, why.to_owned());
    };
    let id = fields.get("id").filter(|id| id.is_string() || id.is_i64()).cloned();
    let method = fields.get("method").and_then(Value::as_str);
    if let (Some(id), Some(method)) = (&id, method) {
        let params = fields.get("params").unwrap_or(&Value::Null);
        if let Some(judged) = wrong_arguments(id, method, params) {
            return judged;
        }
        if let Some(why) = wrong_params(method, params) {
            return wrong(Some(id.clone()), INVALID_PARAMS, why);
        }
    }
    let is_notification = method.is_some() && !fields.contains_key("id");
    match serde_json::from_value(value) {
        Ok(message) => Judged::Message(Box::new(message)),
        // The protocol has no answer to a notification.
        Err(_) if is_notification => Judged::Nothing,
        Err(_) => {
            let why = "not a JSON-RPC 2.0 request: it has `jsonrpc`, `id` and `method`";
            wrong(id, INVALID_REQUEST, why.to_owned())
        }
    }
}

/// A model that calls a tool with no object at all reads that as a result, like any other wrong
/// input.
fn wrong_arguments(id: &Value, method: &str, params: &Value) -> Option<Judged> {
    let (name, arguments) = (params["name"].as_str()?, params.get("arguments")?);
    if method != "tools/call" || arguments.is_object() || arguments.is_null() {
        return None;
    }
    let detail = format!("the arguments of {name} are {}, not an object", kind(arguments));
    let error = Error::from(Fault::Other { path: "arguments".to_owned(), detail: detail.clone() });
    let result = serde_json::to_value(refusal(&error)).ok()?;
    Some(Judged::Wrong(json!({ "jsonrpc": "2.0", "id": id, "result": result }), detail))
}

/// What is wrong with the parameters of a method that this server answers.
fn wrong_params(method: &str, params: &Value) -> Option<String> {
    if !(params.is_null() || params.is_object()) {
        return Some(format!("the params of {method} are {}, not an object", kind(params)));
    }
    let why = match method {
        "initialize" => fault::<InitializeRequestParams>(params),
        "tools/call" => fault::<CallToolRequestParams>(params),
        "tools/list" => fault::<Option<PaginatedRequestParams>>(params),
        _ => None,
    };
    why.map(|why| format!("the params of {method} cannot be read: {why}"))
}

fn fault<T: DeserializeOwned>(params: &Value) -> Option<String> {
    T::deserialize(params).err().map(|error| error.to_string())
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn wrong(id: Option<Value>, code: i64, why: String) -> Judged {
    let error = json!({ "code": code, "message": why });
    let id = id.unwrap_or(Value::Null);
    Judged::Wrong(json!({ "jsonrpc": "2.0", "id": id, "error": error }), why)
}

/// The id in bytes that do not parse as a whole: the value of the key `id` of the outermost object,
/// where it is an integer or a string.
fn id_in(bytes: &[u8]) -> Option<Value> {
    let (mut depth, mut at) = (0_usize, 0);
    let mut is_key = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at)?;
                let (text, next) = (&bytes[at..end], blank(bytes, end));
                if depth == 1 && is_key && text == b"\"id\"" && bytes.get(next) == Some(&b':') {
                    return scalar(&bytes[blank(bytes, next + 1)..]);
                }
                at = end;
                is_key = false;
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                is_key = depth == 1 && *byte == b'{';
            }
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' => is_key = depth == 1,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the string that begins at `start` is over.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

fn blank(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

fn scalar(bytes: &[u8]) -> Option<Value> {
    let end = match bytes.first()? {
        b'"' => string_end(bytes, 0)?,
        _ => bytes.iter().position(|byte| !matches!(byte, b'-' | b'0'..=b'9'))?,
    };
    let value: Value = serde_json::from_slice(&bytes[..end]).ok()?;
    // `1.5` and `1e3` are not ids: the digits before the point say something else.
    let goes_on = matches!(bytes.get(end), Some(b'.' | b'e' | b'E'));
    (value.is_string() || (value.is_i64() && !goes_on)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(line: &[u8]) -> Value {
        match judge(line, false) {
            Judged::Wrong(answer, _) => answer,
            Judged::Message(message) => panic!("handed on: {message:?}"),
            Judged::Nothing => Value::Null,
        }
    }

    #[test]
    fn what_is_not_json_is_answered_with_its_id_where_it_can_be_read() {
        let deep = format!(r#"{{"id":7,"params":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        let cases: [(&[u8], Value); 12] = [
            (b"this is no JSON", Value::Null),
            (b"{", Value::Null),
            (br#"{"jsonrpc":"2.0","id":7,"method":"#, json!(7)),
            (br#"{"jsonrpc":"2.0","method":"ping","id":"a\"b""#, json!("a\"b")),
            (b"{\"id\":-7,\"method\":\"a\0b\"}", json!(-7)),
            (b"{\"method\":\"\xff\",\"id\" : 7}", json!(7)),
            (br#"{"id":7,"method":"\ud800"}"#, json!(7)),
            (br#"{"method":"tools/call","params":{"id":1,"x":1e400},"id":7}"#, json!(7)),
            (deep.as_bytes(), json!(7)),
            (br#"{"x":"id","y":["id",{"id":1}],"#, Value::Null),
            (br#"{"id":1.5,"#, Value::Null),
            (br#"{"id":99999999999999999999,"#, Value::Null),
        ];
        for (line, id) in cases {
            let answer = answered(line);
            let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
            assert_eq!(
                (&answer["error"]["code"], &answer["id"]),
                (&json!(PARSE_ERROR), &id),
                "{shown}"
            );
            assert_eq!(answer["jsonrpc"], "2.0");
        }
    }

    #[test]
    fn what_is_json_and_no_request_is_answered() {
        let cases: [(&str, i64, Value); 11] = [
            ("null", INVALID_REQUEST, Value::Null),
            ("[1,2]", INVALID_REQUEST, Value::Null),
            ("{}", INVALID_REQUEST, Value::Null),
            (r#"{"id":1}"#, INVALID_REQUEST, json!(1)),
            (r#"{"id":1,"method":"ping"}"#, INVALID_REQUEST, json!(1)),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, INVALID_REQUEST, json!(1)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, INVALID_REQUEST, Value::Null),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, INVALID_PARAMS, json!(1)),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":5}}"#,
                INVALID_PARAMS,
                json!("a"),
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":3}"#, INVALID_PARAMS, json!(1)),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":{}}}"#,
                INVALID_PARAMS,
                json!(1),
            ),
        ];
        for (line, code, id) in cases {
            let answer = answered(line.as_bytes());
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{line}");
        }
    }

    #[test]
    fn arguments_that_are_no_object_are_a_result_for_the_model() {
        for arguments in ["[1]", "\"text\"", "3", "true"] {
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":4,"method":"tools/call",
                "params":{{"name":"list_todo","arguments":{arguments}}}}}"#
            );
            let answer = answered(line.as_bytes());
            let result = &answer["result"];
            assert_eq!((&answer["id"], &result["isError"]), (&json!(4), &json!(true)), "{answer}");
            assert_eq!(result["structuredContent"]["error"]["code"], "invalid_input");
        }
    }

    /// The attack: a client repeats an id, and what it asked is done without an answer.
    #[test]
    fn a_repeated_id_is_refused_until_the_first_is_answered() {
        let ping = |id: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
        let input = [ping("1"), ping("1"), ping("\"1\""), ping("1")].concat();
        let (written, mut seen) = tokio::io::duplex(4_096);
        let mut wire = Wire::new(std::io::Cursor::new(input.into_bytes()), written);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let is_request = |message| matches!(message, Some(JsonRpcMessage::Request(_)));
            assert!(is_request(wire.receive().await));
            // The second is refused on the way to the third, which has another id: a text.
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

    #[test]
    fn what_is_right_is_handed_on_and_what_needs_no_answer_gets_none() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"no/such/method","params":{"a":1}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/list\"}\r",
        ] {
            assert!(matches!(judge(line.as_bytes(), false), Judged::Message(_)), "{line}");
        }
        for line in ["", "  \t", r#"{"method":"notifications/of/another"}"#] {
            assert!(matches!(judge(line.as_bytes(), false), Judged::Nothing), "{line}");
        }
        let Judged::Wrong(answer, _) = judge(br#"{"id":3,"params":"xxxx"#, true) else { panic!() };
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(INVALID_REQUEST)));
    }
}
