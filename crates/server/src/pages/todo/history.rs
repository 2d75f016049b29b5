//! The history of a todo, in order: who added, delegated, reported, claimed, returned and settled it.
//!
//! A delegation *reports*; only a reviewer *returns*, and says why.

use maud::{Markup, html};
use punchlist_core::delegation::DelegationState;
use punchlist_core::{Status, Time};
use punchlist_ops::operations::todo_show::{JudgementKind, JudgementView, Output};
use punchlist_ops::views::DelegationView;

use crate::pages::icons::Icon;
use crate::pages::visit::Visit;
use crate::pages::{markdown, parts, words};

/// One line: when, its icon, its words.
type Entry = (Time, Icon, Markup);

pub(super) fn draw(visit: &Visit, shown: &Output) -> Markup {
    let todo = &shown.todo;
    let mut entries: Vec<Entry> = Vec::new();
    entries.push((todo.created_at, Icon::Plus, said(visit, &todo.origin_agent, "added it")));
    for note in &shown.notes {
        let words = html! { (said(visit, &note.author, "noted")) (comment(&note.text)) };
        entries.push((note.at, Icon::Note, words));
    }
    for one in &shown.delegations {
        let to = format!("delegated it to {}", one.agent);
        entries.push((one.created_at, Icon::Send, said(visit, &one.delegated_by, &to)));
        entries.extend(reported(visit, one));
    }
    for late in &shown.late_reports {
        let what = "reported after the todo went to another agent; the report was ignored";
        let words = html! { (said(visit, &late.by, what)) div.comment { (late.outcome) } };
        entries.push((late.at, Icon::Note, words));
    }
    entries.extend(shown.judgements.iter().map(|one| judged(visit, shown, one)));
    entries.extend(unsigned(visit, shown));
    entries.sort_by_key(|(at, ..)| *at);
    html! {
        section aria-labelledby="history-title" {
            h2 id="history-title" { "History" }
            ol.history id="history" {
                @for (at, icon, words) in &entries {
                    li { (icon.draw()) div.entry-text { (words) } span.when { (words::ago(*at, visit.now())) } }
                }
            }
        }
    }
}

fn said(visit: &Visit, who: &str, what: &str) -> Markup {
    html! { p { b { (visit.name(who)) } " " (what) } }
}

fn comment(text: &str) -> Markup {
    html! { div.comment.md { (markdown::render(text)) } }
}

/// How a delegation ended.
fn reported(visit: &Visit, one: &DelegationView) -> Option<Entry> {
    let at = one.finished_at?;
    let words = match one.state {
        DelegationState::Failed => html! {
            (said(visit, &one.agent, "failed"))
            @if let Some(error) = &one.error { div.comment { (error) } }
        },
        DelegationState::Cancelled => said(visit, &one.agent, "was stopped"),
        _ => said(visit, &one.agent, "reported"),
    };
    Some((at, Icon::Again, words))
}

fn judged(visit: &Visit, shown: &Output, one: &JudgementView) -> Entry {
    let (icon, what) = match one.kind {
        JudgementKind::Started => (Icon::Play, "started it"),
        JudgementKind::Claimed => (Icon::Review, "claimed that it is done"),
        JudgementKind::Returned => (Icon::Again, "returned it"),
        JudgementKind::Completed if shown.todo.self_accepted => {
            (Icon::Tick, "completed it, and so accepted its own claim")
        }
        JudgementKind::Completed => (Icon::Tick, "completed it"),
        JudgementKind::Cancelled => (Icon::Stop, "cancelled it"),
    };
    // The outcome of a settled todo has its own section.
    let is_settled = matches!(one.kind, JudgementKind::Completed | JudgementKind::Cancelled);
    let text = one.said.as_deref().filter(|text| !is_settled && !text.trim().is_empty());
    let words = html! {
        (said(visit, &one.by, what))
        @if let Some(text) = text { (comment(text)) }
        @if !one.evidence.is_empty() { p.below { (parts::evidence(&one.evidence)) } }
    };
    (one.at, icon, words)
}

/// The start and the end of items outside of missions: their time is known, but not the actor.
fn unsigned(visit: &Visit, shown: &Output) -> Vec<Entry> {
    let todo = &shown.todo;
    let has =
        |kinds: &[JudgementKind]| shown.judgements.iter().any(|one| kinds.contains(&one.kind));
    let mut entries = Vec::new();
    if let Some(at) = todo.started_at.filter(|_| !has(&[JudgementKind::Started])) {
        entries.push((at, Icon::Play, html! { p { "It was started" } }));
    }
    if let Some(claim) = todo.claim.as_ref().filter(|_| !has(&[JudgementKind::Claimed])) {
        let words = said(visit, &claim.by, "claimed that it is done");
        entries.push((claim.at, Icon::Review, words));
    }
    let ends = [JudgementKind::Completed, JudgementKind::Cancelled];
    if let Some(at) = todo.settled_at.filter(|_| !has(&ends)) {
        let is_cancelled = todo.status == Status::Cancelled;
        let word = if is_cancelled { "It was cancelled" } else { "It was completed" };
        let own = if todo.self_accepted { ". The agent accepted its own claim" } else { "" };
        entries.push((at, Icon::Tick, html! { p { (word) (own) } }));
    }
    entries
}
