//! The issues as a board: one column for each status, and a menu to move a card.

use maud::{Markup, html};
use punchlist_core::issue::ways;
use punchlist_core::{IssueStatus, Role};
use punchlist_ops::Error;
use punchlist_ops::views::IssueView;

use super::filters::Filter;
use super::{Waits, found, waiting_words, who};
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
        let mut page = found(visit, filter, Some(status), CARDS)?;
        page.issues.retain(|issue| !filter.is_waiting || waits.contains_key(&issue.number));
        // Cards that wait for the reader come first; otherwise the order stays the same.
        page.issues.sort_by_key(|issue| !waits.contains_key(&issue.number));
        columns.push((status, page));
    }
    let rejected = issues_in(visit, IssueStatus::Rejected);
    let is_empty = columns.iter().all(|(_, page)| page.issues.is_empty());
    Ok(html! {
        @if is_empty { (super::list::nothing(filter)) }
        div.board tabindex="0" role="region" aria-label="Board" {
            @for (status, page) in &columns {
                @let state = marks::of_issue(*status);
                @let total = if filter.is_narrow() { page.issues.len() } else {
                    usize::try_from(issues_in(visit, *status)).unwrap_or(0)
                };
                section.column aria-labelledby={"column-" (status.name())} {
                    h2 id={"column-" (status.name())} {
                        (state.mark) (state.word) " " span.number { (total) }
                    }
                    ul.cards data-rows="" id={"cards-" (status.name())} {
                        @for issue in &page.issues { (card(visit, issue, waits)) }
                    }
                    @if page.issues.is_empty() { p.hint { "None" } }
                    @if page.next_cursor.is_some() {
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

fn card(visit: &Visit, issue: &IssueView, waits: &Waits) -> Markup {
    let held = issue.progress.map_or(0, |progress| progress.held);
    let waiting = waits.contains_key(&issue.number);
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
                    (waiting_words(waits, issue.number))
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
