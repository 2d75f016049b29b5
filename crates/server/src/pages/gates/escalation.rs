//! A todo that is late or failed: what it is, what was tried, and the answers that help.

use maud::{Markup, html};
use punchlist_core::delegation::DelegationState;
use punchlist_ops::operations::todo_show::{self, Output, TodoShow};
use punchlist_ops::views::{DelegationView, GateView};

use super::Item;
use super::card::{bar, hidden, primary};
use crate::pages::forms::{self, Field};
use crate::pages::items::{self, Facts};
use crate::pages::marks::{self, Shape};
use crate::pages::visit::Visit;
use crate::pages::{markdown, words};

/// How many attempts are shown, the newest.
const ATTEMPTS: usize = 5;

pub(super) fn body(
    visit: &Visit,
    item: &Item,
    gate: &GateView,
    is_first: bool,
    is_open: bool,
) -> Markup {
    let key = format!("answer-{}", item.id());
    let tried = format!("tried-{}", item.id());
    let to = |todo: &str| words::address(&item.project, &format!("/todos/{todo}"));
    // Loaded only if the card is unfolded.
    let shown = gate.todo_id.as_deref().filter(|_| is_open).and_then(|todo| {
        visit.run_in::<TodoShow>(&item.project, todo_show::Input { todo_id: todo.into() }).ok()
    });
    html! {
        div.gate-body {
            @if let Some(todo) = &gate.todo_id {
                @if let Some(shown) = &shown { (about(visit, shown)) }
                p {
                    a href=(to(todo)) { "Look at the todo" }
                    @if shown.is_none() {
                        " · "
                        a href=(visit.here(&[("open", Some(&tried))])) data-open="" { "Show what was tried" }
                    }
                }
            }
            (forms::form(visit, &key, "escalation", &html! {
                (hidden(item))
                fieldset.options {
                    legend { "Answer" }
                    label.option {
                        input type="radio" name="how" value="extend"
                            checked[visit.typed(&key, "how", "extend") == "extend"];
                        span { "Extend the deadline" }
                    }
                    label.option {
                        input type="radio" name="how" value="cancel"
                            checked[visit.typed(&key, "how", "") == "cancel"];
                        span { "Cancel the todo" }
                    }
                }
                (forms::field(visit, &key, &Field {
                    name: "date", label: "New deadline", hint: "For example 2026-12-14.",
                    ..Field::default()
                }))
                (forms::refusal(visit, &key))
            }))
        }
        (bar(visit, item, &html! {
            button type="submit" form=(key) class={"button " (primary(is_first))} { "Answer" }
        }, ("Refuse", &html! {}), &html! { "Refusing leaves the todo as it is." }))
    }
}

/// The state of the todo, its criterion, and the attempts so far.
fn about(visit: &Visit, shown: &Output) -> Markup {
    let (todo, now) = (&shown.todo, visit.now());
    let state = items::state(
        Facts {
            status: todo.status,
            hold: todo.hold.as_ref(),
            is_claimed: todo.claim.is_some(),
            defer_until: todo.defer_until,
        },
        now,
    );
    let attempts = &shown.delegations;
    let hidden = attempts.len().saturating_sub(ATTEMPTS);
    html! {
        @if !todo.completion_criteria.is_empty() {
            div.said { b { "Criterion:" } " " (markdown::render(&todo.completion_criteria)) }
        }
        ul.criteria.tried aria-label="What was tried" {
            li.row {
                (state.mark)
                div.row-text {
                    p.content { (todo.title) }
                    div.below {
                        @if let Some(hold) = &todo.hold { span { (hold.reason) } }
                        @if let Some(at) = todo.started_at { span { "started " (words::ago(at, now)) } }
                        @if let Some(days) = shown.days_left { (items::due(days, days < 0)) }
                    }
                }
                (state.shown())
            }
            @if attempts.is_empty() { li.row.hint { "No agent has been asked to work on it." } }
            @for one in attempts.iter().take(ATTEMPTS) { (attempt(visit, one)) }
            @if hidden > 0 {
                li.row.hint {
                    (words::count(i64::try_from(hidden).unwrap_or(0), "earlier attempt", "earlier attempts"))
                }
            }
        }
    }
}

/// Who tried, when, how often, and what came of it.
fn attempt(visit: &Visit, one: &DelegationView) -> Markup {
    let (mark, word, colour) = match one.state {
        DelegationState::Failed => (marks::failed(), "failed", "red"),
        DelegationState::Cancelled => (marks::cancelled(), "cancelled", "grey"),
        // What an agent reports is a claim.
        DelegationState::Returned => (marks::claimed(Shape::Round), "reported", "violet"),
        DelegationState::Running => (marks::in_progress(), "in progress", "accent"),
        DelegationState::Queued if one.error.is_some() => {
            (marks::failed(), "failed, tried again", "red")
        }
        DelegationState::Queued => (marks::pending(Shape::Round), "pending", "grey"),
    };
    let at = one.finished_at.unwrap_or(one.updated_at);
    html! {
        li.row {
            (mark)
            div.row-text {
                p.content { "Given to " b { (one.agent) } }
                div.below {
                    @if let Some(error) = &one.error { span { (error) } }
                    @if let Some(result) = &one.result { span { (result) } }
                    @if one.attempts > 1 { span { (words::count(one.attempts, "attempt", "attempts")) } }
                    span { (words::ago(at, visit.now())) }
                }
            }
            span class={"word " (colour)} { (word) }
        }
    }
}
