//! The text beside the structure of a result: the same answer in fewer characters.
//!
//! Some hosts show their model only this text, so it has everything that a next call needs: ids,
//! numbers, titles, states, cursors. An item of a list is one line. Times, empty fields and other
//! bookkeeping are only in the structure. The compact text of the command line
//! (`punchlist_ops::compact`) is a fixed format that cuts long texts. Here the text of a single
//! thing is whole, because it was asked for.

use std::borrow::Cow;

use super::tree::{Fields, Tree, get};

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

/// The fields of an item that its head is made of.
type Parts = [Option<&'static str>; 3];

/// Describes an answer.
#[must_use]
pub(crate) fn text(answer: &Tree<'_>) -> String {
    let mut out = String::new();
    match answer {
        Tree::Object(fields) => whole(fields, Parts::default(), "", &mut out),
        other => out.push_str(&other.to_string()),
    }
    let text = out.trim_end();
    if text.is_empty() { "nothing".to_owned() } else { text.to_owned() }
}

/// An object that was asked for: every field that is not in its head, on its own lines.
fn whole(fields: &Fields<'_>, head_of: Parts, indent: &str, out: &mut String) {
    let below = format!("{indent}  ");
    for (name, value) in without_head(fields, head_of) {
        put(out, [indent, name, ":"]);
        match value {
            Tree::List(items) if items.iter().any(Tree::is_object) => {
                out.push('\n');
                items.iter().for_each(|item| line(item, &below, out));
            }
            Tree::Object(inner) => {
                let head_of = parts(inner);
                put(out, [" ", &head(inner, head_of)]);
                end_line(out);
                whole(inner, head_of, &below, out);
            }
            Tree::Text(words) if words.trim_end().contains('\n') => {
                put(out, ["\n", words.trim_end(), "\n"]);
            }
            plain => {
                put(out, [" ", &said(plain)]);
                end_line(out);
            }
        }
    }
}

fn put<const N: usize>(out: &mut String, texts: [&str; N]) {
    texts.into_iter().for_each(|text| out.push_str(text));
}

fn end_line(out: &mut String) {
    out.truncate(out.trim_end().len());
    out.push('\n');
}

/// An item of a list: one line, and one for each item below it.
fn line(item: &Tree<'_>, indent: &str, out: &mut String) {
    let Tree::Object(fields) = item else {
        put(out, [indent, &one_line(&said(item), HEAD_MAX), "\n"]);
        return;
    };
    let head_of = parts(fields);
    let mut words = vec![one_line(&head(fields, head_of), HEAD_MAX)];
    let mut lists = Vec::new();
    more(fields, head_of, "", &mut words, &mut lists);
    words.retain(|word| !word.is_empty());
    put(out, [indent, &words.join(" "), "\n"]);
    for (name, items) in lists {
        put(out, [indent, "  ", &name, ":\n"]);
        items.iter().for_each(|item| line(item, &format!("{indent}    "), out));
    }
}

/// The other fields of an item, as `name=value`; an object's fields have its name in front.
fn more<'t, 'a>(
    fields: &'t Fields<'a>,
    head_of: Parts,
    within: &str,
    words: &mut Vec<String>,
    lists: &mut Vec<(String, &'t [Tree<'a>])>,
) {
    for (name, value) in without_head(fields, head_of) {
        let name = if within.is_empty() { name.to_owned() } else { format!("{within}.{name}") };
        match value {
            Tree::List(items) if items.iter().any(Tree::is_object) => lists.push((name, items)),
            Tree::Object(inner) => more(inner, Parts::default(), &name, words, lists),
            // A count of nothing.
            Tree::Number(number) if !within.is_empty() && number.as_i64() == Some(0) => {}
            plain => words.push(format!("{name}={}", one_line(&said(plain), FIELD_MAX))),
        }
    }
}

/// The fields that are said and are not in the head.
fn without_head<'t, 'a>(
    fields: &'t Fields<'a>,
    head_of: Parts,
) -> impl Iterator<Item = (&'t str, &'t Tree<'a>)> {
    let has_number = head_of[0] == Some("number");
    let is_more = move |name: &str| !(head_of.contains(&Some(name)) || has_number && name == "id");
    fields
        .iter()
        .map(|(name, value)| (&**name, value))
        .filter(move |(name, value)| is_more(name) && is_said(name, value))
}

/// Is a field said at all?
fn is_said(name: &str, value: &Tree<'_>) -> bool {
    let is_empty = match value {
        Tree::Null | Tree::Bool(false) => true,
        Tree::Text(words) => words.trim().is_empty(),
        Tree::List(items) => items.is_empty(),
        Tree::Object(fields) => !fields.iter().any(|(name, value)| is_said(name, value)),
        Tree::Bool(true) | Tree::Number(_) => false,
    };
    let is_time = (name == "at" || name.ends_with("At")) && matches!(value, Tree::Text(_));
    !is_empty && !is_time && !LEFT_OUT.contains(&name)
}

/// The name, state and words of an item, without the names of these fields.
fn head(fields: &Fields<'_>, head_of: Parts) -> String {
    let shown = head_of.into_iter().flatten().map(|name| match (name, get(fields, name)) {
        (_, None) => String::new(),
        ("number", Some(number)) => format!("#{number}"),
        ("status" | "state", Some(state)) => format!("[{}]", said(state)),
        (_, Some(value)) => said(value).into_owned(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The fields that an item's head is made of.
fn parts(fields: &Fields<'_>) -> Parts {
    let first = |names: &[&'static str]| {
        let is_there = |name: &&&str| {
            get(fields, name).is_some_and(|value| match value {
                Tree::Text(_) => is_said(name, value),
                Tree::Number(number) => number.is_i64(),
                _ => false,
            })
        };
        names.iter().find(is_there).copied()
    };
    // A gate is about an issue's number and has an id of its own; an issue has a title.
    let called = match get(fields, "title").is_some() {
        true => first(&CALLED),
        false => first(&CALLED[1..]),
    };
    [called, first(&STATE), first(&SAID)]
}

fn said<'t>(value: &'t Tree<'_>) -> Cow<'t, str> {
    match value {
        Tree::Text(words) => Cow::Borrowed(words),
        Tree::List(items) => items.iter().map(said).collect::<Vec<_>>().join(", ").into(),
        other => other.to_string().into(),
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
    use serde_json::{Value, json};

    fn said_of(answer: &Value) -> String {
        text(&serde_json::from_str(&answer.to_string()).unwrap())
    }

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
        assert_eq!(said_of(&answer), expected);
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
        assert_eq!(said_of(&answer), expected);
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
        assert_eq!(said_of(&answer), expected);
        assert_eq!(said_of(&json!({ "todo": null, "items": [] })), "nothing");
    }
}
