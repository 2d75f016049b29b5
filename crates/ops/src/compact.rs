//! Compact text for agents: a stable format of its own, version 1 (P-33).
//!
//! The first line names the format. Then each item of the answer's list is one line: a mark, its id
//! or number, its text. If there are several lists, each has its name above it. Then come the plain
//! fields, one `name=value` per line. Fields that a model does not need are left out: times, empty
//! fields, and a checklist whose items are listed. People get tables and programs get `--json`. Any
//! change of this format is a new version.

use serde_json::{Map, Value};

pub const HEADER: &str = "punchlist/1";

/// Longer texts are cut here, at a character boundary, so that each item stays on one line.
const WORDS_MAX: usize = 200;

/// Formats an answer as compact text.
#[must_use]
pub fn text(answer: &Value) -> String {
    let mut lines = vec![HEADER.to_owned()];
    if let Value::Object(fields) = answer {
        write(fields, "", &mut lines);
    }
    lines.push(String::new());
    lines.join("\n")
}

fn write(fields: &Map<String, Value>, within: &str, lines: &mut Vec<String>) {
    let lists = fields.values().filter(|value| is_list(value)).count();
    for (name, value) in fields {
        if lists > 0 && (name == "markdown" || name == "checklist") {
            continue;
        }
        if lists > 1 && is_list(value) {
            lines.push(format!("# {name}"));
        }
        let name = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
        match value {
            Value::Array(items) if items.iter().all(Value::is_object) => {
                lines.extend(items.iter().filter_map(Value::as_object).map(item));
            }
            Value::Object(object) if called(object).is_some() => lines.push(item(object)),
            Value::Object(object) => write(object, &name, lines),
            Value::Null => {}
            _ if name.ends_with("At") => {}
            Value::String(words) if words.is_empty() => {}
            Value::String(words) => lines.push(format!("{name}={}", one_line(words))),
            other => lines.push(format!("{name}={other}")),
        }
    }
}

/// Is this an array of objects? Each object becomes one line.
fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

/// The name of an item: an issue's number (an issue has a title), otherwise the id or the seq.
fn called(item: &Map<String, Value>) -> Option<String> {
    let number = item.get("number").filter(|_| item.contains_key("title"));
    let number = number.and_then(Value::as_i64).map(|number| format!("#{number}"));
    let id = || item.get("id").and_then(Value::as_str).map(str::to_owned);
    let seq = || item.get("seq").and_then(Value::as_i64).map(|seq| seq.to_string());
    number.or_else(id).or_else(seq)
}

fn item(item: &Map<String, Value>) -> String {
    let word = |name: &str| item.get(name).and_then(Value::as_str).filter(|word| !word.is_empty());
    let mark = match word("status") {
        Some("completed" | "resolved") => "[x]",
        Some("in_progress") => "[/]",
        Some("cancelled" | "abandoned" | "rejected") => "[-]",
        Some(_) if item.get("hold").is_some_and(|hold| !hold.is_null()) => "[!]",
        _ => "[ ]",
    };
    let words = ["title", "content", "about", "text", "mission", "type", "role"];
    let said = words.into_iter().find_map(word).unwrap_or_default();
    // A linked issue is shown with the kind of the link.
    let link = word("kind").filter(|_| item.contains_key("direction"));
    let head = [Some(mark), called(item).as_deref(), link, Some(&one_line(said))]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    let agent = word("agentType").or_else(|| word("assignee"));
    let agent = agent.or_else(|| word("type").filter(|_| item.contains_key("mission")));
    let claimed = item.get("claim").is_some_and(|claim| !claim.is_null());
    let is_criterion = word("kind") == Some("criterion");
    let held = item.get("hold").and_then(|hold| hold.get("reason")).and_then(Value::as_str);
    let state = word("state").map(|state| format!(" ({state})"));
    [
        head,
        agent.map(|agent| format!(" @{agent}")).unwrap_or_default(),
        state.unwrap_or_default(),
        if is_criterion { " (criterion)".to_owned() } else { String::new() },
        if claimed { " (claimed)".to_owned() } else { String::new() },
        held.map(|reason| format!(" (held: {})", one_line(reason))).unwrap_or_default(),
        word("outcome").map(|outcome| format!(" -> {}", one_line(outcome))).unwrap_or_default(),
    ]
    .concat()
}

fn one_line(words: &str) -> String {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= WORDS_MAX {
        return words;
    }
    words.chars().take(WORDS_MAX).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn compact_text_has_one_line_per_item_and_leaves_out_times_and_empty_fields() {
        // P-33
        let answer = json!({
            "items": [
                { "id": "01A", "title": "Measure\nthe build", "status": "completed", "context": "",
                  "outcome": "61 % linking", "createdAt": "2026-11-15T08:00:00Z", "agentType": null },
                { "id": "01B", "title": "Write it up", "status": "in_progress", "agentType": "writer" },
                { "id": "01C", "content": "ä".repeat(300), "status": "pending",
                  "hold": { "reason": "no key" } },
            ],
            "summary": { "total": 3, "pending": 1 },
            "nextCursor": null,
        });
        let long = "ä".repeat(200);
        let expected = format!(
            "punchlist/1\n[x] 01A Measure the build -> 61 % linking\n[/] 01B Write it up @writer\n\
             [!] 01C {long}… (held: no key)\nsummary.total=3\nsummary.pending=1\n"
        );
        assert_eq!(text(&answer), expected);
    }

    #[test]
    fn a_single_object_is_one_line_followed_by_its_plain_fields() {
        let answer = json!({
            "issue": { "number": 7, "title": "Slow build", "status": "open", "id": "01D" },
            "checklist": "# Criteria\n- [ ] fast", "epoch": 2, "leaseUntil": null,
        });
        let expected = "punchlist/1\n[ ] #7 Slow build\nchecklist=# Criteria - [ ] fast\nepoch=2\n";
        assert_eq!(text(&answer), expected);
        assert_eq!(text(&json!({ "todo": null })), "punchlist/1\n");
    }

    #[test]
    fn several_lists_get_headings_and_every_kind_of_item_shows_its_text() {
        let answer = json!({
            "criteria": [{ "id": "01A", "content": "fast", "status": "completed", "claim": {} }],
            "steps": [],
            "links": [{ "kind": "child_of", "number": 2, "title": "Build", "direction": "out" }],
            "updates": [{ "id": "01B", "kind": "comment", "text": "Seen\ntwice" }],
            "checklist": "# Criteria\n- [x] fast\n",
            "progress": "1 of 1 closed",
        });
        let expected = "punchlist/1\n# criteria\n[x] 01A fast (claimed)\n# links\n\
             [ ] #2 child_of Build\n# updates\n[ ] 01B Seen twice\nprogress=1 of 1 closed\n";
        assert_eq!(text(&answer), expected);
        let gate = json!({ "gates": [{ "id": "01G", "number": 7, "kind": "ask", "state": "open",
            "text": "Which port?" }] });
        assert_eq!(text(&gate), "punchlist/1\n[ ] 01G Which port? (open)\n");
        let work = json!({ "delegation": { "id": "01D", "type": "coder", "mission": "Fix it",
            "state": "queued" }, "epoch": 1 });
        assert_eq!(text(&work), "punchlist/1\n[ ] 01D Fix it @coder (queued)\nepoch=1\n");
        let todo = json!({ "items": [{ "content": "fast", "status": "pending",
            "kind": "criterion" }], "markdown": "- [ ] fast" });
        assert_eq!(text(&todo), "punchlist/1\n[ ] fast (criterion)\n");
    }
}
