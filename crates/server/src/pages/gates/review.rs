//! A claim of an agent that waits for its reviewer.

use maud::{Markup, html};
use punchlist_ops::operations::gate_list::ReviewView;
use punchlist_ops::operations::todo_show::{self, TodoShow};

use super::Item;
use super::card::{bar, hidden, primary, said};
use crate::pages::forms;
use crate::pages::visit::Visit;
use crate::pages::{markdown, parts};

pub(super) fn body(
    visit: &Visit,
    item: &Item,
    review: &ReviewView,
    is_first: bool,
    is_open: bool,
) -> Markup {
    let key = format!("answer-{}", item.id());
    let input = todo_show::Input { todo_id: review.todo_id.as_str().into() };
    // Loaded only if the card is unfolded; a folded card shows only the claim.
    let shown = is_open.then(|| visit.run_in::<TodoShow>(&item.project, input).ok()).flatten();
    html! {
        div.gate-body {
            @if let Some(outcome) = &review.claim.outcome { (said(visit, &review.claim.by, outcome)) }
            @if let Some(todo) = shown.map(|shown| shown.todo) {
                @if !todo.completion_criteria.is_empty() {
                    div.said { b { "Criterion:" } " " (markdown::render(&todo.completion_criteria)) }
                }
            }
            p.below {
                (parts::evidence(&review.claim.evidence))
                @if review.claim.evidence.is_empty() { span.hint { "No evidence" } }
            }
        }
        (bar(visit, item, &forms::row(visit, &key, "accept", &html! {
            (hidden(item)) (forms::refusal(visit, &key)) (forms::submit("Accept", primary(is_first)))
        }), ("Return", &html! {}), &html! { "Accepting completes it." }))
    }
}
