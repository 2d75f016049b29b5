//! Chat Completions: what is asked. Spoken by OpenAI, Ollama and nearly every server there is. How
//! the answer is read is in `stream`.

mod stream;

use serde_json::{Value, json};

use super::exchange::Endpoint;
use super::{Call, Cancel, Fault, Message, Model, Reply, Request, Told, Tool, input};
use stream::Stream;

/// A model behind Chat Completions.
#[derive(Debug)]
pub(super) struct OpenAiChat {
    pub(super) name: String,
    pub(super) provider: &'static str,
    pub(super) model: String,
    pub(super) window: u64,
    pub(super) effort: Option<String>,
    /// What the limit of a reply is called: OpenAI has renamed it, others have not.
    pub(super) limit_field: &'static str,
    pub(super) endpoint: Endpoint,
}

impl Model for OpenAiChat {
    fn name(&self) -> &str {
        &self.name
    }

    fn provider(&self) -> &'static str {
        self.provider
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn respond(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        told: &mut dyn FnMut(Told<'_>),
    ) -> Result<Reply, Fault> {
        let mut stream = Stream::new(request.messages.len());
        self.endpoint.post(&self.body(request), &mut stream, cancel, told)?;
        Ok(stream.reply())
    }
}

impl OpenAiChat {
    fn body(&self, request: &Request<'_>) -> Value {
        let system = (!request.system.is_empty())
            .then(|| json!({"role": "system", "content": request.system}));
        let context = request.context.map(|text| json!({"role": "user", "content": text}));
        let messages: Vec<Value> = system
            .into_iter()
            .chain(request.messages.iter().flat_map(messages))
            .chain(context)
            .collect();
        let mut body = json!({
            "model": self.model,
            "messages": messages,
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        body[self.limit_field] = request.max_tokens.into();
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if let Some(effort) = &self.effort {
            body["reasoning_effort"] = effort.as_str().into();
        }
        body
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
