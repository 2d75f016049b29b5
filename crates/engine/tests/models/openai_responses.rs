//! OpenAI's Responses API: how replies are parsed.

use punchlist_engine::model::{Call, FaultKind, Input, Reply, Stop, Usage};
use serde_json::{Value, json};

use crate::fake::{answer, frames, head};
use crate::{Heard, asked};

const SPEC: &str = "openai:gpt-5";

fn read(events: &[Value]) -> (Reply, Heard) {
    let (reply, heard) = asked(SPEC, vec![head(), frames(events)]);
    (reply.unwrap(), heard)
}

fn ended(kind: &str, response: &Value) -> Value {
    json!({"type": format!("response.{kind}"), "response": response})
}

fn function_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc", "call_id": id, "name": name, "arguments": arguments})
}

#[test]
fn reasoning_text_and_parallel_calls_make_one_reply() {
    let items = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"},
        {"type": "message", "id": "m_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "I will look.", "annotations": []}]},
        function_call("call_1", "read", "{\"path\":\"a\"}"),
        function_call("call_2", "list", ""),
    ]);
    let usage = json!({"input_tokens": 120, "input_tokens_details": {"cached_tokens": 100,
        "cache_write_tokens": 3}, "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 30}});
    let response = json!({"id": "resp_1", "status": "completed", "output": items, "usage": usage});
    let added = |index: usize| json!({"type": "response.output_item.added", "item": items[index]});
    let done = |index: usize| json!({"type": "response.output_item.done", "item": items[index]});
    let mut events = vec![
        ended("created", &json!({"id": "resp_1", "status": "in_progress"})),
        added(0),
        json!({"type": "response.reasoning_summary_text.delta", "delta": "secret"}),
        done(0),
        json!({"type": "response.output_text.delta", "delta": "I will "}),
        json!({"type": "response.output_text.delta", "delta": "look."}),
        json!({"type": "response.output_text.done", "text": "I will look."}),
        done(1),
        added(2),
        json!({"type": "response.function_call_arguments.delta", "delta": "{\"path\""}),
        done(2),
        added(3),
        done(3),
        json!({"type": "response.something_new"}),
        ended("completed", &response),
    ];
    let call = |id: &str, name: &str, input| Call {
        id: id.into(),
        name: name.into(),
        input: Input::Json(input),
    };
    let expected = Reply {
        text: "I will look.".into(),
        calls: vec![
            call("call_1", "read", json!({"path": "a"})),
            call("call_2", "list", json!({})),
        ],
        raw: Some(json!({"openai_responses": items})),
        stop: Stop::ToolUse,
        usage: Usage { input: 120, cached: 100, cache_written: 3, output: 50, reasoning: 30 },
        id: Some("resp_1".into()),
    };
    let (reply, heard) = read(&events);
    assert_eq!(reply, expected);
    assert_eq!(heard, ["I will ", "look."]);
    // The last event of some servers leaves the items out.
    let bare = json!({"id": "resp_1", "status": "completed", "output": [], "usage": usage});
    *events.last_mut().unwrap() = ended("completed", &bare);
    assert_eq!(read(&events).0, expected);
    // A server that does not stream sends the same in one response.
    let whole = answer("200 OK", &["Content-Type: application/json"], &response.to_string());
    let (reply, heard) = asked(SPEC, vec![whole]);
    assert_eq!(reply.unwrap(), expected);
    assert_eq!(heard, ["I will look."]);
}

#[test]
fn reasoning_without_its_content_is_not_sent_back() {
    let items = json!([{"type": "reasoning", "id": "rs_1", "summary": []}]);
    let response = json!({"status": "completed", "output": items});
    assert_eq!(read(&[ended("completed", &response)]).0.raw, None);
}

#[test]
fn each_way_to_end_is_known() {
    let message = |part: Value| json!({"type": "message", "content": [part]});
    let refusal = message(json!({"type": "refusal", "refusal": "I may not."}));
    let text = message(json!({"type": "output_text", "text": "Hi."}));
    let cases = [
        ("completed", Value::Null, json!([text]), "Hi.", Stop::EndTurn),
        ("completed", Value::Null, json!([refusal]), "I may not.", Stop::Refusal),
        ("completed", Value::Null, json!([function_call("c", "f", "{}")]), "", Stop::ToolUse),
        (
            "incomplete",
            json!({"reason": "max_output_tokens"}),
            json!([text]),
            "Hi.",
            Stop::MaxTokens,
        ),
        ("incomplete", json!({"reason": "content_filter"}), json!([]), "", Stop::Refusal),
        ("incomplete", Value::Null, json!([]), "", Stop::MaxTokens),
    ];
    for (status, details, output, said, stop) in cases {
        let response = json!({"status": status, "incomplete_details": details, "output": output});
        let (reply, _) = read(&[ended(status, &response)]);
        assert_eq!((reply.text.as_str(), reply.stop), (said, stop), "{response}");
    }
}

#[test]
fn an_input_that_is_not_an_object_is_passed_on_as_broken() {
    for broken in ["{\"a\": ", "[1]", "nonsense"] {
        let output = json!([function_call("c", "f", broken)]);
        let response = json!({"status": "incomplete", "output": output});
        let (reply, _) = read(&[ended("incomplete", &response)]);
        assert_eq!(reply.calls[0].input, Input::Broken(broken.into()));
    }
}

#[test]
fn an_error_may_come_after_the_reply_has_begun() {
    let cases = [
        ("server_error", FaultKind::Server),
        ("rate_limit_exceeded", FaultKind::Busy),
        ("server_is_overloaded", FaultKind::Busy),
        ("slow_down", FaultKind::Busy),
        ("context_length_exceeded", FaultKind::Context),
        ("insufficient_quota", FaultKind::Spend),
        ("usage_limit_reached", FaultKind::Spend),
        ("invalid_prompt", FaultKind::BadRequest),
        ("something_new", FaultKind::Server),
    ];
    for (code, expected) in cases {
        let error = json!({"code": code, "message": "Sorry"});
        let ends = [
            ended("failed", &json!({"status": "failed", "error": error})),
            json!({"type": "error", "code": code, "message": "Sorry"}),
            json!({"type": "error", "error": error}),
        ];
        for end in ends {
            let begun = json!({"type": "response.output_text.delta", "delta": "I w"});
            let (reply, heard) = asked(SPEC, vec![head(), frames(&[begun, end.clone()])]);
            let fault = reply.unwrap_err();
            assert_eq!(fault.kind, expected, "{end}");
            assert!(fault.message.contains("broke off its reply with an error: Sorry"), "{fault}");
            assert_eq!(heard, ["I w"]);
        }
    }
}

#[test]
fn a_last_event_without_content_is_garbled() {
    let cases = [
        (json!({}), FaultKind::Garbled),
        (json!("done"), FaultKind::Garbled),
        (Value::Null, FaultKind::Garbled),
        (json!({"status": "cancelled"}), FaultKind::Server),
    ];
    for (response, expected) in cases {
        let (reply, _) = asked(SPEC, vec![head(), frames(&[ended("completed", &response)])]);
        assert_eq!(reply.unwrap_err().kind, expected, "{response}");
    }
}
