//! `punch mcp` seen by a real client: the tools, their answers, and where the context comes from.
//!
//! The client is rmcp's own, over the child's streams, in both eras of the protocol.

use jsonschema::Validator;
use punchlist_core::Role;
use punchlist_ops::CATALOGUE;
use punchlist_testkit::Backend;
use rmcp::model::{CallToolRequestParams, MetaObject, ProtocolVersion, RequestMetaObject};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceError};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::life;
use crate::support::{Names, Place, Punch};

const TURN_TOOLS: [&str; 3] = ["create_todo", "list_todo", "complete_todo"];
const SESSION_TOOLS: [&str; 2] = ["todo_write", "todo_read"];

/// How a connection begins.
#[derive(Clone, Copy, Debug)]
enum Era {
    /// `initialize`, up to 2025-11-25.
    Handshake,
    /// `server/discover`, from 2026-07-28 on.
    Discover,
}

/// A client with its own server.
pub(crate) struct Client {
    runtime: Runtime,
    service: RunningService<RoleClient, ()>,
}

impl Client {
    pub(crate) fn start(punch: &Punch) -> Self {
        Self::in_era(punch, Era::Handshake)
    }

    fn in_era(punch: &Punch, era: Era) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let lifecycle = match era {
            Era::Handshake => ClientLifecycleMode::Initialize,
            Era::Discover => {
                let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
                ClientLifecycleMode::Discover { preferred_versions }
            }
        };
        let command = tokio::process::Command::from(punch.command());
        let service = runtime.block_on(async move {
            let server = TokioChildProcess::new(command).unwrap();
            serve_client_with_lifecycle((), server, lifecycle).await.unwrap()
        });
        Self { runtime, service }
    }

    pub(crate) fn tools(&self) -> Vec<Value> {
        let tools = self.runtime.block_on(self.service.list_all_tools()).unwrap();
        tools.iter().map(|tool| serde_json::to_value(tool).unwrap()).collect()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// A call with the host's `_meta`. Returns the whole result.
    fn result(&self, tool: &str, arguments: &Value, meta: &Value) -> Result<Value, ServiceError> {
        let fields = |value: &Value| -> Map<String, Value> { value.as_object().unwrap().clone() };
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(fields(arguments));
        params.meta = Some(RequestMetaObject(MetaObject(fields(meta))));
        let result = self.runtime.block_on(self.service.call_tool(params))?;
        Ok(serde_json::to_value(result).unwrap())
    }

    /// The structured content of a successful result.
    pub(crate) fn answer(&self, tool: &str, arguments: &Value, meta: &Value) -> Value {
        let mut result = self.result(tool, arguments, meta).unwrap();
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        result["structuredContent"].take()
    }

    /// The error object of a refusal.
    pub(crate) fn refusal(&self, tool: &str, arguments: &Value, meta: &Value) -> Value {
        let mut result = self.result(tool, arguments, meta).unwrap();
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        result["structuredContent"]["error"].take()
    }

    /// Closes the streams, and waits until the server has ended.
    pub(crate) fn end(self) {
        self.runtime.block_on(self.service.cancel()).unwrap();
    }
}

fn server(place: &Place, words: &[&str]) -> Punch {
    place.punch(["mcp"]).words(words)
}

fn in_turn(turn: &str) -> Value {
    json!({ "punchlist/conversationId": "c1", "punchlist/turnId": turn })
}

fn one(title: &str) -> Value {
    json!({ "items": [{ "title": title }] })
}

/// The titles that a new process sees in a turn (P-15).
fn titles(place: &Place, turn: &str) -> Vec<String> {
    let listed = place.call_in("c1", turn, "list_todo", "{}").answer();
    let items = listed["items"].as_array().unwrap();
    items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect()
}

/// The same script as over `punch call`, answer by answer; each answer matches the tool's schema.
fn a_turn_lives_over_mcp(backend: Backend, era: Era) {
    let place = Place::new(backend);
    let client = Client::in_era(&server(&place, &["--profile", "turn"]), era);
    let tools = client.tools();
    life::play(|step| {
        let mut result = client.result(step.operation, &step.input, &in_turn(step.turn)).unwrap();
        let structured = result["structuredContent"].take();
        let refused = structured.get("error").is_some();
        assert_eq!(result["isError"], refused, "{structured}");
        fits(&tools, step.operation, &structured);
        let text = result["content"][0]["text"].as_str().unwrap();
        if refused {
            let error = &structured["error"];
            let say = |name: &str| error[name].as_str().unwrap();
            let words = format!("{}: {}. Next: {}", say("code"), say("message"), say("hint"));
            assert_eq!(text, words);
        } else {
            assert!(!text.is_empty());
        }
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
        structured
    });
    client.end();
}

/// Hosts check every structured answer, even refusals, against the listed schema, and discard what
/// does not match.
pub(crate) fn fits(tools: &[Value], name: &str, structured: &Value) {
    let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
    let schema: Validator = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
    let faults: Vec<String> =
        schema.iter_errors(structured).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, [""; 0], "{name}: {structured}");
}

#[test]
fn a_turn_lives_over_mcp_on_sqlite() {
    a_turn_lives_over_mcp(Backend::SqliteFile, Era::Handshake);
}

#[test]
fn a_turn_lives_over_mcp_in_the_new_era() {
    a_turn_lives_over_mcp(Backend::SqliteFile, Era::Discover);
}

#[test]
fn a_turn_lives_over_mcp_on_postgres() {
    a_turn_lives_over_mcp(Backend::Postgres, Era::Handshake);
}

#[test]
fn a_turn_lives_over_mcp_on_postgres_in_the_new_era() {
    a_turn_lives_over_mcp(Backend::Postgres, Era::Discover);
}

#[test]
fn the_server_identifies_itself() {
    let place = Place::sqlite();
    for era in [Era::Handshake, Era::Discover] {
        let client = Client::in_era(&server(&place, &[]), era);
        let info = serde_json::to_value(client.service.peer_info().unwrap()).unwrap();
        let expected = json!({ "name": "punchlist", "version": env!("CARGO_PKG_VERSION") });
        assert_eq!(info["serverInfo"], expected, "{era:?}: {info}");
        let capabilities = json!({ "tools": { "listChanged": true }, "prompts": {},
            "resources": { "listChanged": true, "subscribe": true } });
        assert_eq!(info["capabilities"], capabilities, "{era:?}: {info}");
        assert!(info["instructions"].as_str().unwrap().contains("checkpoint"), "{info}");
        client.end();
    }
}

#[test]
fn the_turn_tools_match_their_golden() {
    let place = Place::sqlite();
    let client = Client::start(&server(&place, &["--profile", "turn"]));
    let tools = client.tools();
    insta::assert_snapshot!("turn_tools", format!("{:#}", Value::Array(tools.clone())));
    for tool in &tools {
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{tool}");
            jsonschema::meta::validate(&tool[schema]).unwrap();
        }
    }
    client.end();
}

#[test]
fn the_default_tools_of_a_role_are_cheap() {
    // P-6
    let place = Place::sqlite();
    let operator = place.operator();
    let token = |role: &str| {
        let made = place.punch(["token", "new", "--role", role, "--json"]).with(&operator).answer();
        Some(made["token"].as_str().unwrap().to_owned())
    };
    for (words, token) in [
        (&[][..], None),
        (&["--as", "worker"], None),
        (&["--agent", "primary.subagents.x"], None),
        (&["--profile", "session"], None),
        (&[], Some(operator.clone())),
        (&[], token("lead")),
        (&[], token("owner")),
        (&[], token("root")),
        (&[], token("worker")),
    ] {
        let server = server(&place, words);
        let server = token.iter().fold(server, |server, secret| server.with(secret));
        let client = Client::start(&server);
        let cost = |tool: &Value| {
            let texts = [tool["name"].as_str(), tool["description"].as_str()];
            let texts: usize = texts.map(|text| text.unwrap().chars().count()).iter().sum();
            texts + tool["inputSchema"].to_string().chars().count()
        };
        let characters: usize = client.tools().iter().map(cost).sum();
        assert!(characters / 4 <= 1_200, "{words:?}: {} tokens", characters / 4);
        client.end();
    }
}

#[test]
fn a_profile_trims_the_list_and_not_the_authority() {
    let place = Place::sqlite();
    let turn = [&TURN_TOOLS[..], &["delegate"]].concat();
    // Everything the role may use; operations only for the operator are not included.
    let usable = CATALOGUE.iter().filter(|operation| operation.access.allows(Role::Root));
    let all: Vec<&str> = usable.map(|operation| operation.name).collect();
    assert!(all.contains(&"todo") && !all.contains(&"gate_answer"), "{all:?}");
    for (profile, listed) in [
        ("turn", &turn[..]),
        ("all", &all),
        ("plan", &["plan", "todo_claim"]),
        ("session", &SESSION_TOOLS),
    ] {
        let client = Client::start(&server(&place, &["--profile", profile]));
        assert_eq!(client.names(), listed, "{profile}");
        let answer = client.answer("create_todo", &one("a"), &in_turn(profile));
        assert_eq!(answer["totalPending"], 1, "{profile}");
        client.end();
    }
}

/// The context comes from the flags; `_meta` overrides them. It never comes from the arguments.
fn the_context_comes_from_the_host(backend: Backend) {
    let place = Place::new(backend);
    let client = Client::start(&server(&place, &["--conversation", "c1", "--turn", "flag"]));
    let create = |title: &str, meta: &Value| {
        let answer = client.answer("create_todo", &one(title), meta);
        assert_eq!(answer["totalPending"], 1, "{title}");
    };
    create("by flag", &json!({}));
    // T-7: the turn of a message is the one it names, otherwise the message itself.
    create("by turn", &json!({ "punchlist/turnId": "t2" }));
    create("by message", &json!({ "punchlist/messageId": "m1" }));
    create("by both", &json!({ "punchlist/turnId": "t3", "punchlist/messageId": "m2" }));
    // T-19: a turn that a model names is ignored, wherever it is.
    let arguments = json!({
        "items": [{ "title": "by model", "turnId": "t2", "conversationId": "c9" }],
        "turnId": "t2", "conversationId": "c9", "sessionId": "s9", "agentId": "a9",
    });
    let answer = client.answer("create_todo", &arguments, &json!({}));
    assert_eq!(answer["totalPending"], 2);
    assert_eq!(titles(&place, "flag"), ["by flag", "by model"]);
    assert_eq!(titles(&place, "t2"), ["by turn"]);
    assert_eq!(titles(&place, "m1"), ["by message"]);
    assert_eq!(titles(&place, "t3"), ["by both"]);
    assert_eq!(titles(&place, "m2"), [""; 0]);
    // Another conversation has its own turn of that name.
    let elsewhere = json!({ "punchlist/conversationId": "c2", "punchlist/turnId": "t2" });
    create("by conversation", &elsewhere);
    assert_eq!(titles(&place, "t2"), ["by turn"]);
    client.end();
}

#[test]
fn the_context_comes_from_the_host_on_sqlite() {
    the_context_comes_from_the_host(Backend::SqliteFile);
}

#[test]
fn the_context_comes_from_the_host_on_postgres() {
    the_context_comes_from_the_host(Backend::Postgres);
}

#[test]
fn a_missing_context_is_named() {
    // T-20
    let place = Place::sqlite();
    let client = Client::start(&server(&place, &[]));
    let missing = |meta: Value| client.refusal("list_todo", &json!({}), &meta)["missing"].clone();
    assert_eq!(missing(json!({})), json!(["conversation", "turn"]));
    assert_eq!(missing(json!({ "punchlist/turnId": "t1" })), json!(["conversation"]));
    assert_eq!(missing(json!({ "punchlist/conversationId": "c1" })), json!(["turn"]));
    // Only the host's own names count, and anything else than a text is refused.
    let odd = json!({ "punchlist/turnId": null, "turnId": "t1" });
    assert_eq!(missing(odd), json!(["conversation", "turn"]));
    let number = json!({ "punchlist/conversationId": 1, "punchlist/turnId": "t1" });
    let refused = client.refusal("list_todo", &json!({}), &number);
    assert_eq!(refused["code"], "bad_value", "{refused}");
    assert_eq!(refused["path"], "_meta[\"punchlist/conversationId\"]", "{refused}");
    client.end();
}

/// One key has one effect, whatever the order of the fields; another input is a conflict.
fn keys_are_honoured(backend: Backend) {
    let place = Place::new(backend);
    let client = Client::start(&server(&place, &["--conversation", "c1", "--turn", "t1"]));
    let key = json!({ "punchlist/idempotencyKey": "k1" });
    let first = client.answer("create_todo", &one("once"), &key);
    assert_eq!(client.answer("create_todo", &one("once"), &key), first);
    let conflict = client.refusal("create_todo", &one("twice"), &key);
    let expected = json!({
        "code": "idempotency_conflict",
        "message": "the idempotency key `k1` was used before with another input",
        "hint": "use a new key for a new request", "idempotencyKey": "k1",
    });
    assert_eq!(conflict, expected);
    // The same agent on another surface: still the same request.
    let again = place.call("create_todo", &one("once")).words(["--idempotency-key", "k1"]);
    assert_eq!(again.answer(), first);
    assert_eq!(titles(&place, "t1"), ["once"]);
    client.end();
}

#[test]
fn idempotency_keys_are_honoured_on_sqlite() {
    keys_are_honoured(Backend::SqliteFile);
}

#[test]
fn idempotency_keys_are_honoured_on_postgres() {
    keys_are_honoured(Backend::Postgres);
}

/// Values that a host may write into `_meta` and that no database stores.
fn odd_meta_is_refused(backend: Backend) {
    let place = Place::new(backend);
    let client = Client::start(&server(&place, &["--conversation", "c1", "--turn", "t1"]));
    for (name, length) in
        [("turnId", 0), ("conversationId", 0), ("idempotencyKey", 0), ("turnId", 501)]
    {
        let text = if length == 0 { "a\0b".to_owned() } else { "x".repeat(length) };
        let meta = json!({ format!("punchlist/{name}"): text });
        let code = client.refusal("create_todo", &one("a"), &meta)["code"].clone();
        let expected = if length == 0 { "bad_value" } else { "too_long" };
        assert_eq!(code, expected, "{name}");
    }
    // A key that is no text would not protect the write.
    let meta = json!({ "punchlist/idempotencyKey": 5 });
    assert_eq!(client.refusal("create_todo", &one("a"), &meta)["code"], "bad_value");
    assert_eq!(titles(&place, "t1"), [""; 0]);
    client.end();
}

#[test]
fn odd_meta_is_refused_on_sqlite() {
    odd_meta_is_refused(Backend::SqliteFile);
}

#[test]
fn odd_meta_is_refused_on_postgres() {
    odd_meta_is_refused(Backend::Postgres);
}

/// A server does not cache identities: a token is checked at every call.
#[test]
fn a_running_server_stops_answering_a_revoked_token() {
    let place = Place::sqlite();
    let token = |role: &str, secret: &str| {
        let made = place.punch(["token", "new", "--role", role, "--json"]);
        made.env("PUNCHLIST_TOKEN", secret).answer()
    };
    let operator = &place.operator();
    let made = token("root", operator);
    let secret = made["token"].as_str().unwrap();
    let client = Client::start(&server(&place, &[]).env("PUNCHLIST_TOKEN", secret));
    assert_eq!(client.answer("create_todo", &one("a"), &in_turn("t1"))["totalPending"], 1);
    let id = made["id"].as_str().unwrap();
    let revoke = place.punch(["token", "revoke", id, "--json"]);
    revoke.env("PUNCHLIST_TOKEN", operator).answer();
    let before = place.log_length();
    let error = client.refusal("create_todo", &one("b"), &in_turn("t1"));
    assert_eq!((&error["code"], error["revokedAt"].is_string()), (&json!("token_invalid"), true));
    assert_eq!(place.log_length(), before);
    client.end();
}

#[test]
fn a_worker_sees_no_turn_tools_and_is_refused_by_name() {
    // T-21
    let place = Place::sqlite();
    place.create("the plan");
    let before = place.log_length();
    let worker = ["--agent", "primary.subagents.x", "--conversation", "c1", "--turn", "t1"];
    let own = ["plan", "todo_claim"];
    let usable = CATALOGUE.iter().filter(|operation| operation.access.allows(Role::Worker));
    let all: Vec<&str> = usable.map(|operation| operation.name).collect();
    for (more, listed) in
        [(&[][..], &own[..]), (&["--profile", "turn"], &[]), (&["--profile", "all"], &all)]
    {
        let client = Client::start(&server(&place, &[&worker, more].concat()));
        assert_eq!(client.names(), listed, "{more:?}");
        for (tool, action) in TURN_TOOLS.iter().zip(["create", "view", "complete"]) {
            let arguments = json!({ "todoId": "a", "outcome": "b", "items": [] });
            let error = client.refusal(tool, &arguments, &json!({}));
            let expected = json!({
                "code": "not_permitted",
                "message": format!("the role worker may not {action} on a turn list"),
                "hint": "workers report back to the agent that delegated; it keeps the list",
                "role": "worker", "action": action, "list": "turn", "todoKind": "step",
                "denial": "role",
            });
            assert_eq!(error, expected);
        }
        client.end();
    }
    assert_eq!(place.log_length(), before);
}

#[test]
fn a_tool_that_does_not_exist_is_a_protocol_error() {
    let place = Place::sqlite();
    let client = Client::start(&server(&place, &["--conversation", "c1", "--turn", "t1"]));
    for name in ["creat_todo", "turn", ""] {
        match client.result(name, &json!({}), &json!({})) {
            Err(ServiceError::McpError(error)) => {
                let expected = json!({
                    "code": -32602, "message": format!("there is no tool `{name}`"),
                });
                assert_eq!(serde_json::to_value(error).unwrap(), expected);
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    // The server continues to work.
    assert_eq!(client.answer("create_todo", &one("a"), &json!({}))["totalPending"], 1);
    client.end();
}

/// P-15: two servers on one store; each sees at once what the other has written.
fn servers_see_each_other(backend: Backend) {
    let place = Place::new(backend);
    let start = || Client::start(&server(&place, &["--conversation", "c1", "--turn", "t1"]));
    let (left, right) = (start(), start());
    let mut names = Names::default();
    for n in 1..=5 {
        let (writer, reader) = if n % 2 == 0 { (&left, &right) } else { (&right, &left) };
        let created = writer.answer("create_todo", &one(&format!("item {n}")), &json!({}));
        let id = names.hide(&created["created"][0]["id"]);
        let seen = names.hide(&reader.answer("list_todo", &json!({}), &json!({})));
        assert_eq!(seen["items"].as_array().unwrap().len(), n);
        assert_eq!(seen["items"][n - 1]["id"], id);
    }
    let todo = names.reveal(&json!({ "todoId": "<id 2>", "outcome": "seen" }));
    assert_eq!(left.answer("complete_todo", &todo, &json!({}))["remaining"], 4);
    let again = right.refusal("complete_todo", &todo, &json!({}));
    assert_eq!(again["code"], "already_settled");
    left.end();
    right.end();
}

#[test]
fn two_servers_see_each_other_on_sqlite() {
    servers_see_each_other(Backend::SqliteFile);
}

#[test]
fn two_servers_see_each_other_on_postgres() {
    servers_see_each_other(Backend::Postgres);
}
