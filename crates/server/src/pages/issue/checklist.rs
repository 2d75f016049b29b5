//! Criteria and steps: one row each, with buttons for open decisions and a menu for the rest.

use maud::{Markup, html};
use punchlist_ops::operations::issue_show::Output;
use punchlist_ops::views::ItemView;
use punchlist_ops::views::issue::ItemStatus;

use super::menu;
use crate::pages::forms::{self, Field};
use crate::pages::icons::Icon;
use crate::pages::marks::{self, State};
use crate::pages::parts::{self, Segment};
use crate::pages::visit::Visit;
use crate::pages::words;

/// The number of steps shown; more are shown on request.
const SHOWN: usize = 300;

pub(super) fn criteria(visit: &Visit, shown: &Output) -> Markup {
    let standing: Vec<&ItemView> =
        shown.criteria.iter().filter(|item| item.status != ItemStatus::Abandoned).collect();
    let count = |test: &dyn Fn(&ItemView) -> bool| {
        i64::try_from(standing.iter().filter(|item| test(item)).count()).unwrap_or(0)
    };
    let met = count(&|item| item.accepted_at.is_some());
    let claimed = count(&|item| item.claim.is_some() && item.accepted_at.is_none());
    let proposed = count(&|item| item.ratified_at.is_none() && item.claim.is_none());
    let of = i64::try_from(standing.len()).unwrap_or(0);
    let segments: Vec<Segment> = standing.iter().map(|item| Segment::of(item, true)).collect();
    html! {
        section id="criteria" aria-labelledby="criteria-title" {
            (parts::section_head("criteria-title", "Criteria", &html! {
                @if of > 0 {
                    (parts::segments(&segments))
                    span.beside {
                        (parts::met_words(met, of, claimed))
                        @if proposed > 0 { ", " (proposed) " proposed" }
                    }
                }
            }, &html! {}))
            ul.card.checklist data-rows="" id="criteria-rows" {
                @for (n, item) in shown.criteria.iter().enumerate() {
                    (row(
                        visit,
                        item,
                        true,
                        (shown.criteria.get(n.wrapping_sub(1)), shown.criteria.get(n + 1), shown.criteria.get(n + 2)),
                        shown.criteria.len() > SHOWN,
                    ))
                }
                @if shown.criteria.is_empty() {
                    li.row.hint data-fixed="none" {
                        "No criteria yet. They say what must be true when it is done."
                    }
                }
                (adder(visit, "add-criterion", "add_criterion", "Add criterion"))
            }
        }
    }
}

pub(super) fn steps(visit: &Visit, shown: &Output) -> Markup {
    let steps = &shown.steps;
    let is_closed =
        |item: &&ItemView| matches!(item.status, ItemStatus::Completed | ItemStatus::Abandoned);
    let closed = steps.iter().filter(is_closed).count();
    let held = steps.iter().filter(|item| item.hold.is_some() && !is_closed(item)).count();
    let segments: Vec<Segment> = steps.iter().map(|item| Segment::of(item, false)).collect();
    let all = steps.len() <= SHOWN || visit.query("all").is_some();
    // Show all open steps; of the closed ones, the last are enough.
    let hidden = if all { 0 } else { closed.min(steps.len() - SHOWN) };
    let mut skipped = 0;
    let mut rest: Vec<(usize, &ItemView)> = steps
        .iter()
        .enumerate()
        .filter(|(_, item)| {
            let skip = skipped < hidden && is_closed(item);
            skipped += usize::from(skip);
            !skip
        })
        .collect();
    if !all {
        rest.truncate(SHOWN);
    }
    let left = steps.len() - rest.len();
    html! {
        section id="steps" aria-labelledby="steps-title" {
            (parts::section_head("steps-title", "Steps", &html! {
                @if !steps.is_empty() {
                    (parts::segments(&segments))
                    span.beside {
                        (closed) " of " (words::grouped(i64::try_from(steps.len()).unwrap_or(0))) " closed"
                        @if held > 0 { ", " (held) " held" }
                    }
                }
            }, &html! {}))
            ul.card.checklist data-rows="" id="steps-rows" {
                @if left > 0 {
                    li.row.hint id="steps-left" {
                        (words::count(i64::try_from(left).unwrap_or(0), "step is", "steps are")) " not shown. "
                        a href=(visit.here(&[("all", Some("1"))])) { "Show all" }
                    }
                }
                @let mut phase: Option<&str> = None;
                @for (n, item) in &rest {
                    @if item.phase.as_deref() != phase {
                        @let named = { phase = item.phase.as_deref(); phase };
                        @if let Some(name) = named { li.phase data-fixed={ "phase-" (name) } { h3 { (name) } } }
                    }
                    (row(visit, item, false, near(steps, *n), rest.len() > SHOWN))
                }
                @if steps.is_empty() {
                    li.row.hint data-fixed="none" {
                        "No steps yet. The agent that works on it writes its plan here."
                    }
                }
                (adder(visit, "add-step", "add_step", "Add step"))
            }
        }
    }
}

/// The field that adds an item at the end of a list.
fn adder(visit: &Visit, key: &str, action: &str, label: &str) -> Markup {
    html! {
        li.adder data-fixed="adder" {
            (visit.notice_at(key))
            (forms::row(visit, key, action, &html! {
                (forms::field(visit, key, &Field { name: "content", label, is_quiet: true, ..Field::default() }))
                button type="submit" class="button quiet" { (Icon::Plus.draw()) (label) }
            }))
            (forms::refusal(visit, key))
        }
    }
}

/// The neighbouring rows, for moving.
pub(super) type Near<'a> = (Option<&'a ItemView>, Option<&'a ItemView>, Option<&'a ItemView>);

fn near(items: &[ItemView], n: usize) -> Near<'_> {
    (items.get(n.wrapping_sub(1)), items.get(n + 1), items.get(n + 2))
}

fn row(
    visit: &Visit,
    item: &ItemView,
    is_criterion: bool,
    near: Near<'_>,
    is_long: bool,
) -> Markup {
    let deferred = item.defer_until.filter(|until| *until > visit.now());
    let until = deferred.map(|until| words::date(until, visit.now()));
    let state = marks::of_item(item, is_criterion, until.as_deref());
    let is_current = item.status == ItemStatus::InProgress && item.hold.is_none();
    let is_open = matches!(item.status, ItemStatus::Pending | ItemStatus::InProgress);
    let class = match (is_current && !is_criterion, item.status) {
        (true, _) => "row current",
        (_, ItemStatus::Abandoned) => "row gone",
        (_, ItemStatus::Completed) if item.claim.is_none() || !is_criterion => "row closed",
        _ => "row",
    };
    let anchor = format!("item-{}", item.id);
    html! {
        li class=(class) id=(anchor) tabindex="-1" {
            (visit.notice_at(&anchor))
            (mark(visit, item, is_criterion, &state, is_open))
            div.row-text {
                p.content { (item.content) }
                (below(visit, item, is_criterion))
                @for form in ["tick", "decide", "more"] { (forms::refusal(visit, &key(form, item))) }
                (menu::opened(visit, item, is_criterion))
            }
            (state.shown())
            div.row-buttons {
                (decisions(visit, item, is_criterion))
                @match is_long && !visit.is_open(&menu::key(item)) {
                    true => (menu::link(visit, item)),
                    false => (menu::draw(visit, item, is_criterion, near)),
                }
            }
        }
    }
}

/// The key of a row's form. Each row has its own: a button that names a form elsewhere on the page
/// (`form=`) costs a browser the more, the more of them there are, and a list may have 2,000 rows.
pub(super) fn key(form: &str, item: &ItemView) -> String {
    format!("{form}-{}", item.id)
}

/// The mark. For an open step it is the button that completes it.
fn mark(
    visit: &Visit,
    item: &ItemView,
    is_criterion: bool,
    state: &State,
    is_open: bool,
) -> Markup {
    if !is_open || is_criterion {
        return state.mark.clone();
    }
    let button = html! {
        button.tick type="submit" name="do" value={"done " (item.id)} title="Complete it" {
            (state.mark) span.hidden { "Complete “" (item.content) "”" }
        }
    };
    forms::of_buttons(visit, &key("tick", item), "of-row", &button)
}

/// Evidence, reasons and notes.
fn below(visit: &Visit, item: &ItemView, is_criterion: bool) -> Markup {
    let now = visit.now();
    html! {
        div.below {
            @if let Some(hold) = &item.hold {
                span { (hold.reason) }
                @if let Some(until) = hold.until { span { "until " (words::until(until, now)) } }
            }
            @if let Some(claim) = &item.claim {
                @if let Some(outcome) = &claim.outcome { span { (outcome) } }
                (parts::evidence(&claim.evidence))
                span { (visit.name(&claim.by)) ", " (words::ago(claim.at, now)) }
            }
            @if let Some(at) = item.accepted_at { span { "accepted " (words::ago(at, now)) } }
            @if is_proposed(item, is_criterion) {
                span { "Suggested by " (item.origin_agent) ". Signing off also ratifies it." }
            }
            @for note in &item.notes { span { "note: " (note) } }
        }
    }
}

/// Is it a criterion that an agent proposed and nobody has decided on?
fn is_proposed(item: &ItemView, is_criterion: bool) -> bool {
    is_criterion
        && item.ratified_at.is_none()
        && item.claim.is_none()
        && item.status == ItemStatus::Pending
}

/// The buttons for an open decision.
fn decisions(visit: &Visit, item: &ItemView, is_criterion: bool) -> Markup {
    let button = |label: &str, action: &str| {
        html! {
            button type="submit" name="do" value=(format!("{action} {}", item.id)) class="button" { (label) }
        }
    };
    let form = |buttons: &Markup| forms::of_buttons(visit, &key("decide", item), "of-row", buttons);
    let is_claimed = item.claim.is_some()
        && item.accepted_at.is_none()
        && (is_criterion || matches!(item.status, ItemStatus::Pending | ItemStatus::InProgress));
    let back = format!("return-{}", item.id);
    html! {
        @if is_claimed && item.status != ItemStatus::Abandoned {
            (form(&button("Accept", "accept")))
            @if !visit.is_open(&back) { (forms::opener(visit, &back, "Return", None, "")) }
        } @else if is_proposed(item, is_criterion) {
            (form(&html! { (button("Ratify", "ratify")) (button("Drop", "drop")) }))
        }
    }
}
