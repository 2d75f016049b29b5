//! Chat Completions: how replies are parsed, from OpenAI and from servers that differ slightly.

use punchlist_engine::model::{Call, FaultKind, Input, Reply, Stop, Usage};
use serde_json::{Value, json};

use crate::fake::{answer, frames, head};
use crate::{Heard, asked};

const SPEC: &str = "openai-chat:gpt-4o";

fn read(events: &[Value]) -> (Reply, Heard) {
    let (reply, heard) = asked(SPEC, vec![head(), frames(events)]);
    (reply.unwrap(), heard)
}

fn chunk(delta: &Value) -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn calls(parts: &Value) -> Value {
    chunk(&json!({"tool_calls": parts}))
}

fn call(id: &str, name: &str, input: Value) -> Call {
    Call { id: id.into(), name: name.into(), input: Input::Json(input) }
}

#[test]
fn text_and_parallel_calls_make_one_reply() {
    let usage = json!({"prompt_tokens": 120, "prompt_tokens_details": {"cached_tokens": 100},
        "completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 30}});
    let events = [
        chunk(&json!({"role": "assistant", "content": "I will "})),
        chunk(&json!({"content": "look.", "reasoning_content": "secret"})),
        calls(&json!([{"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "read", "arguments": ""}}])),
        calls(&json!([{"index": 0, "function": {"arguments": "{\"path\":"}}])),
        calls(&json!([{"index": 1, "id": "call_2", "type": "function",
            "function": {"name": "list", "arguments": ""}}])),
        calls(&json!([{"index": 0, "function": {"arguments": "\"a\"}"}},
            {"index": 1, "function": {"arguments": "{}"}}])),
        finish("tool_calls"),
        json!({"id": "c1", "choices": [], "usage": usage}),
        json!("[DONE]"),
    ];
    let expected = Reply {
        text: "I will look.".into(),
        calls: vec![
            call("call_1", "read", json!({"path": "a"})),
            call("call_2", "list", json!({})),
        ],
        raw: None,
        stop: Stop::ToolUse,
        usage: Usage { input: 120, cached: 100, cache_written: 0, output: 50, reasoning: 30 },
        id: Some("c1".into()),
    };
    let (reply, heard) = read(&events);
    assert_eq!(reply, expected);
    assert_eq!(heard, ["I will ", "look."]);
    // A server that does not stream sends the same in one response.
    let message = json!({"role": "assistant", "content": "I will look.", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
        {"id": "call_2", "type": "function", "function": {"name": "list", "arguments": "{}"}},
    ]});
    let choices = json!([{"index": 0, "message": message, "finish_reason": "tool_calls"}]);
    let body = json!({"id": "c1", "choices": choices, "usage": usage});
    let whole = answer("200 OK", &["Content-Type: application/json"], &body.to_string());
    let (reply, heard) = asked(SPEC, vec![whole]);
    assert_eq!(reply.unwrap(), expected);
    assert_eq!(heard, ["I will look."]);
}

#[test]
fn calls_are_kept_apart_if_a_server_does_not_number_them() {
    let whole = |id: &Value, index: &Value, name: &str| {
        let function = json!({"name": name, "arguments": "{}"});
        json!({"index": index, "id": id, "function": function})
    };
    // All calls have the same index, as some servers that send whole calls do.
    let events = [
        calls(&json!([whole(&json!("a"), &json!(0), "read")])),
        calls(&json!([whole(&json!("b"), &json!(0), "read")])),
        finish("stop"),
    ];
    let (reply, _) = read(&events);
    assert_eq!(reply.calls, [call("a", "read", json!({})), call("b", "read", json!({}))]);
    assert_eq!(reply.stop, Stop::ToolUse);
    // Without indexes or ids: ids are generated, and differ from turn to turn.
    let none = Value::Null;
    let events = [
        calls(&json!([whole(&none, &none, "read"), whole(&none, &none, "list")])),
        finish("tool_calls"),
    ];
    let (reply, _) = read(&events);
    let expected = [call("call_1_0", "read", json!({})), call("call_1_1", "list", json!({}))];
    assert_eq!(reply.calls, expected);
    // The input as an object.
    let object = json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]);
    let (reply, _) = read(&[calls(&object), finish("tool_calls")]);
    assert_eq!(reply.calls, [call("a", "f", json!({"x": 1}))]);
    // A part that belongs to no call.
    let part = calls(&json!([{"index": 3, "function": {"arguments": "{}"}}]));
    let (reply, _) = asked(SPEC, vec![head(), frames(&[part])]);
    assert_eq!(reply.unwrap_err().kind, FaultKind::Garbled);
}

#[test]
fn each_finish_reason_is_known() {
    let cases = [
        ("stop", Stop::EndTurn),
        ("length", Stop::MaxTokens),
        ("content_filter", Stop::Refusal),
        ("tool_calls", Stop::EndTurn),
        ("something_new", Stop::EndTurn),
    ];
    for (reason, stop) in cases {
        assert_eq!(read(&[finish(reason), json!("[DONE]")]).0.stop, stop, "{reason}");
        // Not every server sends `[DONE]`.
        assert_eq!(read(&[finish(reason)]).0.stop, stop, "{reason}");
    }
    let (reply, heard) = read(&[chunk(&json!({"refusal": "I may not."})), finish("stop")]);
    assert_eq!((reply.text.as_str(), reply.stop), ("I may not.", Stop::Refusal));
    assert_eq!(heard, ["I may not."]);
}

#[test]
fn an_input_that_is_not_an_object_is_passed_on_as_broken() {
    for broken in ["{\"a\": ", "[1]", "nonsense"] {
        let part = json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": broken}}]);
        let (reply, _) = read(&[calls(&part), finish("length")]);
        assert_eq!(reply.calls[0].input, Input::Broken(broken.into()));
        assert_eq!(reply.stop, Stop::MaxTokens);
    }
}

#[test]
fn an_error_may_come_after_the_reply_has_begun() {
    let cases = [
        (json!({"error": {"code": "rate_limit_exceeded", "message": "Sorry"}}), FaultKind::Busy),
        (json!({"error": {"type": "server_error", "message": "Sorry"}}), FaultKind::Server),
        (json!({"error": "Sorry"}), FaultKind::Server),
        (json!({"error": {"code": 502, "message": "Sorry"}}), FaultKind::Server),
        (finish("error"), FaultKind::Server),
        (json!("[DONE]"), FaultKind::Garbled),
    ];
    for (end, expected) in cases {
        let (reply, _) = asked(SPEC, vec![head(), frames(&[chunk(&json!({})), end.clone()])]);
        assert_eq!(reply.unwrap_err().kind, expected, "{end}");
    }
}
