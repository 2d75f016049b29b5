//! Checks a message: a line of standard input, or the body of a POST.
//!
//! The protocol library drops input that is not JSON, and treats a known method with wrong
//! parameters as an unknown method. The sender of such a message would wait forever or get a wrong
//! error. So messages are checked here first. An invalid message is answered with a JSON-RPC error,
//! with the request's id if it can be found.

use punchlist_ops::Error;
use punchlist_ops::explain::Fault;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequestParams,
    InitializeRequestParams, JsonRpcMessage, PaginatedRequestParams, ReadResourceRequestParams,
    RequestId, SubscribeRequestParams, SubscriptionsListenRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::calls::refusal;

/// The longest message, in bytes.
pub(crate) const MESSAGE_MAX: usize = 8 << 20;

const PARSE_ERROR: i64 = -32_700;
pub(crate) const INVALID_REQUEST: i64 = -32_600;
const INVALID_PARAMS: i64 = -32_602;
pub(crate) const INTERNAL_ERROR: i64 = -32_603;

/// From this revision on there is no handshake, and these methods are unknown.
const NO_HANDSHAKE: &str = "2026-07-28";
const REMOVED: [&str; 4] =
    ["initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// The result of the check.
pub(crate) enum Judged {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// Invalid: the answer to send, and the reason. For a batch, an array of answers.
    Wrong(Value, String),
    /// A notification that is unknown or invalid, or an empty line. No answer is needed.
    Nothing,
}

/// Checks a message. `is_over`: it was too long, and `line` is only its beginning.
pub(crate) fn judge(line: &[u8], is_over: bool) -> Judged {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if is_over {
        let why = format!("the message is longer than {} MiB", MESSAGE_MAX >> 20);
        return wrong(id_in(line), INVALID_REQUEST, why);
    }
    if is_blank(line) {
        return Judged::Nothing;
    }
    if let Some(message) = tool_call(line) {
        return Judged::Message(Box::new(message));
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return wrong(id_in(line), PARSE_ERROR, format!("not JSON: {error}")),
    };
    message(value)
}

/// Has this line, or this body, no message at all?
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// The answer to a POST without a message: unlike an empty line, its sender waits for something.
pub(crate) fn no_message() -> Judged {
    wrong(None, PARSE_ERROR, "not JSON: the body is empty".to_owned())
}

fn message(value: Value) -> Judged {
    let Value::Object(fields) = &value else { return no_object(&value) };
    let (id, method) = (id_of(&value), method_of(&value).map(str::to_owned));
    if let (Some(id), Some(method)) = (&id, method.as_deref()) {
        let params = fields.get("params").unwrap_or(&Value::Null);
        if let Some(judged) = wrong_arguments(id, method, params) {
            return judged;
        }
        if let Some(why) = wrong_params(method, params) {
            return wrong(Some(id.clone()), INVALID_PARAMS, why);
        }
    }
    let has_id = fields.contains_key("id");
    let is_notification = method.is_some() && !has_id;
    match serde_json::from_value(value) {
        Ok(message) => Judged::Message(Box::new(message)),
        // The protocol does not allow an answer to a notification.
        Err(_) if is_notification => Judged::Nothing,
        Err(_) => {
            let why = match id.is_none() && has_id && method.is_some() {
                true => "the id of a request is a text or an integer of 64 bits",
                false => "not a JSON-RPC 2.0 request: it has `jsonrpc`, `id` and `method`",
            };
            wrong(id, INVALID_REQUEST, why.to_owned())
        }
    }
}

/// The one revision with batches.
pub(crate) const BATCHES: &str = "2025-03-26";
/// How many messages a batch may have.
const BATCH_MAX: usize = 100;
/// How many requests of a refused batch are answered, so that a large one does not make a larger
/// answer.
const REFUSED_MAX: usize = 1_000;
/// What a batch cannot contain: the handshake, and what does not end.
const ALONE: [&str; 2] = ["initialize", "subscriptions/listen"];

/// The messages of a batch. `None` if this is not a batch, or a refused one. The caller must have
/// checked that the revision has batches.
pub(crate) fn batch(line: &[u8]) -> Option<Vec<Value>> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.trim_ascii_start().first() != Some(&b'[') {
        return None;
    }
    let messages: Vec<Value> = serde_json::from_slice(line).ok()?;
    let is_batch = messages.len() <= BATCH_MAX && messages.iter().any(Value::is_object);
    is_batch.then_some(messages)
}

/// Checks a message of a batch.
pub(crate) fn member(value: Value) -> Judged {
    match (id_of(&value), method_of(&value)) {
        (Some(id), Some(method)) if ALONE.contains(&method) => {
            let why = format!("{method} cannot be part of a batch; send it alone");
            wrong(Some(id), INVALID_REQUEST, why)
        }
        _ if !value.is_object() => {
            wrong(None, INVALID_REQUEST, "a message is one JSON object".to_owned())
        }
        _ => message(value),
    }
}

/// A message that is not one object. Every request of a refused batch gets an error, so that the
/// client waits for none of them.
fn no_object(value: &Value) -> Judged {
    let why = "send the messages one by one, each a JSON object: only revision 2025-03-26 has \
        batches, of at most 100 messages";
    let requests =
        value.as_array().into_iter().flatten().filter(|message| method_of(message).is_some());
    let answers: Vec<Value> = requests
        .filter_map(id_of)
        .map(|id| error(&id, INVALID_REQUEST, why))
        .take(REFUSED_MAX)
        .collect();
    match answers.is_empty() {
        true => wrong(None, INVALID_REQUEST, "a message is one JSON object".to_owned()),
        false => Judged::Wrong(answers.into(), why.to_owned()),
    }
}

/// The id of a request, if it can be one.
fn id_of(message: &Value) -> Option<Value> {
    message.get("id").filter(|id| id.is_string() || id.is_i64()).cloned()
}

fn method_of(message: &Value) -> Option<&str> {
    message.get("method").and_then(Value::as_str)
}

/// The fields of a request. Its parameters are not read yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame<'a> {
    jsonrpc: &'a str,
    id: RequestId,
    method: &'a str,
    #[serde(borrow)]
    params: &'a RawValue,
}

/// A tool call with the usual fields, which is nearly every message, read straight from its bytes.
/// The library would try one kind of message after the other, each on a copy. `None` for anything
/// unusual or wrong: it is checked field by field, so that the error is exact.
fn tool_call(line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
    let Frame { jsonrpc, id, method, params } = serde_json::from_slice(line).ok()?;
    let is_plain = jsonrpc == "2.0" && method == "tools/call" && params.get().starts_with('{');
    if !is_plain {
        return None;
    }
    let mut params: CallToolRequestParams = serde_json::from_str(params.get()).ok()?;
    let meta = params.meta.take();
    let mut request = CallToolRequest::new(params);
    if let Some(meta) = meta {
        request.extensions.insert(meta);
    }
    Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(request), id))
}

/// Arguments that are not an object are reported as a tool result, like any other bad input, so
/// that the model can read the error.
fn wrong_arguments(id: &Value, method: &str, params: &Value) -> Option<Judged> {
    let (name, arguments) = (params["name"].as_str()?, params.get("arguments")?);
    if method != "tools/call" || arguments.is_object() || arguments.is_null() {
        return None;
    }
    let detail = format!("the arguments of {name} are {}, not an object", kind(arguments));
    let error = Error::from(Fault::Other { path: "arguments".to_owned(), detail: detail.clone() });
    let mut result = refusal(&error);
    // The kind of a result is named only in revisions without a handshake, where each request names
    // its revision.
    let names_revision = params["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some();
    result.result_type = result.result_type.filter(|_| names_revision);
    let result = serde_json::to_value(result).ok()?;
    Some(Judged::Wrong(json!({ "jsonrpc": "2.0", "id": id, "result": result }), detail))
}

/// The fault in the parameters of a method that this server answers.
fn wrong_params(method: &str, params: &Value) -> Option<String> {
    if !(params.is_null() || params.is_object()) {
        return Some(format!("the params of {method} are {}, not an object", kind(params)));
    }
    let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
    if REMOVED.contains(&method) && version.as_str().is_some_and(|version| version >= NO_HANDSHAKE)
    {
        return None;
    }
    let why = match method {
        "initialize" => fault::<InitializeRequestParams>(params),
        "tools/call" => fault::<CallToolRequestParams>(params),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            fault::<Option<PaginatedRequestParams>>(params)
        }
        "resources/read" => fault::<ReadResourceRequestParams>(params),
        "resources/subscribe" => fault::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => fault::<UnsubscribeRequestParams>(params),
        "prompts/get" => fault::<GetPromptRequestParams>(params),
        "subscriptions/listen" => fault::<SubscriptionsListenRequestParams>(params),
        _ => None,
    };
    why.map(|why| format!("the params of {method} cannot be read: {why}"))
}

fn fault<T: DeserializeOwned>(params: &Value) -> Option<String> {
    let error = T::deserialize(params).err()?;
    Some(if params.is_null() { "they are missing".to_owned() } else { error.to_string() })
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

pub(crate) fn wrong(id: Option<Value>, code: i64, why: String) -> Judged {
    Judged::Wrong(error(&id.unwrap_or(Value::Null), code, &why), why)
}

pub(crate) fn error(id: &Value, code: i64, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
}

/// Finds the id in bytes that are not valid JSON: the value of the key `id` in the outermost
/// object, if it is an integer or a string.
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

/// The index after the string that begins at `start`.
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
    // `1.5` and `1e3` are not valid ids, and their first digits are another number.
    let goes_on = matches!(bytes.get(end), Some(b'.' | b'e' | b'E'));
    (value.is_string() || (value.is_i64() && !goes_on)).then_some(value)
}

#[cfg(test)]
mod tests {
    use rmcp::model::GetMeta as _;

    use super::*;

    fn answered(line: &[u8]) -> Value {
        match judge(line, false) {
            Judged::Wrong(answer, _) => answer,
            Judged::Message(message) => panic!("handed on: {message:?}"),
            Judged::Nothing => Value::Null,
        }
    }

    #[test]
    fn invalid_json_is_answered_with_its_id_if_it_can_be_read() {
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
    fn a_large_batch_does_not_make_a_larger_answer() {
        let requests = (0..REFUSED_MAX + 1).map(|id| json!({ "id": id, "method": "ping" }));
        let text = requests.collect::<Value>().to_string();
        assert_eq!(answered(text.as_bytes()).as_array().map(Vec::len), Some(REFUSED_MAX));
        assert_eq!(batch(text.as_bytes()), None);
        for text in ["[]", "[1", "{}", "", "null", "[1]"] {
            assert_eq!(batch(text.as_bytes()), None, "{text}");
        }
        assert_eq!(batch(b" [1, {}]"), Some(vec![json!(1), json!({})]));
    }

    #[test]
    fn json_that_is_not_a_request_is_answered_with_an_error() {
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
    fn an_error_names_what_is_wrong() {
        for id in ["null", "1.5", "true", "[1]", "9223372036854775808"] {
            let answer =
                answered(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes());
            let why = "the id of a request is a text or an integer of 64 bits";
            assert_eq!(answer, error(&Value::Null, INVALID_REQUEST, why), "{id}");
        }
        let answer = answered(br#"{"jsonrpc":"2.0","id":1,"method":"resources/read"}"#);
        let why = "the params of resources/read cannot be read: they are missing";
        assert_eq!(answer, error(&json!(1), INVALID_PARAMS, why));
    }

    #[test]
    fn arguments_that_are_not_an_object_give_a_result_for_the_model() {
        for arguments in ["[1]", "\"text\"", "3", "true"] {
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":4,"method":"tools/call",
                "params":{{"name":"list_todo","arguments":{arguments}}}}}"#
            );
            let answer = answered(line.as_bytes());
            let result = &answer["result"];
            assert_eq!((&answer["id"], &result["isError"]), (&json!(4), &json!(true)), "{answer}");
            assert_eq!(result["structuredContent"]["error"]["code"], "invalid_input");
            assert_eq!(result.get("resultType"), None, "with a handshake: {answer}");
        }
        let line = br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"todo",
            "arguments":3,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        assert_eq!(answered(line)["result"]["resultType"], "complete");
    }

    #[test]
    fn a_tool_call_is_read_as_the_library_reads_it() {
        for params in [
            r#"{"name":"todo"}"#,
            r#"{"name":"todo","arguments":{"a":[1]},"_meta":{"progressToken":7,"x":{"y":null}}}"#,
            r#"{"name":"todo","arguments":null,"_meta":{},"requestState":"s","other":1}"#,
            r#"{"name":"ask","inputResponses":{"q":{"action":"decline"}},"arguments":{}}"#,
        ] {
            for id in ["7", "\"a\""] {
                let line = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#
                );
                let Judged::Message(ours) = judge(line.as_bytes(), false) else { panic!("{line}") };
                let theirs: RxJsonRpcMessage<RoleServer> = serde_json::from_str(&line).unwrap();
                assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
                assert_eq!(json!(*ours), json!(theirs));
                let meta = |message: &RxJsonRpcMessage<RoleServer>| match message {
                    JsonRpcMessage::Request(request) => request.request.get_meta().clone(),
                    other => panic!("{other:?}"),
                };
                assert_eq!(meta(&ours), meta(&theirs));
            }
        }
    }

    #[test]
    fn valid_messages_are_passed_on_and_notifications_get_no_answer() {
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
