//! Issues: a table of many, a page of one, a line for what was done to one.

use punchlist_core::Time;
use serde_json::Value;

use super::checklist::sections;
use super::columns::{aligned, hanging, wrapped};
use super::{ago, list, number, sessions, text};
use crate::output::{BOLD, CYAN, DIM, GREEN, YELLOW, clean, line, width};

pub(super) fn created(answer: &Value) -> String {
    let issue = &answer["issue"];
    let (number, title) = (number(issue, "number"), text(issue, "title"));
    format!("{GREEN}Created{GREEN:#} issue #{number}: {title}\n")
}

pub(super) fn moved(answer: &Value) -> String {
    let issue = &answer["issue"];
    let (number, title) = (number(issue, "number"), text(issue, "title"));
    let status = text(issue, "status");
    let mut shown = format!("Issue #{number} is {CYAN}{status}{CYAN:#} now: {title}\n");
    if let Some(warning) = answer["warning"].as_str() {
        shown.push_str(&format!("{YELLOW}{}{YELLOW:#}\n", line(warning)));
    }
    shown
}

/// What a word says was done to an issue.
pub(super) fn done(verb: &str, answer: &Value) -> String {
    let issue = &answer["issue"];
    let (number, title) = (number(issue, "number"), text(issue, "title"));
    format!("{GREEN}{verb}{GREEN:#} issue #{number}: {title}\n")
}

pub(super) fn deferred(answer: &Value, now: Time) -> String {
    let issue = &answer["issue"];
    let (number, title) = (number(issue, "number"), text(issue, "title"));
    match issue["deferUntil"].as_str() {
        Some(until) => {
            let back = ago(&issue["deferUntil"], now);
            format!("Issue #{number} rests until {until} ({back}): {title}\n")
        }
        None => format!("Issue #{number} rests no more: {title}\n"),
    }
}

pub(super) fn listed(answer: &Value, now: Time) -> String {
    let issues = list(answer, "issues");
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

/// The answer of the tool `issue`: any of the others.
pub(super) fn tool(answer: &Value, now: Time) -> String {
    if answer["issues"].is_array() {
        return listed(answer, now);
    }
    if answer["checklist"].is_null() {
        return moved(answer);
    }
    let mut page = head(answer, now);
    page.push_str(&part(answer["checklist"].as_str()));
    page.push_str(&around(answer, now));
    page
}

pub(super) fn shown(answer: &Value, now: Time) -> String {
    let mut page = head(answer, now);
    page.push_str(&body(answer["issue"]["body"].as_str()));
    let items = items(answer, now);
    if !items.is_empty() {
        page.push_str(&format!("\n{items}"));
    }
    page.push_str(&around(answer, now));
    page
}

/// The head and the checklist alone, after a change of it.
pub(super) fn changed(answer: &Value, now: Time) -> String {
    format!("{}\n{}", head(answer, now), items(answer, now))
}

fn items(answer: &Value, now: Time) -> String {
    let of = |field: &str| list(answer, field).iter().collect::<Vec<_>>();
    sections(&of("criteria"), &of("steps"), now)
}

/// What it is called, where it stands and how far it is.
fn head(answer: &Value, now: Time) -> String {
    let issue = &answer["issue"];
    let number = format!("#{} ", number(issue, "number"));
    let bold = format!("{BOLD}{number}");
    let title = hanging(&number, &bold, &text(issue, "title"), width());
    let mut facts = format!(
        "{}, filed {} by {}, changed {}, revision {}",
        text(issue, "status").replace('_', " "),
        ago(&issue["createdAt"], now),
        text(issue, "createdBy"),
        ago(&issue["updatedAt"], now),
        super::number(issue, "revision"),
    );
    if let Some(to) = issue["assignment"].as_str() {
        facts.push_str(&format!(", assigned to {}", line(to).replace(':', " ")));
    }
    if issue["deferUntil"].is_string() {
        facts.push_str(&format!(", rests: back {}", ago(&issue["deferUntil"], now)));
    }
    let mut head = format!("{}{BOLD:#}\n", title.trim_end());
    head.push_str(&dim(&facts));
    if let Some(progress) = answer["progress"].as_str().filter(|said| !said.is_empty()) {
        head.push_str(&dim(&line(progress)));
    }
    head
}

fn dim(text: &str) -> String {
    format!("{DIM}{}{DIM:#}\n", hanging("", "", text, width()).trim_end())
}

/// Links, children, sessions and the ledger, where there are any.
fn around(answer: &Value, now: Time) -> String {
    let mut shown = String::new();
    let links = list(answer, "links").iter().map(|link| {
        let kind = text(link, "kind").replace('_', " ");
        hanging(
            "  ",
            "  ",
            &format!("{kind} #{} {}", number(link, "number"), text(link, "title")),
            width(),
        )
    });
    section("Links", &links.collect::<String>(), &mut shown);
    let children = list(answer, "openChildren").iter().map(child);
    section("Open children", &children.collect::<String>(), &mut shown);
    let worked = list(answer, "sessions").iter().map(|session| sessions::line(session, now));
    section("Sessions", &worked.collect::<String>(), &mut shown);
    let ledger = list(answer, "updates").iter().map(|update| {
        let who = format!("{}, {}", text(update, "author"), ago(&update["createdAt"], now));
        let said = clean(update["text"].as_str().unwrap_or_default());
        let said = hanging("    ", "    ", &said, width());
        format!("{}{said}", hanging("  ", "  ", &who, width()))
    });
    let granted: String = list(answer, "signOffs")
        .iter()
        .map(|gate| {
            let said = gate["response"].as_str().map(|said| format!(": {}", clean(said)));
            let (by, at) = (text(gate, "by"), ago(&gate["at"], now));
            let told = format!("signed off by {by} {at}{}", said.unwrap_or_default());
            hanging("    ", "  ", &told, width())
        })
        .collect();
    section("Sign-offs", &granted, &mut shown);
    section("Ledger", &ledger.collect::<String>(), &mut shown);
    shown
}

/// An issue below another, in a line.
pub(super) fn child(issue: &Value) -> String {
    let (number, title) = (number(issue, "number"), text(issue, "title"));
    let status = text(issue, "status").replace('_', " ");
    hanging("  ", "  ", &format!("#{number} {title} ({status})"), width())
}

fn section(name: &str, lines: &str, shown: &mut String) {
    if !lines.is_empty() {
        shown.push_str(&format!("\n{BOLD}{name}{BOLD:#}\n{lines}"));
    }
}

fn part(text: Option<&str>) -> String {
    match text.map(str::trim_end) {
        None | Some("") => String::new(),
        Some(text) => format!("\n{}", hanging("", "", &clean(text), width())),
    }
}

/// What somebody wrote, marked at each line: it must not pass for a section of the page.
fn body(text: Option<&str>) -> String {
    match text.map(str::trim_end) {
        None | Some("") => String::new(),
        Some(text) => {
            let lines = wrapped(&clean(text), width().saturating_sub(2));
            let marked: String =
                lines.iter().map(|line| format!("│ {line}").trim_end().to_owned() + "\n").collect();
            format!("\n{marked}")
        }
    }
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
        let step = json!({ "content": "d\ne", "status": "pending", "notes": ["f\u{7}\ng"] });
        let page = shown(&json!({ "issue": issue, "steps": [step] }), now);
        let page = anstream::adapter::strip_str(&page).to_string();
        let own = "filed 1 h ago by root:primary, changed 3 min ago, revision 1";
        assert!(page.contains(own), "{page}");
        assert!(page.contains("\n\n│ b\u{fffd}\n│ c\n\nSteps\n"), "{page}");
        assert!(page.ends_with(" d e\n      note: f\u{fffd}\n            g\n"), "{page}");
    }
}
