//! The issues as a list: those that wait for the reader, then by status.

use maud::{Markup, html};
use punchlist_core::IssueStatus;
use punchlist_ops::Error;
use punchlist_ops::views::IssueView;

use super::filters::Filter;
use super::{Waits, cursor, found, found_waiting, waiting_words, who};
use crate::pages::frame::issues_in;
use crate::pages::gates::Item;
use crate::pages::visit::Visit;
use crate::pages::{marks, parts, words};

/// How many issues of each status are listed, and how many if one status is selected.
const LISTED: i64 = 30;
const LISTED_ALONE: i64 = 100;

/// The open statuses, in the order of the page.
const OPEN: [IssueStatus; 3] = [IssueStatus::InProgress, IssueStatus::Triaged, IssueStatus::Open];

pub(super) fn draw(visit: &Visit, filter: &Filter, waits: &Waits) -> Result<Markup, Error> {
    let statuses = filter.status.map_or_else(|| OPEN.to_vec(), |status| vec![status]);
    let limit = if filter.status.is_some() { LISTED_ALONE } else { LISTED };
    let mut mine = found_waiting(visit, filter, filter.status, LISTED_ALONE)?.issues;
    let mut groups = Vec::new();
    let mut next = None;
    for status in statuses.into_iter().filter(|_| !filter.is_waiting) {
        let page = found(visit, filter, Some(status), limit)?;
        let is_mine = |number: i64| mine.iter().any(|issue| issue.number == number);
        let others: Vec<IssueView> =
            page.issues.into_iter().filter(|issue| !is_mine(issue.number)).collect();
        groups.push((status, others, page.next_cursor.is_some()));
        next = page.next_cursor;
    }
    // The longest wait comes first, as in the inbox.
    mine.sort_by_key(|issue| {
        let since = waits.get(&issue.number).and_then(|all| all.first()).map(Item::since);
        (since.is_none(), since)
    });
    if cursor(visit, filter).is_some() {
        // They are on the first page.
        mine.clear();
    }
    let is_empty = mine.is_empty() && groups.iter().all(|(_, issues, _)| issues.is_empty());
    if is_empty {
        return Ok(nothing(filter));
    }
    Ok(html! {
        @if !mine.is_empty() {
            (group("waiting", "Waiting for you", mine.len(), &html! {
                @for issue in &mine { (row(visit, issue, waits, true)) }
            }))
        }
        @for (status, issues, has_more) in &groups {
            @if !issues.is_empty() {
                @let state = marks::of_issue(*status);
                @let count = if filter.is_narrow() { issues.len() } else { count(visit, *status, &mine) };
                (group(status.name(), &state.word, count, &html! {
                    @for issue in issues { (row(visit, issue, waits, false)) }
                }))
                @if *has_more && filter.status.is_none() {
                    p.more-of {
                        a href=(visit.here(&[("status", Some(status.name()))])) {
                            "Show all " (state.word.to_lowercase())
                        }
                    }
                }
            }
        }
        @if let (Some(next), Some(_)) = (next, filter.status) {
            p.more-of {
                a href=(format!("{}&cursor={next}", visit.here(&[("status", filter.status.map(IssueStatus::name))]))) {
                    "Show older ones"
                }
            }
        }
    })
}

/// The number of issues in a status, without those listed above.
fn count(visit: &Visit, status: IssueStatus, mine: &[IssueView]) -> usize {
    let above = mine.iter().filter(|issue| issue.status == status).count();
    usize::try_from(issues_in(visit, status)).unwrap_or(0).saturating_sub(above)
}

fn group(id: &str, name: &str, count: usize, rows: &Markup) -> Markup {
    html! {
        section.group id={"group-" (id)} aria-labelledby={"group-" (id) "-name"} {
            h2 id={"group-" (id) "-name"} { (name) " " span.number { (count) } }
            ul.card.rows data-rows="" id={"rows-" (id)} { (rows) }
        }
    }
}

fn row(visit: &Visit, issue: &IssueView, waits: &Waits, is_waiting: bool) -> Markup {
    let state = marks::of_issue(issue.status);
    let deferred = issue.defer_until.filter(|until| *until > visit.now());
    let held = issue.progress.map_or(0, |progress| progress.held);
    html! {
        li.issue-row id={"issue-" (issue.number)} {
            @if deferred.is_some() { (marks::deferred()) } @else { (state.mark) }
            a.issue-link data-item="" href=(visit.at(&format!("/issues/{}", issue.number))) title=(issue.title) {
                span.hidden { (state.word) " " }
                span.issue-number { "#" (issue.number) } " " span.issue-title { (issue.title) }
            }
            span.row-waits {
                (waiting_words(waits, issue.number, is_waiting))
                @if held > 0 { span.word.amber { (marks::held()) (held) " held" } }
                @if let Some(until) = deferred { span.hint { "deferred until " (words::until(until, visit.now())) } }
            }
            span.row-labels { @for label in &issue.labels { span.tag { (label) } } }
            span.row-progress { (parts::met(issue.progress.as_ref())) }
            span.row-who { (who(visit, issue)) }
            span.row-when { (words::since(issue.updated_at, visit.now())) }
        }
    }
}

pub(super) fn nothing(filter: &Filter) -> Markup {
    if filter.is_narrow() || filter.status.is_some() || filter.is_waiting {
        return parts::empty("No issue fits", "Change or remove a filter to see more.", "");
    }
    parts::empty(
        "No open issues",
        "An issue says what is to be achieved, and the criteria that you accept it by.",
        "punch issue new \"Checkout fails\"",
    )
}
