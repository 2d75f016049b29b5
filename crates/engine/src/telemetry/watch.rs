//! Turns the events of runs into spans and figures.
//!
//! The events of one run arrive in order, from the thread that executes it. Events of several runs
//! arrive mixed. A run is an `invoke_agent` span with the children `chat` and `execute_tool`. A run
//! that does delegated work is a child of the tool call that delegated it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use punchlist_core::driver::StopReason;
use punchlist_core::{DelegationId, Run, RunId};

use super::metrics::{Labels, Measure};
use super::span::{Kind, Place, Span, Value, cut};
use crate::agent::{Live, Outcome};
use crate::model::{Fault, FaultKind, Stop, Usage};

/// How much of a tool's arguments and result is sent, in bytes.
const CONTENT_MAX: usize = 16 << 10;

/// The spans and figures of an event.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) spans: Vec<Span>,
    pub(super) figures: Vec<(Measure, Labels, f64)>,
}

/// The runs that are being executed.
#[derive(Debug)]
pub(super) struct Watch {
    content: bool,
    /// Two threads may execute one run for a moment, while one takes it over from the other.
    open: Mutex<HashMap<(RunId, ThreadId), Doing>>,
}

#[derive(Debug)]
struct Doing {
    place: Place,
    span: Span,
    chat: Option<Chat>,
    tool: Option<Tool>,
    provider: String,
    model: String,
    usage: Usage,
    continuations: u64,
    /// The last fault of the model.
    fault: Option<&'static str>,
    /// True until something happens in the run.
    is_idle: bool,
}

#[derive(Debug)]
struct Chat {
    span: Span,
    first_chunk: Option<u64>,
}

#[derive(Debug)]
struct Tool {
    span: Span,
    delegation: Option<DelegationId>,
}

impl Watch {
    pub(super) fn new(content: bool) -> Self {
        Self { content, open: Mutex::default() }
    }

    /// Handles an event.
    pub(super) fn hear(&self, live: &Live<'_>) -> News {
        let run = live.run();
        let key = (run.id, thread::current().id());
        let mut news = News::default();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Live::Begins { .. } = live {
            let asked_for = run.delegation_id.and_then(|id| waits_for(&open, id));
            let doing = Doing::begin(run, asked_for.unwrap_or_else(Place::root));
            if let Some(left) = open.insert(key, doing) {
                left.end(None, &mut news);
            }
            return news;
        }
        if let Live::Leaves { outcome, .. } = live {
            if let Some(left) = open.remove(&key) {
                left.end(Some(outcome.as_ref().map_err(|error| error.code())), &mut news);
            }
            return news;
        }
        if let Some(doing) = open.get_mut(&key) {
            doing.hear(live, self.content, &mut news);
        }
        news
    }

    /// Ends all open spans, because no more events will come.
    pub(super) fn close(&self) -> News {
        let mut news = News::default();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Delegated runs end before the runs that wait for them.
        let mut left: Vec<Doing> = open.drain().map(|(_, doing)| doing).collect();
        left.sort_by_key(|doing| std::cmp::Reverse(doing.span.start));
        left.into_iter().for_each(|doing| doing.end(None, &mut news));
        news
    }
}

/// The place below the tool call that waits for this delegation, if it is in this process.
fn waits_for(open: &HashMap<(RunId, ThreadId), Doing>, id: DelegationId) -> Option<Place> {
    open.values().find_map(|doing| {
        let tool = doing.tool.as_ref().filter(|tool| tool.delegation == Some(id))?;
        Some(doing.place.below(&tool.span))
    })
}

impl Doing {
    fn begin(run: &Run, place: Place) -> Self {
        let (provider, model) = named(&run.settings.model);
        let agent = run.agent.as_str();
        let mut span = Span::begin(place, Kind::Internal, "invoke_agent", agent);
        span.put("gen_ai.agent.name", agent);
        span.put("gen_ai.agent.id", run.actor().principal);
        span.put("gen_ai.conversation.id", run.conversation_id.to_string());
        span.put("gen_ai.request.model", model);
        span.put("punchlist.run.id", run.id.to_string());
        span.put_some("punchlist.delegation.id", run.delegation_id.map(|id| id.to_string()));
        Self {
            place,
            span,
            chat: None,
            tool: None,
            provider: provider.to_owned(),
            model: model.to_owned(),
            usage: Usage::default(),
            continuations: 0,
            fault: None,
            is_idle: true,
        }
    }

    fn hear(&mut self, live: &Live<'_>, content: bool, news: &mut News) {
        self.is_idle = false;
        let now = self.place.clock.now();
        match *live {
            Live::Asks { run, provider } => self.asks(run, provider),
            Live::Text { .. } => {
                if let Some(chat) = &mut self.chat {
                    chat.first_chunk.get_or_insert(now);
                }
            }
            Live::Retries { attempt, pause, .. } => {
                if let Some(chat) = &mut self.chat {
                    // The text so far is discarded.
                    chat.first_chunk = None;
                    let attributes = vec![
                        ("punchlist.retry.attempt", Value::Int(attempt.into())),
                        ("punchlist.retry.pause_s", Value::Double(pause.as_secs_f64())),
                    ];
                    chat.span.happened(now, "punchlist.retry", attributes);
                }
            }
            Live::Replied { usage, stop, id, .. } | Live::Compacted { usage, stop, id, .. } => {
                if matches!(live, Live::Compacted { .. }) {
                    self.span.happened(now, "punchlist.compaction", Vec::new());
                }
                self.replied(usage, stop, id, news);
            }
            Live::Fails { fault, .. } => self.fails(fault, news),
            Live::Calls { call_id, tool, input, .. } => {
                let mut span = self.tool_span(call_id, tool);
                if content {
                    let input = input.to_string();
                    span.put("gen_ai.tool.call.arguments", cut(&input, CONTENT_MAX));
                }
                self.tool = Some(Tool { span, delegation: None });
            }
            Live::Delegates { delegation, .. } => {
                if let Some(tool) = &mut self.tool {
                    tool.span.put("punchlist.delegation.id", delegation.to_string());
                    tool.delegation = Some(delegation);
                }
            }
            Live::Returned { call_id, tool, text, is_error, .. } => {
                // A call with broken arguments has a result although it was never started.
                let mut span = self
                    .tool
                    .take()
                    .map_or_else(|| self.tool_span(call_id, tool), |tool| tool.span);
                if content {
                    span.put("gen_ai.tool.call.result", cut(text, CONTENT_MAX));
                }
                if is_error {
                    span.failed("tool_error");
                }
                self.done(span, news);
            }
            Live::Continues { .. } => {
                self.continuations += 1;
                self.span.happened(now, "punchlist.continuation", Vec::new());
            }
            Live::Waits { kind, .. } => {
                // The call is made again when the run continues.
                if let Some(Tool { mut span, .. }) = self.tool.take() {
                    span.put("punchlist.wait.kind", kind);
                    self.done(span, news);
                }
                self.span.happened(
                    now,
                    "punchlist.wait",
                    vec![("punchlist.wait.kind", kind.into())],
                );
            }
            Live::Ends { reason, .. } => {
                self.span.put("punchlist.stop_reason", reason.code());
                if matches!(reason, StopReason::Error | StopReason::Context) {
                    self.span.failed(self.fault.unwrap_or(reason.code()));
                }
            }
            Live::Begins { .. } | Live::Leaves { .. } => {}
        }
    }

    fn asks(&mut self, run: &Run, provider: &'static str) {
        provider.clone_into(&mut self.provider);
        let mut span = Span::begin(self.below(), Kind::Client, "chat", &self.model);
        span.put("gen_ai.provider.name", provider);
        span.put("gen_ai.conversation.id", run.conversation_id.to_string());
        span.put("gen_ai.request.model", self.model.as_str());
        span.put("gen_ai.request.max_tokens", Value::Int(run.settings.max_tokens.into()));
        span.put("gen_ai.request.stream", Value::Bool(true));
        span.put("punchlist.run.id", run.id.to_string());
        self.chat = Some(Chat { span, first_chunk: None });
    }

    fn replied(&mut self, usage: Usage, stop: Stop, id: Option<&str>, news: &mut News) {
        let Some(Chat { mut span, first_chunk }) = self.chat.take() else { return };
        span.put_some("gen_ai.response.id", id);
        let reasons = Value::Texts(vec![finish_reason(stop).to_owned()]);
        span.put("gen_ai.response.finish_reasons", reasons);
        self.first_chunk(&mut span, first_chunk, news);
        put_usage(&mut span, usage);
        add(&mut self.usage, usage);
        for (kind, tokens) in [("input", usage.input), ("output", usage.output)] {
            // A reply without usage has unknown usage, not zero.
            if usage != Usage::default() {
                let mut labels = self.labels();
                labels.push(("gen_ai.token.type", kind.to_owned()));
                news.figures.push((Measure::Tokens, labels, float(tokens)));
            }
        }
        self.chat_done(span, None, news);
    }

    fn fails(&mut self, fault: &Fault, news: &mut News) {
        let error = error_type(fault);
        self.fault = Some(error);
        let Some(Chat { mut span, first_chunk }) = self.chat.take() else { return };
        self.first_chunk(&mut span, first_chunk, news);
        span.failed(error);
        self.chat_done(span, Some(error), news);
    }

    fn first_chunk(&self, span: &mut Span, at: Option<u64>, news: &mut News) {
        let Some(at) = at else { return };
        let seconds = seconds(span.start, at);
        span.put("gen_ai.response.time_to_first_chunk", Value::Double(seconds));
        news.figures.push((Measure::FirstChunk, self.labels(), seconds));
    }

    fn chat_done(&self, span: Span, error: Option<&str>, news: &mut News) {
        let mut labels = self.labels();
        labels.extend(error.map(|error| ("error.type", error.to_owned())));
        let took = seconds(span.start, self.place.clock.now());
        news.figures.push((Measure::Duration, labels, took));
        self.done(span, news);
    }

    fn tool_span(&self, call_id: &str, tool: &str) -> Span {
        let mut span = Span::begin(self.below(), Kind::Internal, "execute_tool", tool);
        span.put("gen_ai.tool.name", cut(tool, CONTENT_MAX));
        span.put("gen_ai.tool.call.id", cut(call_id, CONTENT_MAX));
        span.put("gen_ai.tool.type", "function");
        span
    }

    fn below(&self) -> Place {
        self.place.below(&self.span)
    }

    fn labels(&self) -> Labels {
        vec![
            ("gen_ai.operation.name", "chat".to_owned()),
            ("gen_ai.provider.name", self.provider.clone()),
            ("gen_ai.request.model", self.model.clone()),
        ]
    }

    fn done(&self, mut span: Span, news: &mut News) {
        span.end = self.place.clock.now();
        news.spans.push(span);
    }

    /// Ends all spans of the run. Without an outcome, it is unknown how the run continues.
    fn end(mut self, outcome: Option<Result<&Outcome, &'static str>>, news: &mut News) {
        if self.is_idle && !matches!(outcome, Some(Err(_))) {
            return;
        }
        let cut_off = outcome.and_then(Result::err).unwrap_or("cancelled");
        if let Some(Chat { mut span, .. }) = self.chat.take() {
            span.failed(cut_off);
            self.chat_done(span, Some(cut_off), news);
        }
        if let Some(Tool { mut span, .. }) = self.tool.take() {
            span.failed(cut_off);
            self.done(span, news);
        }
        self.span.put("gen_ai.provider.name", self.provider.as_str());
        put_usage(&mut self.span, self.usage);
        self.span.put("punchlist.continuations", Value::Int(self.continuations));
        match outcome {
            Some(Ok(outcome)) => self.span.put("punchlist.outcome", outcome_word(*outcome)),
            Some(Err(code)) => self.span.failed(code),
            None => {}
        }
        let span = self.span.clone();
        self.done(span, news);
    }
}

/// The provider and the model in `openai:gpt-5`.
fn named(spec: &str) -> (&str, &str) {
    match spec.split_once(':') {
        Some(("openai-chat", model)) => ("openai", model),
        Some(named) => named,
        None => ("_OTHER", spec),
    }
}

const fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ended(_) => "ended",
        Outcome::Waiting => "waiting",
        Outcome::Lost => "lost",
        Outcome::Stopped => "stopped",
    }
}

/// The names in the conventions, as far as they define one.
const fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "stop",
        Stop::ToolUse => "tool_call",
        Stop::MaxTokens | Stop::Context => "length",
        Stop::Refusal => "content_filter",
        Stop::Paused => "pause",
    }
}

/// The error type. The fault's message is not sent, because it may contain content.
const fn error_type(fault: &Fault) -> &'static str {
    match fault.kind {
        FaultKind::Cancelled => "cancelled",
        FaultKind::Key => "key",
        FaultKind::Spend => "spend",
        FaultKind::BadRequest => "bad_request",
        FaultKind::Context => "context",
        FaultKind::Busy => "busy",
        FaultKind::Server => "server",
        FaultKind::Network => "network",
        FaultKind::Garbled => "garbled",
        FaultKind::Script => "script",
    }
}

fn put_usage(span: &mut Span, usage: Usage) {
    span.count("gen_ai.usage.input_tokens", usage.input);
    span.count("gen_ai.usage.output_tokens", usage.output);
    span.count("gen_ai.usage.cache_read.input_tokens", usage.cached);
    span.count("gen_ai.usage.cache_creation.input_tokens", usage.cache_written);
    span.count("gen_ai.usage.reasoning.output_tokens", usage.reasoning);
}

const fn add(sum: &mut Usage, one: Usage) {
    sum.input = sum.input.saturating_add(one.input);
    sum.cached = sum.cached.saturating_add(one.cached);
    sum.cache_written = sum.cache_written.saturating_add(one.cache_written);
    sum.output = sum.output.saturating_add(one.output);
    sum.reasoning = sum.reasoning.saturating_add(one.reasoning);
}

fn seconds(from: u64, until: u64) -> f64 {
    std::time::Duration::from_nanos(until.saturating_sub(from)).as_secs_f64()
}

/// This is exact for every realistic number of tokens.
fn float(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}
