//! The whole life of a turn's plan as a script: each call and its exact answer.
//!
//! Every surface plays the same script, so that they cannot differ. Ids are written as `<id n>`, in
//! the order of their first appearance.

use serde_json::{Value, json};

use crate::support::{NOW, Names};

/// One call and its whole answer; a refusal answers with its error object.
pub(crate) struct Step {
    pub(crate) turn: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) input: Value,
    pub(crate) answer: Value,
}

/// Plays the script on a surface, which gets each step with the real ids.
pub(crate) fn play(mut call: impl FnMut(&Step) -> Value) {
    let mut names = Names::default();
    for (number, mut step) in script().into_iter().enumerate() {
        step.input = names.reveal(&step.input);
        let answer = names.hide(&call(&step));
        let asked = format!("step {number}: {} {}", step.operation, step.input);
        assert_eq!(answer, step.answer, "{asked}");
    }
}

fn step(turn: &'static str, operation: &'static str, input: Value, answer: Value) -> Step {
    Step { turn, operation, input, answer }
}

fn script() -> Vec<Step> {
    let mut steps = planning();
    steps.extend(draining());
    steps.extend(other_turns());
    steps
}

fn summary(pending: u64, completed: u64, cancelled: u64) -> Value {
    json!({
        "total": pending + completed + cancelled, "pending": pending, "inProgress": 0,
        "completed": completed, "cancelled": cancelled,
    })
}

/// An item as `list_todo` shows it: these fields over the defaults.
fn item(id: u64, title: &str, priority: i64, fields: &Value) -> Value {
    let mut item = json!({
        "id": format!("<id {id}>"), "title": title, "context": "", "completionCriteria": "",
        "agentType": null, "status": "pending", "priority": priority, "outcome": null,
        "createdAt": NOW, "startedAt": null, "completedAt": null,
    });
    for (name, value) in fields.as_object().unwrap() {
        item[name] = value.clone();
    }
    item
}

fn measure(fields: &Value) -> Value {
    let mut all = json!({
        "context": "CI takes 9 minutes", "completionCriteria": "A table of steps",
        "agentType": "researcher",
    });
    for (name, value) in fields.as_object().unwrap() {
        all[name] = value.clone();
    }
    item(1, "Measure the build", 1, &all)
}

fn planning() -> Vec<Step> {
    vec![
        // Reading a turn without a plan shows nothing and creates nothing.
        step("t1", "list_todo", json!({}), json!({ "items": [], "summary": summary(0, 0, 0) })),
        // T-9, T-10: a batch with every field; the order is returned as it was given.
        step(
            "t1",
            "create_todo",
            json!({ "items": [
                {
                    "title": "Measure the build", "context": "CI takes 9 minutes",
                    "completionCriteria": "A table of steps", "agentType": "researcher",
                    "order": 2,
                },
                { "title": "  Write it up\n" },
                { "title": "Ask what hurts", "order": 1 },
            ]}),
            json!({ "created": [
                { "id": "<id 1>", "title": "Measure the build", "order": 2 },
                { "id": "<id 2>", "title": "Write it up", "order": 3 },
                { "id": "<id 3>", "title": "Ask what hurts", "order": 1 },
            ], "totalPending": 3 }),
        ),
        // T-11: a second batch continues after the last item.
        step(
            "t1",
            "create_todo",
            json!({ "items": [{ "title": "Send it", "context": null, "agentType": " " }] }),
            json!({
                "created": [{ "id": "<id 4>", "title": "Send it", "order": 4 }],
                "totalPending": 4,
            }),
        ),
        // T-12: if one item is bad, none of the batch is created (the next answer shows it).
        step(
            "t1",
            "create_todo",
            json!({ "items": [{ "title": "good" }, { "title": " " }] }),
            json!({ "error": {
                "code": "missing_field", "message": "`items[1].title` is missing or empty",
                "hint": "give `items[1].title`", "path": "items[1].title",
            }}),
        ),
        // T-5, T-6, T-14, T-15, X-2: every field, sorted by priority, which is the order minus one.
        // A null agentType means the supervisor itself.
        step(
            "t1",
            "list_todo",
            json!({}),
            json!({ "items": [
                item(3, "Ask what hurts", 0, &json!({})),
                measure(&json!({})),
                item(2, "Write it up", 2, &json!({})),
                item(4, "Send it", 3, &json!({})),
            ], "summary": summary(4, 0, 0) }),
        ),
    ]
}

fn draining() -> Vec<Step> {
    let asked = json!({
        "status": "completed", "outcome": "The tests", "startedAt": NOW, "completedAt": NOW,
    });
    let dropped =
        json!({ "status": "cancelled", "outcome": "Nobody reads it", "completedAt": NOW });
    vec![
        // T-16, T-17: completed by default.
        step(
            "t1",
            "complete_todo",
            json!({ "todoId": "<id 3>", "outcome": " The tests " }),
            json!({
                "id": "<id 3>", "title": "Ask what hurts", "status": "completed",
                "outcome": "The tests", "completedAt": NOW, "remaining": 3,
            }),
        ),
        // T-16, T-36: a cancellation has an outcome, too.
        step(
            "t1",
            "complete_todo",
            json!({ "todoId": "<id 4>", "outcome": "Nobody reads it", "status": "cancelled" }),
            json!({
                "id": "<id 4>", "title": "Send it", "status": "cancelled",
                "outcome": "Nobody reads it", "completedAt": NOW, "remaining": 2,
            }),
        ),
        // T-18: a settled item stays settled.
        step(
            "t1",
            "complete_todo",
            json!({ "todoId": "<id 3>", "outcome": "Again" }),
            json!({ "error": {
                "code": "already_settled",
                "message": "`Ask what hurts` is already completed since 2026-11-15T08:00:00Z",
                "hint": "create a new item instead, or ask the operator to reopen it",
                "todoId": "<id 3>", "title": "Ask what hurts", "status": "completed",
                "settledAt": NOW, "outcome": "The tests",
            }}),
        ),
        // T-13, T-14: open items by default, and counts over the whole turn.
        step(
            "t1",
            "list_todo",
            json!({}),
            json!({ "items": [measure(&json!({})), item(2, "Write it up", 2, &json!({}))],
                "summary": summary(2, 1, 1) }),
        ),
        step(
            "t1",
            "list_todo",
            json!({ "status": "pending" }),
            json!({ "items": [measure(&json!({})), item(2, "Write it up", 2, &json!({}))],
                "summary": summary(2, 1, 1) }),
        ),
        step(
            "t1",
            "list_todo",
            json!({ "status": "in_progress" }),
            json!({ "items": [], "summary": summary(2, 1, 1) }),
        ),
        step(
            "t1",
            "list_todo",
            json!({ "status": "completed" }),
            json!({ "items": [item(3, "Ask what hurts", 0, &asked)], "summary": summary(2, 1, 1) }),
        ),
        step(
            "t1",
            "list_todo",
            json!({ "status": "cancelled" }),
            json!({ "items": [item(4, "Send it", 3, &dropped)], "summary": summary(2, 1, 1) }),
        ),
        // T-4, T-32, T-36: nothing is deleted, and open items stay open.
        step(
            "t1",
            "list_todo",
            json!({ "status": "all" }),
            json!({ "items": [
                item(3, "Ask what hurts", 0, &asked),
                measure(&json!({})),
                item(2, "Write it up", 2, &json!({})),
                item(4, "Send it", 3, &dropped),
            ], "summary": summary(2, 1, 1) }),
        ),
    ]
}

fn other_turns() -> Vec<Step> {
    let out_of_reach = "call list_todo for the ids of this turn; other turns are out of reach";
    vec![
        // T-33: the next turn starts empty.
        step(
            "t2",
            "list_todo",
            json!({ "status": "all" }),
            json!({ "items": [], "summary": summary(0, 0, 0) }),
        ),
        step(
            "t2",
            "create_todo",
            json!({ "items": [{ "title": "Go on" }] }),
            json!({
                "created": [{ "id": "<id 5>", "title": "Go on", "order": 1 }], "totalPending": 1,
            }),
        ),
        // T-18: an item of another turn is out of reach, like one that never existed.
        step(
            "t2",
            "complete_todo",
            json!({ "todoId": "<id 1>", "outcome": "From elsewhere" }),
            json!({ "error": {
                "code": "unknown_todo", "message": "no todo `<id 1>` in this turn list",
                "hint": out_of_reach, "todoId": "<id 1>", "list": "turn",
            }}),
        ),
        step(
            "t2",
            "complete_todo",
            json!({ "todoId": "nonsense", "outcome": "From nowhere" }),
            json!({ "error": {
                "code": "unknown_todo", "message": "no todo `nonsense` in this turn list",
                "hint": out_of_reach, "todoId": "nonsense", "list": "turn",
            }}),
        ),
        // T-19: a turn that a model names is dropped and never used.
        step(
            "t2",
            "complete_todo",
            json!({
                "todoId": "<id 5>", "outcome": "Went on", "turnId": "t1",
                "conversationId": "c9", "sessionId": "s9", "agentId": "primary.x",
            }),
            json!({
                "id": "<id 5>", "title": "Go on", "status": "completed", "outcome": "Went on",
                "completedAt": NOW, "remaining": 0,
            }),
        ),
        // T-32, T-33: the first turn is unchanged.
        step(
            "t1",
            "list_todo",
            json!({ "turnId": "t2" }),
            json!({ "items": [measure(&json!({})), item(2, "Write it up", 2, &json!({}))],
                "summary": summary(2, 1, 1) }),
        ),
    ]
}
