//! The activity of a project: sentences by day, newest first, with filters.
//!
//! The log is read backwards in pages. A filter that finds little stops after a limited number of
//! events, and the reader can continue from there.

mod created;
mod sentence;

use maud::{Markup, html};
use punchlist_ops::Error;
use punchlist_ops::input::{Limit, Maybe};
use punchlist_ops::operations::event_list::{self, EventList};

use super::forms::{Done, Form, unknown};
use super::frame::{self, Head, Section, Shown};
use super::visit::Visit;
use super::{parts, words};
use sentence::{Kind, Sentence};

/// How many events are read at a time, how often at most, and how many sentences are shown.
const EVENTS: i64 = 52;
const READS: usize = 20;
const SENTENCES: usize = 40;

/// This many similar entries in a row are folded into one.
const FOLDED: usize = 3;

/// The filters of the reader.
#[derive(Debug)]
struct Wanted<'a> {
    agent: Option<&'a str>,
    kind: Option<Kind>,
    item: Option<&'a str>,
}

impl Wanted<'_> {
    fn has(&self, one: &Sentence) -> bool {
        self.agent.is_none_or(|agent| words::name(&one.actor) == agent || one.actor == agent)
            && self.kind.is_none_or(|kind| one.kind == kind)
            && self.item.is_none_or(|item| one.is_about(item))
    }
}

/// The sentences of a page, and the start of the next page.
fn read(visit: &Visit, wanted: &Wanted<'_>) -> Result<(Vec<Sentence>, Option<i64>), Error> {
    let mut before = visit.query("before").and_then(|text| text.parse().ok());
    let mut found = Vec::new();
    for _ in 0..READS {
        let input = event_list::Input {
            after: None,
            before,
            since: Maybe(None),
            brief: None,
            names: Some(true),
            limit: Limit::of(EVENTS),
            visibility: None,
        };
        let page = visit.run::<EventList>(input)?;
        let is_last = i64::try_from(page.events.len()).unwrap_or(0) < EVENTS;
        for event in page.events.iter().rev() {
            before = Some(event.seq);
            let said = sentence::of(visit, event, &page.names).filter(|one| wanted.has(one));
            found.extend(said);
            if found.len() >= SENTENCES {
                return Ok((found, before));
            }
        }
        if is_last {
            return Ok((found, None));
        }
    }
    Ok((found, before))
}

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let wanted = Wanted {
        agent: visit.query("agent"),
        kind: visit.query("kind").and_then(Kind::parse),
        item: visit.query("item"),
    };
    let (found, earlier) = read(visit, &wanted)?;
    let is_filtered = wanted.agent.is_some() || wanted.kind.is_some() || wanted.item.is_some();
    let crumbs = [(visit.project().to_owned(), visit.at(""))];
    let day = |one: &Sentence| words::day(one.at, visit.now());
    let body = html! {
        (frame::head(&Head { crumbs: &crumbs, title: html! { "Activity" }, ..Head::default() }))
        div.narrow.main-col {
            (filters(visit, &wanted))
            @if found.is_empty() && !is_filtered {
                (parts::empty(
                    "Nothing has happened yet",
                    "What agents and people do here is listed, newest first.",
                    "punch issue new \"Checkout fails\"",
                ))
            } @else if found.is_empty() {
                p.hint {
                    "Nothing that fits these filters" @if earlier.is_some() { " in the newest part of the log" } "."
                }
            }
            @for of_day in found.chunk_by(|a, b| day(a) == day(b)) {
                @if let Some(first) = of_day.first() {
                    section.day {
                        h2 { (day(first)) }
                        ol.history { @for alike in of_day.chunk_by(Sentence::is_like) { (entry(visit, alike)) } }
                    }
                }
            }
            @if let Some(before) = earlier {
                p.earlier { a href=(visit.here(&[("before", Some(&before.to_string()))])) { "Show earlier" } }
            }
            @if visit.query("before").is_some() {
                p.earlier { a href=(visit.here(&[("before", None)])) { "Show the newest" } }
            }
        }
    };
    let (title, bar) = ("Activity".to_owned(), "Activity".to_owned());
    Ok(Shown {
        title,
        bar,
        back: Some(visit.at("")),
        section: Section::Activity,
        actions: html! {},
        body,
    })
}

fn filters(visit: &Visit, wanted: &Wanted<'_>) -> Markup {
    html! {
        form.activity-filters method="get" action=(visit.path()) {
            div.filter {
                label for="activity-agent" { "Agent or person" }
                input id="activity-agent" name="agent" type="search"
                    value=(wanted.agent.unwrap_or_default()) data-find="";
            }
            div.filter {
                label for="activity-kind" { "Kind" }
                select id="activity-kind" name="kind" {
                    option value="" { "all" }
                    @for kind in Kind::ALL {
                        option value=(kind.name()) selected[wanted.kind == Some(*kind)] { (kind.name()) }
                    }
                }
            }
            div.filter {
                label for="activity-item" { "Item" }
                input id="activity-item" name="item" type="search" value=(wanted.item.unwrap_or_default());
            }
            button type="submit" class="button" { "Show" }
            @if wanted.agent.is_some() || wanted.kind.is_some() || wanted.item.is_some() {
                a.button.quiet href=(visit.path()) { "Show all" }
            }
        }
    }
}

/// One sentence, or several similar ones as one line that unfolds.
fn entry(visit: &Visit, alike: &[Sentence]) -> Markup {
    let Some(first) = alike.first() else { return html! {} };
    if alike.len() < FOLDED {
        return html! { @for one in alike { li id={"event-" (one.seq)} { (line(visit, one)) } } };
    }
    html! {
        li id={"event-" (first.seq)} {
            (first.icon.draw())
            details.alike {
                summary {
                    b { (visit.name(&first.actor)) }
                    " " (first.verb) " " (alike.len()) " " (first.many) (parts::chevron())
                }
                ul { @for one in alike { li { (line(visit, one)) } } }
            }
            (when(visit, first))
        }
    }
}

fn line(visit: &Visit, one: &Sentence) -> Markup {
    html! {
        (one.icon.draw())
        div.entry-text {
            p { b { (visit.name(&one.actor)) } " " (one.verb) " " (one.object) }
            @if let Some(said) = &one.said { p.hint { (said) } }
        }
        (when(visit, one))
    }
}

fn when(visit: &Visit, one: &Sentence) -> Markup {
    html! { span.when { (words::ago(one.at, visit.now())) @if one.set_clock { " (clock set)" } } }
}

pub(crate) fn act(_: &Visit, form: &Form) -> Result<Done, Error> {
    Err(unknown(form))
}
