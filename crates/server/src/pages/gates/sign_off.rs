//! A sign-off: the criteria with their claims and evidence, the commits, and the open children.

use maud::{Markup, html};
use punchlist_core::text::Title;
use punchlist_ops::input::{Cursor, Limit, Maybe};
use punchlist_ops::operations::run_list::{self, RunList};
use punchlist_ops::views::issue::ItemStatus;
use punchlist_ops::views::{GateView, ItemView};

use super::Item;
use super::card::{bar, hidden, primary, said};
use crate::pages::change::{self, Cited};
use crate::pages::forms;
use crate::pages::visit::Visit;
use crate::pages::{marks, parts, words};

/// How many runs are summed up.
const RUNS_MAX: i64 = 100;

/// Is it unclaimed?
fn is_unclaimed(item: &ItemView) -> bool {
    item.claim.is_none() && matches!(item.status, ItemStatus::Pending | ItemStatus::InProgress)
}

pub(super) fn body(
    visit: &Visit,
    item: &Item,
    gate: &GateView,
    is_first: bool,
    is_open: bool,
) -> Markup {
    let key = format!("answer-{}", item.id());
    let criteria: Vec<&ItemView> =
        gate.criteria.iter().filter(|one| one.status != ItemStatus::Abandoned).collect();
    let unclaimed: Vec<&ItemView> =
        criteria.iter().copied().filter(|one| is_unclaimed(one)).collect();
    let open = criteria.iter().filter(|one| one.accepted_at.is_none()).count();
    let claimed: Vec<&ItemView> = criteria
        .iter()
        .copied()
        .filter(|one| one.claim.is_some() && one.accepted_at.is_none())
        .collect();
    let then = html! {
        "Accepts " (words::count(i64::try_from(open).unwrap_or(0), "criterion", "criteria")) ". "
        @if let Some(number) = gate.number {
            (visit.name(&gate.asked_by)) " may then "
            @match gate.end {
                Some(end) if end.name() == "rejected" => "reject",
                _ => "resolve",
            }
            " #" (number) "."
        }
    };
    html! {
        div.gate-body {
            (said(visit, &gate.asked_by, &gate.text))
            ul.criteria {
                @for one in &criteria { li { (criterion(visit, one)) } }
            }
            @if !gate.open_children.is_empty() {
                p { "Still open below it: "
                    @for (n, child) in gate.open_children.iter().enumerate() {
                        @if n > 0 { ", " }
                        a href=(words::address(&item.project, &format!("/issues/{}", child.number))) {
                            "#" (child.number) " " (child.title)
                        }
                    }
                }
            }
            (facts(visit, item, gate, is_open))
        }
        (bar(visit, item, &forms::row(visit, &key, "sign_off", &html! {
            (hidden(item))
            @if let Some(revision) = gate.revision {
                input type="hidden" name="revision" value=(revision);
            }
            @if let Some(number) = gate.number { input type="hidden" name="number" value=(number); }
            @if let Some(end) = gate.end { input type="hidden" name="end" value=(end.name()); }
            @for one in &unclaimed {
                label.check {
                    input type="checkbox" name="unclaimed" value=(one.content)
                        checked[visit.ticked(&key, "unclaimed", &one.content, false)];
                    span { "Accept “" (one.content) "”, which nobody claimed" }
                }
            }
            @if !unclaimed.is_empty() {
                input type="hidden" name="unclaimed_count" value=(unclaimed.len());
            }
            (forms::refusal(visit, &key))
            (forms::submit("Sign off", primary(is_first)))
        }), ("Refuse", &reopen(visit, item, &claimed)), &then))
    }
}

/// The choice of criteria to reopen.
fn reopen(visit: &Visit, item: &Item, claimed: &[&ItemView]) -> Markup {
    let key = format!("refuse-{}", item.id());
    html! {
        @if !claimed.is_empty() {
            fieldset {
                legend { "Reopen" }
                @for one in claimed {
                    label.check {
                        input type="checkbox" name="reopen" value=(one.content)
                            checked[visit.ticked(&key, "reopen", &one.content, true)];
                        span { (one.content) }
                    }
                }
                input type="hidden" name="reopen_count" value=(claimed.len());
            }
        }
    }
}

/// A criterion with its claim and evidence.
pub(crate) fn criterion(visit: &Visit, item: &ItemView) -> Markup {
    let state = marks::of_item(item, true, None);
    html! {
        div.row {
            (state.mark)
            div.row-text {
                p.content { (item.content) }
                p.below {
                    @if let Some(claim) = &item.claim {
                        @if let Some(outcome) = &claim.outcome { span { (outcome) } }
                        (parts::evidence(&claim.evidence))
                        @if claim.evidence.is_empty() { span.hint { "No evidence" } }
                        span.hint { (visit.name(&claim.by)) ", " (words::ago(claim.at, visit.now())) }
                    }
                    @for note in &item.notes { span.hint { "note: " (note) } }
                }
            }
            (state.shown())
        }
    }
}

/// The change, cost and runs. A folded card does not ask for its runs.
fn facts(visit: &Visit, item: &Item, gate: &GateView, is_open: bool) -> Markup {
    let claims = gate.criteria.iter().filter_map(|one| one.claim.as_ref());
    let cited = Cited {
        project: &item.project,
        key: &item.id(),
        commits: change::commits(claims.flat_map(|claim| &claim.evidence)),
        sessions: gate.session.iter().cloned().collect(),
    };
    let session = gate.session.as_deref().filter(|_| is_open).and_then(|id| Title::new(id).ok());
    let runs = session.and_then(|session| {
        let wanted = run_list::Input {
            state: None,
            session: Maybe(Some(session)),
            limit: Limit::of(RUNS_MAX),
            cursor: Cursor::FIRST,
        };
        visit.run_in::<RunList>(&item.project, wanted).ok()
    });
    let runs = runs.map(|found| found.runs).unwrap_or_default();
    let costs: Vec<f64> = runs.iter().filter_map(|run| run.usage.cost_usd).collect();
    let size = |n: usize| i64::try_from(n).unwrap_or(0);
    // It is drawn first: the size is known from then on.
    let drawn = cited.draw(visit);
    html! {
        div.facts {
            (cited.facts(visit))
            @if !runs.is_empty() {
                span {
                    @if costs.is_empty() { (words::count(size(runs.len()), "run", "runs")) }
                    @else {
                        b { (words::dollars(costs.iter().sum())) } " in "
                        (words::count(size(runs.len()), "run", "runs"))
                    }
                }
            }
        }
        (drawn)
    }
}
