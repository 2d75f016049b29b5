//! MCP over stdio: the catalogue's tools for one agent.
//!
//! Standard output carries protocol bytes only. Who calls and in which turn comes from the
//! process (flags, environment) and from the request's `_meta`, which the host writes; never
//! from the arguments, which the model writes. No transaction is open while the server idles,
//! and it ends when its input closes or its parent dies.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use punchlist_core::Time;
use punchlist_core::list::turn_of_message;
use punchlist_ops::catalogue::find;
use punchlist_ops::identity::Facts;
use punchlist_ops::{Envelope, Error, Operation, Ops};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;

use crate::tools::{self, Choice};
use crate::wire::Wire;

/// What a host should know before the first call; kept short, it costs every session.
const INSTRUCTIONS: &str = "punchlist keeps plans that outlive the session. \
    Turn tools: plan with create_todo, see what remains with list_todo, settle each item with \
    complete_todo before the final answer. A refusal says what is true now and what to do next.";

/// A server for one agent.
#[derive(Clone, Debug)]
pub struct McpServer {
    ops: Arc<Ops>,
    /// What the process can show for itself; judged anew at every call, so that a token that
    /// was revoked proves nothing any more.
    credentials: Arc<(Facts, Option<String>)>,
    /// The envelope of every call, but for who calls, what the host says in `_meta`, and the time.
    envelope: Arc<Envelope>,
    clock: fn() -> Time,
    choice: Choice,
}

impl McpServer {
    #[must_use]
    pub fn new(
        ops: Ops,
        credentials: (Facts, Option<String>),
        envelope: Envelope,
        clock: fn() -> Time,
        choice: Choice,
    ) -> Self {
        let (credentials, envelope) = (Arc::new(credentials), Arc::new(envelope));
        Self { ops: Arc::new(ops), credentials, envelope, clock, choice }
    }

    /// Serves standard input and output until the input closes or the parent is gone.
    pub fn serve_stdio(self, parent: Parent) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ops = Arc::clone(&self.ops);
        let served = runtime.block_on(async move {
            tokio::select! {
                served = self.serve_pipes() => served,
                () = parent.gone() => Ok(()),
            }
        });
        runtime.shutdown_timeout(Duration::from_millis(200));
        // Database connections must not be dropped inside the runtime.
        drop(ops);
        served
    }

    async fn serve_pipes(self) -> io::Result<()> {
        let (read, write) = rmcp::transport::stdio_pipes();
        match self.serve(Wire::new(read, write)).await {
            Ok(service) => service.waiting().await.map(|_| ()).map_err(io::Error::other),
            // A host that closes before it says hello has simply gone.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// The envelope of one call: what the host says in `_meta` goes before the flags.
    fn envelope(&self, meta: &JsonObject) -> Envelope {
        let say = |name: &str| meta.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut envelope = Envelope::clone(&self.envelope);
        envelope.now = (self.clock)();
        envelope.idempotency_key = say("punchlist/idempotencyKey");
        let context = &mut envelope.context;
        if let Some(session) = say("punchlist/sessionId") {
            context.session = Some(session);
        }
        if let Some(conversation) = say("punchlist/conversationId") {
            context.conversation = Some(conversation);
        }
        let (turn, message) = (say("punchlist/turnId"), say("punchlist/messageId"));
        if turn.is_some() || message.is_some() {
            let message = message.unwrap_or_default();
            context.turn = Some(turn_of_message(turn.as_deref(), &message).to_owned());
        }
        envelope
    }

    async fn call(
        &self,
        operation: &'static Operation,
        arguments: JsonObject,
        meta: &JsonObject,
    ) -> CallToolResult {
        let mut envelope = self.envelope(meta);
        let (ops, credentials) = (Arc::clone(&self.ops), Arc::clone(&self.credentials));
        let is_local = ops.is_local();
        let job = move || {
            let (facts, token) = &*credentials;
            (envelope.actor, envelope.proof) = ops.identify(facts.clone(), token.as_deref())?;
            ops.call(operation, &envelope, Value::Object(arguments))
        };
        // A file answers sooner than a second thread would wake up. A server may take its time, and
        // its connections must not be used here; the protocol goes on meanwhile.
        let called = if is_local { Ok(job()) } else { tokio::task::spawn_blocking(job).await };
        match called {
            Ok(Ok(output)) => answered(output),
            Ok(Err(error)) => refusal(&error),
            Err(_) => refusal(&Error::Internal { detail: "the call panicked".to_owned() }),
        }
    }
}

/// An answer. What comes as a list for people, too, is short text beside the structure: a model
/// pays for every word, and saying it all twice helps nobody.
fn answered(output: Value) -> CallToolResult {
    let text = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or_default();
    let (list, message) = (text("markdown").trim_end().to_owned(), text("message").to_owned());
    if list.is_empty() {
        return CallToolResult::structured(output);
    }
    let short = if message.is_empty() { list } else { format!("{list}\n\n{message}") };
    let mut result = CallToolResult::success(vec![ContentBlock::text(short)]);
    result.structured_content = Some(output);
    result
}

/// A refusal is an answer, not a broken protocol: the model reads what to do next.
pub(crate) fn refusal(error: &Error) -> CallToolResult {
    let mut text = format!("{}: {error}", error.code());
    if let Some(hint) = error.hint() {
        text.push_str(". Next: ");
        text.push_str(&hint);
    }
    let mut result = CallToolResult::structured_error(error.to_json());
    result.content = vec![ContentBlock::text(text)];
    result
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("punchlist", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send + '_ {
        let role = self.envelope.actor.role;
        let tools = tools::listed(role, self.choice).into_iter().map(tools::tool).collect();
        std::future::ready(Ok(ListToolsResult::with_all_items(tools)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Ok(operation) = find(&request.name) else {
            let message = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let result = self.call(operation, arguments, &context.meta.0.0).await;
        Ok(result.into())
    }
}

/// The process that started us. A host that was killed closes nothing, so it is watched from the
/// first moment on, also before it has said hello.
#[derive(Clone, Copy, Debug)]
pub struct Parent {
    #[cfg(unix)]
    id: u32,
}

impl Parent {
    /// Whose child we are; to be asked first of all, while the answer is still true.
    #[must_use]
    pub fn now() -> Self {
        Self {
            #[cfg(unix)]
            id: std::os::unix::process::parent_id(),
        }
    }

    /// Ends when the parent does.
    async fn gone(self) {
        #[cfg(unix)]
        while std::os::unix::process::parent_id() == self.id {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        #[cfg(not(unix))]
        std::future::pending::<()>().await;
    }
}
