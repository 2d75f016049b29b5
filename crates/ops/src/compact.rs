//! Compact text for agents: a stable format of its own, version 1 (P-33).
//!
//! The first line names the format. Then each item of the answer's list is one line: a mark, what
//! it is called by, its words. Then the plain fields, `name=value`, each on a line. What a model
//! does not need (times, empty fields) is left out. People get tables, programs `--json`; a change
//! of this format is a new version.

use serde_json::{Map, Value};

/// The first line of every text.
pub const HEADER: &str = "punchlist/1";

/// Words are cut here, on a character boundary: a line stays a line.
const WORDS_MAX: usize = 200;

/// An answer as compact text.
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
    for (name, value) in fields {
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

/// What an item is called by: its number for an issue, else its id or its seq.
fn called(item: &Map<String, Value>) -> Option<String> {
    let number = item.get("number").and_then(Value::as_i64).map(|number| format!("#{number}"));
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
    let said = word("title").or_else(|| word("content")).or_else(|| word("about"));
    let said = said.or_else(|| word("type")).or_else(|| word("role")).unwrap_or_default();
    let agent = word("agentType").or_else(|| word("assignee")).map(|agent| format!(" @{agent}"));
    let outcome = word("outcome").map(|outcome| format!(" -> {}", one_line(outcome)));
    let claimed = item.get("claim").is_some_and(|claim| !claim.is_null());
    [
        format!("{mark} {} {}", called(item).unwrap_or_default(), one_line(said)),
        agent.unwrap_or_default(),
        if claimed { " (claimed)".to_owned() } else { String::new() },
        outcome.unwrap_or_default(),
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
    fn an_answer_is_one_item_per_line_and_nothing_a_model_does_not_need() {
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
             [!] 01C {long}…\nsummary.total=3\nsummary.pending=1\n"
        );
        assert_eq!(text(&answer), expected);
    }

    #[test]
    fn one_object_is_a_line_and_plain_fields_follow() {
        let answer = json!({
            "issue": { "number": 7, "title": "Slow build", "status": "open", "id": "01D" },
            "checklist": "# Criteria\n- [ ] fast", "epoch": 2, "leaseUntil": null,
        });
        let expected = "punchlist/1\n[ ] #7 Slow build\nchecklist=# Criteria - [ ] fast\nepoch=2\n";
        assert_eq!(text(&answer), expected);
        assert_eq!(text(&json!({ "todo": null })), "punchlist/1\n");
    }
}
