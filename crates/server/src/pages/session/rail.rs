//! The sidebar of a conversation: its automatic continuation, its cost, and its runs.

use maud::{Markup, html};
use punchlist_core::run::RunState;
use punchlist_core::text::counted;
use punchlist_ops::views::run::RunView;

use crate::pages::visit::Visit;
use crate::pages::{marks, parts, words};

/// S-26: whether it continues automatically, the limit, and the number of continuations.
pub(super) fn continuation(runs: &[RunView]) -> Markup {
    let Some(run) = runs.first() else { return html! {} };
    let percent = run.context_percent;
    html! {
        details.rail-part id="continuation" {
            (parts::rail_head("continuation-title", "Automatic continuation", &html! {
                span.beside {
                    @if run.drives { span.word.green { "On" } } @else { span.word.grey { "Off" } }
                }
            }))
            p.hint {
                @if run.drives {
                    "Stops when the list is done, after "
                    (counted(run.max_continuations, "continuation", "continuations")) ", or after 2 without progress."
                } @else {
                    "It stops at the end of a turn, even while items are open."
                }
            }
            @if let Some(percent) = percent {
                (measure("Context used", &format!("{percent} %"), percent, 100))
            }
            @if run.drives {
                (measure("Continuations", &format!("{} of {}", run.continuations, run.max_continuations),
                    run.continuations, run.max_continuations))
            }
        }
    }
}

fn measure(name: &str, figure: &str, used: u32, of: u32) -> Markup {
    let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    html! {
        div.measure {
            p.measure-head { span { (name) } span.count { (figure) } }
            (parts::bar(size(used), 0, size(of.max(1)), "accent"))
        }
    }
}

pub(super) fn cost(runs: &[RunView]) -> Markup {
    let sum = |of: fn(&RunView) -> u64| -> i64 {
        i64::try_from(runs.iter().map(of).sum::<u64>()).unwrap_or(i64::MAX)
    };
    let prices: Vec<f64> = runs.iter().filter_map(|run| run.usage.cost_usd).collect();
    html! {
        @if !runs.is_empty() {
            details.rail-part id="cost" {
                (parts::rail_head("cost-title", "Cost", &html! {}))
                dl.sums {
                    dt { "Input tokens" } dd { (words::grouped(sum(|run| run.usage.input_tokens))) }
                    @if sum(|run| run.usage.cached_tokens) > 0 {
                        dt { "From the cache" } dd { (words::grouped(sum(|run| run.usage.cached_tokens))) }
                    }
                    dt { "Output tokens" } dd { (words::grouped(sum(|run| run.usage.output_tokens))) }
                    dt { "Cost" }
                    dd { @if prices.is_empty() { "no price known" } @else { (words::dollars(prices.iter().sum())) } }
                    dt { "Model calls" } dd { (words::grouped(sum(|run| u64::from(run.iterations)))) }
                    @if let Some(run) = runs.first() { dt { "Model" } dd { (run.model) } }
                }
            }
        }
    }
}

/// The runs of a session, newest first.
pub(super) fn runs(visit: &Visit, runs: &[RunView]) -> Markup {
    html! {
        @if runs.len() > 1 {
            details.rail-part id="runs" {
                (parts::rail_head("runs-title", "Runs", &html! { span.beside { (runs.len()) } }))
                @for run in runs {
                    article.rail-row id={"run-" (run.id)} {
                        p.rail-head {
                            @match run.state {
                                RunState::Ended => (super::head::ended(run)),
                                _ if run.is_at_work() => (marks::in_progress()),
                                RunState::Running | RunState::Waiting => (marks::held()),
                            }
                            a href=(visit.at(&format!("/runs/{}", run.id))) { (words::of_run(run)) }
                            span.when { (words::ago(run.created_at, visit.now())) }
                        }
                        @if run.state == RunState::Ended { p.hint { (super::stop_sentence(run)) } }
                    }
                }
            }
        }
    }
}
