//! One mission: its capacity, its claims for review, and each pillar with its metrics and todos.

mod act;
mod metric;
mod pillar;
mod rail;

use maud::{Markup, html};
use punchlist_core::mission::Standing;
use punchlist_core::{ListKind, TodoKind};
use punchlist_ops::Error;
use punchlist_ops::operations::gate_list::ReviewView;
use punchlist_ops::operations::mission_status::{self, MissionStatus, Output};
use punchlist_ops::views::MissionTodoView;
use punchlist_ops::views::todo::ClaimView;

use super::forms;
use super::frame::{self, Head, Section, Shown};
use super::gates;
use super::icons::Icon;
use super::items;
use super::visit::Visit;
use super::{markdown, missions, parts, words};

pub(crate) use act::act;
pub(crate) use metric::figure;

fn status(visit: &Visit) -> Result<Output, Error> {
    let mission = visit.part("slug").into();
    visit.run::<MissionStatus>(mission_status::Input { mission, open: Some(true) })
}

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let shown = status(visit)?;
    let mission = &shown.mission;
    let actions = html! {
        @match mission.status {
            Standing::Active => (forms::row(visit, "pause", "pause", &html! {
                button type="submit" class="button" { (Icon::Pause.draw()) "Pause" }
            })),
            Standing::Paused => (forms::row(visit, "resume", "resume", &html! {
                button type="submit" class="button" { (Icon::Play.draw()) "Resume" }
            })),
            Standing::Archived => {},
        }
    };
    let crumbs = [
        (visit.project().to_owned(), visit.at("")),
        ("Missions".to_owned(), visit.at("/missions")),
    ];
    let mut charts = Vec::new();
    for pillar in &shown.pillars {
        charts.push((pillar, metric::all(visit, &mission.slug, pillar)?));
    }
    let body = html! {
        (frame::head(&Head {
            crumbs: &crumbs,
            title: html! { (mission.name) },
            sub: html! { p { (standing(visit, &shown)) } },
            actions: Some(&actions),
        }))
        div.columns {
            div.main-col {
                (visit.notice_at("top"))
                @for key in ["pause", "resume"] { (forms::refusal(visit, key)) }
                @if !mission.description.is_empty() { div.md.prose { (markdown::render(&mission.description)) } }
                (gauges(visit, &shown))
                (review(visit, &shown))
                @if shown.pillars.is_empty() {
                    (parts::empty(
                        "No pillars yet",
                        "Pillars with metrics come from the mission's file.",
                        &format!("punch mission init missions/{}.json", mission.slug),
                    ))
                }
                @for (pillar, metrics) in &charts { (pillar::draw(visit, &shown, pillar, metrics)) }
            }
            (rail::draw(visit, &shown))
        }
    };
    let (title, bar) = (mission.name.clone(), mission.name.clone());
    Ok(Shown {
        title,
        bar,
        back: Some(visit.at("/missions")),
        section: Section::Missions,
        actions,
        body,
    })
}

/// "Active. The next cycle starts on 16 Nov."
fn standing(visit: &Visit, shown: &Output) -> Markup {
    let now = visit.now();
    html! {
        (missions::standing(shown.mission.status).word) ". "
        @match (shown.mission.status, shown.next_cycle_at) {
            (Standing::Active, Some(at)) if at > now => {
                "The next cycle starts on " (words::until(at, now)) ", in " (words::span(now, at)) "."
            }
            (Standing::Active, Some(_)) => "The next cycle is due.",
            (Standing::Active, None) => "It has no cadence: a cycle is started by hand.",
            (Standing::Paused, _) => "No cycle starts and no metric is read until you resume it.",
            (Standing::Archived, _) => "",
        }
    }
}

fn gauges(visit: &Visit, shown: &Output) -> Markup {
    let counts = shown.counts;
    let oldest = shown
        .review_queue
        .iter()
        .filter_map(|todo| todo.claim.as_ref())
        .map(|claim| claim.at)
        .min();
    let late = shown.overdue.len();
    let worst =
        shown.overdue.iter().filter_map(|todo| items::days_left(todo.deadline, visit.now())).min();
    html! {
        div.card.gauges.four id="gauges" {
            (parts::gauge("Active todos", counts.active, i64::from(counts.active_limit)))
            (parts::gauge("Backlog", counts.backlog, i64::from(counts.backlog_limit)))
            div.gauge {
                p.gauge-name { "In review" }
                p.figure { (shown.review_queue.len()) }
                p.hint { @if let Some(at) = oldest { "oldest " (words::span(at, visit.now())) } }
            }
            div.gauge {
                p.gauge-name { "Overdue" }
                p class=(if late > 0 { "figure red" } else { "figure" }) { (late) }
                p.hint {
                    @if let Some(days) = worst.filter(|days| *days < 0) { "by " (words::count(-days, "day", "days")) }
                }
            }
        }
        @for escalation in &shown.escalations {
            p.hint id={"escalation-" (escalation.gate_id)} {
                "A question about an overdue todo waits for you: "
                a href=(format!("{}#gate-{}", visit.at("/inbox"), escalation.gate_id)) { (escalation.text) }
            }
        }
    }
}

/// Claims that wait for the lead. The operator may decide instead.
fn review(visit: &Visit, shown: &Output) -> Markup {
    let reviews: Vec<ReviewView> =
        shown.review_queue.iter().filter_map(|todo| review_of(shown, todo)).collect();
    html! {
        section aria-labelledby="review-title" {
            (parts::section_head("review-title", "In review", &html! {
                @if !reviews.is_empty() { span.beside { "The lead decides. You can decide in its place." } }
            }, &html! {}))
            (visit.notice_at("review-title"))
            @if reviews.is_empty() { p.hint { "Nothing waits for review." } }
            @else { (gates::list(visit, &gates::of_reviews(visit, reviews))) }
        }
    }
}

fn review_of(shown: &Output, todo: &MissionTodoView) -> Option<ReviewView> {
    let claim = todo.claim.as_ref()?;
    let pillar = shown.pillars.iter().find(|pillar| pillar.slug == todo.pillar_slug);
    Some(ReviewView {
        todo_id: todo.id.clone(),
        title: todo.title.clone(),
        kind: TodoKind::Step,
        list: ListKind::Pillar,
        of: pillar.map_or_else(|| todo.pillar_slug.clone(), |pillar| pillar.name.clone()),
        claim: ClaimView {
            by: claim.by.clone(),
            at: claim.at,
            outcome: claim.outcome.clone(),
            evidence: claim.evidence.clone(),
        },
    })
}
