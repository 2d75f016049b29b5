//! The issues as a board: one column for each status, and a menu to move a card.

use maud::{Markup, html};
use punchlist_core::issue::ways;
use punchlist_core::{IssueStatus, Role};
use punchlist_ops::Error;
use punchlist_ops::views::IssueView;

use super::filters::Filter;
use super::{Waits, found, found_waiting, waiting_words, who};
use crate::pages::forms;
use crate::pages::frame::issues_in;
use crate::pages::icons::Icon;
use crate::pages::visit::Visit;
use crate::pages::{marks, parts, words};

/// How many cards a column shows.
const CARDS: i64 = 20;

const COLUMNS: [IssueStatus; 4] =
    [IssueStatus::Open, IssueStatus::Triaged, IssueStatus::InProgress, IssueStatus::Resolved];

pub(super) fn draw(visit: &Visit, filter: &Filter, waits: &Waits) -> Result<Markup, Error> {
    let mut columns = Vec::new();
    for status in COLUMNS {
        if filter.status.is_some_and(|wanted| wanted != status) {
            continue;
        }
        columns.push((status, column(visit, filter, status)?));
    }
    let rejected = issues_in(visit, IssueStatus::Rejected);
    let is_empty = columns.iter().all(|(_, column)| column.issues.is_empty());
    Ok(html! {
        @if is_empty { (super::list::nothing(filter)) }
        div.board tabindex="0" role="region" aria-label="Board" {
            @for (status, column) in &columns {
                @let state = marks::of_issue(*status);
                @let total = if filter.is_narrow() || filter.is_waiting { column.issues.len() } else {
                    usize::try_from(issues_in(visit, *status)).unwrap_or(0)
                };
                section.column aria-labelledby={"column-" (status.name())} {
                    h2 id={"column-" (status.name())} {
                        (state.mark) (state.word) " " span.number { (total) }
                    }
                    ul.cards data-rows="" id={"cards-" (status.name())} {
                        @for (n, issue) in column.issues.iter().enumerate() {
                            (card(visit, issue, waits, n < column.waiting))
                        }
                    }
                    @if column.issues.is_empty() { p.hint { "None" } }
                    @if column.has_more {
                        p.more-of {
                            a href=(visit.here(&[("view", None), ("status", Some(status.name()))])) { "Show more" }
                        }
                    }
                }
            }
        }
        @if rejected > 0 && filter.status.is_none() {
            p.hint { (words::count(rejected, "rejected issue is", "rejected issues are")) " not shown. "
                a href=(visit.here(&[("view", None), ("status", Some("rejected"))])) { "Show rejected" }
            }
        }
    })
}

/// The cards of a column: those that wait for the reader, then the newest.
struct Column {
    issues: Vec<IssueView>,
    /// How many of them wait.
    waiting: usize,
    has_more: bool,
}

fn column(visit: &Visit, filter: &Filter, status: IssueStatus) -> Result<Column, Error> {
    let first = found_waiting(visit, filter, Some(status), CARDS)?;
    let (mut issues, mut has_more) = (first.issues, first.next_cursor.is_some());
    let waiting = issues.len();
    if !filter.is_waiting {
        let newest = found(visit, filter, Some(status), CARDS)?;
        has_more |= newest.next_cursor.is_some();
        let is_first = |number: i64| issues.iter().any(|issue| issue.number == number);
        let others: Vec<IssueView> =
            newest.issues.into_iter().filter(|issue| !is_first(issue.number)).collect();
        issues.extend(others);
        let most = usize::try_from(CARDS).unwrap_or(usize::MAX);
        has_more |= issues.len() > most;
        issues.truncate(most);
    }
    Ok(Column { issues, waiting, has_more })
}

fn card(visit: &Visit, issue: &IssueView, waits: &Waits, waiting: bool) -> Markup {
    let held = issue.progress.map_or(0, |progress| progress.held);
    html! {
        li.card.board-card id={"issue-" (issue.number)} {
            div.card-head {
                span.issue-number { "#" (issue.number) }
                @for label in issue.labels.iter().take(2) { span { (label) } }
                span.card-who { (who(visit, issue)) }
                (mover(visit, issue))
            }
            a.card-title data-item="" href=(visit.at(&format!("/issues/{}", issue.number))) { (issue.title) }
            p { (parts::met(issue.progress.as_ref())) }
            @if waiting || held > 0 {
                p.card-waits {
                    (waiting_words(waits, issue.number, waiting))
                    @if held > 0 { span.word.amber { (marks::held()) (held) " held" } }
                }
            }
        }
    }
}

/// The menu to move a card. Closing is done on the issue page, which shows unmet criteria first.
fn mover(visit: &Visit, issue: &IssueView) -> Markup {
    let ways = ways(Role::Operator, issue.status);
    let key = format!("move-{}", issue.number);
    html! {
        details.menu.mover id={"menu-" (issue.number)} {
            summary.dots { (Icon::Dots.draw()) span.hidden { "Move #" (issue.number) } }
            div.menu-list {
                @for to in ways {
                    @let word = marks::issue_word(to);
                    @if to.is_closed() {
                        a href=(visit.at(&format!("/issues/{}?open=close-{}#close", issue.number, to.name()))) {
                            (word) "…"
                        }
                    } @else {
                        (forms::row(visit, &format!("{key}-{}", to.name()), "move", &html! {
                            input type="hidden" name="number" value=(issue.number);
                            input type="hidden" name="before" value=(issue.status.name());
                            button type="submit" class="menu-item" name="status" value=(to.name()) { (word) }
                        }))
                    }
                }
            }
        }
    }
}
