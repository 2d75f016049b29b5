//! A model that plays a script: for tests, demos and repeatable runs.
//!
//! The position in the script is kept in the conversation's history: each reply carries a note (`raw`)
//! that comes back with the next request. So one script serves any number of conversations, and another
//! process can continue a run. Only the errors (`fail`) that a call has met are kept in memory, because an
//! error has no reply to carry a note.

mod file;
mod template;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use punchlist_store::outside;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::exchange::tell;
use super::{Call, CallResult, Cancel, Fault, FaultKind, Input, Message, Model, Reply, Request};
use super::{Progress, Stop, Usage, input};
use file::{Planned, Script, Step, StopWord};
use template::{Found, Place};

const RAW: &str = "scripted";
const FILE_MAX: usize = 16 << 20;
const WINDOW: u64 = 200_000;

/// How many calls with errors are remembered; the oldest is forgotten.
const FAILED_MAX: usize = 256;

/// A script, and the calls that have met errors.
#[derive(Debug)]
pub struct Scripted {
    name: String,
    window: u64,
    /// Identifies this script's notes.
    mark: String,
    steps: Vec<Step>,
    failed: Mutex<Vec<Failed>>,
}

/// A call that has met errors. Its retry comes on the same thread, after the same message, and begins at
/// the next step.
#[derive(Debug)]
struct Failed {
    thread: ThreadId,
    played: u64,
    newest: String,
    next: usize,
}

/// The note that a reply carries for the next one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Note {
    script: String,
    /// The step that was played.
    step: usize,
    /// How many replies there were, this one included.
    played: u64,
    /// Results that have not arrived yet: the names, and the calls that return them.
    #[serde(default)]
    pending: BTreeMap<String, String>,
    /// Every name that has been saved.
    #[serde(default)]
    names: Vec<String>,
    /// The parts of results that later steps need, by place. They are kept because the history may
    /// be trimmed.
    #[serde(default)]
    found: Found,
}

impl Scripted {
    /// Reads a script from a file.
    pub fn open(name: &str, path: &Path) -> Result<Self, Fault> {
        let shown = path.display();
        let unread = |why: String| fault(format!("cannot read the script {shown}: {why}"));
        let text = outside::read(path, FILE_MAX).map_err(|error| unread(error.to_string()))?;
        let text = String::from_utf8(text).map_err(|error| {
            let start = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
            fault(format!("the script {shown}, line {line}: this is not UTF-8 text"))
        })?;
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let script = file::read(&text, is_json || text.trim_start().starts_with('{'));
        let script = script.map_err(|why| fault(format!("the script {shown}, {why}")))?;
        Ok(Self::new(name, script, &text))
    }

    /// Reads a script from a text, in TOML or JSON.
    pub fn read(name: &str, text: &str) -> Result<Self, Fault> {
        let script = file::read(text, text.trim_start().starts_with('{'));
        let script = script.map_err(|why| fault(format!("the script {name}, {why}")))?;
        Ok(Self::new(name, script, text))
    }

    fn new(name: &str, script: Script, text: &str) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        let mark = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let failed = Mutex::new(Vec::new());
        Self { name: name.to_owned(), window: WINDOW, mark, steps: script.steps, failed }
    }

    /// Sets how many tokens fit into one call.
    #[must_use]
    pub fn with_window(self, window: u64) -> Self {
        Self { window, ..self }
    }

    /// The newest note of this script in a history.
    fn note(&self, messages: &[Message]) -> Option<Note> {
        messages.iter().rev().find_map(|message| match message {
            Message::Assistant { raw: Some(raw), .. } => {
                let note: Note = serde_json::from_value(raw.get(RAW)?.clone()).ok()?;
                (note.script == self.mark).then_some(note)
            }
            _ => None,
        })
    }

    /// The first step from here on that fits the newest message.
    fn step_from(&self, start: usize, newest: &str) -> Result<usize, Fault> {
        let fits = |step: &Step| step.when.as_ref().is_none_or(|when| when.is_match(newest));
        let later = self.steps.iter().enumerate().skip(start);
        let index = later.filter(|(_, step)| fits(step)).map(|(index, _)| index).next();
        index.ok_or_else(|| {
            let (count, name) = (self.steps.len(), &self.name);
            let why = if start < count {
                format!("none of its steps from {} on fits the newest message", start + 1)
            } else {
                format!("all {count} of its steps have been played")
            };
            fault(format!("the script {name} is used up: {why}; add a step, or `repeat = true`"))
        })
    }

    /// Adds new results to the note, as far as any step needs them.
    fn keep(&self, note: &mut Note, messages: &[Message]) {
        for (name, call) in std::mem::take(&mut note.pending) {
            let Some(result) = result_of(messages, &call) else { continue };
            let value = serde_json::from_str(&result.text)
                .unwrap_or_else(|_| Value::String(result.text.clone()));
            note.found.retain(|place, _| place.split('.').next() != Some(name.as_str()));
            for place in self.places().filter(|place| place.name() == name) {
                if let Some(value) = place.find(&value) {
                    note.found.insert(place.text.clone(), value.clone());
                }
            }
            if !note.names.contains(&name) {
                note.names.push(name);
            }
        }
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        self.steps.iter().flat_map(|step| {
            let texts = step.text.iter().flat_map(|text| text.places());
            let inputs = step.calls.iter().filter_map(|call| call.input.as_ref());
            texts.chain(inputs.flat_map(|input| input.places()))
        })
    }

    fn missing(&self, index: usize, place: &Place, names: &[String]) -> Fault {
        let (script, step, place, name) = (&self.name, index + 1, &place.text, place.name());
        let saved = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        fault(if names.iter().any(|saved| saved == name) {
            format!(
                "step {step} of the script {script}: `{place}` is not in what was saved as `{name}`"
            )
        } else {
            format!(
                "step {step} of the script {script}: nothing was saved as `{name}`; saved so far: {saved}"
            )
        })
    }

    /// Plays a step that is not an error.
    fn play(&self, index: usize, mut note: Note) -> Result<Reply, Fault> {
        let step = &self.steps[index];
        let missing = |place: Place, note: &Note| self.missing(index, &place, &note.names);
        let text = match &step.text {
            Some(text) => text.fill_text(&note.found).map_err(|place| missing(place, &note))?,
            None => String::new(),
        };
        note.script.clone_from(&self.mark);
        note.step = index;
        note.played += 1;
        let mut calls = Vec::new();
        for planned in &step.calls {
            let id = format!("call_{}_{}", note.played, calls.len() + 1);
            let input = filled(planned, &note.found).map_err(|place| missing(place, &note))?;
            if let Some(name) = &planned.save {
                note.pending.insert(name.clone(), id.clone());
            }
            calls.push(Call { id, name: planned.tool.clone(), input });
        }
        let stop = match step.stop {
            Some(StopWord::Error) => {
                let said = if text.is_empty() { String::new() } else { format!(": {text}") };
                let message =
                    format!("step {} of the script {} is an error{said}", index + 1, self.name);
                return Err(Fault::new(FaultKind::BadRequest, message));
            }
            Some(StopWord::EndTurn) => Stop::EndTurn,
            Some(StopWord::MaxTokens) => Stop::MaxTokens,
            Some(StopWord::Refusal) => Stop::Refusal,
            None if calls.is_empty() => Stop::EndTurn,
            None => Stop::ToolUse,
        };
        let usage =
            Usage { input: step.usage.input, output: step.usage.output, ..Usage::default() };
        let id = Some(format!("scripted_{}", note.played));
        Ok(Reply { text, calls, raw: Some(json!({RAW: note})), stop, usage, id })
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn respond(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Reply, Fault> {
        let messages = request.messages;
        let (start, mut note) = match self.note(messages) {
            Some(note) if self.steps.get(note.step).is_some_and(|step| step.repeat) => {
                (note.step, note)
            }
            Some(note) => (note.step + 1, note),
            None => (0, Note::default()),
        };
        self.keep(&mut note, messages);
        let (thread, newest) = (thread::current().id(), newest(messages));
        let failed = Failed { thread, played: note.played, newest, next: 0 };
        let start = self.take_failed(&failed).unwrap_or(start);
        let index = self.step_from(start, &failed.newest)?;
        let step = &self.steps[index];
        if cancel.is_cancelled_within(Duration::from_millis(step.delay_ms.into())) {
            return Err(Fault::cancelled());
        }
        if let Some(status) = step.fail {
            let next = if step.repeat { index } else { index + 1 };
            self.put_failed(Failed { next, ..failed });
            let fault = Fault::of_status(status);
            return Err(Fault { message: format!("the script {} {fault}", self.name), ..fault });
        }
        let reply = self.play(index, note)?;
        tell(&reply.text, observer);
        Ok(reply)
    }
}

impl Scripted {
    fn take_failed(&self, wanted: &Failed) -> Option<usize> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |one: &Failed| (one.thread, one.played);
        let at =
            failed.iter().position(|one| of(one) == of(wanted) && one.newest == wanted.newest)?;
        Some(failed.remove(at).next)
    }

    fn put_failed(&self, one: Failed) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.len() == FAILED_MAX {
            failed.remove(0);
        }
        failed.push(one);
    }
}

fn fault(message: String) -> Fault {
    Fault::new(FaultKind::Script, message)
}

fn filled(planned: &Planned, found: &Found) -> Result<Input, Place> {
    let Some(input) = &planned.input else { return Ok(Input::Json(json!({}))) };
    Ok(match input.fill(found)? {
        Value::String(text) => input::read(&text),
        value if value.is_object() => Input::Json(value),
        value => Input::Broken(value.to_string()),
    })
}

fn result_of<'a>(messages: &'a [Message], call: &str) -> Option<&'a CallResult> {
    messages.iter().rev().find_map(|message| match message {
        Message::Results(results) => results.iter().find(|result| result.id == call),
        _ => None,
    })
}

fn newest(messages: &[Message]) -> String {
    match messages.last() {
        Some(Message::User { text } | Message::Assistant { text, .. }) => text.clone(),
        Some(Message::Results(results)) => {
            let texts: Vec<&str> = results.iter().map(|result| result.text.as_str()).collect();
            texts.join("\n")
        }
        None => String::new(),
    }
}
