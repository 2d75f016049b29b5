//! Models: each wire format against a server that follows or breaks it; scripts; and retries.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

mod anthropic;
mod bad_servers;
mod fake;
mod nonsense;
mod openai_chat;
mod openai_responses;
mod patience;
mod requests;
mod scripts;

use std::time::Duration;

use fake::{Act, serve};
use punchlist_engine::model::{
    Cancel, Fault, Message, Model, Progress, Reply, Request, Settings, open,
};
use serde_json::{Value, json};

/// Long enough for a server on a busy machine.
const LONG: Duration = Duration::from_secs(30);

const KEY: &str = "test-key-0123456789";

/// One model of each wire format, and Ollama, which uses the third format.
const FORMATS: [&str; 4] = ["anthropic:m", "openai:m", "openai-chat:m", "ollama:m"];

fn at(address: &str, spec: &str, idle: Duration) -> Box<dyn Model> {
    let settings = Settings { idle: Some(idle), connect: LONG, ..Settings::default() };
    with(address, spec, &settings)
}

fn with(address: &str, spec: &str, settings: &Settings) -> Box<dyn Model> {
    let env = |name: &str| match name {
        "ANTHROPIC_BASE_URL" | "OLLAMA_HOST" => Some(address.to_owned()),
        "OPENAI_BASE_URL" => Some(format!("{address}/v1/")),
        "ANTHROPIC_API_KEY" | "OPENAI_API_KEY" => Some(KEY.to_owned()),
        _ => None,
    };
    open(spec, settings, &env).unwrap()
}

/// Everything that was observed, as text.
type Heard = Vec<String>;

fn ask(model: &dyn Model, request: &Request<'_>, cancel: &Cancel) -> (Result<Reply, Fault>, Heard) {
    let mut heard = Vec::new();
    let reply = model.respond(request, cancel, &mut |told| {
        heard.push(match told {
            Progress::Text(text) => text.to_owned(),
            Progress::Retry { attempt, fault, .. } => format!("retry {attempt}: {fault}"),
        });
    });
    (reply, heard)
}

fn hello() -> Vec<Message> {
    vec![Message::User { text: "hello".into() }]
}

fn request(messages: &[Message]) -> Request<'_> {
    Request { system: "", context: None, messages, tools: &[], max_tokens: 100 }
}

/// Calls a model whose server plays this scene.
fn asked(spec: &str, scene: Vec<Act>) -> (Result<Reply, Fault>, Heard) {
    let fake = serve(vec![scene]);
    let model = at(&fake.address, spec, LONG);
    ask(model.as_ref(), &request(&hello()), &Cancel::default())
}

/// A whole short reply in each format, frame by frame.
fn short_reply(spec: &str) -> Vec<Value> {
    match spec.split(':').next().unwrap() {
        "anthropic" => vec![
            json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 5}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ],
        "openai" => vec![
            json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
            json!({"type": "response.output_text.delta", "delta": "Hi."}),
            json!({"type": "response.completed", "response": {
                "id": "resp_1", "status": "completed", "usage": {"input_tokens": 5, "output_tokens": 2},
                "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}],
            }}),
        ],
        _ => vec![
            json!({"id": "c1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
            json!({"id": "c1", "choices": [{"index": 0, "delta": {"content": "Hi."}}]}),
            json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
            json!({"id": "c1", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
            json!("[DONE]"),
        ],
    }
}
