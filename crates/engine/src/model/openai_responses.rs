//! OpenAI's Responses API: requests, which store nothing there, and how responses are read.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::exchange::{Wire, json, tell};
use super::openai_chat::usage;
use super::remote::Format;
use super::sse::Event;
use super::{Call, Fault, FaultKind, Message, Progress, Reply, Request, Stop, Tool, input};

/// The name under which a reply's items are kept, with their encrypted reasoning.
const RAW: &str = "openai_responses";

/// The Responses API, of OpenAI or of a server that speaks it.
#[derive(Debug)]
pub(super) struct OpenAiResponses;

impl Format for OpenAiResponses {
    type Stream = Stream;

    fn body(&self, model: &str, effort: Option<&str>, request: &Request<'_>) -> Value {
        let context = request.context.map(|text| json!({"role": "user", "content": text}));
        let input: Vec<Value> = request.messages.iter().flat_map(items).chain(context).collect();
        let mut body = json!({
            "model": model,
            "input": input,
            "max_output_tokens": request.max_tokens,
            "stream": true,
            "store": false,
        });
        if !request.system.is_empty() {
            body["instructions"] = request.system.into();
        }
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if reasons(model) {
            body["include"] = json!(["reasoning.encrypted_content"]);
        }
        if let Some(effort) = effort {
            body["reasoning"] = json!({"effort": effort});
        }
        body
    }

    fn stream(&self, _: &Request<'_>) -> Stream {
        Stream::default()
    }
}

/// Older models refuse requests for reasoning.
fn reasons(model: &str) -> bool {
    !["gpt-3", "gpt-4", "chatgpt-"].iter().any(|older| model.starts_with(older))
}

/// Strict mode requires every field; ours has optional ones.
fn tool(tool: &Tool) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input,
        "strict": false,
    })
}

fn items(message: &Message) -> Vec<Value> {
    match message {
        Message::User { text } => vec![json!({"role": "user", "content": text})],
        Message::Results(results) => results
            .iter()
            .map(|result| {
                json!({"type": "function_call_output", "call_id": result.id, "output": result.text})
            })
            .collect(),
        Message::Assistant { text, calls, raw } => {
            if let Some(items) = raw.as_ref().and_then(|raw| raw[RAW].as_array()) {
                return items.clone();
            }
            let said = (!text.is_empty()).then(|| json!({"role": "assistant", "content": text}));
            let call = |call: &Call| {
                let arguments = input::object(&call.input).to_string();
                json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": arguments,
                })
            };
            said.into_iter().chain(calls.iter().map(call)).collect()
        }
    }
}

/// The part of a reply that has arrived.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The text so far, for servers whose last event does not repeat it.
    text: String,
    items: Vec<Value>,
    response: Value,
}

impl Wire for Stream {
    fn event(
        &mut self,
        event: &Event,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ControlFlow<()>, Fault> {
        if event.data == "[DONE]" {
            return Ok(ControlFlow::Continue(()));
        }
        let mut data = json(event)?;
        match data["type"].as_str().unwrap_or(&event.name) {
            "response.output_text.delta" | "response.refusal.delta" => {
                let delta = data["delta"].as_str().unwrap_or_default();
                self.text.push_str(delta);
                tell(delta, observer);
            }
            "response.output_item.done" => self.items.push(data["item"].take()),
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(data["response"].take())?;
                return Ok(ControlFlow::Break(()));
            }
            "error" if data["error"].is_object() => return Err(Fault::of_error(&data["error"])),
            "error" => return Err(Fault::of_error(&data)),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn whole(&mut self, body: Value, observer: &mut dyn FnMut(Progress<'_>)) -> Result<(), Fault> {
        self.end(body)?;
        for item in &self.items {
            parts(item).for_each(|(text, _)| tell(text, observer));
        }
        Ok(())
    }

    fn reply(self) -> Reply {
        let texts: Vec<(&str, bool)> = self.items.iter().flat_map(parts).collect();
        let is_refusal = texts.iter().any(|(_, is_refusal)| *is_refusal);
        let text: String = texts.into_iter().map(|(text, _)| text).collect();
        let text = if text.is_empty() { self.text } else { text };
        let calls: Vec<Call> = self.items.iter().filter_map(call).collect();
        let reason = self.response["incomplete_details"]["reason"].as_str();
        let is_whole = self.response["status"] == "completed";
        let stop = match reason {
            Some("content_filter") => Stop::Refusal,
            _ if !is_whole => Stop::MaxTokens,
            _ if !calls.is_empty() => Stop::ToolUse,
            _ if is_refusal => Stop::Refusal,
            _ => Stop::EndTurn,
        };
        let usage = usage(&self.response["usage"], "input", "output");
        let id = self.response["id"].as_str().map(str::to_owned);
        let items: Vec<Value> = self.items.into_iter().filter(is_of_use).collect();
        let raw = (!items.is_empty()).then(|| json!({RAW: items}));
        Reply { text, calls, raw, stop, usage, id }
    }
}

impl Stream {
    /// Takes the last event. It repeats all items, but some servers leave them out.
    fn end(&mut self, mut response: Value) -> Result<(), Fault> {
        let status = response.get("status").and_then(Value::as_str);
        match status.unwrap_or_default() {
            "completed" | "incomplete" => {}
            "failed" => return Err(Fault::of_error(&response["error"])),
            "cancelled" => {
                return Err(Fault::new(FaultKind::Server, "cancelled its reply"));
            }
            _ => return Err(Fault::garbled("ended its reply without a status")),
        }
        if let Value::Array(items) = response["output"].take()
            && !items.is_empty()
        {
            self.items = items;
        }
        self.response = response;
        Ok(())
    }
}

/// We store nothing there, so reasoning without its content cannot be sent back.
fn is_of_use(item: &Value) -> bool {
    item["type"] != "reasoning" || item["encrypted_content"].is_string()
}

/// The texts of a message, and which of them are refusals.
fn parts(item: &Value) -> impl Iterator<Item = (&str, bool)> {
    let content = item["content"].as_array().filter(|_| item["type"] == "message");
    content.into_iter().flatten().filter_map(|part| match part["type"].as_str()? {
        "output_text" => Some((part["text"].as_str()?, false)),
        "refusal" => Some((part["refusal"].as_str()?, true)),
        _ => None,
    })
}

fn call(item: &Value) -> Option<Call> {
    let word = |name: &str| item[name].as_str().unwrap_or_default();
    (item["type"] == "function_call").then(|| Call {
        id: word("call_id").to_owned(),
        name: word("name").to_owned(),
        input: input::read(word("arguments")),
    })
}
