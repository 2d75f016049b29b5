//! The sidebar of a mission: its pillars, strategies, the recommendations of owners, and the last
//! cycles.

use maud::{Markup, html};
use punchlist_core::metric::MetricStatus;
use punchlist_core::mission::{Standing, Strategy, StrategyStatus};
use punchlist_ops::operations::mission_status::Output;
use punchlist_ops::views::mission::Recommendation;

use super::metric::verdict;
use super::pillar::worst;
use crate::pages::visit::Visit;
use crate::pages::{forms, parts, words};

pub(super) fn draw(visit: &Visit, shown: &Output) -> Markup {
    html! {
        aside.rail aria-label="About this mission" {
            (pillars(visit, shown))
            (strategies(shown))
            (recommendations(visit, shown))
            (cycles(visit, shown))
        }
    }
}

fn pillars(visit: &Visit, shown: &Output) -> Markup {
    html! {
        details.rail-part id="pillars" {
            (parts::rail_head("pillars-title", "Pillars", &html! {}))
            @for pillar in &shown.pillars {
                @let state = verdict(worst(pillar));
                @let met = pillar.metrics.iter().filter(|metric| metric.status == MetricStatus::OnTarget).count();
                article.rail-row id={"rail-" (pillar.slug)} {
                    div.rail-head {
                        (state.mark) span.hidden { (state.word) ": " }
                        span.rail-title { a href={"#pillar-" (pillar.slug)} { (pillar.name) } }
                        span.when { (toggle(visit, shown, &pillar.slug, pillar.status)) }
                    }
                    p.hint {
                        @match pillar.metrics.len() {
                            0 => "no metrics",
                            all => { (met) " of " (all) @if all == 1 { " metric" } @else { " metrics" } " on target" }
                        }
                    }
                }
            }
        }
    }
}

/// The *Pause* or *Resume* button of one pillar.
fn toggle(visit: &Visit, shown: &Output, slug: &str, status: Standing) -> Markup {
    let (action, label) = match status {
        Standing::Active => ("pause", "Pause"),
        Standing::Paused => ("resume", "Resume"),
        Standing::Archived => return html! {},
    };
    if shown.mission.status != Standing::Active {
        return html! {};
    }
    forms::row(
        visit,
        &format!("{action}-{slug}"),
        action,
        &html! {
            input type="hidden" name="pillar" value=(slug);
            button type="submit" class="link" { (label) span.hidden { " " (slug) } }
        },
    )
}

fn strategies(shown: &Output) -> Markup {
    let all: Vec<&Strategy> = shown.pillars.iter().flat_map(|pillar| &pillar.strategies).collect();
    html! {
        @if !all.is_empty() {
            details.rail-part id="strategies" {
                (parts::rail_head("strategies-title", "Strategies", &html! {}))
                ul.plain {
                    @for strategy in all {
                        li {
                            @match strategy.status {
                                StrategyStatus::Active => (strategy.description),
                                StrategyStatus::Abandoned => {
                                    span.dropped { (strategy.description) } " " span.hint { "Dropped." }
                                }
                                StrategyStatus::Completed => { (strategy.description) " " span.hint { "Completed." } }
                                StrategyStatus::Paused => { (strategy.description) " " span.hint { "Paused." } }
                                StrategyStatus::Planned => { (strategy.description) " " span.hint { "Planned." } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn recommendations(visit: &Visit, shown: &Output) -> Markup {
    html! {
        @if !shown.recommendations.is_empty() {
            details.rail-part id="recommendations" {
                (parts::rail_head("recommendations-title", "Owner recommendations", &html! {
                    span.beside { (shown.recommendations.len()) }
                }))
                @for one in &shown.recommendations {
                    article.rail-row {
                        p.rail-title {
                            (wish(one)) " “"
                            a href=(visit.at(&format!("/todos/{}", words::encoded(&one.todo_id)))) { (one.title) }
                            "”"
                        }
                        p.hint {
                            (one.pillar_slug) " · " (visit.name_within(&one.by)) " " (words::ago(one.at, visit.now()))
                            @if let Some(reason) = &one.reason { " · " (reason) }
                        }
                    }
                }
            }
        }
    }
}

/// A recommendation as an instruction.
fn wish(one: &Recommendation) -> String {
    match one.action.as_str() {
        "start" => "Start".to_owned(),
        "promote" => "Promote".to_owned(),
        "demote" => "Demote".to_owned(),
        "extend" => match &one.deadline {
            Some(deadline) => format!("Extend to {deadline}:"),
            None => "Extend".to_owned(),
        },
        other => words::sentence(&other.replace('_', " ")).trim_end_matches('.').to_owned(),
    }
}

fn cycles(visit: &Visit, shown: &Output) -> Markup {
    html! {
        details.rail-part id="cycles" {
            (parts::rail_head("cycles-title", "Cycles", &html! {}))
            @if shown.cycles.is_empty() { p.hint { "No cycle was run yet." } }
            dl.pairs {
                @for cycle in &shown.cycles {
                    dt { (words::until(cycle.at, visit.now())) }
                    dd { (words::grouped(cycle.completed)) " completed" }
                }
            }
        }
    }
}
