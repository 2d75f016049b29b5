//! Issues: a table of many, a page of one, a line for what was done to one.

use punchlist_core::Time;
use punchlist_ops::operations::issue_show::{LinkView, Output, SignOffView, UpdateView};
use punchlist_ops::operations::{issue, issue_list, ready};
use punchlist_ops::views::{IssueRef, IssueView, LinkedIssue};

use super::checklist::{Ids, of_issue};
use super::columns::{aligned, cut, hanging, wrapped};
use super::gates::words;
use super::times::day_or_time;
use super::{ago, sessions};
use unicode_width::UnicodeWidthStr;

use crate::output::{BOLD, CYAN, DIM, GREEN, YELLOW, clean, line, width};

pub(super) fn moved(issue: &IssueView, warning: Option<&str>) -> String {
    let (number, title, status) = (issue.number, line(&issue.title), issue.status);
    let lead = format!("Issue #{number} is {status} now: ");
    let colored = format!("Issue #{number} is {CYAN}{status}{CYAN:#} now: ");
    let mut shown = hanging(&lead, &colored, &title, width());
    if let Some(warning) = warning {
        let warning = hanging("", "", &line(warning), width());
        shown.push_str(&format!("{YELLOW}{}{YELLOW:#}\n", warning.trim_end()));
    }
    shown
}

/// What a word says was done to an issue.
pub(super) fn done(verb: &str, issue: &IssueView) -> String {
    let (number, title) = (issue.number, line(&issue.title));
    let lead = format!("{verb} issue #{number}: ");
    hanging(&lead, &format!("{GREEN}{verb}{GREEN:#} issue #{number}: "), &title, width())
}

/// An issue and what it has to do with another one.
pub(super) fn linked(verb: &str, output: &LinkedIssue) -> String {
    let (issue, to) = (&output.issue, output.to);
    let kind = output.kind.name().replace('_', " ");
    let rest = format!(" issue #{}, {kind} #{to}: ", issue.number);
    let colored = format!("{GREEN}{verb}{GREEN:#}{rest}");
    hanging(&format!("{verb}{rest}"), &colored, &line(&issue.title), width())
}

pub(super) fn deferred(issue: &IssueView, now: Time) -> String {
    let (number, title) = (issue.number, line(&issue.title));
    let said = match issue.defer_until {
        Some(until) => {
            format!("is deferred until {} ({})", day_or_time(until), ago(until, now))
        }
        None => "is no longer deferred".to_owned(),
    };
    let lead = format!("Issue #{number} ");
    hanging(&lead, &lead, &format!("{said}: {title}"), width())
}

pub(super) fn listed(output: &issue_list::Output, now: Time) -> String {
    table(&output.issues, output.next_cursor, now)
}

fn table(issues: &[IssueView], next: Option<i64>, now: Time) -> String {
    if issues.is_empty() {
        return "No issues to show. `punch issue new TITLE` files one.\n".to_owned();
    }
    lines(issues, now) + &super::more(next.as_ref())
}

/// Number, status, age, how far it is, then the title.
fn row(issue: &IssueView, now: Time) -> Vec<String> {
    vec![
        format!("#{}", issue.number),
        issue.status.name().replace('_', " "),
        ago(issue.updated_at, now),
        progress(issue),
        line(&issue.title),
    ]
}

/// What people say about an issue besides its title.
fn facts(issue: &IssueView, now: Time) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    facts.extend(issue.priority.map(|priority| priority.name().to_owned()));
    facts.extend(issue.assignee.as_ref().map(|assignee| format!("@{}", line(assignee))));
    facts.extend(issue.labels.iter().map(|label| format!("[{}]", line(label))));
    facts.extend(deferral(issue, now));
    facts
}

/// Is it to be left alone for now?
pub(super) fn is_deferred(issue: &IssueView, now: Time) -> bool {
    issue.defer_until.is_some_and(|until| until > now)
}

/// Until when an issue is deferred, if it is.
pub(super) fn deferral(issue: &IssueView, now: Time) -> Option<String> {
    let until = issue.defer_until.filter(|_| is_deferred(issue, now))?;
    Some(format!("deferred until {}", day_or_time(until)))
}

/// Issues in lines. Facts that do not fit behind the title are below it, never cut off.
fn lines(issues: &[IssueView], now: Time) -> String {
    let titles = aligned(issues.iter().map(|issue| row(issue, now)).collect(), usize::MAX);
    let indent = titles
        .lines()
        .zip(issues)
        .map(|(shown, issue)| shown.width().saturating_sub(line(&issue.title).trim_end().width()));
    let indent = indent.max().unwrap_or(0);
    let mut shown = String::new();
    let lead = " ".repeat(indent.min(width() / 2));
    for (row, issue) in titles.lines().zip(issues) {
        let facts = facts(issue, now);
        let on_one = format!("{row}  {}", facts.join("  "));
        if facts.is_empty() || on_one.width() <= width() {
            shown.push_str(&format!("{}\n", cut(on_one.trim_end(), width())));
            continue;
        }
        shown.push_str(&format!("{}\n", cut(row, width())));
        let mut below = String::new();
        for fact in facts {
            // A fact is not broken over lines where others before it fit.
            if !below.is_empty() && lead.len() + below.width() + fact.width() + 2 > width() {
                shown.push_str(&format!("{lead}{below}\n"));
                below.clear();
            }
            let gap = if below.is_empty() { "" } else { "  " };
            below.push_str(&format!("{gap}{fact}"));
        }
        shown.push_str(&hanging(&lead, &lead, &below, width()));
    }
    shown
}

/// `2 of 5 met, 1 claimed`, or how many steps are closed; nothing where there is no checklist.
pub(super) fn progress(issue: &IssueView) -> String {
    match issue.progress {
        Some(of) if of.criteria > 0 && of.claimed > 0 => {
            format!("{} of {} met, {} claimed", of.met, of.criteria, of.claimed)
        }
        Some(of) if of.criteria > 0 => format!("{} of {} met", of.met, of.criteria),
        Some(of) if of.steps > 0 => format!("{} of {} steps", of.steps_closed, of.steps),
        _ => String::new(),
    }
}

/// What could be started now.
pub(super) fn ready(output: &ready::Output, now: Time) -> String {
    if output.issues.is_empty() {
        let none = "Nothing is ready: every open issue is blocked, deferred or assigned.";
        return hanging("", "", none, width());
    }
    lines(&output.issues, now) + &super::more(output.next_cursor.as_ref())
}

/// The answer of the tool `issue`: any of the others.
pub(super) fn tool(output: &issue::Output, now: Time) -> String {
    if let Some(issues) = &output.issues {
        return table(issues, output.next_cursor, now);
    }
    let Some(issue) = &output.issue else { return String::new() };
    let Some(checklist) = &output.checklist else {
        return moved(issue, output.warning.as_deref());
    };
    let mut page = head(issue, "", now);
    page.push_str(&part(checklist));
    section("Links", &links(&output.links), &mut page);
    section("Ledger", &ledger(&output.updates, now), &mut page);
    page
}

pub(super) fn shown(output: &Output, now: Time) -> String {
    let mut page = head(&output.issue, &output.progress, now);
    page.push_str(&body(&output.issue.body));
    let items = of_issue(&output.criteria, &output.steps, Ids::Shown, now);
    if !items.is_empty() {
        page.push_str(&format!("\n{items}"));
    }
    section("Links", &links(&output.links), &mut page);
    let children: String = output.open_children.iter().map(child).collect();
    section("Open children", &children, &mut page);
    let worked: String = output.sessions.iter().map(|one| sessions::line(one, now)).collect();
    section("Sessions", &worked, &mut page);
    let granted: String = output.sign_offs.iter().map(|gate| sign_off(gate, now)).collect();
    section("Sign-offs", &granted, &mut page);
    section("Ledger", &ledger(&output.updates, now), &mut page);
    page
}

/// The head and the checklist alone, after a change of it.
pub(super) fn changed(verb: &str, output: &Output) -> String {
    let (number, title, progress) =
        (output.issue.number, line(&output.issue.title), &output.progress);
    let (lead, shown) = (format!("{verb}; "), format!("{GREEN}{verb}{GREEN:#}; "));
    hanging(&lead, &shown, &format!("issue #{number} {title}: {progress}"), width())
}

/// What it is called, where it stands and how far it is.
fn head(issue: &IssueView, progress: &str, now: Time) -> String {
    let number = format!("#{} ", issue.number);
    let bold = format!("{BOLD}{number}");
    let title = hanging(&number, &bold, &line(&issue.title), width());
    let ago = |at| match ago(at, now) {
        now if now == "now" => "just now".to_owned(),
        ago => ago,
    };
    let mut facts = format!(
        "{}, filed {} by {}, changed {}, revision {}",
        issue.status.name().replace('_', " "),
        ago(issue.created_at),
        line(&issue.created_by),
        ago(issue.updated_at),
        issue.revision,
    );
    if let Some(to) = &issue.assignment {
        let to = match to.split_once(':') {
            Some(("session", id)) => format!("session {}", super::short(id)),
            _ => line(to).replace(':', " "),
        };
        facts.push_str(&format!(", assigned to {to}"));
    }
    if let Some(until) = issue.defer_until {
        facts.push_str(&format!(", deferred until {}", day_or_time(until)));
    }
    if let Some(priority) = issue.priority {
        facts.push_str(&format!(", {} priority", priority.name()));
    }
    if let Some(assignee) = &issue.assignee {
        facts.push_str(&format!(", @{}", line(assignee)));
    }
    if !issue.labels.is_empty() {
        facts.push_str(&format!(", labels: {}", line(&issue.labels.join(", "))));
    }
    let mut head = format!("{}{BOLD:#}\n", title.trim_end());
    head.push_str(&dim(&facts));
    if let Some(reason) = &issue.status_reason {
        head.push_str(&dim(&format!("reason: {}", line(reason))));
    }
    if !progress.is_empty() {
        head.push_str(&dim(&line(progress)));
    }
    head
}

fn dim(text: &str) -> String {
    format!("{DIM}{}{DIM:#}\n", hanging("", "", text, width()).trim_end())
}

fn links(links: &[LinkView]) -> String {
    let shown = |link: &LinkView| {
        let kind = line(&link.kind).replace('_', " ");
        hanging("  ", "  ", &format!("{kind} #{} {}", link.number, line(&link.title)), width())
    };
    links.iter().map(shown).collect()
}

fn ledger(updates: &[UpdateView], now: Time) -> String {
    let shown = |update: &UpdateView| {
        let who = format!("{}, {}", line(&update.author), ago(update.created_at, now));
        let said = hanging("    ", "    ", &clean(&update.text), width());
        format!("{}{said}", hanging("  ", "  ", &who, width()))
    };
    updates.iter().map(shown).collect()
}

fn sign_off(gate: &SignOffView, now: Time) -> String {
    let said = gate.response.as_ref().map(|said| format!(": {}", words(said)));
    let by = line(gate.by.as_deref().unwrap_or_default());
    let told = format!("signed off by {by} {}{}", ago(gate.at, now), said.unwrap_or_default());
    hanging("    ", "  ", &told, width())
}

/// An issue below another, in a line.
pub(super) fn child(issue: &IssueRef) -> String {
    let (number, title) = (issue.number, line(&issue.title));
    let status = issue.status.name().replace('_', " ");
    hanging("  ", "  ", &format!("#{number} {title} ({status})"), width())
}

fn section(name: &str, lines: &str, shown: &mut String) {
    if !lines.is_empty() {
        shown.push_str(&format!("\n{BOLD}{name}{BOLD:#}\n{lines}"));
    }
}

fn part(text: &str) -> String {
    match text.trim_end() {
        "" => String::new(),
        text => format!("\n{}", hanging("", "", &clean(text), width())),
    }
}

/// What somebody wrote, marked at each line: it must not pass for a section of the page.
fn body(text: &str) -> String {
    match text.trim_end() {
        "" => String::new(),
        text => {
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
    use punchlist_core::{IssueId, IssueStatus};
    use punchlist_ops::views::ItemView;
    use punchlist_ops::views::issue::ItemStatus;

    #[test]
    fn what_others_wrote_stays_in_its_lines_and_its_width() {
        let at = |text: &str| Time::parse(text).unwrap();
        let now = at("2026-11-15T12:00:00Z");
        let filed = at("2026-11-15T11:00:00Z");
        let issue = || IssueView {
            id: IssueId::parse("01JCQ0000000000000000000AB").unwrap(),
            number: 7,
            title: format!("a\u{1b}[2J\n{}", "漢".repeat(90)),
            body: "b\u{7}\nc\n".to_owned(),
            status: IssueStatus::Open,
            assignment: None,
            revision: 1,
            created_by: "root:primary".to_owned(),
            created_at: filed,
            updated_at: at("2026-11-15T11:57:00Z"),
            defer_until: None,
            worker: None,
            labels: Vec::new(),
            priority: None,
            assignee: None,
            status_reason: None,
            progress: None,
        };
        let table = table(&[issue()], Some(7), now);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("#7  open  3 min ago    a\u{fffd}[2J 漢"), "{table}");
        assert!(unicode_width::UnicodeWidthStr::width(lines[0]) <= width());
        assert!(lines[1].contains("--cursor 7"));
        let step = ItemView {
            id: String::new(),
            content: "d\ne".to_owned(),
            status: ItemStatus::Pending,
            phase: None,
            origin_agent: String::new(),
            claim: None,
            hold: None,
            defer_until: None,
            notes: vec!["f\u{7}\ng".to_owned()],
            ratified_at: None,
            accepted_at: None,
            created_at: filed,
            updated_at: filed,
            completed_at: None,
        };
        let page = shown(
            &Output {
                issue: issue(),
                criteria: Vec::new(),
                steps: vec![step],
                links: Vec::new(),
                updates: Vec::new(),
                sign_offs: Vec::new(),
                sessions: Vec::new(),
                open_children: Vec::new(),
                checklist: String::new(),
                progress: String::new(),
            },
            now,
        );
        let page = anstream::adapter::strip_str(&page).to_string();
        let own = "filed 1 h ago by root:primary, changed 3 min ago, revision 1";
        assert!(page.contains(own), "{page}");
        assert!(page.contains("\n\n│ b\u{fffd}\n│ c\n\nSteps\n"), "{page}");
        assert!(page.ends_with(" d e\n      note: f\u{fffd}\n            g\n"), "{page}");
    }
}
