//! The issues of a project, as a list or a board, with filters and a form for a new one.

mod board;
mod filters;
mod list;
mod new;

use std::collections::BTreeMap;

use maud::{Markup, html};
use punchlist_core::IssueStatus;
use punchlist_core::text::Title;
use punchlist_ops::Error;
use punchlist_ops::input::{Cursor, Limit, Maybe};
use punchlist_ops::operations::issue_list::{self, IssueList};
use punchlist_ops::views::IssueView;

use super::forms::{self, Done, Form};
use super::frame::{self, Head, Section, Shown};
use super::gates::{self, Item, Matter};
use super::icons::Icon;
use super::marks;
use super::notice::Notice;
use super::visit::Visit;

/// The open decisions, by issue number.
type Waits = BTreeMap<i64, Vec<Item>>;

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let is_board = visit.query("view") == Some("board");
    let waits = waits(visit)?;
    let filter = filters::Filter::read(visit);
    let content = match &filter {
        Err(error) => html! { (forms::fault("find-fault", error)) },
        Ok(filter) if is_board => board::draw(visit, filter, &waits)?,
        Ok(filter) => list::draw(visit, filter, &waits)?,
    };
    let new = forms::opener(visit, new::KEY, "New issue", Some(Icon::Plus), "primary");
    let actions = html! { @if !visit.is_open(new::KEY) { div data-new="" { (new) } } };
    let body = html! {
        (frame::head(&Head { title: html! { "Issues" }, actions: Some(&actions), ..Head::default() }))
        @if visit.is_open(new::KEY) { (new::draw(visit)) }
        (filters::draw(visit, is_board, waits.len()))
        div class=(if is_board { "board-frame" } else { "lists" }) { (content) }
    };
    let (title, bar) = ("Issues".to_owned(), "Issues".to_owned());
    let back = Some(visit.at(""));
    Ok(Shown { title, bar, back, section: Section::Issues, actions, body })
}

pub(crate) fn act(visit: &Visit, form: &Form) -> Result<Done, Error> {
    match form.action() {
        "create" => new::create(visit, form),
        "move" => {
            let (number, status) = (form.number("number"), form.text("status"));
            let number = number.ok_or_else(|| forms::unknown(form))?;
            let input = serde_json::json!({ "number": number, "status": status });
            visit.post("issue_transition", input)?;
            let state = IssueStatus::parse(status).map(marks::issue_word);
            let word = state.unwrap_or_default().to_lowercase();
            let notice = Notice::done(format!("#{number} is {word} now."));
            let before = form.text("before");
            let fields = [("number", form.text("number")), ("status", before)];
            Ok(Done::at("top", notice.undo("move", &fields)))
        }
        _ => gates::act(visit, form),
    }
}

fn waits(visit: &Visit) -> Result<Waits, Error> {
    let waiting = gates::waiting(visit, &[visit.project()])?;
    let mut waits = Waits::new();
    for item in waiting.items {
        let number = match &item.matter {
            Matter::Gate(gate) => gate.number,
            Matter::Proposal(proposal) => proposal.number,
            Matter::Review(review) => review.of.strip_prefix('#').and_then(|n| n.parse().ok()),
        };
        if let Some(number) = number {
            waits.entry(number).or_default().push(item);
        }
    }
    Ok(waits)
}

/// Where the page begins, if it is not the first.
fn cursor(visit: &Visit, filter: &filters::Filter) -> Option<i64> {
    let cursor = visit.query("cursor").and_then(|cursor| cursor.parse().ok());
    cursor.filter(|_| filter.status.is_some())
}

/// Loads one page of issues.
fn found(
    visit: &Visit,
    filter: &filters::Filter,
    status: Option<IssueStatus>,
    limit: i64,
) -> Result<issue_list::Output, Error> {
    let input = wanted(filter, status, limit);
    visit.run::<IssueList>(issue_list::Input { cursor: Cursor(cursor(visit, filter)), ..input })
}

/// Loads the issues that wait for the reader. They come first, however old they are, so they are not
/// searched for in a page of the newest.
fn found_waiting(
    visit: &Visit,
    filter: &filters::Filter,
    status: Option<IssueStatus>,
    limit: i64,
) -> Result<issue_list::Output, Error> {
    if frame::waiting_here(visit) == 0 {
        return Ok(issue_list::Output { issues: Vec::new(), next_cursor: None });
    }
    let input = wanted(filter, status, limit);
    visit.run::<IssueList>(issue_list::Input { waiting: Some(true), ..input })
}

fn wanted(filter: &filters::Filter, status: Option<IssueStatus>, limit: i64) -> issue_list::Input {
    issue_list::Input {
        status,
        text: Maybe(filter.text.clone()),
        open: None,
        label: Maybe(filter.label.clone()),
        assignee: Maybe(filter.assignee.clone()),
        waiting: None,
        limit: Limit::of(limit),
        cursor: Cursor::FIRST,
    }
}

/// The text of a filter, if it is valid.
fn title(text: Option<&str>) -> Option<Title> {
    text.and_then(|text| Title::new(text).ok())
}

/// The open decisions of an issue: their kind, with an icon. Only so many decisions are loaded; of the
/// others it is known that they wait.
fn waiting_words(waits: &Waits, number: i64, is_waiting: bool) -> Markup {
    let items = waits.get(&number);
    html! {
        @for item in items.into_iter().flatten() {
            @let (kind, icon) = item.kind();
            span.waits { (icon.draw()) (kind) }
        }
        @if is_waiting && items.is_none() { span.waits { (Icon::Inbox.draw()) "Waiting" } }
    }
}

/// The person or agent that works on it.
fn who(visit: &Visit, issue: &IssueView) -> String {
    let by = issue.assignee.as_deref().or(issue.worker.as_deref());
    // The id of a session in which no agent has acted yet says nothing.
    let to = issue.assignment.as_deref().filter(|to| !to.starts_with("session:"));
    by.or(to).map(|by| visit.name(by)).unwrap_or_default()
}
