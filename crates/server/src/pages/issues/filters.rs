//! The filters of the issues, as a part of the address: each is a link or a field that reloads the
//! page.

use maud::{Markup, html};
use punchlist_core::IssueStatus;
use punchlist_core::text::Title;
use punchlist_ops::Error;
use punchlist_ops::explain::Fault;
use punchlist_ops::input::{self, Words};

use super::title;
use crate::pages::icons::Icon;
use crate::pages::marks;
use crate::pages::visit::Visit;

/// Which issues are shown.
#[derive(Debug)]
pub(super) struct Filter {
    pub(super) status: Option<IssueStatus>,
    pub(super) text: Option<Words>,
    pub(super) label: Option<Title>,
    pub(super) assignee: Option<Title>,
    /// Only issues that wait for the reader.
    pub(super) is_waiting: bool,
}

impl Filter {
    pub(super) fn read(visit: &Visit) -> Result<Self, Error> {
        let status = match visit.query("status") {
            None => None,
            Some(word) => Some(IssueStatus::parse(word).ok_or_else(|| {
                let (path, found) = ("status".to_owned(), format!("`{word}`"));
                let expected = "open, triaged, in_progress, resolved or rejected".to_owned();
                Error::from(Fault::BadValue { path, found, expected })
            })?),
        };
        let text = visit.query("text").map(|text| input::text("text", text));
        Ok(Self {
            status,
            text: text.transpose()?,
            label: title(visit.query("label")),
            assignee: title(visit.query("assignee")),
            is_waiting: visit.query("waiting").is_some(),
        })
    }

    /// Is any filter set?
    pub(super) const fn is_narrow(&self) -> bool {
        self.text.is_some() || self.label.is_some() || self.assignee.is_some()
    }
}

pub(super) fn draw(visit: &Visit, is_board: bool, waiting: usize) -> Markup {
    let status = visit.query("status").and_then(IssueStatus::parse);
    let is_waiting = visit.query("waiting").is_some();
    html! {
        div.filters id="filters" {
            nav.segments aria-label="View" {
                a href=(visit.here(&[("view", None)])) aria-current=[(!is_board).then_some("true")] { "List" }
                a href=(visit.here(&[("view", Some("board"))])) aria-current=[is_board.then_some("true")] { "Board" }
            }
            a.button href=(visit.here(&[("waiting", (!is_waiting).then_some("1"))]))
                aria-current=[is_waiting.then_some("true")] {
                (Icon::Inbox.draw()) "Waiting for you" span.number { (waiting) }
            }
            details.menu id="filter-status" {
                summary.button aria-current=[status.map(|_| "true")] {
                    @match status {
                        Some(status) => (marks::issue_word(status)),
                        None => "Status",
                    }
                    (Icon::Down.draw())
                }
                ul.menu-list {
                    li { a href=(visit.here(&[("status", None)])) { "All open" } }
                    @for status in IssueStatus::ALL {
                        @let state = marks::of_issue(status);
                        li { a href=(visit.here(&[("status", Some(status.name()))])) { (state.mark) (state.word) } }
                    }
                }
            }
            (text_filter(visit, "label", "Label"))
            (text_filter(visit, "assignee", "Assignee"))
            form.find role="search" method="get" action=(visit.path()) {
                (visit.filters(&["text"]))
                (Icon::Find.draw())
                input type="search" name="text" aria-label="Find issues" placeholder="Find issues"
                    value=(visit.query("text").unwrap_or_default()) data-find="" autocomplete="off";
                kbd aria-hidden="true" { "/" }
            }
        }
    }
}

/// A filter with a text value.
fn text_filter(visit: &Visit, name: &str, label: &str) -> Markup {
    let value = visit.query(name);
    let id = format!("filter-{name}");
    html! {
        details.menu id=(id) {
            summary.button aria-current=[value.map(|_| "true")] {
                (value.unwrap_or(label)) (Icon::Down.draw())
            }
            form.menu-list.form method="get" action=(visit.path()) {
                (visit.filters(&[name]))
                div.field {
                    label for={(id) "-value"} { (label) }
                    input id={(id) "-value"} type="text" name=(name) autocomplete="off"
                        value=(value.unwrap_or_default());
                }
                button type="submit" class="button" { "Filter" }
                @if value.is_some() { a href=(visit.here(&[(name, None)])) { "Show all" } }
            }
        }
    }
}
