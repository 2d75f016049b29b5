//! One run: its activity or why it stopped, and its part of the conversation.

use maud::html;
use punchlist_core::MessageId;
use punchlist_core::conversation::MessageKind;
use punchlist_core::run::RunState;
use punchlist_ops::Error;
use punchlist_ops::input::Limit;
use punchlist_ops::operations::conversation_show::{self, ConversationShow};
use punchlist_ops::operations::run_show::{self, RunShow};
use punchlist_ops::operations::session_show::{self, SessionShow};
use punchlist_ops::views::MessageView;
use punchlist_ops::views::run::RunView;

use super::{head, rail, stop_sentence};
use crate::pages::asking::{maybe, title};
use crate::pages::chat::{self, Around};
use crate::pages::forms;
use crate::pages::frame::{self, Head, Section, Shown};
use crate::pages::gates::{self, Waiting};
use crate::pages::icons::Icon;
use crate::pages::items::{self, Step};
use crate::pages::notice::{self, Tone};
use crate::pages::visit::Visit;
use crate::pages::{marks, parts, words};

/// The messages of a run, starting with the one that began it; and whether there are later ones.
fn messages(visit: &Visit, run: &RunView) -> Result<(Vec<MessageView>, bool), Error> {
    let ask = |after: Option<&str>, before: Option<&str>, newest: bool, limit: i64| {
        visit.run::<ConversationShow>(conversation_show::Input {
            conversation_id: run.conversation_id.to_string().into(),
            after: maybe(after),
            before: maybe(before),
            newest: Some(newest),
            limit: Limit::of(limit),
        })
    };
    let from = visit.query("after").unwrap_or(&run.turn_id);
    // The turn of a host's run may have the host's own id, which is no message.
    if visit.query("after").is_none() && MessageId::parse(from).is_none() {
        return Ok((Vec::new(), false));
    }
    let mut found = ask(Some(from), None, false, chat::SHOWN + 1)?.messages;
    let has_more = i64::try_from(found.len()).unwrap_or(0) > chat::SHOWN;
    if has_more {
        found.pop();
    }
    // The message that began the run is the one before its first.
    let first = found.first().map(|message| message.id.clone());
    if visit.query("after").is_none() {
        let turn = ask(None, first.as_deref(), true, 1)?.messages;
        found.splice(0..0, turn.into_iter().filter(|message| message.id == run.turn_id));
    }
    found.retain(|message| match &message.run_id {
        Some(by) => *by == run.id,
        None => run.ended_at.is_none_or(|ended| message.created_at <= ended),
    });
    Ok((found, has_more))
}

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let shown = visit.run::<RunShow>(run_show::Input { run: title(visit.part("id"))? })?;
    let run = &shown.run;
    let (messages, has_more) = messages(visit, run)?;
    let steps: Vec<Step> = shown.done.iter().chain(&shown.left).map(Step::of_run).collect();
    let is_over = run.state == RunState::Ended;
    let current = steps.iter().find(|step| step.is_current).map(|step| step.title.as_str());
    let session = match &run.session_id {
        Some(id) => {
            let input = session_show::Input { session: maybe(Some(&id.to_string())) };
            Some(visit.run::<SessionShow>(input)?.session)
        }
        None => None,
    };
    let waiting = match &session {
        Some(session) if !is_over => gates::of_session(visit, &session.id)?,
        _ => Waiting::default(),
    };
    let actions = html! {
        @if let Some(session) = session.as_ref().filter(|_| !is_over) { (head::pausing(visit, session)) }
        @if !is_over { (forms::opener(visit, head::STOP, "Stop", Some(Icon::Stop), "")) }
    };
    let mut crumbs = vec![(visit.project().to_owned(), visit.at(""))];
    if let Some(session) = run.session_id {
        let to = visit.at(&format!("/sessions/{session}"));
        crumbs.push(("Session".to_owned(), to));
    }
    // A host's run may begin without a prompt; our own words to its model are no title.
    let asked = messages.first().filter(|message| message.kind != MessageKind::Synthetic);
    let name = asked
        .and_then(|message| first_line(&message.text))
        .or_else(|| session.as_ref().map(|session| session.title.clone()))
        .unwrap_or_else(|| format!("Run of {}", words::of_run(run)));
    let runs = std::slice::from_ref(run);
    let stops = format!("Stops the run of {}. What it has written stays.", words::of_run(run));
    let around = Around { runs, is_newest: !has_more, is_live: false };
    let body = html! {
        (frame::head(&Head {
            crumbs: &crumbs,
            title: html! { (name) },
            sub: html! { p.working id="working" { (head::on_run(visit, run, current)) } },
            actions: Some(&actions),
        }))
        div.columns {
            div.main-col {
                (visit.notice_at("top"))
                @for key in ["pause", "resume"] { (forms::refusal(visit, key)) }
                @if visit.is_open(head::STOP) && !is_over {
                    (head::confirm(visit, &stops))
                }
                @if is_over && run.stop_code.is_some() {
                    (notice::show(Tone::Refused, &html! { (stop_sentence(run)) }))
                }
                @if !waiting.items.is_empty() { (gates::list(visit, &waiting)) }
                section aria-labelledby="chat-title" {
                    h2.hidden id="chat-title" { "Conversation" }
                    @if messages.is_empty() { p.hint { "No messages yet." } }
                    (chat::draw(visit, &messages, &around))
                    @if let Some(last) = messages.last().filter(|_| has_more) {
                        p.earlier { a href=(visit.here(&[("after", Some(&last.id))])) { "Show later messages" } }
                    } @else if is_over { p.stopped id="stopped" { (stop_sentence(run)) } }
                    div data-end="" {}
                }
                @if let Some(session) = &session {
                    (super::post(visit, Some(words::of_run(run)), head::is_ended(session)))
                }
            }
            aside.rail aria-label="About this run" {
                (items::steps(visit, &steps))
                (rail::continuation(runs))
                (rail::cost(runs))
                details.rail-part id="about" {
                    (parts::rail_head("about-title", "About", &html! {}))
                    dl.pairs {
                        dt { "Agent" } dd { (words::of_run(run)) }
                        dt { "State" } dd {
                            @match run.state {
                                RunState::Ended => { (head::ended(run)) " ended" }
                                _ if run.is_at_work() => { (marks::in_progress()) " running" }
                                RunState::Running | RunState::Waiting => { (marks::held()) " waiting" }
                            }
                        }
                        dt { "Started" } dd {
                            (words::ago(run.created_at, visit.now())) " by " (visit.name_within(&run.started_by))
                        }
                        @if let Some(at) = run.ended_at {
                            dt { "Ended" } dd { (words::ago(at, visit.now())) }
                        }
                    }
                }
            }
        }
    };
    let back = match run.session_id {
        Some(session) => visit.at(&format!("/sessions/{session}")),
        None => visit.at("/agents"),
    };
    Ok(Shown {
        title: name.clone(),
        bar: name,
        back: Some(back),
        section: Section::Agents,
        actions,
        body,
    })
}

/// The first line of its prompt, as a title.
fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(match line.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    })
}
