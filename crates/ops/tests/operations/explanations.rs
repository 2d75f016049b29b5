//! The error for a malformed input, for each kind of fault.

use punchlist_ops::dispatch::{INPUT_MAX, parse_json};
use punchlist_testkit::{Backend, World};
use serde_json::{Value, json};

fn fault(operation: &str, input: Value) -> (String, String, String) {
    let world = World::new(Backend::SqliteMemory);
    let error = world.call(operation, input).unwrap_err();
    assert_eq!(error.meaning().exit, 2, "{error}");
    (error.code().to_owned(), error.to_string(), error.hint().unwrap_or_default())
}

fn told(operation: &str, input: Value, code: &str, message: &str, hint: &str) {
    let expected = (code.to_owned(), message.to_owned(), hint.to_owned());
    assert_eq!(fault(operation, input), expected);
}

#[test]
fn every_fault_names_the_field_the_problem_and_the_fix() {
    let item = |item: Value| json!({ "items": [{ "title": "ok" }, item] });
    let create = "create_todo";
    told(
        create,
        json!({ "item": [] }),
        "unknown_field",
        "unknown field `item`",
        "did you mean `items`?",
    );
    told(
        create,
        item(json!({ "title": "x", "completioncriteria": "y" })),
        "unknown_field",
        "unknown field `items[1].completioncriteria`",
        "did you mean `completionCriteria`?",
    );
    told(
        create,
        item(json!({ "title": "x", "zzz": "y" })),
        "unknown_field",
        "unknown field `items[1].zzz`",
        "the fields are: title, context, completionCriteria, agentType, order",
    );
    told(create, json!({}), "missing_field", "`items` is missing or empty", "give `items`");
    told(
        create,
        json!({ "items": [] }),
        "missing_field",
        "`items` is missing or empty",
        "give `items`",
    );
    told(
        create,
        item(json!({ "title": " \n" })),
        "missing_field",
        "`items[1].title` is missing or empty",
        "give `items[1].title`",
    );
    told(
        create,
        json!({ "items": "a" }),
        "wrong_type",
        "`items` should be an array, not a string",
        "give an array",
    );
    told(
        create,
        item(json!({ "title": 7 })),
        "wrong_type",
        "`items[1].title` should be a string, not a number",
        "give a string",
    );
    told(
        create,
        item(json!({ "title": "x", "order": 1.5 })),
        "wrong_type",
        "`items[1].order` should be an integer, not a decimal number",
        "give an integer",
    );
    told(
        create,
        item(json!({ "title": "x", "order": 0 })),
        "bad_value",
        "`items[1].order` cannot be 0",
        "it must be 1 to 1000000",
    );
    told(
        create,
        item(json!({ "title": "ä".repeat(501) })),
        "too_long",
        "`items[1].title` has 501 characters; the limit is 500",
        "shorten it",
    );
    told(
        create,
        item(json!({ "title": "x", "context": "ä".repeat(32_769) })),
        "too_long",
        "`items[1].context` has 65538 bytes; the limit is 65536",
        "shorten it",
    );
    told(
        create,
        item(json!({ "title": "a\0b" })),
        "bad_value",
        "`items[1].title` cannot be a text with a NUL character",
        "it must be text without NUL",
    );
    told(
        "list_todo",
        json!({ "status": "open" }),
        "bad_value",
        "`status` cannot be `open`",
        "it must be pending, in_progress, completed, cancelled, all",
    );
    told(
        "complete_todo",
        json!({ "todoId": "x" }),
        "missing_field",
        "`outcome` is missing or empty",
        "give `outcome`",
    );
    told(
        "list_todo",
        json!([1]),
        "wrong_type",
        "`input` should be an object, not an array",
        "give an object",
    );
    let many: Vec<Value> = (0..201).map(|n| json!({ "title": n.to_string() })).collect();
    told(
        create,
        json!({ "items": many }),
        "too_long",
        "`items` has 201 items; the limit is 200",
        "shorten it",
    );
}

/// ADR 0007: the limits are in the parser and in the schema; the schema explains what the parser
/// refuses. No case here may fall back to the parser's own message.
#[test]
fn no_bad_value_falls_back_to_the_parsers_message() {
    let strange = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!([]),
        json!({}),
        json!("\0"),
    ];
    for operation in punchlist_ops::CATALOGUE {
        let world = World::new(Backend::SqliteMemory);
        let role = punchlist_core::Role::Operator;
        let example: Value = serde_json::from_str(operation.example).unwrap();
        let fields: Vec<String> = operation.input_schema()["properties"]
            .as_object()
            .map(|fields| fields.keys().cloned().collect())
            .unwrap_or_default();
        for field in fields {
            for value in &strange {
                let mut input = example.clone();
                input[&field] = value.clone();
                if let Err(error) = world.ops.call(operation, &world.envelope(role), input) {
                    assert_ne!(error.code(), "invalid_input", "{} {field} {value}", operation.name);
                }
            }
        }
    }
}

#[test]
fn malformed_json_and_oversized_input_are_refused() {
    assert_eq!(parse_json("  "), Ok(json!({})));
    assert_eq!(parse_json("{").unwrap_err().code(), "invalid_json");
    assert_eq!(parse_json("{'a':1}").unwrap_err().code(), "invalid_json");
    assert_eq!(parse_json(&"[".repeat(10_000)).unwrap_err().code(), "invalid_json");
    let error = parse_json(&" ".repeat(INPUT_MAX + 1)).unwrap_err();
    assert_eq!(error.to_string(), format!("the input is larger than {INPUT_MAX} bytes"));
}
