//! The requests of the protocol. Each is passed on to the file that answers it.

use std::borrow::Cow;
use std::future::Future;

use punchlist_core::Role;
use punchlist_ops::tools::instructions;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::asker::Asker;
use super::resources::{failed, refused};
use super::{McpServer, prompts, resources, tools};
use crate::http::state::short;

/// How long a client may cache a list that rarely changes. It is notified of changes.
const RARELY_MS: u64 = 60_000;
/// How much of an unknown method's name is repeated in the error.
const NAME_SHOWN: usize = 60;

/// Without a session, changes cannot be announced.
const SESSION_NEEDED: &str =
    "subscriptions need a session: send initialize first, and its Mcp-Session-Id with this request";

fn not_offered(why: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None)
}

/// Refuses a cursor of a list that has one page.
fn is_first(page: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    match page.and_then(|page| resources::given(page.cursor.as_deref())) {
        Some(_) => Err(resources::wrong_cursor()),
        None => Ok(()),
    }
}

impl McpServer {
    fn info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("punchlist", env!("CARGO_PKG_VERSION")))
            .with_instructions(instructions(self.asker.actor().role, self.choice))
    }

    /// The sender of a request, in the session and the turn that its `_meta` names.
    fn told(&self, context: &RequestContext<RoleServer>) -> Result<Asker, ErrorData> {
        let told = self.asker.told(&context.meta.0.0);
        told.map_err(|error| ErrorData::invalid_params(error.to_string(), Some(error.to_json())))
    }

    /// The caller's current role. Its token may have been revoked or replaced.
    async fn role(&self) -> Result<Role, ErrorData> {
        if self.asker.is_request() {
            return Ok(self.asker.actor().role);
        }
        let asker = self.asker.clone();
        let judged = short(&self.asker.ops, move || asker.judged()).await;
        match judged {
            Ok((actor, _)) => Ok(actor.role),
            Err(error) if error.meaning().http < 500 => Err(refused(&error)),
            Err(error) => Err(failed(&error)),
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        self.info()
    }

    fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<InitializeResult, ErrorData>> + Send + '_ {
        let negotiated = self.negotiate_initialize(&request);
        context.peer.set_peer_info(request);
        std::future::ready(negotiated)
    }

    fn discover(
        &self,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<DiscoverResult, ErrorData>> + Send + '_ {
        let versions = self.supported_protocol_versions().into_owned();
        let found = DiscoverResult::from_server_info(versions, self.info());
        let found = found.with_ttl_ms(RARELY_MS).with_cache_scope(CacheScope::Private);
        std::future::ready(Ok(found))
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        is_first(page.as_ref())?;
        let listed = tools::listed(self.role().await?, self.choice);
        // A server with one client lists them about once, and would keep them for nothing.
        let is_shared = self.asker.is_request();
        let tools = listed.into_iter().map(if is_shared { tools::cached } else { tools::tool });
        let tools = tools.collect();
        let result = ListToolsResult::with_all_items(tools);
        Ok(result.with_ttl_ms(RARELY_MS).with_cache_scope(CacheScope::Private))
    }

    fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send + '_ {
        // On the heap: the library moves the future of a request several times, and it is as large
        // as the largest of them.
        Box::pin(self.call(request, context))
    }

    fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourcesResult, ErrorData>> + Send + '_ {
        Box::pin(async move {
            let asker = self.told(&context)?;
            resources::listed(&asker, request.and_then(|request| request.cursor)).await
        })
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        is_first(page.as_ref())?;
        Ok(resources::listed_templates(self.role().await?))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let asker = self.told(&context)?;
        Box::pin(resources::resource(&asker, &request.uri)).await.map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(session) = &self.session {
            return Box::pin(self.keep(session.of(&self.asker), request.uri)).await;
        }
        if self.asker.is_request() {
            return Err(not_offered(SESSION_NEEDED));
        }
        Box::pin(self.watch(request.uri)).await?;
        self.announce(context.peer);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(session) = &self.session {
            return self.drop_kept(session.of(&self.asker), request.uri).await;
        }
        if self.asker.is_request() {
            return Err(not_offered(SESSION_NEEDED));
        }
        self.unwatch(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // Over HTTP, `prepare` already ran on a thread that may block. Here there is only one
        // client, and it waits for the answer, so blocking is fine.
        let is_prepared = self.asker.is_request();
        std::thread::scope(|scope| {
            let prepare = || match is_prepared {
                true => self.prepared(requested),
                false => self.prepare(requested),
            };
            scope.spawn(prepare).join().ok()
        })
    }

    fn listen(
        &self,
        context: SubscriptionContext,
    ) -> impl Future<Output = Result<(), ErrorData>> + Send + '_ {
        Box::pin(self.listen_to(context))
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        is_first(page.as_ref())?;
        Ok(prompts::listed(self.role().await?))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let meta = &context.meta.0.0;
        let prompt = prompts::prompt(&self.asker, &request.name, request.arguments, meta);
        Box::pin(prompt).await.map(Into::into)
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        // Arguments of prompts are numbers of issues and free text.
        Err(not_offered("completion/complete is not offered"))
    }

    async fn on_custom_request(
        &self,
        CustomRequest { method, .. }: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method: String = method.chars().take(NAME_SHOWN).collect();
        let why = format!("there is no method `{method}`; operations are called with tools/call");
        Err(not_offered(why))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if !self.asker.is_request() {
            self.announce(context.peer);
        }
    }
}
