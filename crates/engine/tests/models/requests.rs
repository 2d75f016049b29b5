//! The requests in each format, for one history that contains everything.

use punchlist_engine::model::{Call, CallResult, Cancel, Input, Message, Request, Settings, Tool};
use serde_json::{Value, json};

use crate::fake::{Asked, frames, head, serve};
use crate::{KEY, LONG, ask, at, hello, request, short_reply, with};

fn call(id: &str, name: &str, input: Input) -> Call {
    Call { id: id.into(), name: name.into(), input }
}

fn result(id: &str, name: &str, text: &str, is_error: bool) -> CallResult {
    CallResult { id: id.into(), name: name.into(), text: text.into(), is_error }
}

/// Two turns: one with data that the provider wants back, one of another provider.
fn history(raw: Option<Value>) -> Vec<Message> {
    vec![
        Message::User { text: "Look at both files.".into() },
        Message::Assistant {
            text: "I will look.".into(),
            calls: vec![
                call("c1", "read", Input::Json(json!({"path": "a"}))),
                call("c2", "list", Input::Broken("{".into())),
            ],
            raw,
        },
        Message::Results(vec![
            result("c1", "read", "{\"text\":\"A\"}", false),
            result("c2", "list", "the input is no JSON", true),
        ]),
        Message::User { text: "[synthetic] Go on.".into() },
        Message::Assistant {
            text: String::new(),
            calls: vec![call("c3", "list", Input::Json(json!({})))],
            raw: Some(json!({"another_maker": [1]})),
        },
        Message::Results(vec![result("c3", "list", "", false)]),
    ]
}

fn sent(spec: &str, raw: Option<Value>) -> Asked {
    let fake = serve(vec![vec![head(), frames(&short_reply(spec))]]);
    let model = at(&fake.address, spec, LONG);
    let tool = |name: &str| Tool {
        name: name.into(),
        description: format!("Does {name}."),
        input: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    let (messages, tools) = (history(raw), [tool("read"), tool("list")]);
    let request = Request {
        system: "You work.",
        context: Some("1 open"),
        messages: &messages,
        tools: &tools,
        max_tokens: 4096,
    };
    ask(model.as_ref(), &request, &Cancel::default()).0.unwrap();
    fake.asked.recv().unwrap()
}

#[test]
fn anthropic_gets_all_results_first_and_its_own_content_unchanged() {
    let content = json!([
        {"type": "thinking", "thinking": "Let me.", "signature": "c2ln"},
        {"type": "text", "text": "I will look."},
        {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
        {"type": "tool_use", "id": "c2", "name": "list", "input": {}},
    ]);
    let asked = sent("anthropic:claude-sonnet-5", Some(json!({"anthropic": content})));
    assert_eq!(asked.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(asked.header("x-api-key"), Some(KEY));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.body["messages"][1]["content"], content);
    insta::assert_json_snapshot!("anthropic", asked.body);
}

#[test]
fn responses_get_their_items_unchanged_and_store_nothing() {
    let items = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I will look."}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"a\"}"},
        {"type": "function_call", "call_id": "c2", "name": "list", "arguments": "{"},
    ]);
    let asked = sent("openai:gpt-5", Some(json!({"openai_responses": items})));
    assert_eq!(asked.line, "POST /v1/responses HTTP/1.1");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    insta::assert_json_snapshot!("openai_responses", asked.body);
    // Older models have no reasoning to include.
    assert_eq!(sent("openai:gpt-4.1", None).body["include"], Value::Null);
}

#[test]
fn chat_gets_one_message_for_each_result() {
    let asked = sent("openai-chat:gpt-4o", None);
    assert_eq!(asked.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    insta::assert_json_snapshot!("openai_chat", asked.body);
}

#[test]
fn ollama_is_asked_without_a_key() {
    let asked = sent("ollama:qwen3:8b", None);
    assert_eq!(asked.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(asked.body["model"], "qwen3:8b");
}

#[test]
fn the_reasoning_effort_is_sent_in_each_providers_format() {
    let cases = [
        ("anthropic:m", "/output_config/effort"),
        ("openai:m", "/reasoning/effort"),
        ("openai-chat:m", "/reasoning_effort"),
        ("ollama:m", "/reasoning_effort"),
    ];
    for (spec, place) in cases {
        let fake = serve(vec![vec![head(), frames(&short_reply(spec))]]);
        let settings = Settings { effort: Some("low".into()), ..Settings::default() };
        let model = with(&fake.address, spec, &settings);
        ask(model.as_ref(), &request(&hello()), &Cancel::default()).0.unwrap();
        let body = fake.asked.recv().unwrap().body;
        assert_eq!(body.pointer(place), Some(&json!("low")), "{body}");
        // Without a system text or tools, these fields are not sent.
        let fields = ["system", "instructions", "tools"];
        assert!(fields.iter().all(|field| body.get(field).is_none()), "{body}");
    }
}
