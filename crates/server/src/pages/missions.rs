//! The missions of a project, each with its capacity and its next cycle.

use maud::{Markup, html};
use punchlist_core::mission::Standing;
use punchlist_ops::Error;
use punchlist_ops::operations::mission_list::{self, MissionList, Row};

use super::forms::{Done, Form, unknown};
use super::frame::{self, Head, Section, Shown};
use super::visit::Visit;
use super::{marks, parts, words};

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let missions = visit.run::<MissionList>(mission_list::Input::MOST)?.missions;
    let crumbs = [(visit.project().to_owned(), visit.at(""))];
    let body = html! {
        (frame::head(&Head { crumbs: &crumbs, title: html! { "Missions" }, ..Head::default() }))
        @if missions.is_empty() {
            (parts::empty(
                "No missions yet",
                "A mission has pillars with metrics, and todos that move them. It is a file in your repository.",
                "punch mission init missions/developer-experience.json",
            ))
        } @else {
            div.cards data-rows="end" { @for row in &missions { (card(visit, row)) } }
        }
    };
    let (title, bar) = ("Missions".to_owned(), "Missions".to_owned());
    Ok(Shown {
        title,
        bar,
        back: Some(visit.at("")),
        section: Section::Missions,
        actions: html! {},
        body,
    })
}

/// The state of a mission or a pillar, in a word.
pub(crate) fn standing(status: Standing) -> marks::State {
    match status {
        Standing::Active => marks::State::new(marks::in_progress(), "Active", "accent"),
        Standing::Paused => marks::State::new(marks::held(), "Paused", "amber"),
        Standing::Archived => marks::State::new(marks::cancelled(), "Archived", "grey"),
    }
}

fn card(visit: &Visit, row: &Row) -> Markup {
    let state = standing(row.status);
    html! {
        article.card.padded.mission-card id={"mission-" (row.slug)} data-item="" {
            h2 { a href=(visit.at(&format!("/missions/{}", words::encoded(&row.slug)))) { (row.name) } }
            p.sub {
                (state.mark) " " (state.shown())
                @if let Some(at) = row.next_cycle_at { " · next cycle on " (words::until(at, visit.now())) }
            }
            div.gauges {
                (parts::gauge("Active todos", row.counts.active, i64::from(row.counts.active_limit)))
                (parts::gauge("Backlog", row.counts.backlog, i64::from(row.counts.backlog_limit)))
            }
        }
    }
}

pub(crate) fn act(_: &Visit, form: &Form) -> Result<Done, Error> {
    Err(unknown(form))
}
