//! Events with arbitrary values anywhere give a fault or a reply, never a panic.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::fake::{frames, head};
use crate::{FORMATS, asked, short_reply};

const TYPES: [&str; 14] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "error",
    "response.output_text.delta",
    "response.output_item.added",
    "response.output_item.done",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "text_delta",
    "tool_use",
];

const FIELDS: [&str; 22] = [
    "type",
    "index",
    "delta",
    "content_block",
    "message",
    "usage",
    "item",
    "response",
    "choices",
    "error",
    "text",
    "input",
    "partial_json",
    "stop_reason",
    "status",
    "output",
    "content",
    "tool_calls",
    "function",
    "arguments",
    "name",
    "finish_reason",
];

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3u64).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(&TYPES[..]).prop_map(Value::from),
        prop::sample::select(vec!["", "completed", "text", "function_call", "{", "\u{0}é"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let field = (prop::sample::select(&FIELDS[..]).prop_map(str::to_owned), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            prop::collection::vec(field, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn event() -> impl Strategy<Value = Value> {
    (prop::sample::select(&TYPES[..]), anything()).prop_map(|(name, mut event)| {
        if event.is_object() {
            event["type"] = name.into();
        }
        event
    })
}

/// Every place in a value, as a JSON pointer.
fn places(value: &Value, here: &str, all: &mut Vec<String>) {
    all.push(here.to_owned());
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| places(item, &format!("{here}/{index}"), all)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| places(field, &format!("{here}/{name}"), all));
        }
        _ => {}
    }
}

#[test]
fn a_reply_with_any_one_value_replaced_gives_a_fault_or_a_reply() {
    let others = [Value::Null, json!(-1), json!("x"), json!([7]), json!({"x": 1})];
    for spec in FORMATS {
        let reply = short_reply(spec);
        for (frame, event) in reply.iter().enumerate() {
            let mut all = Vec::new();
            places(event, "", &mut all);
            for (place, other) in
                all.iter().flat_map(|place| others.iter().map(move |o| (place, o)))
            {
                let mut events = reply.clone();
                *events[frame].pointer_mut(place).unwrap() = other.clone();
                if let Err(fault) = asked(spec, vec![head(), frames(&events)]).0 {
                    assert!(!fault.message.is_empty(), "{spec} {frame} {place} {other}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn arbitrary_events_give_a_fault_or_a_reply(events in prop::collection::vec(event(), 1..6)) {
        for spec in FORMATS {
            if let Err(fault) = asked(spec, vec![head(), frames(&events)]).0 {
                prop_assert!(!fault.message.is_empty());
            }
        }
    }
}
