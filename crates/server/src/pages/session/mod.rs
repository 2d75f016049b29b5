//! One session or one run: the agent and its work, the conversation, and the usage.
//!
//! A run is one execution of a session's agent. Its page shows the same for its part of the chat.

mod act;
mod head;
mod issue;
mod rail;
mod run;

use maud::{Markup, html};
use punchlist_core::IssueStatus;
use punchlist_core::run::RunState;
use punchlist_ops::Error;
use punchlist_ops::input::{Cursor, Limit};
use punchlist_ops::operations::conversation_show::{self, ConversationShow};
use punchlist_ops::operations::issue_show::{self, IssueShow};
use punchlist_ops::operations::run_list::{self, RunList};
use punchlist_ops::operations::run_show::{self, RunShow};
use punchlist_ops::operations::session_show::{self, SessionShow};
use punchlist_ops::views::run::RunView;
use punchlist_ops::views::{MessageView, SessionView};

use super::asking::maybe;
use super::chat::{self, Around};
use super::forms::{self, Field};
use super::frame::{Section, Shown};
use super::gates;
use super::items::Step;
use super::marks;
use super::visit::Visit;
use super::words;

pub(crate) use act::{act, act_on_run};
pub(crate) use run::show as show_run;

/// The key of the message form.
const POST: &str = "post";

/// How many runs of a session are loaded.
const RUNS: i64 = 20;

/// A part of a chat, oldest first.
#[derive(Debug)]
struct Page {
    messages: Vec<MessageView>,
    /// Are there earlier messages?
    has_earlier: bool,
    /// Does it end with the last message of the chat?
    is_newest: bool,
}

/// The newest messages of a chat, or those before the message named in the address.
fn page(visit: &Visit, conversation: &str) -> Result<Page, Error> {
    let before = visit.query("before");
    let input = conversation_show::Input {
        conversation_id: conversation.into(),
        after: maybe(None),
        before: maybe(before),
        newest: Some(true),
        limit: Limit::of(chat::SHOWN + 1),
    };
    let mut messages = visit.run::<ConversationShow>(input)?.messages;
    let shown = usize::try_from(chat::SHOWN).unwrap_or(usize::MAX);
    let has_earlier = messages.len() > shown;
    if has_earlier {
        messages.remove(0);
    }
    Ok(Page { messages, has_earlier, is_newest: before.is_none() })
}

fn runs_of(visit: &Visit, session: &str) -> Result<Vec<RunView>, Error> {
    let input = run_list::Input {
        state: None,
        session: maybe(Some(session)),
        limit: Limit::of(RUNS),
        cursor: Cursor::FIRST,
    };
    Ok(visit.run::<RunList>(input)?.runs)
}

/// The title of an issue, and its status.
type Named = (String, IssueStatus);

/// The steps of the issue that a session works on, or of its newest run.
fn steps(
    visit: &Visit,
    session: &SessionView,
    runs: &[RunView],
) -> Result<(Vec<Step>, Option<Named>), Error> {
    if let Some(number) = session.bound_issue {
        let shown = visit.run::<IssueShow>(issue_show::Input { number })?;
        let status = (shown.issue.title.clone(), shown.issue.status);
        let steps: Vec<Step> = shown
            .steps
            .iter()
            .map(|item| {
                let deferred = item.defer_until.filter(|until| *until > visit.now());
                let deferred = deferred.map(|until| words::date(until, visit.now()));
                let state = marks::of_item(item, false, deferred.as_deref());
                Step {
                    id: item.id.clone(),
                    title: item.content.clone(),
                    is_current: state.word == "in progress",
                    is_closed: matches!(state.word.as_str(), "completed" | "abandoned"),
                    is_dropped: state.word == "abandoned",
                    state,
                }
            })
            .collect();
        if !steps.is_empty() {
            return Ok((steps, Some(status)));
        }
        // The lists of a run also contain criteria, which belong to the operator.
        let mut steps = of_run(visit, runs)?;
        steps.retain(|step| shown.criteria.iter().all(|item| item.id != step.id));
        return Ok((steps, Some(status)));
    }
    Ok((of_run(visit, runs)?, None))
}

fn of_run(visit: &Visit, runs: &[RunView]) -> Result<Vec<Step>, Error> {
    let Some(newest) = runs.first() else { return Ok(Vec::new()) };
    let shown = visit.run::<RunShow>(run_show::Input { run: newest.id.into() })?;
    Ok(shown.done.iter().chain(&shown.left).map(Step::of_run).collect())
}

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let input = session_show::Input { session: maybe(Some(visit.part("id"))) };
    let session = visit.run::<SessionShow>(input)?.session;
    let runs = runs_of(visit, &session.id)?;
    let page = page(visit, &session.conversation_id)?;
    let waiting = gates::of_session(visit, &session.id)?;
    let (steps, issue) = steps(visit, &session, &runs)?;
    let at = head::At { session: &session, runs: &runs, steps: &steps, issue: issue.as_ref() };
    let actions = head::actions(visit, &at);
    let body = html! {
        (head::draw(visit, &at, &actions))
        div.columns {
            div.main-col {
                (head::opened(visit, &at))
                @if !waiting.items.is_empty() { (gates::list(visit, &waiting)) }
                (conversation(visit, &page, &runs))
                (post(visit, at.agent(), head::is_ended(&session)))
            }
            aside.rail aria-label="About this session" {
                (super::items::steps(visit, &steps))
                (issue::draw(visit, &session, issue.as_ref()))
                (rail::continuation(&runs))
                (rail::cost(&runs))
                (rail::runs(visit, &runs))
            }
        }
    };
    let back = match session.bound_issue {
        Some(number) => visit.at(&format!("/issues/{number}")),
        None => visit.at("/agents"),
    };
    Ok(Shown {
        title: session.title.clone(),
        bar: session.title,
        back: Some(back),
        section: if session.bound_issue.is_some() { Section::Issues } else { Section::Agents },
        actions,
        body,
    })
}

fn conversation(visit: &Visit, page: &Page, runs: &[RunView]) -> Markup {
    let around = Around { runs, is_newest: page.is_newest, is_live: false };
    html! {
        section aria-labelledby="chat-title" {
            h2.hidden id="chat-title" { "Conversation" }
            @if let Some(first) = page.messages.first().filter(|_| page.has_earlier) {
                p.earlier id="earlier" {
                    a href=(format!("{}?{}", visit.path(), words::pair("before", &first.id))) {
                        "Show earlier messages"
                    }
                }
            }
            @if page.messages.is_empty() { p.hint { "No messages yet." } }
            (chat::draw(visit, &page.messages, &around))
            @if page.is_newest { (stopped(runs)) } @else {
                p.earlier { a href=(visit.path()) { "Show the newest messages" } }
            }
            div data-end="" {}
        }
    }
}

/// Why the newest run ended, as a sentence.
fn stopped(runs: &[RunView]) -> Markup {
    html! {
        @if let Some(run) = runs.first().filter(|run| run.state == RunState::Ended) {
            p.stopped id="stopped" { (stop_sentence(run)) }
        }
    }
}

/// "Stopped: everything on the list is done."
fn stop_sentence(run: &RunView) -> Markup {
    let Some(reason) = run.stop_reason else { return html! { "Stopped." } };
    let said = match run.stop_detail.as_deref().filter(|detail| !detail.trim().is_empty()) {
        Some(detail) => format!("Stopped: {}. {}", reason.words(), words::sentence(detail)),
        None => format!("Stopped: {}.", reason.words()),
    };
    words::quoted(&said)
}

/// The message field at the end of the conversation.
fn post(visit: &Visit, agent: Option<&str>, is_ended: bool) -> Markup {
    let label = format!("Message to {}", agent.unwrap_or("the agent"));
    let hint = match is_ended {
        true => "The session has ended. A message starts it again.",
        false => "It reads this at its next turn.",
    };
    html! {
        div id="post-box" {
            (visit.notice_at("post-box"))
            (forms::form(visit, POST, "post", &html! {
                (forms::field(visit, POST, &Field { name: "text", label: &label, hint, lines: 3, ..Field::default() }))
                (forms::refusal(visit, POST))
                (forms::submit("Post", ""))
            }))
        }
    }
}
