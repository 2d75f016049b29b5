//! One todo of any list: its state and claim, its reason, the chat of its execution, its history.

mod history;

use maud::{Markup, html};
use punchlist_core::delegation::DelegationState;
use punchlist_core::{Status, TodoKind};
use punchlist_ops::Error;
use punchlist_ops::operations::gate_list::ReviewView;
use punchlist_ops::operations::todo_show::{self, Output, TodoShow};
use punchlist_ops::views::todo::ClaimView;
use serde_json::json;

use crate::pages::chat::{self, Around};
use crate::pages::forms::{self, Done, Field, Form, missing, unknown};
use crate::pages::frame::{self, Head, Section, Shown};
use crate::pages::gates;
use crate::pages::items::{self, Facts};
use crate::pages::notice::{self, Notice, Tone};
use crate::pages::visit::Visit;
use crate::pages::{markdown, parts, plans, words};

/// The key of the message form.
const POST: &str = "post";

fn find(visit: &Visit) -> Result<Output, Error> {
    visit.run::<TodoShow>(todo_show::Input { todo_id: visit.part("id").into() })
}

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let shown = find(visit)?;
    let todo = &shown.todo;
    let (crumbs, back, section) = place(visit, &shown);
    let is_open = !todo.status.is_settled();
    let claim = todo.claim.as_ref().filter(|_| is_open && todo.kind != TodoKind::Criterion);
    let body = html! {
        (frame::head(&Head {
            crumbs: &crumbs,
            title: html! { (todo.title) },
            sub: html! { (standing(visit, &shown)) },
            actions: None,
        }))
        div.columns {
            div.main-col {
                (visit.notice_at("top"))
                @if let Some(claim) = claim { (review(visit, &shown, claim)) }
                (why(&shown))
                (execution(visit, &shown))
                (history::draw(visit, &shown))
            }
            (rail(visit, &shown))
        }
    };
    let (title, bar) = (todo.title.clone(), todo.title.clone());
    Ok(Shown { title, bar, back: Some(back), section, actions: html! {}, body })
}

type Crumbs = Vec<(String, String)>;

/// The place of a todo: its mission, its plan, or the project.
fn place(visit: &Visit, shown: &Output) -> (Crumbs, String, Section) {
    let mut crumbs = vec![(visit.project().to_owned(), visit.at(""))];
    let list = &shown.list;
    match (&list.mission, &list.plan_file) {
        (Some(mission), _) => {
            let to = visit.at(&format!("/missions/{}", words::encoded(mission)));
            crumbs.push((mission.clone(), to.clone()));
            if let Some(pillar) = &list.pillar {
                crumbs.push((pillar.clone(), format!("{to}#pillar-{pillar}")));
            }
            (crumbs, to, Section::Missions)
        }
        (None, Some(file)) => {
            let to = plans::address(visit, file, list.branch.as_deref());
            crumbs.push((file.clone(), to.clone()));
            (crumbs, to, Section::Plans)
        }
        (None, None) => (crumbs, visit.at(""), Section::Issues),
    }
}

fn standing(visit: &Visit, shown: &Output) -> Markup {
    let todo = &shown.todo;
    let is_open = !todo.status.is_settled();
    let facts = Facts {
        status: todo.status,
        hold: todo.hold.as_ref(),
        is_claimed: todo.claim.is_some() && is_open,
        defer_until: todo.defer_until,
    };
    let state = items::state(facts, visit.now());
    html! {
        div.tags {
            span.status { (state.mark) (state.shown()) }
            @if let Some(days) = shown.days_left.filter(|_| is_open) { span.tag { (items::due(days, days < 0)) } }
            span.tag { "priority " (todo.priority.name()) }
            @if let Some(agent) = &todo.assignee { span.hint { "assigned to " (agent) } }
            span.hint { "changed " (words::ago(todo.updated_at, visit.now())) }
        }
        @if let Some(hold) = &todo.hold {
            p.hint { (hold.reason) " (" (visit.name_within(&hold.by)) ", " (words::ago(hold.at, visit.now())) ")" }
        }
    }
}

fn review(visit: &Visit, shown: &Output, claim: &ClaimView) -> Markup {
    let list = &shown.list;
    let of = list.pillar.clone().or(list.plan_file.clone()).unwrap_or_default();
    let waits = ReviewView {
        todo_id: shown.todo.id.to_string(),
        title: shown.todo.title.clone(),
        kind: shown.todo.kind,
        list: list.kind,
        of,
        claim: ClaimView {
            by: claim.by.clone(),
            at: claim.at,
            outcome: claim.outcome.clone(),
            evidence: claim.evidence.clone(),
        },
    };
    gates::list(visit, &gates::of_reviews(visit, vec![waits]))
}

fn why(shown: &Output) -> Markup {
    let todo = &shown.todo;
    let part = |id: &str, name: &str, text: &str| {
        html! {
            @if !text.trim().is_empty() {
                section aria-labelledby=(id) { h2 id=(id) { (name) } div.md.prose { (markdown::render(text)) } }
            }
        }
    };
    let outcome = todo.outcome.as_deref().unwrap_or_default();
    html! {
        (part("why-title", "Why", &todo.justification))
        (part("what-title", "What", &todo.description))
        (part("criterion-title", "Completion criterion", &todo.completion_criteria))
        (part(
            "outcome-title",
            if todo.status == Status::Cancelled { "Why it was cancelled" } else { "Outcome" },
            outcome,
        ))
        @if !todo.evidence.is_empty() {
            section aria-labelledby="evidence-title" {
                h2 id="evidence-title" { "Evidence" }
                p.below { (parts::evidence(&todo.evidence)) }
            }
        }
    }
}

/// The agent that is working on it in its chat now.
fn at_work(shown: &Output) -> Option<&str> {
    let running = shown.delegations.iter().find(|one| one.state == DelegationState::Running);
    running.map(|one| one.agent.as_str())
}

/// M-55: people can read while the agent works, and post when it is idle.
fn execution(visit: &Visit, shown: &Output) -> Markup {
    let chat = shown.delegations.iter().find_map(|one| one.conversation_id);
    let at_work = at_work(shown);
    let all = &shown.messages;
    let limit = usize::try_from(chat::SHOWN).unwrap_or(usize::MAX);
    let hidden = match visit.query("chat") {
        Some("all") => 0,
        _ => all.len().saturating_sub(limit),
    };
    let hint = match shown.todo.status.is_settled() {
        true => "The todo is closed. The agent may answer here; the todo stays as it is.",
        false => "The agent reads this at its next turn.",
    };
    let around = Around { runs: &[], is_newest: true, is_live: at_work.is_some() };
    html! {
        section aria-labelledby="execution-title" {
            (parts::section_head("execution-title", "Execution chat", &html! {}, &html! {}))
            (visit.notice_at("execution-title"))
            @if hidden > 0 {
                p.earlier {
                    (words::count(i64::try_from(hidden).unwrap_or(0), "earlier message", "earlier messages")) ". "
                    a href=(visit.here(&[("chat", Some("all"))])) { "Show all" } }
            }
            @if all.is_empty() { p.hint { "No agent has worked on it yet." } }
            (chat::draw(visit, &all[hidden..], &around))
            div data-end="" {}
            @match (at_work, chat) {
                (Some(agent), _) => (notice::show(Tone::Changed, &html! {
                    b { (agent) } " is working. You can read along, and post when it is idle."
                })),
                (None, Some(_)) => div.post-box {
                    (forms::form(visit, POST, "post", &html! {
                        (forms::field(
                            visit,
                            POST,
                            &Field { name: "text", label: "Message", hint, lines: 3, ..Field::default() },
                        ))
                        (forms::refusal(visit, POST))
                        (forms::submit("Post", ""))
                    }))
                }
                (None, None) => {},
            }
        }
    }
}

fn rail(visit: &Visit, shown: &Output) -> Markup {
    let todo = &shown.todo;
    let now = visit.now();
    html! {
        aside.rail aria-label="About this todo" {
            details.rail-part id="details-part" {
                (parts::rail_head("details-title", "Details", &html! {}))
                dl.pairs {
                    @if let Some(seq) = todo.seq { dt { "Number" } dd { "t" (seq) } }
                    @if let Some(deadline) = &todo.deadline { dt { "Deadline" } dd { (deadline) } }
                    @if let Some(lease) = shown.lease.as_ref().filter(|lease| lease.until > now) {
                        dt { "Held by" } dd { (words::name(&lease.holder)) }
                        dt { "Lease until" } dd { (words::clock(lease.until)) }
                    }
                    @if let Some(phase) = &todo.phase { dt { "Phase" } dd { (phase) } }
                    dt { "Added" } dd { (words::until(todo.created_at, now)) }
                    @if let Some(at) = todo.started_at { dt { "Started" } dd { (words::until(at, now)) } }
                    @if let Some(at) = todo.settled_at { dt { "Settled" } dd { (words::until(at, now)) } }
                    @if !shown.delegations.is_empty() { dt { "Attempts" } dd { (shown.delegations.len()) } }
                }
            }
        }
    }
}

pub(crate) fn act(visit: &Visit, form: &Form) -> Result<Done, Error> {
    match form.action() {
        "post" => {
            let shown = find(visit)?;
            let text = form.given("text").ok_or_else(|| missing("Write a message first."))?;
            let chat = shown.delegations.iter().find_map(|one| one.conversation_id);
            let chat =
                chat.ok_or_else(|| missing("Nobody has worked on it yet, so there is no chat."))?;
            visit.post("conversation_post", json!({ "conversationId": chat, "text": text }))?;
            Ok(Done::at("execution-title", Notice::done("Posted.")))
        }
        "accept" | "return" => Ok(Done::at("top", gates::answer(visit, form)?)),
        _ => Err(unknown(form)),
    }
}
