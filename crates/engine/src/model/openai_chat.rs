//! The Chat Completions API of OpenAI, Ollama and most other servers: requests. Responses are read in
//! `stream`.

mod stream;

use serde_json::{Value, json};

use super::remote::Format;
use super::{Call, Message, Request, Tool, Usage, input};
use stream::Stream;

/// The Chat Completions API.
#[derive(Debug)]
pub(super) struct OpenAiChat {
    /// The field that limits a reply's length: OpenAI has renamed it, others have not.
    pub(super) limit_field: &'static str,
}

impl Format for OpenAiChat {
    type Stream = Stream;

    fn body(&self, model: &str, effort: Option<&str>, request: &Request<'_>) -> Value {
        let system = (!request.system.is_empty())
            .then(|| json!({"role": "system", "content": request.system}));
        let context = request.context.map(|text| json!({"role": "user", "content": text}));
        let messages: Vec<Value> = system
            .into_iter()
            .chain(request.messages.iter().flat_map(messages))
            .chain(context)
            .collect();
        let mut body = json!({
            "model": model,
            "messages": messages,
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        body[self.limit_field] = request.max_tokens.into();
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if let Some(effort) = effort {
            body["reasoning_effort"] = effort.into();
        }
        body
    }

    fn stream(&self, request: &Request<'_>) -> Stream {
        Stream::new(request.messages.len())
    }
}

fn tool(tool: &Tool) -> Value {
    let function =
        json!({"name": tool.name, "description": tool.description, "parameters": tool.input});
    json!({"type": "function", "function": function})
}

fn messages(message: &Message) -> Vec<Value> {
    match message {
        Message::User { text } => vec![json!({"role": "user", "content": text})],
        Message::Results(results) => results
            .iter()
            .map(
                |result| json!({"role": "tool", "tool_call_id": result.id, "content": result.text}),
            )
            .collect(),
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            vec![json!({"role": "assistant", "content": text})]
        }
        Message::Assistant { text, calls, .. } => {
            let text = if text.is_empty() { Value::Null } else { text.as_str().into() };
            let calls: Vec<Value> = calls.iter().map(call).collect();
            vec![json!({"role": "assistant", "content": text, "tool_calls": calls})]
        }
    }
}

fn call(call: &Call) -> Value {
    let arguments = input::object(&call.input).to_string();
    let function = json!({"name": call.name, "arguments": arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

/// The usage in one of the two formats of OpenAI, which differ in the names of the counts. The input
/// includes the cached tokens.
pub(super) fn usage(counts: &Value, input: &str, output: &str) -> Usage {
    let count = |count: &Value| count.as_u64().unwrap_or(0);
    let details = |side: &str| &counts[format!("{side}_tokens_details")];
    Usage {
        input: count(&counts[format!("{input}_tokens")]),
        cached: count(&details(input)["cached_tokens"]),
        cache_written: count(&details(input)["cache_write_tokens"]),
        output: count(&counts[format!("{output}_tokens")]),
        reasoning: count(&details(output)["reasoning_tokens"]),
    }
}
