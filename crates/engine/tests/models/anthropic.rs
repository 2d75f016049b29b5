//! Anthropic's Messages API: how replies are parsed.

use punchlist_engine::model::{Call, FaultKind, Input, Reply, Stop, Usage};
use serde_json::{Value, json};

use crate::fake::{answer, frames, head};
use crate::{Heard, asked};

const SPEC: &str = "anthropic:claude-sonnet-5";

fn read(events: &[Value]) -> (Reply, Heard) {
    let (reply, heard) = asked(SPEC, vec![head(), frames(events)]);
    (reply.unwrap(), heard)
}

fn start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn end(reason: &str) -> [Value; 2] {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    [
        json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn thinking_text_and_parallel_calls_make_one_reply() {
    let usage = json!({"input_tokens": 7, "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20, "output_tokens": 1});
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "usage": usage, "content": []}}),
        json!({"type": "ping"}),
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "Let "})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "me."})),
        delta(0, &json!({"type": "signature_delta", "signature": "c2ln"})),
        json!({"type": "content_block_stop", "index": 0}),
        start(1, &json!({"type": "redacted_thinking", "data": "b3BhcXVl"})),
        start(2, &json!({"type": "text", "text": ""})),
        delta(2, &json!({"type": "text_delta", "text": "I will "})),
        delta(2, &json!({"type": "text_delta", "text": "look."})),
        start(3, &json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": "{\"path\": \"ä"})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": ".txt\"}"})),
        start(4, &json!({"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}})),
        json!({"type": "something_new", "index": 9}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 55, "output_tokens_details": {"thinking_tokens": 30}}}),
        json!({"type": "message_stop"}),
    ];
    let (reply, heard) = read(&events);
    let call = |id: &str, name: &str, input| Call {
        id: id.into(),
        name: name.into(),
        input: Input::Json(input),
    };
    let content = json!([
        {"type": "thinking", "thinking": "Let me.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "I will look."},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "ä.txt"}},
        {"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}},
    ]);
    let expected = Reply {
        text: "I will look.".into(),
        calls: vec![
            call("toolu_1", "read", json!({"path": "ä.txt"})),
            call("toolu_2", "list", json!({})),
        ],
        raw: Some(json!({"anthropic": content})),
        stop: Stop::ToolUse,
        usage: Usage { input: 127, cached: 100, cache_written: 20, output: 55, reasoning: 30 },
        id: Some("msg_1".into()),
    };
    assert_eq!(reply, expected);
    assert_eq!(heard, ["I will ", "look."]);
    // A server that does not stream sends the same in one response.
    let body = json!({"type": "message", "id": "msg_1", "content": content, "stop_reason": "tool_use",
        "usage": {"input_tokens": 7, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
            "output_tokens": 55, "output_tokens_details": {"thinking_tokens": 30}}});
    let whole = answer("200 OK", &["Content-Type: application/json"], &body.to_string());
    assert_eq!(asked(SPEC, vec![whole]).0.unwrap(), expected);
    // The API would refuse an empty text when it is sent back.
    events.splice(8..11, [start(2, &json!({"type": "text", "text": ""}))]);
    let raw = read(&events).0.raw.unwrap();
    assert_eq!(raw["anthropic"][2]["type"], "tool_use");
}

#[test]
fn each_stop_reason_is_known() {
    let cases = [
        ("end_turn", Stop::EndTurn),
        ("stop_sequence", Stop::EndTurn),
        ("max_tokens", Stop::MaxTokens),
        ("pause_turn", Stop::Paused),
        ("refusal", Stop::Refusal),
        ("model_context_window_exceeded", Stop::Context),
        ("tool_use", Stop::EndTurn),
        ("something_new", Stop::EndTurn),
    ];
    for (reason, stop) in cases {
        assert_eq!(read(&end(reason)).0.stop, stop, "{reason}");
    }
    let why = json!({"category": "x", "explanation": "I may not."});
    let refused = [
        json!({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": why}}),
        json!({"type": "message_stop"}),
    ];
    assert_eq!(read(&refused).0.text, "I may not.");
}

#[test]
fn an_input_that_is_not_an_object_is_passed_on_as_broken() {
    for broken in ["{\"a\": ", "[1]", "nonsense"] {
        let mut events = vec![
            start(0, &json!({"type": "tool_use", "id": "t", "name": "read", "input": {}})),
            delta(0, &json!({"type": "input_json_delta", "partial_json": broken})),
        ];
        events.extend(end("max_tokens"));
        let (reply, _) = read(&events);
        assert_eq!(reply.calls[0].input, Input::Broken(broken.into()));
        assert_eq!(reply.stop, Stop::MaxTokens);
        // Anthropic accepts only objects when the input is sent back.
        assert_eq!(reply.raw.unwrap()["anthropic"][0]["input"], json!({}));
    }
}

#[test]
fn an_error_may_come_after_the_reply_has_begun() {
    let cases = [
        ("overloaded_error", FaultKind::Busy),
        ("rate_limit_error", FaultKind::Busy),
        ("api_error", FaultKind::Server),
        ("timeout_error", FaultKind::Server),
        ("invalid_request_error", FaultKind::BadRequest),
        ("authentication_error", FaultKind::Key),
        ("permission_error", FaultKind::Key),
        ("billing_error", FaultKind::Spend),
        ("request_too_large", FaultKind::Context),
        ("something_new", FaultKind::Server),
    ];
    for (kind, expected) in cases {
        let error = json!({"type": "error", "error": {"type": kind, "message": "Sorry"}});
        let events = [
            start(0, &json!({"type": "text", "text": ""})),
            delta(0, &json!({"type": "text_delta", "text": "I w"})),
            error,
        ];
        let (reply, heard) = asked(SPEC, vec![head(), frames(&events)]);
        let fault = reply.unwrap_err();
        assert_eq!(fault.kind, expected, "{kind}");
        assert!(fault.message.contains("broke off its reply with an error: Sorry"), "{fault}");
        assert_eq!(heard, ["I w"]);
    }
}

#[test]
fn blocks_that_do_not_fit_are_garbled() {
    let cases = [
        vec![delta(0, &json!({"type": "text_delta", "text": "a"}))],
        vec![start(1, &json!({"type": "text", "text": ""}))],
        vec![start(0, &json!("text"))],
        vec![start(0, &Value::Null)],
        vec![json!({"type": "message_stop"})],
    ];
    for events in cases {
        let (reply, _) = asked(SPEC, vec![head(), frames(&events)]);
        assert_eq!(reply.unwrap_err().kind, FaultKind::Garbled, "{events:?}");
    }
}
