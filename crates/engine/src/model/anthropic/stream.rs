//! Anthropic's Messages API: responses.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::RAW;
use crate::model::exchange::{Wire, json, tell};
use crate::model::sse::Event;
use crate::model::{Call, Fault, Input, Progress, Reply, Stop, Usage, input};

/// The part of a reply that has arrived.
#[derive(Debug, Default)]
pub(in crate::model) struct Stream {
    id: Option<String>,
    blocks: Vec<Block>,
    usage: Value,
    stop: Value,
}

/// A block of content, and the input that arrives in pieces.
#[derive(Debug)]
struct Block {
    content: Value,
    input: Option<String>,
}

impl Wire for Stream {
    fn event(
        &mut self,
        event: &Event,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ControlFlow<()>, Fault> {
        let data = json(event)?;
        match data["type"].as_str().unwrap_or(&event.name) {
            "message_start" => self.start(&data["message"]),
            "content_block_start" => self.begin(&data, observer)?,
            "content_block_delta" => self.add(&data, observer)?,
            "message_delta" => {
                merge(&mut self.usage, &data["usage"]);
                merge(&mut self.stop, &data["delta"]);
            }
            "message_stop" if self.blocks.is_empty() && self.stop["stop_reason"].is_null() => {
                return Err(Fault::garbled("ended a reply that it had not begun"));
            }
            "message_stop" => return Ok(ControlFlow::Break(())),
            "error" => return Err(Fault::of_error(&data["error"])),
            // `ping`, `content_block_stop`, and events we do not know.
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn whole(&mut self, body: Value, observer: &mut dyn FnMut(Progress<'_>)) -> Result<(), Fault> {
        let Some(content) = body["content"].as_array() else {
            return Err(Fault::garbled("answered with JSON that is not a message"));
        };
        for block in content {
            self.push(block.clone(), observer)?;
        }
        self.start(&body);
        self.stop = body;
        Ok(())
    }

    fn reply(self) -> Reply {
        let (mut text, mut calls, mut content) = (String::new(), Vec::new(), Vec::new());
        for mut block in self.blocks {
            match block.content["type"].as_str().unwrap_or_default() {
                "text" => {
                    let part = block.content["text"].as_str().unwrap_or_default();
                    // The API would refuse an empty text when it is sent back.
                    if part.is_empty() {
                        continue;
                    }
                    text.push_str(part);
                }
                "tool_use" => calls.push(call(&mut block)),
                _ => {
                    if let Some(Input::Json(value)) = block.input.as_deref().map(input::read) {
                        block.content["input"] = value;
                    }
                }
            }
            content.push(block.content);
        }
        let stop = stop(self.stop["stop_reason"].as_str().unwrap_or_default(), !calls.is_empty());
        if stop == Stop::Refusal && text.is_empty() {
            let why = self.stop["stop_details"]["explanation"].as_str();
            why.unwrap_or_default().clone_into(&mut text);
        }
        let raw = Some(json!({RAW: content}));
        Reply { text, calls, raw, stop, usage: usage(&self.usage), id: self.id }
    }
}

impl Stream {
    fn start(&mut self, message: &Value) {
        self.id = message["id"].as_str().map(str::to_owned);
        merge(&mut self.usage, &message["usage"]);
    }

    fn begin(&mut self, data: &Value, observer: &mut dyn FnMut(Progress<'_>)) -> Result<(), Fault> {
        if data["index"].as_u64() != Some(self.blocks.len() as u64) {
            return Err(Fault::garbled("sent a block out of order"));
        }
        self.push(data["content_block"].clone(), observer)
    }

    fn push(
        &mut self,
        content: Value,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), Fault> {
        if !content.is_object() {
            return Err(Fault::garbled("sent a block that is not an object"));
        }
        if content["type"] == "text" {
            tell(content["text"].as_str().unwrap_or_default(), observer);
        }
        self.blocks.push(Block { content, input: None });
        Ok(())
    }

    fn add(&mut self, data: &Value, observer: &mut dyn FnMut(Progress<'_>)) -> Result<(), Fault> {
        let index = data["index"].as_u64().and_then(|index| usize::try_from(index).ok());
        let Some(block) = index.and_then(|index| self.blocks.get_mut(index)) else {
            return Err(Fault::garbled("sent a part of a block that it had not begun"));
        };
        let delta = &data["delta"];
        let part = |name: &str| delta[name].as_str().unwrap_or_default();
        match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => {
                tell(part("text"), observer);
                append(&mut block.content["text"], part("text"));
            }
            "input_json_delta" => {
                block.input.get_or_insert_default().push_str(part("partial_json"));
            }
            "thinking_delta" => append(&mut block.content["thinking"], part("thinking")),
            "signature_delta" => append(&mut block.content["signature"], part("signature")),
            "citations_delta" => match &mut block.content["citations"] {
                Value::Array(citations) => citations.push(delta["citation"].clone()),
                citations => *citations = json!([delta["citation"]]),
            },
            _ => {}
        }
        Ok(())
    }
}

/// Reads the input of a call, and leaves an object in its block: the API accepts nothing else.
fn call(block: &mut Block) -> Call {
    let read = match (&block.input, &block.content["input"]) {
        (Some(text), _) => input::read(text),
        (None, value) if value.is_object() => Input::Json(value.clone()),
        (None, value) => Input::Broken(value.to_string()),
    };
    block.content["input"] = input::object(&read);
    let word = |name: &str| block.content[name].as_str().unwrap_or_default().to_owned();
    Call { id: word("id"), name: word("name"), input: read }
}

fn stop(reason: &str, has_calls: bool) -> Stop {
    match reason {
        "max_tokens" => Stop::MaxTokens,
        "model_context_window_exceeded" => Stop::Context,
        "refusal" => Stop::Refusal,
        "pause_turn" => Stop::Paused,
        _ if has_calls => Stop::ToolUse,
        _ => Stop::EndTurn,
    }
}

/// Each count is cumulative, so the last value replaces earlier ones.
fn merge(counts: &mut Value, more: &Value) {
    let Value::Object(more) = more else { return };
    for (name, count) in more.iter().filter(|(_, count)| !count.is_null()) {
        counts[name] = count.clone();
    }
}

fn append(text: &mut Value, more: &str) {
    match text {
        Value::String(text) => text.push_str(more),
        text => *text = more.into(),
    }
}

fn usage(counts: &Value) -> Usage {
    let count = |name: &str| counts[name].as_u64().unwrap_or(0);
    let (cached, cache_written) =
        (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    let details = &counts["output_tokens_details"];
    let thought = [&details["thinking_tokens"], &details["reasoning_tokens"]];
    Usage {
        input: count("input_tokens").saturating_add(cached).saturating_add(cache_written),
        cached,
        cache_written,
        output: count("output_tokens"),
        reasoning: thought.into_iter().find_map(Value::as_u64).unwrap_or(0),
    }
}
