//! An event as a sentence: who did what, and to which thing. Purely internal events have none.

use std::collections::BTreeMap;

use maud::{Markup, html};
use punchlist_core::delegation::ProposalDecision;
use punchlist_core::gate::{GateKind, GateState};
use punchlist_core::issue::UpdateKind;
use punchlist_core::mission::Standing;
use punchlist_core::{Event, SessionId, Time};
use punchlist_ops::operations::event_list::EventRow;

use super::created;
use crate::pages::icons::Icon;
use crate::pages::visit::Visit;
use crate::pages::{marks, plans, words};

/// The subject of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Items,
    Issues,
    Decisions,
    Sessions,
    Delegations,
    Missions,
    Store,
}

impl Kind {
    pub(super) const ALL: &'static [Self] = &[
        Self::Items,
        Self::Issues,
        Self::Decisions,
        Self::Sessions,
        Self::Delegations,
        Self::Missions,
        Self::Store,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Items => "items",
            Self::Issues => "issues",
            Self::Decisions => "decisions",
            Self::Sessions => "sessions and runs",
            Self::Delegations => "delegations",
            Self::Missions => "missions",
            Self::Store => "store",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// A sentence: who did what.
#[derive(Debug)]
pub(super) struct Sentence {
    pub(super) seq: i64,
    pub(super) at: Time,
    /// Its time is not that of the real clock.
    pub(super) set_clock: bool,
    pub(super) actor: String,
    pub(super) kind: Kind,
    pub(super) icon: Icon,
    pub(super) verb: &'static str,
    pub(super) object: Markup,
    /// The plural for several similar sentences.
    pub(super) many: &'static str,
    /// A reason, an outcome, an answer.
    pub(super) said: Option<String>,
    /// The ids and names that a filter may search for.
    about: Vec<String>,
}

impl Sentence {
    /// Can the two be folded into one line?
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.actor == other.actor && self.verb == other.verb && self.many == other.many
    }

    pub(super) fn is_about(&self, item: &str) -> bool {
        let item = item.trim().to_lowercase();
        let bare = item.trim_start_matches('#');
        self.about.iter().any(|known| {
            let known = known.to_lowercase();
            known == bare || known == item || (bare.len() > 2 && known.contains(bare))
        })
    }
}

/// The parts of a sentence that depend on the event.
struct Said {
    kind: Kind,
    icon: Icon,
    verb: &'static str,
    many: &'static str,
    object: Markup,
    said: Option<String>,
    about: Vec<String>,
}

/// The data for drawing the things that an event names.
struct Names<'a> {
    visit: &'a Visit,
    names: &'a BTreeMap<String, String>,
}

impl Names<'_> {
    fn name(&self, id: &str) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| id.to_owned())
    }

    fn linked(&self, below: &str, words: &str) -> Markup {
        html! { a href=(self.visit.at(below)) { (words) } }
    }

    fn todo(
        &self,
        verb: &'static str,
        icon: Icon,
        id: &impl ToString,
        said: Option<String>,
    ) -> Said {
        let id = id.to_string();
        let title = self.name(&id);
        self.titled(verb, icon, id, title, said)
    }

    fn titled(
        &self,
        verb: &'static str,
        icon: Icon,
        id: String,
        title: String,
        said: Option<String>,
    ) -> Said {
        let object = html! { "“" (self.linked(&format!("/todos/{id}"), &title)) "”" };
        Said { kind: Kind::Items, icon, verb, many: "items", object, said, about: vec![id, title] }
    }

    fn issue(&self, verb: &'static str, number: i64, more: &str, said: Option<String>) -> Said {
        let object = html! {
            (self.linked(&format!("/issues/{number}"), &format!("#{number}"))) @if !more.is_empty() { " " (more) }
        };
        let about = vec![number.to_string(), more.to_owned()];
        Said { kind: Kind::Issues, icon: Icon::Issues, verb, many: "issues", object, said, about }
    }

    fn session(&self, verb: &'static str, id: &impl ToString, said: Option<String>) -> Said {
        let id = id.to_string();
        let title = self.name(&id);
        let object =
            html! { "the session “" (self.linked(&format!("/sessions/{id}"), &title)) "”" };
        Said {
            kind: Kind::Sessions,
            icon: Icon::Comment,
            verb,
            many: "sessions",
            object,
            said,
            about: vec![id, title],
        }
    }

    fn run(&self, verb: &'static str, id: &impl ToString, said: Option<String>) -> Said {
        let id = id.to_string();
        let agent = self.name(&id);
        let object = html! { (self.linked(&format!("/runs/{id}"), &format!("a run of {agent}"))) };
        Said {
            kind: Kind::Sessions,
            icon: Icon::Play,
            verb,
            many: "runs",
            object,
            said,
            about: vec![id, agent],
        }
    }

    fn plain(
        &self,
        kind: Kind,
        icon: Icon,
        verb: &'static str,
        object: String,
        said: Option<String>,
    ) -> Said {
        let shown = html! { (object) };
        Said { kind, icon, verb, many: "times", object: shown, said, about: vec![object] }
    }
}

/// The sentence of an event.
pub(super) fn of(
    visit: &Visit,
    row: &EventRow,
    names: &BTreeMap<String, String>,
) -> Option<Sentence> {
    let with = Names { visit, names };
    let told = match row.r#type.as_str() {
        "todo_created" => {
            let (id, title) = created::of(row.data.get())?;
            with.titled("added", Icon::Plus, id, title, None)
        }
        _ => {
            let event = row.event()?;
            of_item(&with, &event)
                .or_else(|| of_issue(&with, &event))
                .or_else(|| of_other(&with, &event))?
        }
    };
    let actor = asker(row).unwrap_or_else(|| row.actor.clone());
    let Said { kind, icon, verb, many, object, said, about } = told;
    let said = said.filter(|said| !said.trim().is_empty());
    Some(Sentence {
        seq: row.seq,
        at: row.at,
        set_clock: row.is_under_set_clock(),
        actor,
        kind,
        icon,
        verb,
        object,
        many,
        said,
        about,
    })
}

/// The agent that permission was asked for: the event itself is one of the engine.
fn asker(row: &EventRow) -> Option<String> {
    // Only this type is parsed: a page has many events.
    if row.r#type != "gate_opened" {
        return None;
    }
    match row.event()? {
        Event::GateOpened(e) if e.gate.kind() == GateKind::Permission => {
            Some(e.gate.agent.to_string())
        }
        _ => None,
    }
}

/// Events about items.
fn of_item(with: &Names<'_>, event: &Event) -> Option<Said> {
    Some(match event {
        Event::TodoStarted(e) => with.todo("started", Icon::Play, &e.todo_id, e.reason.clone()),
        Event::TodoYielded(e) => with.todo("put back", Icon::Pause, &e.todo_id, e.reason.clone()),
        Event::TodoCompleted(e) => {
            with.todo("completed", Icon::Tick, &e.todo_id, e.outcome.clone())
        }
        Event::TodoCancelled(e) => {
            with.todo("cancelled", Icon::Stop, &e.todo_id, e.outcome.clone())
        }
        Event::TodoPromoted(e) => with.todo("promoted", Icon::Again, &e.todo_id, e.reason.clone()),
        Event::TodoDemoted(e) => with.todo("demoted", Icon::Again, &e.todo_id, e.reason.clone()),
        Event::TodoReopened(e) => with.todo("reopened", Icon::Again, &e.todo_id, e.reason.clone()),
        Event::TodoRemoved(e) => with.todo("dropped", Icon::Stop, &e.todo_id, None),
        Event::TodoRatified(e) => with.todo("ratified", Icon::Tick, &e.todo_id, None),
        Event::TodoNoted(e) => {
            with.todo("noted on", Icon::Note, &e.note.todo_id, Some(e.note.text.clone()))
        }
        Event::TodoRevised(e) => with.todo("changed", Icon::Note, &e.todo_id, e.reason.clone()),
        Event::TodoHeld(e) => {
            with.todo("held", Icon::Pause, &e.todo_id, Some(e.hold.reason.clone()))
        }
        Event::TodoUnheld(e) => with.todo("released", Icon::Play, &e.todo_id, None),
        Event::TodoDeferred(e) => {
            let until =
                e.until.map(|until| format!("until {}", words::date(until, with.visit.now())));
            with.todo("deferred", Icon::Pause, &e.todo_id, until)
        }
        Event::TodoClaimed(e) => {
            with.todo("claimed", Icon::Review, &e.todo_id, e.claim.outcome.clone())
        }
        Event::ClaimReturned(e) => {
            with.todo("returned", Icon::Again, &e.todo_id, Some(e.feedback.clone()))
        }
        Event::TodoAssigned(e) => {
            let to = e.assignee.as_ref().map(|to| format!("to {to}"));
            with.todo("assigned", Icon::Send, &e.todo_id, to)
        }
        Event::TodoTaken(e) => with.todo("took", Icon::Play, &e.todo_id, None),
        Event::ChangeRecommended(e) => {
            with.todo("recommended a change of", Icon::Proposal, &e.todo_id, None)
        }
        Event::TodoEscalated(e) => with.todo(
            "asked a person about",
            Icon::Escalation,
            &e.todo_id,
            Some(format!("due {}", e.deadline)),
        ),
        Event::TodoArchived(e) => with.todo("archived", Icon::File, &e.todo_id, None),
        _ => return None,
    })
}

/// Events about issues, sessions and runs.
fn of_issue(with: &Names<'_>, event: &Event) -> Option<Said> {
    Some(match event {
        Event::IssueCreated(e) => with.issue("filed", e.issue.number, &e.issue.title, None),
        Event::IssueTransitioned(e) => {
            let word = marks::issue_word(e.status).to_lowercase();
            with.issue("moved", e.number, &format!("to {word}"), e.reason.clone())
        }
        Event::IssueAssigned(e) => match e.assignment.as_deref() {
            None => with.issue("took", e.number, "from its session", None),
            // The assignee is a session id.
            Some(to) if SessionId::parse(words::name(to)).is_some() => {
                with.issue("gave", e.number, "to a session", None)
            }
            Some(to) => with.issue("gave", e.number, &format!("to {}", words::name(to)), None),
        },
        Event::IssueDeferred(e) => with.issue(
            "deferred",
            e.number,
            "",
            e.until.map(|until| format!("until {}", words::date(until, with.visit.now()))),
        ),
        // Other entries of the history repeat what the events of items say.
        Event::IssueUpdated(e) if e.update.kind == UpdateKind::Comment => {
            let name = with.name(&e.update.issue_id.to_string());
            let number = name.trim_start_matches('#').parse().ok()?;
            let said = with.issue("commented on", number, "", Some(e.update.text.clone()));
            Said { icon: Icon::Comment, ..said }
        }
        Event::IssueRevised(e) => with.issue("changed", e.number, &e.title, None),
        Event::IssueLinked(e) => {
            let kind = e.link.kind.name().replace('_', " ");
            with.issue("linked", e.number, &format!("as {kind} #{}", e.to), None)
        }
        Event::IssueUnlinked(e) => {
            let kind = e.kind.name().replace('_', " ");
            with.issue("unlinked", e.number, &format!("as {kind} #{}", e.to), None)
        }
        Event::IssueTransitionRefused(e) => {
            with.issue("was not permitted to close", e.number, "", None)
        }
        Event::SessionStarted(e) => {
            let mut said = with.session("started", &e.session.id, None);
            said.object = html! {
                "the session “" (with.linked(&format!("/sessions/{}", e.session.id), &e.session.title)) "”"
            };
            said
        }
        Event::SessionEnded(e) => with.session("ended", &e.session_id, None),
        Event::SessionReopened(e) => with.session("reopened", &e.session_id, None),
        Event::SessionPaused(e) => with.session("paused", &e.session_id, e.reason.clone()),
        Event::SessionResumed(e) => with.session("resumed", &e.session_id, None),
        Event::RunStarted(e) => {
            let mut said = with.run("started", &e.run.id, None);
            said.object = html! { (with.linked(&format!("/runs/{}", e.run.id), &format!("a run of {}", e.run.agent))) };
            said
        }
        Event::RunContinued(e) => with.run("continued", &e.run_id, None),
        Event::RunCancelled(e) => with.run("stopped", &e.run_id, Some(e.reason.clone())),
        Event::RunStopped(e) => with.run("ended", &e.run_id, Some(e.reason.words().to_owned())),
        _ => return None,
    })
}

/// Events about decisions, delegations, missions, plans, and the store itself.
fn of_other(with: &Names<'_>, event: &Event) -> Option<Said> {
    Some(match event {
        Event::GateOpened(e) if e.gate.kind() == GateKind::Permission => with.plain(
            Kind::Decisions,
            Icon::Permission,
            "asked for permission to call",
            format!("“{}”", e.gate.text),
            None,
        ),
        Event::GateOpened(e) => {
            with.plain(Kind::Decisions, Icon::Question, "asked", format!("“{}”", e.gate.text), None)
        }
        Event::GateAnswered(e) => {
            let verb = match e.state {
                GateState::Refused => "refused",
                _ => "answered",
            };
            let said =
                e.response.as_ref().filter(|said| !said.is_null()).map(crate::pages::gates::plain);
            with.plain(Kind::Decisions, Icon::SignOff, verb, "a question".to_owned(), said)
        }
        Event::PermissionRevoked(_) => with.plain(
            Kind::Decisions,
            Icon::Permission,
            "took back",
            "a permission".to_owned(),
            None,
        ),
        Event::ProposalDecided(e) => {
            let verb = match e.decision {
                ProposalDecision::Reject => "refused",
                _ => "accepted",
            };
            let what = "a proposal".to_owned();
            with.plain(Kind::Decisions, Icon::Proposal, verb, what, e.reason.clone())
        }
        Event::DelegationQueued(e) => with.plain(
            Kind::Delegations,
            Icon::Send,
            "delegated to",
            e.delegation.kind.clone(),
            Some(e.delegation.mission.clone()),
        ),
        Event::DelegationReturned(e) => with.plain(
            Kind::Delegations,
            Icon::Again,
            "reported",
            "on delegated work".to_owned(),
            Some(e.result.clone()),
        ),
        Event::DelegationFailed(e) => with.plain(
            Kind::Delegations,
            Icon::Escalation,
            "failed at",
            "delegated work".to_owned(),
            Some(e.error.clone()),
        ),
        Event::DelegationCancelled(e) => with.plain(
            Kind::Delegations,
            Icon::Stop,
            "called off",
            "delegated work".to_owned(),
            e.reason.clone(),
        ),
        Event::MissionInitialised(e) => {
            let mut said =
                with.plain(Kind::Missions, Icon::Missions, "set up", e.mission.name.clone(), None);
            said.object = html! {
                "the mission " (with.linked(&format!("/missions/{}", e.mission.slug), &e.mission.name))
            };
            said
        }
        Event::MissionStandingChanged(e) => {
            let verb = match e.status {
                Standing::Active => "resumed",
                Standing::Paused => "paused",
                Standing::Archived => "archived",
            };
            let what = e
                .pillar
                .as_deref()
                .map_or_else(|| "a mission".to_owned(), |pillar| format!("the pillar {pillar}"));
            with.plain(Kind::Missions, Icon::Missions, verb, what, None)
        }
        Event::CycleRun(_) => with.plain(
            Kind::Missions,
            Icon::Again,
            "started",
            "a cycle of a mission".to_owned(),
            None,
        ),
        Event::ReadingRecorded(e) => {
            let name = with.name(&e.reading.metric_id.to_string());
            let what = format!("{name}: {}", e.reading.value);
            let said = with.plain(Kind::Missions, Icon::Activity, "recorded", what, None);
            Said { many: "readings", ..said }
        }
        Event::CollectionFailed(e) => with.plain(
            Kind::Missions,
            Icon::Escalation,
            "could not read",
            with.name(&e.metric_id.to_string()),
            Some(e.error.clone()),
        ),
        Event::ListArchived(e) => plan(with, "archived", &e.scope)?,
        Event::ListUnarchived(e) => plan(with, "took back", &e.scope)?,
        Event::TokenIssued(e) => {
            let what = format!("a token for {}", e.role);
            let said = with.plain(Kind::Store, Icon::Permission, "issued", what, None);
            Said { many: "tokens", ..said }
        }
        Event::TokenRevoked(_) => {
            let what = "a token".to_owned();
            let said = with.plain(Kind::Store, Icon::Permission, "revoked", what, None);
            Said { many: "tokens", ..said }
        }
        Event::ProjectMerged(e) => with.plain(
            Kind::Store,
            Icon::Again,
            "merged",
            format!("project {} into {}", e.from, e.into),
            None,
        ),
        Event::StoreRestored(e) => with.plain(
            Kind::Store,
            Icon::Again,
            "restored",
            "the store".to_owned(),
            Some(format!("from {}", e.file)),
        ),
        _ => return None,
    })
}

fn plan(with: &Names<'_>, verb: &'static str, scope: &punchlist_core::Scope) -> Option<Said> {
    let punchlist_core::Scope::Plan { branch, plan_file } = scope else { return None };
    let mut said = with.plain(Kind::Items, Icon::Plans, verb, plan_file.clone(), None);
    said.object = html! { "the plan " a href=(plans::address(with.visit, plan_file, Some(branch))) { (plan_file) } };
    Some(said)
}
