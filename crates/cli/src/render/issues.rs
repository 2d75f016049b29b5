//! Issues: a table of many, a page of one.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::{aligned, cut};
use super::times::relative;
use super::{number, text};
use crate::output::{BOLD, CYAN, DIM, GREEN, clean, width};

pub(super) fn created(answer: &Value) -> String {
    let issue = &answer["issue"];
    let (number, title) = (number(issue, "number"), text(issue, "title"));
    format!("{GREEN}Created{GREEN:#} issue #{number}: {title}\n")
}

pub(super) fn moved(answer: &Value) -> String {
    let issue = &answer["issue"];
    let (number, title) = (number(issue, "number"), text(issue, "title"));
    let status = text(issue, "status");
    format!("Issue #{number} is {CYAN}{status}{CYAN:#} now: {title}\n")
}

pub(super) fn listed(answer: &Value, now: Time) -> String {
    let issues = answer["issues"].as_array().map(Vec::as_slice).unwrap_or_default();
    if issues.is_empty() {
        return "No issues to show. `punch issue new TITLE` files one.\n".to_owned();
    }
    let rows = issues.iter().map(|issue| {
        vec![
            format!("#{}", number(issue, "number")),
            text(issue, "status").into_owned(),
            ago(&issue["updatedAt"], now),
            text(issue, "title").into_owned(),
        ]
    });
    let mut shown = aligned(rows.collect(), width());
    if let Some(cursor) = answer["nextCursor"].as_i64() {
        shown.push_str(&format!("{DIM}… more: the same with --cursor {cursor}{DIM:#}\n"));
    }
    shown
}

pub(super) fn shown(answer: &Value, now: Time) -> String {
    let issue = &answer["issue"];
    let heading = format!("#{} {}", number(issue, "number"), text(issue, "title"));
    let heading = cut(&heading, width());
    let facts = format!(
        "{}, filed {} by {}, changed {}, revision {}",
        text(issue, "status"),
        ago(&issue["createdAt"], now),
        text(issue, "createdBy"),
        ago(&issue["updatedAt"], now),
        number(issue, "revision"),
    );
    let mut shown = format!("{BOLD}{heading}{BOLD:#}\n{DIM}{}{DIM:#}\n", cut(&facts, width()));
    for part in [issue["body"].as_str(), answer["checklist"].as_str()].into_iter().flatten() {
        if !part.is_empty() {
            shown.push_str(&format!("\n{}\n", clean(part.trim_end())));
        }
    }
    shown
}

fn ago(value: &Value, now: Time) -> String {
    value.as_str().and_then(Time::parse).map_or(String::new(), |at| relative(at, now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_others_wrote_stays_in_its_lines_and_its_width() {
        let now = Time::parse("2026-11-15T12:00:00Z").unwrap();
        let issue = json!({
            "number": 7, "title": format!("a\u{1b}[2J\n{}", "漢".repeat(90)), "body": "b\u{7}\nc\n",
            "status": "open", "createdBy": "root:primary", "revision": 1,
            "createdAt": "2026-11-15T11:00:00Z", "updatedAt": "2026-11-15T11:57:00Z",
        });
        let table = listed(&json!({ "issues": [issue], "nextCursor": 7 }), now);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("#7  open  3 min ago  a\u{fffd}[2J 漢"), "{table}");
        assert!(unicode_width::UnicodeWidthStr::width(lines[0]) <= width());
        assert!(lines[1].contains("--cursor 7"));
        let page = shown(&json!({ "issue": issue, "checklist": "# Criteria\n- [ ] d\n" }), now);
        let own = "filed 1 h ago by root:primary, changed 3 min ago, revision 1";
        assert!(page.contains(own), "{page}");
        assert!(page.ends_with("\n\nb\u{fffd}\nc\n\n# Criteria\n- [ ] d\n"), "{page}");
    }
}
