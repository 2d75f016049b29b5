//! The head of a session: the agent and its work, and the buttons to pause, resume and stop it.

use maud::{Markup, html};
use punchlist_core::IssueStatus;
use punchlist_core::driver::StopReason;
use punchlist_core::run::RunState;
use punchlist_core::session::SessionState;
use punchlist_ops::views::SessionView;
use punchlist_ops::views::run::RunView;

use crate::pages::forms;
use crate::pages::frame::{self, Head};
use crate::pages::icons::Icon;
use crate::pages::items::Step;
use crate::pages::visit::Visit;
use crate::pages::{marks, words};

/// The key of the form that confirms a stop.
pub(super) const STOP: &str = "stop";

/// The session and runs that the head shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    pub(super) session: &'a SessionView,
    /// Newest first.
    pub(super) runs: &'a [RunView],
    pub(super) steps: &'a [Step],
    pub(super) issue: Option<&'a (String, IssueStatus)>,
}

impl At<'_> {
    /// The run that has not ended.
    pub(super) fn open_run(&self) -> Option<&RunView> {
        self.runs.iter().find(|run| run.state != RunState::Ended)
    }

    /// The agent that works here; `None` if none has acted yet.
    pub(super) fn agent(&self) -> Option<&str> {
        match self.open_run() {
            Some(run) => Some(words::of_run(run)),
            None => words::agent_of(self.session, self.runs.first()),
        }
    }

    /// Its name at the start of a sentence.
    fn named(&self) -> &str {
        self.agent().unwrap_or("The agent")
    }
}

pub(super) fn is_ended(session: &SessionView) -> bool {
    session.state == SessionState::Ended
}

pub(super) fn actions(visit: &Visit, at: &At<'_>) -> Markup {
    let is_open = !is_ended(at.session);
    html! {
        (pausing(visit, at.session))
        @if is_open { (forms::opener(visit, STOP, "Stop", Some(Icon::Stop), "")) }
    }
}

/// The button that pauses or resumes the session.
pub(super) fn pausing(visit: &Visit, session: &SessionView) -> Markup {
    html! {
        @if session.paused_by.is_some() {
            (forms::row(visit, "resume", "resume", &html! {
                button type="submit" class="button primary" { (Icon::Play.draw()) "Resume" }
            }))
        } @else if !is_ended(session) {
            (forms::row(visit, "pause", "pause", &html! {
                button type="submit" class="button" { (Icon::Pause.draw()) "Pause" }
            }))
        }
    }
}

pub(super) fn draw(visit: &Visit, at: &At<'_>, actions: &Markup) -> Markup {
    let mut crumbs = vec![(visit.project().to_owned(), visit.at(""))];
    if let (Some(number), Some((title, _))) = (at.session.bound_issue, at.issue) {
        crumbs.push((format!("#{number} {title}"), visit.at(&format!("/issues/{number}"))));
    }
    let host = at.session.host.as_deref().unwrap_or("its host");
    frame::head(&Head {
        crumbs: &crumbs,
        title: html! { (at.session.title) },
        sub: html! {
            p.working id="working" { (state(visit, at)) }
            @if at.session.ungoverned {
                p.working id="ungoverned" {
                    (marks::warning())
                    span {
                        b.amber { "Not governed." } " The hooks of " (host) " do not fire, so it may stop early. "
                        code { "punch doctor" } " says why."
                    }
                }
            }
        },
        actions: Some(actions),
    })
}

/// "primary is working on “Copy images”, for 14 min".
fn state(visit: &Visit, at: &At<'_>) -> Markup {
    let now = visit.now();
    let current = at.steps.iter().find(|step| step.is_current);
    if at.session.paused_by.is_some() {
        return html! {
            (marks::held()) span { b { "Paused." } " " (at.named()) " does not continue until you resume it." }
        };
    }
    match (at.session.state, at.open_run()) {
        (SessionState::Ended, _) => html! {
            (marks::completed()) span {
                "Ended " @if let Some(ended) = at.session.ended_at { (words::ago(ended, now)) } "."
            }
        },
        (_, Some(run)) => on_run(visit, run, current.map(|step| step.title.as_str())),
        (SessionState::Paused, None) => html! {
            (marks::held()) span { b { (at.named()) } " waits for an answer." }
        },
        (SessionState::Active, None) => html! {
            (marks::pending(marks::Shape::Round))
            span {
                @match at.agent() {
                    Some(agent) => { b { (agent) } " is not working at the moment. " }
                    None => "No agent has started yet. ",
                }
                "Last change " (words::ago(at.session.updated_at, now)) "."
            }
        },
    }
}

/// How a run ended. Only a run that left nothing open gets a tick.
pub(super) fn ended(run: &RunView) -> Markup {
    match run.stop_reason {
        Some(reason) if reason.is_drained() => marks::completed(),
        Some(StopReason::Error) => marks::failed(),
        _ => marks::cancelled(),
    }
}

/// The current activity of a run.
pub(super) fn on_run(visit: &Visit, run: &RunView, item: Option<&str>) -> Markup {
    html! {
        @match (run.state, run.waits_for.as_ref()) {
            (RunState::Ended, _) => { (ended(run)) span { (super::stop_sentence(run)) } }
            (RunState::Waiting, wait) => {
                (marks::held())
                span {
                    b { (words::of_run(run)) }
                    @match wait.map(|wait| wait.kind.as_ref()) {
                        Some("gate") => " waits for an answer.",
                        Some("delegations") => " waits for work that it delegated.",
                        Some("cooldown") => " waits before it continues.",
                        Some("pause") => " is paused.",
                        _ => " waits.",
                    }
                }
            }
            (RunState::Running, Some(_)) => {
                (marks::held())
                span { "No process executes the run of " b { (words::of_run(run)) } " at the moment." }
            }
            (RunState::Running, None) => {
                (marks::in_progress())
                span {
                    b { (words::of_run(run)) } " is working"
                    @if let Some(item) = item { " on “" (item) "”" }
                    ", for " (words::since(run.created_at, visit.now()))
                }
            }
        }
    }
}

/// The forms that the buttons of the head unfold, and the notices about them.
pub(super) fn opened(visit: &Visit, at: &At<'_>) -> Markup {
    let open_run = at.open_run();
    html! {
        (visit.notice_at("top"))
        @for key in ["pause", "resume"] { (forms::refusal(visit, key)) }
        @if visit.is_open(STOP) {
            (confirm(visit, &match open_run {
                Some(run) => {
                    let who = words::of_run(run);
                    format!("Stops the run of {who}. What it has written stays.")
                },
                None => "Ends the session. Its issue stays as it is.".to_owned(),
            }))
        }
    }
}

/// The confirmation of *Stop*, shown in place.
pub(super) fn confirm(visit: &Visit, then: &str) -> Markup {
    html! {
        section.card.padded.confirm {
            (forms::form(visit, STOP, "stop", &html! {
                p { (then) }
                (forms::refusal(visit, STOP))
                (forms::submit("Stop", "primary"))
            }))
            (forms::cancel(visit, "top"))
        }
    }
}
