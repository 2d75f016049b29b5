//! The head of an issue: its title and status, the page's buttons, and the forms they unfold.

use maud::{Markup, html};
use punchlist_core::issue::ways;
use punchlist_core::todo::Priority;
use punchlist_core::{IssueStatus, Role};
use punchlist_ops::operations::issue_show::Output;
use punchlist_ops::views::IssueView;
use punchlist_ops::views::issue::ItemStatus;

use super::edit;
use crate::pages::forms::{self, Field};
use crate::pages::frame::{self, Head};
use crate::pages::icons::Icon;
use crate::pages::visit::Visit;
use crate::pages::{marks, words};

/// The keys of the forms that the head unfolds.
const SEND: &str = "send";
const DETAILS: &str = "details";
const DEFER: &str = "defer-issue";
const DUPLICATE: &str = "duplicate";

/// The buttons of the page.
pub(super) fn actions(visit: &Visit, issue: &IssueView) -> Markup {
    html! {
        (forms::opener(visit, edit::KEY, "Edit checklist", None, ""))
        @if !issue.status.is_closed() { (forms::opener(visit, SEND, "Send to agent", None, "")) }
        details.menu {
            summary.button { "Status" (Icon::Down.draw()) }
            div.menu-list {
                @for to in ways(Role::Operator, issue.status) {
                    @let word = marks::issue_word(to);
                    @if to.is_closed() {
                        a href=(format!("{}?open=close-{}#close-{}", visit.path(), to.name(), to.name())) { (word) "…" }
                    } @else {
                        (forms::row(visit, &format!("to-{}", to.name()), "transition", &html! {
                            input type="hidden" name="before" value=(issue.status.name());
                            button type="submit" class="menu-item" name="status" value=(to.name()) {
                                @if issue.status.is_closed() { "Reopen" } @else { (word) }
                            }
                        }))
                    }
                }
                @if !issue.status.is_closed() {
                    a href=(format!("{}?open={DUPLICATE}#{DUPLICATE}", visit.path())) { "Duplicate of…" }
                }
                a href=(format!("{}?open={DEFER}#{DEFER}", visit.path())) { "Defer…" }
                a href=(format!("{}?open={DETAILS}#{DETAILS}", visit.path())) { "Edit title and labels…" }
            }
        }
    }
}

pub(super) fn draw(visit: &Visit, shown: &Output, actions: &Markup) -> Markup {
    let issue = &shown.issue;
    let state = marks::of_issue(issue.status);
    let deferred = issue.defer_until.filter(|until| *until > visit.now());
    let crumbs = [
        (visit.project().to_owned(), visit.at("")),
        ("Issues".to_owned(), visit.at("/issues")),
        (format!("#{}", issue.number), visit.path().to_owned()),
    ];
    frame::head(&Head {
        crumbs: &crumbs,
        title: html! { (issue.title) },
        sub: html! {
            div.tags {
                span.status { (state.mark) (state.word) }
                @for label in &issue.labels { span.tag { (label) } }
                @if let Some(priority) = issue.priority { span.tag { "priority " (priority.name()) } }
                @if let Some(until) = deferred { span.tag { "deferred until " (words::until(until, visit.now())) } }
                span.hint { "changed " (words::ago(issue.updated_at, visit.now())) }
            }
            @if let Some(reason) = &issue.status_reason { p.hint id="reason" { "Reason: " (reason) } }
        },
        actions: Some(actions),
    })
}

/// The forms that the buttons of the head unfold.
pub(super) fn opened(visit: &Visit, shown: &Output) -> Markup {
    html! {
        (visit.notice_at("top"))
        @if visit.is_open(SEND) { (send(visit)) }
        @if visit.is_open(DETAILS) { (details(visit, &shown.issue)) }
        @if visit.is_open(DEFER) { (defer(visit, &shown.issue)) }
        @if visit.is_open(DUPLICATE) { (duplicate(visit, shown.issue.number)) }
        @for end in [IssueStatus::Resolved, IssueStatus::Rejected] {
            @if visit.is_open(&format!("close-{}", end.name())) { (close(visit, shown, end)) }
        }
    }
}

fn send(visit: &Visit) -> Markup {
    html! {
        section.card.padded {
            (forms::form(visit, SEND, "send", &html! {
                (forms::refusal(visit, SEND))
                (forms::field(visit, SEND, &Field {
                    name: "message", label: "Message to the agent", lines: 3,
                    hint: "It starts a session on this issue. You can leave this empty.",
                    ..Field::default()
                }))
                @if visit.refused_at(SEND).is_some() {
                    label.check {
                        input type="checkbox" name="take_over" value="true";
                        span { "Take the issue from the session that has it" }
                    }
                }
                (forms::save_or_cancel(SEND, "Send to agent"))
            }))
            (forms::cancelling(visit, SEND, "top"))
        }
    }
}

fn details(visit: &Visit, issue: &IssueView) -> Markup {
    let labels = issue.labels.join(", ");
    let priority = issue.priority.map_or("", Priority::name);
    html! {
        section.card.padded {
            (forms::form(visit, DETAILS, "update", &html! {
                input type="hidden" name="revision" value=(issue.revision);
                (forms::refusal(visit, DETAILS))
                (forms::field(
                    visit,
                    DETAILS,
                    &Field { name: "title", label: "Title", value: &issue.title, ..Field::default() },
                ))
                (forms::field(
                    visit,
                    DETAILS,
                    &Field { name: "body", label: "Description", value: &issue.body, lines: 6, ..Field::default() },
                ))
                (forms::field(
                    visit,
                    DETAILS,
                    &Field { name: "labels", label: "Labels",
                        hint: "Separated by commas.", value: &labels, ..Field::default() },
                ))
                (forms::field(
                    visit,
                    DETAILS,
                    &Field { name: "assignee", label: "Assignee",
                        value: issue.assignee.as_deref().unwrap_or_default(), ..Field::default() },
                ))
                div.field {
                    label for="details-priority" { "Priority" }
                    select id="details-priority" name="priority" {
                        @let chosen = visit.typed(DETAILS, "priority", priority);
                        @if chosen.is_empty() { option value="" { "None" } }
                        @for one in Priority::ALL {
                            option value=(one.name()) selected[one.name() == chosen] { (one.name()) }
                        }
                    }
                }
                (forms::save_or_cancel(DETAILS, "Save"))
            }))
            (forms::cancelling(visit, DETAILS, "top"))
        }
    }
}

fn defer(visit: &Visit, issue: &IssueView) -> Markup {
    let is_deferred = issue.defer_until.is_some_and(|until| until > visit.now());
    html! {
        section.card.padded {
            (forms::form(visit, DEFER, "defer_issue", &html! {
                (forms::refusal(visit, DEFER))
                (forms::field(visit, DEFER, &Field {
                    name: "until", label: "Defer until", hint: "For example 2026-12-14. Empty: no longer deferred.",
                    ..Field::default()
                }))
                (forms::save_or_cancel(DEFER, if is_deferred { "Save" } else { "Defer" }))
            }))
            (forms::cancelling(visit, DEFER, "top"))
        }
    }
}

/// K-53: the form that closes an issue because another one says the same.
fn duplicate(visit: &Visit, number: i64) -> Markup {
    html! {
        section.card.padded {
            h2 { "Close #" (number) " as a duplicate" }
            (forms::form(visit, DUPLICATE, "duplicate", &html! {
                (forms::refusal(visit, DUPLICATE))
                (forms::field(visit, DUPLICATE, &Field {
                    name: "of", label: "Duplicate of", hint: "The number of the issue that stays, for example 12.",
                    ..Field::default()
                }))
                (forms::field(visit, DUPLICATE, &Field { name: "note", label: "Note", lines: 2, ..Field::default() }))
                (forms::save_or_cancel(DUPLICATE, "Close as duplicate"))
            }))
            (forms::cancelling(visit, DUPLICATE, "top"))
        }
    }
}

/// The form for closing: shows unmet criteria and open children first.
fn close(visit: &Visit, shown: &Output, end: IssueStatus) -> Markup {
    let key = format!("close-{}", end.name());
    let is_unmet =
        |status: ItemStatus, accepted: bool| !accepted && status != ItemStatus::Abandoned;
    let unmet: Vec<_> = shown
        .criteria
        .iter()
        .filter(|item| is_unmet(item.status, item.accepted_at.is_some()))
        .collect();
    let word = if end == IssueStatus::Resolved { "Resolve" } else { "Reject" };
    html! {
        section.card.padded {
            h2 { (word) " #" (shown.issue.number) }
            @if !unmet.is_empty() {
                p {
                    (words::count(i64::try_from(unmet.len()).unwrap_or(0), "criterion is", "criteria are"))
                    " not accepted:"
                }
                ul.unmet { @for item in &unmet { li { (marks::of_item(item, true, None).mark) " " (item.content) } } }
            }
            @if !shown.open_children.is_empty() {
                p { "Open below it:" }
                ul.unmet {
                    @for child in &shown.open_children {
                        li {
                            a href=(visit.at(&format!("/issues/{}", child.number))) {
                                "#" (child.number) " " (child.title)
                            }
                        }
                    }
                }
            }
            (forms::form(visit, &key, "close", &html! {
                input type="hidden" name="status" value=(end.name());
                (forms::refusal(visit, &key))
                (forms::field(visit, &key, &Field {
                    name: "reason", label: "Reason", lines: 2,
                    ..Field::default()
                }))
                (forms::save_or_cancel(&key, word))
            }))
            (forms::cancelling(visit, &key, "top"))
        }
    }
}
