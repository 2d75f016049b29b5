//! The text beside the structure of a result: the same answer in fewer characters.
//!
//! Some hosts show their model only this text, so it has everything that a next call needs: ids,
//! numbers, titles, states, cursors. An item of a list is one line. Times, empty fields and other
//! bookkeeping are only in the structure. The compact text of the command line
//! (`punchlist_ops::compact`) is a fixed format that cuts long texts. Here the text of a single
//! thing is whole, because it was asked for.

use serde_json::{Map, Value};

/// Bookkeeping that no next call needs.
const LEFT_OUT: [&str; 12] = [
    "conversationIds",
    "createdBy",
    "missionId",
    "originAgent",
    "parentId",
    "pillarId",
    "position",
    "projectId",
    "revision",
    "scope",
    "startedBy",
    "updatedBy",
];

/// What an item is called, the first of these that it has.
const CALLED: [&str; 7] = ["number", "id", "slug", "todoId", "gateId", "taskId", "seq"];
/// Its state.
const STATE: [&str; 2] = ["status", "state"];
/// Its words.
const SAID: [&str; 6] = ["title", "content", "text", "name", "mission", "about"];

/// The name and words of an item of a list, and each of its other fields, are cut here, at a
/// character boundary, so that a list stays short.
const HEAD_MAX: usize = 200;
const FIELD_MAX: usize = 80;

/// Describes an answer.
#[must_use]
pub(crate) fn text(answer: &Value) -> String {
    let mut out = String::new();
    match answer {
        Value::Object(fields) => whole(fields, "", &mut out),
        other => out.push_str(&other.to_string()),
    }
    let text = out.trim_end();
    if text.is_empty() { "nothing".to_owned() } else { text.to_owned() }
}

/// An object that was asked for: every field on its own lines.
fn whole(fields: &Map<String, Value>, indent: &str, out: &mut String) {
    let below = format!("{indent}  ");
    for (name, value) in fields.iter().filter(|(name, value)| is_said(name, value)) {
        match value {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                out.push_str(&format!("{indent}{name}:\n"));
                items.iter().for_each(|item| line(item, &below, out));
            }
            Value::Object(inner) => {
                let (head, rest) = (head(inner), without_head(inner));
                out.push_str(format!("{indent}{name}: {head}").trim_end());
                out.push('\n');
                whole(&rest, &below, out);
            }
            Value::String(words) if words.trim_end().contains('\n') => {
                out.push_str(&format!("{indent}{name}:\n{}\n", words.trim_end()));
            }
            plain => out.push_str(&format!("{indent}{name}: {}\n", said(plain).trim_end())),
        }
    }
}

/// An item of a list: one line, and one for each item below it.
fn line(item: &Value, indent: &str, out: &mut String) {
    let Value::Object(fields) = item else {
        out.push_str(&format!("{indent}{}\n", one_line(&said(item), HEAD_MAX)));
        return;
    };
    let mut words = vec![one_line(&head(fields), HEAD_MAX)];
    let mut lists = Vec::new();
    more(&without_head(fields), "", &mut words, &mut lists);
    words.retain(|word| !word.is_empty());
    out.push_str(&format!("{indent}{}\n", words.join(" ")));
    for (name, items) in lists {
        out.push_str(&format!("{indent}  {name}:\n"));
        items.iter().for_each(|item| line(item, &format!("{indent}    "), out));
    }
}

/// The other fields of an item, as `name=value`; an object's fields have its name in front.
fn more(
    fields: &Map<String, Value>,
    within: &str,
    words: &mut Vec<String>,
    lists: &mut Vec<(String, Vec<Value>)>,
) {
    for (name, value) in fields.iter().filter(|(name, value)| is_said(name, value)) {
        let name = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
        match value {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                lists.push((name, items.clone()));
            }
            Value::Object(inner) => more(inner, &name, words, lists),
            // A count of nothing.
            Value::Number(number) if !within.is_empty() && number.as_i64() == Some(0) => {}
            plain => words.push(format!("{name}={}", one_line(&said(plain), FIELD_MAX))),
        }
    }
}

/// Is a field said at all?
fn is_said(name: &str, value: &Value) -> bool {
    let is_empty = match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(words) => words.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => !fields.iter().any(|(name, value)| is_said(name, value)),
        Value::Bool(true) | Value::Number(_) => false,
    };
    let is_time = (name == "at" || name.ends_with("At")) && value.is_string();
    !is_empty && !is_time && !LEFT_OUT.contains(&name)
}

/// The name, state and words of an item, without the names of these fields.
fn head(fields: &Map<String, Value>) -> String {
    let shown = parts(fields).into_iter().flatten().map(|name| match (name, &fields[name]) {
        ("number", number) => format!("#{number}"),
        ("status" | "state", state) => format!("[{}]", said(state)),
        (_, value) => said(value),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn without_head(fields: &Map<String, Value>) -> Map<String, Value> {
    let parts = parts(fields);
    let has_number = parts[0] == Some("number");
    let is_more = |name: &str| !(parts.contains(&Some(name)) || has_number && name == "id");
    let kept = fields.iter().filter(|(name, _)| is_more(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The fields that an item's head is made of.
fn parts(fields: &Map<String, Value>) -> [Option<&'static str>; 3] {
    let first = |names: &[&'static str]| {
        let is_there = |name: &&&str| {
            fields
                .get(**name)
                .is_some_and(|value| (value.is_string() || value.is_i64()) && is_said(name, value))
        };
        names.iter().find(is_there).copied()
    };
    // A gate is about an issue's number and has an id of its own; an issue has a title.
    let called = match fields.contains_key("title") {
        true => first(&CALLED),
        false => first(&CALLED[1..]),
    };
    [called, first(&STATE), first(&SAID)]
}

fn said(value: &Value) -> String {
    match value {
        Value::String(words) => words.clone(),
        Value::Array(items) => items.iter().map(said).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn one_line(words: &str, limit: usize) -> String {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.chars().count() <= limit {
        true => words,
        false => words.chars().take(limit).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_item_of_a_list_is_one_line_with_all_that_a_next_call_needs() {
        let answer = json!({
            "issues": [
                { "id": "01A", "number": 7, "title": "Slow\nbuild", "status": "open", "body": "",
                  "revision": 3, "createdAt": "2026-11-15T08:00:00Z", "labels": ["ci", "speed"],
                  "assignee": null, "progress": { "criteria": 2, "met": 0 } },
                { "id": "01B", "number": 8, "title": "ä".repeat(300), "status": "resolved" },
            ],
            "nextCursor": 8,
        });
        let long = "ä".repeat(200 - "#8 [resolved] ".len());
        let expected = format!(
            "issues:\n  #7 [open] Slow build labels=ci, speed progress.criteria=2\n  \
             #8 [resolved] {long}…\nnextCursor: 8"
        );
        assert_eq!(text(&answer), expected);
    }

    #[test]
    fn a_single_thing_is_whole() {
        let body = "First line.\n\nSecond line.";
        let answer = json!({
            "issue": { "id": "01A", "number": 7, "title": "Slow build", "status": "open",
                "body": body, "assignee": "ada", "closedAt": null },
            "checklist": "- [ ] fast\n",
            "updates": [{ "id": "01C", "kind": "comment", "text": "Seen\ntwice" }],
        });
        let expected = format!(
            "issue: #7 [open] Slow build\n  body:\n{body}\n  assignee: ada\nchecklist: - [ ] fast\n\
             updates:\n  01C Seen twice kind=comment"
        );
        assert_eq!(text(&answer), expected);
    }

    #[test]
    fn lists_in_items_are_below_them_and_gates_keep_their_own_id() {
        let answer = json!({
            "pillars": [{ "slug": "speed", "name": "Speed", "status": "active",
                "metrics": [{ "name": "build", "value": 61.5, "target": 30 }] }],
            "gates": [{ "id": "01G", "number": 7, "kind": "ask", "state": "open",
                "text": "Which port?", "details": { "options": ["80", "443"] } }],
        });
        let expected = "pillars:\n  speed [active] Speed\n    metrics:\n      build value=61.5 \
             target=30\ngates:\n  01G [open] Which port? number=7 kind=ask details.options=80, 443";
        assert_eq!(text(&answer), expected);
        assert_eq!(text(&json!({ "todo": null, "items": [] })), "nothing");
    }
}
