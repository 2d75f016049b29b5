//! The Chat Completions API: responses.

use std::ops::ControlFlow;

use serde_json::Value;

use super::usage;
use crate::model::exchange::{Wire, json, tell};
use crate::model::sse::Event;
use crate::model::{Call, Fault, FaultKind, Progress, Reply, Stop, Usage, input};

/// The part of a reply that has arrived.
#[derive(Debug)]
pub(in crate::model) struct Stream {
    /// The length of the history; used to make ids if the server gives none.
    turn: usize,
    id: Option<String>,
    text: String,
    is_refusal: bool,
    calls: Vec<Growing>,
    finish: Option<String>,
    usage: Usage,
}

/// A call that is still arriving.
#[derive(Debug, Default)]
struct Growing {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Wire for Stream {
    fn event(
        &mut self,
        event: &Event,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ControlFlow<()>, Fault> {
        if event.data.trim() == "[DONE]" {
            if self.finish.is_none() && self.text.is_empty() && self.calls.is_empty() {
                return Err(Fault::garbled("ended a reply that it had not begun"));
            }
            return Ok(ControlFlow::Break(()));
        }
        let chunk = json(event)?;
        if !chunk["error"].is_null() {
            return Err(Fault::of_error(&chunk["error"]));
        }
        self.take(&chunk, "delta", observer)?;
        Ok(ControlFlow::Continue(()))
    }

    fn whole(&mut self, body: Value, observer: &mut dyn FnMut(Progress<'_>)) -> Result<(), Fault> {
        if !body["choices"][0]["message"].is_object() {
            return Err(Fault::garbled("answered with JSON that is not a chat completion"));
        }
        self.take(&body, "message", observer)
    }

    /// Not every server sends `[DONE]`.
    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn reply(self) -> Reply {
        let stop = match self.finish.as_deref() {
            Some("length") => Stop::MaxTokens,
            Some("content_filter") => Stop::Refusal,
            _ if !self.calls.is_empty() => Stop::ToolUse,
            _ if self.is_refusal => Stop::Refusal,
            _ => Stop::EndTurn,
        };
        let turn = self.turn;
        let call = |(n, call): (usize, Growing)| {
            let id = if call.id.is_empty() { format!("call_{turn}_{n}") } else { call.id };
            Call { id, name: call.name, input: input::read(&call.arguments) }
        };
        let calls = self.calls.into_iter().enumerate().map(call).collect();
        Reply { text: self.text, calls, raw: None, stop, usage: self.usage, id: self.id }
    }
}

impl Stream {
    pub(super) fn new(turn: usize) -> Self {
        let (text, calls) = (String::new(), Vec::new());
        let usage = Usage::default();
        Self { turn, id: None, text, is_refusal: false, calls, finish: None, usage }
    }

    fn take(
        &mut self,
        chunk: &Value,
        said: &str,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), Fault> {
        if let Some(id) = chunk["id"].as_str().filter(|id| !id.is_empty()) {
            self.id = Some(id.to_owned());
        }
        if chunk["usage"].is_object() {
            self.usage = usage(&chunk["usage"], "prompt", "completion");
        }
        let choice = &chunk["choices"][0];
        let said = &choice[said];
        self.add_text(&said["content"], observer);
        self.is_refusal |= self.add_text(&said["refusal"], observer);
        for call in said["tool_calls"].as_array().into_iter().flatten() {
            self.add_call(call)?;
        }
        match choice["finish_reason"].as_str() {
            Some("error") => Err(Fault::new(FaultKind::Server, "ended its reply with an error")),
            Some(reason) => {
                self.finish = Some(reason.to_owned());
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn add_text(&mut self, text: &Value, observer: &mut dyn FnMut(Progress<'_>)) -> bool {
        let text = text.as_str().unwrap_or_default();
        self.text.push_str(text);
        tell(text, observer);
        !text.is_empty()
    }

    fn add_call(&mut self, part: &Value) -> Result<(), Fault> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let function = &part["function"];
        let (index, id, name) =
            (part["index"].as_u64(), word(&part["id"]), word(&function["name"]));
        let at = self.position(index, &id, &name);
        let call = match at {
            Some(at) => &mut self.calls[at],
            None if name.is_empty() => {
                return Err(Fault::garbled("sent a part of a call that it had not begun"));
            }
            None => {
                self.calls.push(Growing { index, id, name, arguments: String::new() });
                let last = self.calls.len() - 1;
                &mut self.calls[last]
            }
        };
        match &function["arguments"] {
            Value::String(more) => call.arguments.push_str(more),
            // Some servers send the object itself.
            value @ Value::Object(_) => call.arguments = value.to_string(),
            _ => {}
        }
        Ok(())
    }

    /// Which call a part belongs to. Servers that send whole calls give them all the same index or none;
    /// there, a new id or a name begins a new call.
    fn position(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.len().checked_sub(1),
        }?;
        let is_other = if id.is_empty() {
            index.is_none() && !name.is_empty()
        } else {
            self.calls[at].id != id
        };
        (!is_other).then_some(at)
    }
}
