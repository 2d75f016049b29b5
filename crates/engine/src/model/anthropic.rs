//! Anthropic's Messages API: requests. Responses are read in `stream`.

mod stream;

use serde_json::{Map, Value, json};

use super::remote::Format;
use super::{Message, Request, Tool, input};
use stream::Stream;

pub(super) const VERSION: &str = "2023-06-01";

/// The name under which a reply's whole content is kept, with its signatures.
const RAW: &str = "anthropic";

/// The Messages API, of Anthropic or of a server that speaks it.
#[derive(Debug)]
pub(super) struct Anthropic;

impl Format for Anthropic {
    type Stream = Stream;

    fn body(&self, model: &str, effort: Option<&str>, request: &Request<'_>) -> Value {
        let mut body = json!({
            "model": model,
            "max_tokens": request.max_tokens,
            "stream": true,
            "messages": messages(request.messages, request.context),
        });
        if !request.system.is_empty() {
            body["system"] = json!([cached(json!({"type": "text", "text": request.system}))]);
        }
        if !request.tools.is_empty() {
            body["tools"] = tools(request.tools);
        }
        if let Some(effort) = effort {
            body["output_config"] = json!({"effort": effort});
        }
        body
    }

    fn stream(&self, _: &Request<'_>) -> Stream {
        Stream::default()
    }
}

/// Marks a block: the provider caches everything up to it, and charges a tenth for it the next
/// time.
fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

fn tools(tools: &[Tool]) -> Value {
    let tool = |tool: &Tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input});
    let mut tools: Vec<Value> = tools.iter().map(tool).collect();
    if let Some(last) = tools.pop() {
        tools.push(cached(last));
    }
    Value::Array(tools)
}

/// Merges consecutive messages of one side: results must come first in the message after their calls.
fn messages(messages: &[Message], context: Option<&str>) -> Value {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User { text } => ("user", text_block(text).into_iter().collect()),
            Message::Results(results) => ("user", results.iter().map(result).collect()),
            Message::Assistant { .. } => ("assistant", said(message)),
        };
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, before)) if *last == role => before.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    // The next call repeats the whole history, so cache it.
    if let Some(("user", blocks)) = turns.last_mut()
        && let Some(last) = blocks.pop()
    {
        blocks.push(cached(last));
        // The context changes every time, so it goes after the mark.
        blocks.extend(context.and_then(text_block));
    }
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

/// The API refuses empty texts.
fn text_block(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn result(result: &super::CallResult) -> Value {
    let mut block = Map::new();
    block.insert("type".into(), "tool_result".into());
    block.insert("tool_use_id".into(), result.id.as_str().into());
    if !result.text.is_empty() {
        block.insert("content".into(), result.text.as_str().into());
    }
    if result.is_error {
        block.insert("is_error".into(), true.into());
    }
    Value::Object(block)
}

fn said(message: &Message) -> Vec<Value> {
    let Message::Assistant { text, calls, raw } = message else { return Vec::new() };
    if let Some(content) = raw.as_ref().and_then(|raw| raw[RAW].as_array()) {
        return content.clone();
    }
    let call = |call: &super::Call| {
        let input = input::object(&call.input);
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    };
    text_block(text).into_iter().chain(calls.iter().map(call)).collect()
}
