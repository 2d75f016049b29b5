//! An MCP server of tools: a program that is started when it is first needed and stopped when we
//! end.
//!
//! The protocol is asynchronous and the engine is not. So each server has a thread with its own
//! async runtime, and callers wait for it with a timeout. A server that crashes is restarted once.
//! A call that was in progress is not repeated, because it may have been executed.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use punchlist_ops::config::{Server, outside_name};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    ContentBlock, Implementation, JsonObject, PaginatedRequestParams, ResourceContents,
};
use rmcp::service::{Peer, RoleClient, RunningService, ServiceError};
use rmcp::{ServiceExt, model};
use serde_json::Value;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::user::ENVIRONMENT;
use super::{ToolAnswer, cut};
use crate::model::{Cancel, Tool};
use crate::process::{Fault, Group, Patience, Program, TICK, Tap, ended};

/// How often a server is started: once, and once more after a crash.
const STARTS_MAX: u32 = 2;

/// How many of a server's tools are used.
const TOOLS_MAX: usize = 500;

/// How many tools a server may list, before the configuration filters them, and in how many pages.
const TOOLS_LISTED_MAX: usize = 5_000;
const PAGES_MAX: usize = 500;

/// The longest tool name that every provider accepts.
const NAME_MAX: usize = 64;

/// How long a server may take to end.
const FAREWELL: Duration = Duration::from_millis(500);

/// A tool of a server.
#[derive(Clone, Debug)]
pub(super) struct Offered {
    /// The tool as a model sees it.
    pub(super) tool: Tool,
    /// The server's own name for it.
    pub(super) own_name: String,
    pub(super) mutates: bool,
}

/// A server, running or not.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) server: Server,
    folder: PathBuf,
    link: Mutex<Link>,
}

#[derive(Debug, Default)]
struct Link {
    running: Option<Running>,
    starts: u32,
    /// How it ended the last time.
    end: Option<String>,
}

/// A running server.
#[derive(Debug)]
struct Running {
    /// `None` only while the server is being stopped.
    asks: Option<UnboundedSender<Ask>>,
    thread: Option<JoinHandle<()>>,
    offered: Arc<[Offered]>,
    end: Arc<Mutex<Option<String>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.asks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A result, an error, or `None` if the call timed out or was cancelled.
type Answer = Result<CallToolResult, Option<String>>;

/// One call, and the channel for its answer.
#[derive(Debug)]
struct Ask {
    tool: String,
    input: JsonObject,
    timeout: Duration,
    cancel: Cancel,
    reply: mpsc::Sender<Answer>,
}

impl Client {
    pub(super) fn new(name: &str, server: &Server, folder: PathBuf) -> Self {
        let (name, server) = (name.to_owned(), server.clone());
        Self { name, server, folder, link: Mutex::default() }
    }

    /// The server's tools that the configuration uses. Starts the server if it is not running.
    pub(super) fn offered(&self, cancel: &Cancel) -> Result<Arc<[Offered]>, String> {
        let is_stopped = || cancel.is_cancelled();
        let connected = self.connected(&Patience::new(self.timeout(), &is_stopped));
        connected.map(|(_, offered)| offered).map_err(|fault| self.words(&fault))
    }

    /// The tools of a running server. Starts nothing.
    pub(super) fn known(&self) -> Option<Arc<[Offered]>> {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.running.as_ref().map(|running| Arc::clone(&running.offered))
    }

    pub(super) fn call(&self, tool: &str, input: &Value, cancel: &Cancel) -> ToolAnswer {
        let Some(input) = input.as_object().cloned() else {
            return ToolAnswer::error(format!("the input of {tool} is not an object"));
        };
        let is_stopped = || cancel.is_cancelled();
        let patience = Patience::new(self.timeout(), &is_stopped);
        match self.ask(tool, input, cancel, &patience) {
            Ok(result) => answer(&result),
            Err(fault) => ToolAnswer::error(self.words(&fault)),
        }
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.server.timeout.as_seconds())
    }

    fn words(&self, fault: &Fault) -> String {
        match fault {
            Fault::Failed(why) => format!("the server {} {why}", self.name),
            Fault::Stopped => format!("the call of the server {} was stopped", self.name),
        }
    }

    fn ask(
        &self,
        tool: &str,
        input: JsonObject,
        cancel: &Cancel,
        patience: &Patience<'_>,
    ) -> Result<CallToolResult, Fault> {
        let (asks, _) = self.connected(patience)?;
        let (reply, answered) = mpsc::channel();
        let left = patience.deadline().saturating_duration_since(Instant::now());
        let (tool, cancel) = (tool.to_owned(), cancel.clone());
        let ask = Ask { tool, input, timeout: left, cancel, reply };
        asks.send(ask).map_err(|_| self.gone(&asks))?;
        loop {
            match answered.recv_timeout(TICK) {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(Some(why))) => return Err(Fault::Failed(why)),
                Ok(Err(None)) => {
                    patience.check()?;
                    return Err(patience.over());
                }
                Err(RecvTimeoutError::Timeout) => patience.check()?,
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone(&asks)),
            }
        }
    }

    /// The error of a server that ended during a call. Waits a moment to learn how it ended.
    fn gone(&self, asks: &UnboundedSender<Ask>) -> Fault {
        // The server's thread takes up to two farewells for that, on a busy machine more.
        let until = Instant::now() + FAREWELL * 4;
        while !asks.is_closed() && Instant::now() < until {
            std::thread::sleep(TICK);
        }
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let end = link
            .running
            .as_ref()
            .and_then(|running| running.end.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let how = end.unwrap_or_else(|| "ended".to_owned());
        Fault::Failed(format!("{how}; whether the call was carried out is not known"))
    }

    /// The running server, or a new one.
    fn connected(
        &self,
        patience: &Patience<'_>,
    ) -> Result<(UnboundedSender<Ask>, Arc<[Offered]>), Fault> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &link.running {
            if let Some(asks) = running.asks.as_ref().filter(|asks| !asks.is_closed()) {
                return Ok((asks.clone(), Arc::clone(&running.offered)));
            }
            let end = running.end.lock().unwrap_or_else(PoisonError::into_inner).clone();
            link.end = end.or(link.end.take());
            link.running = None;
        }
        if link.starts >= STARTS_MAX {
            let how = link.end.as_deref().unwrap_or("did not start");
            return Err(Fault::Failed(format!("{how}, twice: it is not started again")));
        }
        link.starts += 1;
        match self.start(patience) {
            Ok(running) => {
                let offered = Arc::clone(&running.offered);
                let asks = running.asks.clone().ok_or_else(|| Fault::failed("ended"))?;
                link.running = Some(running);
                Ok((asks, offered))
            }
            Err(fault) => {
                match &fault {
                    Fault::Failed(why) => link.end = Some(why.clone()),
                    // We stopped waiting: the server did not fail.
                    Fault::Stopped => link.starts -= 1,
                }
                Err(fault)
            }
        }
    }

    fn start(&self, patience: &Patience<'_>) -> Result<Running, Fault> {
        let named = self.server.env.iter().map(String::as_str);
        let environment: Vec<&str> = ENVIRONMENT.into_iter().chain(named).collect();
        let program = Program {
            words: &self.server.command,
            directory: Some(&self.folder),
            environment: &environment,
            fixed: &[],
        };
        let group = program.start(Stdio::piped())?;
        let (asks, asked) = unbounded_channel();
        let (ready, started) = mpsc::channel();
        let end = Arc::new(Mutex::new(None));
        let told = Arc::clone(&end);
        let thread = std::thread::spawn(move || serve(group, asked, &ready, &told));
        let (asks, thread) = (Some(asks), Some(thread));
        let mut running = Running { asks, thread, offered: Arc::new([]), end };
        loop {
            match started.recv_timeout(TICK) {
                Ok(Ok(tools)) => {
                    running.offered = self.used(tools);
                    return Ok(running);
                }
                Ok(Err(why)) => return Err(Fault::Failed(why)),
                Err(RecvTimeoutError::Timeout) => patience.check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    let end = running.end.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    return Err(Fault::Failed(end.unwrap_or_else(|| "did not start".to_owned())));
                }
            }
        }
    }

    /// The tools that the configuration allows, each with a unique name.
    fn used(&self, tools: Vec<model::Tool>) -> Arc<[Offered]> {
        let mut used: Vec<Offered> = Vec::new();
        for tool in tools.into_iter().filter(|tool| self.server.offers(&tool.name)) {
            let name = speakable(&outside_name(&self.name, &tool.name));
            if used.len() == TOOLS_MAX || used.iter().any(|other| other.tool.name == name) {
                continue;
            }
            let hints = tool.annotations.as_ref();
            let mutates = hints.and_then(|hints| hints.read_only_hint) != Some(true);
            let description = tool.description.as_deref().unwrap_or_default().to_owned();
            let input = Value::Object(tool.input_schema.as_ref().clone());
            let own_name = tool.name.into_owned();
            used.push(Offered { tool: Tool { name, description, input }, own_name, mutates });
        }
        used.into()
    }
}

/// Converts a name to one that every provider accepts.
fn speakable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    name.chars().take(NAME_MAX).collect()
}

/// The thread of a server: starts the protocol, then serves calls until the client is dropped or the
/// server ends.
fn serve(
    mut group: Group,
    asked: UnboundedReceiver<Ask>,
    ready: &mpsc::Sender<Result<Vec<model::Tool>, String>>,
    end: &Mutex<Option<String>>,
) {
    let complaint = Tap::complaint(group.0.stderr.take());
    let streams = group.0.stdin.take().zip(group.0.stdout.take());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (Some((stdin, stdout)), Ok(runtime)) = (streams, runtime) else {
        let _ = ready.send(Err("could not be spoken to".to_owned()));
        return;
    };
    let note = |group: &mut Group| {
        // Give it a moment to exit, and its last error a moment to arrive.
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            if let Ok(Some(status)) = group.0.try_wait() {
                complaint.is_over_within(FAREWELL);
                return ended(status, &complaint.kept());
            }
            std::thread::sleep(TICK);
        }
        "closed its output".to_owned()
    };
    runtime.block_on(async {
        let mut asked = asked;
        let pipes = ChildStdout::from_std(stdout).and_then(|out| {
            let input = ChildStdin::from_std(stdin)?;
            Ok((out, input))
        });
        let Ok(pipes) = pipes else {
            let _ = ready.send(Err("could not be spoken to".to_owned()));
            return;
        };
        let begun = tokio::select! {
            begun = begin(pipes) => begun,
            // The client was dropped.
            _ = asked.recv() => return,
        };
        let (service, tools) = match begun {
            Ok(begun) => begun,
            Err(why) => {
                let how = note(&mut group);
                let why = if how == "closed its output" { why } else { how };
                let _ = ready.send(Err(why));
                return;
            }
        };
        let _ = ready.send(Ok(tools));
        if answer_all(service, &mut asked).await == Over::Crashed {
            let how = note(&mut group);
            *end.lock().unwrap_or_else(PoisonError::into_inner) = Some(how);
        }
    });
    runtime.shutdown_timeout(TICK);
    // A server that does not exit is killed with its process group.
    for _ in 0..10 {
        if matches!(group.0.try_wait(), Ok(Some(_))) {
            break;
        }
        std::thread::sleep(TICK);
    }
}

type Service = RunningService<RoleClient, ClientConfig>;

async fn begin(pipes: (ChildStdout, ChildStdin)) -> Result<(Service, Vec<model::Tool>), String> {
    let us = Implementation::new("punchlist", env!("CARGO_PKG_VERSION"));
    let config = ClientConfig::new(ClientCapabilities::default(), us);
    let service = config.serve(pipes).await;
    let service = service.map_err(|error| format!("does not speak MCP: {error}"))?;
    let tools = list(&service).await;
    let tools = tools.map_err(|error| format!("does not list its tools: {error}"))?;
    Ok((service, tools))
}

/// The tools of a server, page by page, up to a limit.
async fn list(service: &Service) -> Result<Vec<model::Tool>, ServiceError> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let found = service.list_tools(Some(page)).await?;
        tools.extend(found.tools);
        cursor = found.next_cursor;
        if cursor.is_none() || tools.len() > TOOLS_LISTED_MAX {
            break;
        }
    }
    tools.truncate(TOOLS_LISTED_MAX);
    Ok(tools)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Crashed,
    Unwanted,
}

async fn answer_all(service: Service, asked: &mut UnboundedReceiver<Ask>) -> Over {
    let peer = service.peer().clone();
    let stop = service.cancellation_token();
    let waiting = service.waiting();
    tokio::pin!(waiting);
    loop {
        tokio::select! {
            _ = &mut waiting => return Over::Crashed,
            ask = asked.recv() => match ask {
                Some(ask) => drop(tokio::spawn(answer_one(peer.clone(), ask))),
                None => {
                    stop.cancel();
                    let _ = tokio::time::timeout(FAREWELL, waiting).await;
                    return Over::Unwanted;
                }
            },
        }
    }
}

async fn answer_one(peer: Peer<RoleClient>, ask: Ask) {
    let params = CallToolRequestParams::new(ask.tool).with_arguments(ask.input);
    let called = tokio::select! {
        called = tokio::time::timeout(ask.timeout, peer.call_tool_once(params)) => called,
        // Dropping the call sends the server a cancellation.
        () = cancelled(&ask.cancel) => {
            let _ = ask.reply.send(Err(None));
            return;
        }
    };
    let answer = match called {
        Ok(Ok(CallToolResponse::Complete(result))) => Ok(result),
        Ok(Ok(CallToolResponse::InputRequired(_))) => Err(Some("asks for more input".to_owned())),
        Ok(Ok(_)) => Err(Some("answered with something that is not a result".to_owned())),
        Ok(Err(ServiceError::McpError(error))) => {
            Err(Some(format!("refused it: {}", error.message)))
        }
        // The server ended. The caller sees the closed channel and finds out why.
        Ok(Err(ServiceError::TransportClosed | ServiceError::TransportSend(_))) => return,
        Ok(Err(error)) => Err(Some(format!("did not answer: {error}"))),
        Err(_) => Err(None),
    };
    let _ = ask.reply.send(answer);
}

async fn cancelled(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(TICK).await;
    }
}

/// A result as text for a model. Content that is not text is only named.
fn answer(result: &CallToolResult) -> ToolAnswer {
    let parts: Vec<String> = result.content.iter().map(part).collect();
    let text = match (&result.structured_content, parts.is_empty()) {
        (Some(structured), true) => structured.to_string(),
        _ => parts.join("\n"),
    };
    ToolAnswer { text: cut(text), is_error: result.is_error == Some(true) }
}

fn part(content: &ContentBlock) -> String {
    let left_out = |what: &str, kind: &str, length: usize| {
        format!("[{what} of type {kind}, {length} bytes of base64, left out]")
    };
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("an image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => left_out("a sound", &audio.mime_type, audio.data.len()),
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
                left_out("a file", mime_type.as_deref().unwrap_or("unknown"), blob.len())
            }
            _ => "[something that cannot be shown]".to_owned(),
        },
        _ => "[something that cannot be shown]".to_owned(),
    }
}
