//! A model on loopback that speaks the three wire formats of the clients and records the requests.
//! The test chooses its replies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// The model's next action.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Say(String),
    /// Calls the tool whose name ends with this text.
    Call(&'static str, Value),
    /// The service fails with this HTTP status.
    Fail(u16),
}

type Choose = dyn Fn(usize, &Value) -> Reply + Send + Sync;

/// The server. Requests that offer no tools (for titles, topics) are answered but not counted.
pub(crate) struct Fake {
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Fake {
    pub(crate) fn new(choose: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, choose): (_, Arc<Choose>) = (Arc::clone(&asked), Arc::new(choose));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (kept, choose) = (Arc::clone(&kept), Arc::clone(&choose));
                thread::spawn(move || drop(answer(stream, &kept, &*choose)));
            }
        });
        Self { address, asked }
    }

    /// The bodies of the counted requests.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(stream: TcpStream, kept: &Mutex<Vec<Value>>, choose: &Choose) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        let header = header.to_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let counts = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let reply = if counts && !path.ends_with("count_tokens") {
        let count = {
            let mut kept = kept.lock().unwrap();
            kept.push(body.clone());
            kept.len()
        };
        choose(count, &body)
    } else {
        Reply::Say("Title".to_owned())
    };
    let mut stream = stream;
    if let Reply::Fail(status) = reply {
        let text = json!({ "error": { "type": "error", "message": "as the test wants" } });
        return send(&mut stream, status, "application/json", &text.to_string());
    }
    let (kind, text) = match path {
        path if path.ends_with("count_tokens") => {
            ("application/json", "{\"input_tokens\":9}".into())
        }
        path if path.ends_with("/messages") => ("text/event-stream", messages(&body, &reply)),
        path if path.ends_with("/responses") => ("text/event-stream", responses(&body, &reply)),
        path if path.ends_with("/chat/completions") => ("text/event-stream", chat(&body, &reply)),
        _ => ("application/json", "{}".to_owned()),
    };
    send(&mut stream, 200, kind, &text)
}

fn send(stream: &mut TcpStream, status: u16, kind: &str, text: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status} -\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{text}",
        text.len()
    )
}

/// The full name of the tool that ends with this text, as the client offers it.
fn tool(body: &Value, ending: &str) -> String {
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let below = |tool: &Value| tool["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().flat_map(|tool| [vec![tool.clone()], below(tool)].concat());
    let name = |tool: &Value| {
        tool["name"].as_str().or_else(|| tool["function"]["name"].as_str()).map(str::to_owned)
    };
    let found = names.filter_map(|tool| name(&tool)).find(|name| name.ends_with(ending));
    found.unwrap_or_else(|| panic!("no tool ends with {ending}: {tools:?}"))
}

fn events(events: &[Value]) -> String {
    let one = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message"))
    };
    events.iter().map(one).collect()
}

fn messages(body: &Value, reply: &Reply) -> String {
    let (block, delta, stop) = match reply {
        Reply::Say(text) => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": text }),
            "end_turn",
        ),
        Reply::Call(name, input) => (
            json!({ "type": "tool_use", "id": id(), "name": tool(body, name), "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
            "tool_use",
        ),
        Reply::Fail(_) => unreachable!("answered before"),
    };
    let usage = json!({ "input_tokens": 9, "output_tokens": 2 });
    let message = json!({ "id": id(), "type": "message", "role": "assistant", "content": [],
        "model": body["model"], "stop_reason": null, "stop_sequence": null, "usage": usage });
    events(&[
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "usage": { "output_tokens": 2 },
            "delta": { "stop_reason": stop, "stop_sequence": null } }),
        json!({ "type": "message_stop" }),
    ])
}

fn responses(body: &Value, reply: &Reply) -> String {
    let item = match reply {
        Reply::Say(text) => json!({ "type": "message", "id": id(), "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }] }),
        Reply::Call(name, input) => {
            let mut call = json!({ "type": "function_call", "id": id(), "call_id": id(),
                "name": tool(body, name), "arguments": input.to_string(), "status": "completed" });
            if let Some(space) = namespace(body, name) {
                call["namespace"] = json!(space);
            }
            call
        }
        Reply::Fail(_) => unreachable!("answered before"),
    };
    let usage = json!({ "input_tokens": 9, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 2, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": 11 });
    events(&[
        json!({ "type": "response.created", "response": { "id": "r1" } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "id": "r1", "status": "completed",
            "output": [item], "usage": usage } }),
    ])
}

/// Codex offers the tools of a server in a namespace with the server's name.
fn namespace(body: &Value, ending: &str) -> Option<String> {
    let tools = body["tools"].as_array()?;
    let holds = |tool: &&Value| {
        let below = tool["tools"].as_array().into_iter().flatten();
        below.into_iter().any(|tool| tool["name"].as_str().is_some_and(|n| n.ends_with(ending)))
    };
    tools.iter().find(holds)?["name"].as_str().map(str::to_owned)
}

fn chat(body: &Value, reply: &Reply) -> String {
    let (delta, finish) = match reply {
        Reply::Say(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Reply::Call(name, input) => {
            let function = json!({ "name": tool(body, name), "arguments": input.to_string() });
            let call = json!({ "index": 0, "id": id(), "type": "function", "function": function });
            (json!({ "role": "assistant", "tool_calls": [call] }), "tool_calls")
        }
        Reply::Fail(_) => unreachable!("answered before"),
    };
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        json!({ "id": "c", "object": "chat.completion.chunk", "created": 1,
            "model": body["model"], "choices": [choice] })
    };
    let (first, last) = (chunk(delta, Value::Null), chunk(json!({}), json!(finish)));
    format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n")
}

fn id() -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    format!("id_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
