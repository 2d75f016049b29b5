//! The subject of an event, in one line.
//!
//! Most events name their subject by an id. The line shows its name, which the store knows, or
//! which another event of the same page contains. An event without its own text still has its type.

use std::collections::BTreeMap;
use std::fmt::Display;

use punchlist_core::delegation::ProposalDecision;
use punchlist_core::driver::{StopReason, Wait};
use punchlist_core::gate::{GateState, Purpose};
use punchlist_core::text::counted;
use punchlist_core::{Event, Gate, Scope};
use punchlist_ops::operations::event_list::EventRow;
use serde_json::Value;

use super::gates::words;
use super::times::day_or_time;

/// The names of the ids on a page of the log.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// What is `known`, and what the events themselves name.
    pub(super) fn of(events: &[EventRow], known: &BTreeMap<String, String>) -> Self {
        let mut names = Self(known.clone());
        for event in events.iter().filter_map(EventRow::event) {
            names.learn(&event);
        }
        names
    }

    fn learn(&mut self, event: &Event) {
        let (id, name) = match event {
            Event::TodoCreated(e) => (e.todo.id.to_string(), e.todo.title.clone()),
            Event::TodoRevised(e) => (e.todo_id.to_string(), e.title.clone()),
            Event::IssueCreated(e) => (e.issue.id.to_string(), format!("#{}", e.issue.number)),
            Event::IssueTransitioned(e) => (e.issue_id.to_string(), format!("#{}", e.number)),
            Event::IssueAssigned(e) => (e.issue_id.to_string(), format!("#{}", e.number)),
            Event::SessionStarted(e) => (e.session.id.to_string(), e.session.title.clone()),
            Event::SessionTitled(e) => (e.session_id.to_string(), e.title.clone()),
            Event::ConversationOpened(e) => {
                (e.conversation.id.to_string(), e.conversation.title.clone())
            }
            Event::GateOpened(e) => (e.gate.id.to_string(), e.gate.text.clone()),
            Event::DelegationQueued(e) => (e.delegation.id.to_string(), e.delegation.kind.clone()),
            Event::MissionInitialised(e) => {
                let mission = &e.mission;
                let metrics = mission.metrics().map(|(_, m)| (m.id.to_string(), m.slug.clone()));
                self.0.extend(metrics);
                (mission.id.to_string(), mission.slug.clone())
            }
            _ => return,
        };
        self.0.insert(id, name);
    }

    fn name(&self, id: &impl Display) -> String {
        let id = id.to_string();
        // A whole id does not help a reader; its short form can be looked up.
        self.0.get(&id).cloned().unwrap_or_else(|| super::short(&id).to_owned())
    }

    /// A title or a question in quotes, or the short form of its id.
    fn title(&self, id: &impl Display) -> String {
        match self.0.get(&id.to_string()) {
            Some(title) => quoted(title),
            None => self.name(id),
        }
    }

    /// The text of one row of the log.
    pub(super) fn about(&self, row: &EventRow) -> String {
        match row.event() {
            Some(event) => self.said(&event),
            // A newer program wrote it.
            None => String::new(),
        }
    }

    fn said(&self, event: &Event) -> String {
        match event {
            Event::ProjectOpened(e) => e.name.clone(),
            Event::ListOpened(e) => match &e.list.scope {
                Scope::Issue { issue_id } => {
                    format!("issue {}", self.name(issue_id))
                }
                scope => scope.kind().to_string(),
            },
            Event::ListArchived(e) => format!("{}, {}", scope_words(&e.scope), e.reason.name()),
            Event::ListUnarchived(e) => scope_words(&e.scope),
            Event::ListPurged(e) => {
                format!("{}: {}", scope_words(&e.scope), counted(e.todos, "task", "tasks"))
            }
            Event::TodoCreated(e) => e.todo.title.clone(),
            Event::TodoStarted(e) => self.name(&e.todo_id),
            Event::TodoYielded(e) => because(self.name(&e.todo_id), e.reason.as_deref()),
            Event::TodoCompleted(e) => {
                let said = outcome(self.name(&e.todo_id), e.outcome.as_deref());
                if e.self_accepted { format!("{said} (accepted its own claim)") } else { said }
            }
            Event::TodoCancelled(e) => outcome(self.name(&e.todo_id), e.outcome.as_deref()),
            Event::TodoPromoted(e) => because(self.name(&e.todo_id), e.reason.as_deref()),
            Event::TodoDemoted(e) => because(self.name(&e.todo_id), e.reason.as_deref()),
            Event::TodoReopened(e) => because(self.name(&e.todo_id), e.reason.as_deref()),
            Event::TodoRemoved(e) => self.name(&e.todo_id),
            Event::TodoRatified(e) => self.name(&e.todo_id),
            Event::TodoNoted(e) => format!("{}: {}", self.name(&e.note.todo_id), e.note.text),
            Event::TodoRevised(e) => because(e.title.clone(), e.reason.as_deref()),
            Event::TodoHeld(e) => format!("{}: {}", self.name(&e.todo_id), e.hold.reason),
            Event::TodoUnheld(e) => self.name(&e.todo_id),
            Event::TodoDeferred(e) => until(&self.name(&e.todo_id), e.until),
            Event::TodoClaimed(e) => {
                let said = outcome(self.name(&e.todo_id), e.claim.outcome.as_deref());
                let evidence: Vec<String> =
                    e.claim.evidence.iter().map(ToString::to_string).collect();
                match evidence.as_slice() {
                    [] => format!("{said} (no evidence)"),
                    _ => format!("{said} ({})", evidence.join(", ")),
                }
            }
            Event::ClaimReturned(e) => format!("{}: {}", self.name(&e.todo_id), e.feedback),
            Event::TodoAssigned(e) => {
                let to = e.assignee.as_ref().map_or("nobody".to_owned(), ToString::to_string);
                format!("{} to {to}", self.name(&e.todo_id))
            }
            Event::TodoTaken(e) => {
                let by = e.lease.holder.as_deref().unwrap_or("nobody");
                format!("{} by {by}", self.name(&e.todo_id))
            }
            Event::TodoMoved(e) => self.name(&e.todo_id),
            Event::TodoChained(e) => match e.after.as_slice() {
                [] => format!("{} waits for nothing", self.name(&e.todo_id)),
                after => {
                    let first: Vec<String> = after.iter().map(|id| self.name(id)).collect();
                    format!("{} after {}", self.name(&e.todo_id), first.join(", "))
                }
            },
            Event::TodoDescribed(e) => self.name(&e.todo_id),
            Event::TokenIssued(e) => match &e.agent {
                Some(agent) => format!("{} for {agent}", e.role),
                None => e.role.to_string(),
            },
            Event::TokenRevoked(e) => e.token_id.to_string(),
            Event::SignInLinkMade(e) => format!("until {}", e.expires_at),
            Event::StoreIdentitySet(e) => e.rule.clone(),
            Event::ProjectMerged(e) => {
                let issues = counted(e.issues.len() as u64, "issue", "issues");
                let numbers: Vec<String> = e
                    .issues
                    .iter()
                    .map(|moved| format!("#{} is #{}", moved.from, moved.to))
                    .collect();
                match numbers.is_empty() {
                    true => format!("{} into {}", e.from, e.into),
                    false => {
                        format!("{} into {}, {issues}: {}", e.from, e.into, numbers.join(", "))
                    }
                }
            }
            Event::StoreRestored(e) => match e.lost {
                Some(0) => format!("from {}", e.file),
                Some(n) => {
                    format!("from {}; {} lost", e.file, counted(n, "event was", "events were"))
                }
                None => format!("from {}; the number of lost events is unknown", e.file),
            },
            Event::ChangeRecommended(e) => {
                format!("{} {} by {}", e.wish.action, self.name(&e.todo_id), e.wish.by)
            }
            Event::TodoEscalated(e) => format!("{}, due {}", self.name(&e.todo_id), e.deadline),
            Event::TodoArchived(e) => self.name(&e.todo_id),
            Event::CommandRefused(e) => e.refusal.to_string(),
            _ => self.said_around(event),
        }
    }

    /// Events of issues, sessions, chats, gates and delegations.
    fn said_around(&self, event: &Event) -> String {
        match event {
            Event::MissionInitialised(e) => e.mission.slug.clone(),
            Event::MissionStandingChanged(e) => match &e.pillar {
                Some(pillar) => format!("{pillar} {}", e.status.name()),
                None => e.status.name().to_owned(),
            },
            Event::CycleRun(e) => match e.next_cycle_at {
                Some(at) => format!("the next one is due {at}"),
                None => String::new(),
            },
            Event::IssueCreated(e) => format!("#{} {}", e.issue.number, e.issue.title),
            Event::IssueTransitioned(e) => {
                because(format!("#{} {}", e.number, e.status), e.reason.as_deref())
            }
            Event::ChecklistChanged(e) => {
                format!("{} revision {}", self.name(&e.issue_id), e.revision)
            }
            Event::IssueAssigned(e) => match e.assignment.as_deref() {
                Some(to) => format!("#{} to {}", e.number, self.assignee(to)),
                None => format!("#{} to nobody", e.number),
            },
            Event::IssueRevised(e) => format!("#{} {}", e.number, e.title),
            Event::IssueDeferred(e) => until(&format!("#{}", e.number), e.until),
            Event::IssueUpdated(e) => {
                format!("{}: {}", self.name(&e.update.issue_id), e.update.text)
            }
            Event::IssueLinked(e) => link(e.number, e.link.kind.name(), e.to),
            Event::IssueUnlinked(e) => link(e.number, e.kind.name(), e.to),
            Event::IssueTransitionRefused(e) => e.refusal.to_string(),
            Event::SessionStarted(e) => quoted(&e.session.title),
            Event::SessionBound(e) => format!("{} to #{}", self.title(&e.session_id), e.number),
            Event::SessionUnbound(e) => {
                let from = format!("{} from #{}", self.title(&e.session_id), e.number);
                match &e.taken_over_by {
                    Some(by) => format!("{from}, taken over by {}", self.title(by)),
                    None => from,
                }
            }
            Event::SessionEnded(e) => self.title(&e.session_id),
            Event::SessionReopened(e) => self.title(&e.session_id),
            Event::SessionAdopted(e) => {
                format!("{} as {}", self.title(&e.session_id), e.external_id)
            }
            Event::SessionTitled(e) => quoted(&e.title),
            Event::HookAnswered(e) => {
                let session =
                    e.session_id.map_or("no known session".to_owned(), |id| self.title(&id));
                let (host, what) = (e.host.label(), e.happened.name().replace('_', " "));
                let why = why_answered(&e.reason);
                format!("{what} of {session}, {host}: {} ({why})", e.answer)
            }
            Event::SessionPaused(e) => because(self.title(&e.session_id), e.reason.as_deref()),
            Event::SessionResumed(e) => self.title(&e.session_id),
            Event::ConversationOpened(e) => quoted(&e.conversation.title),
            Event::MessagePosted(e) => {
                format!("to {} as {}", self.title(&e.conversation_id), e.role.name())
            }
            Event::GateOpened(e) => format!("{}: {}", kind(&e.gate), e.gate.text),
            Event::GateAnswered(e) => {
                let asked = self.title(&e.gate_id);
                let said = match e.state {
                    // Only a sign-off is for a revision of an issue.
                    GateState::Resumed if e.revision.is_some() => format!("{asked} signed off"),
                    GateState::Resumed => asked,
                    state => format!("{asked} {}", state.name()),
                };
                match &e.response {
                    None | Some(Value::Null) => said,
                    Some(response) => format!("{said}: {}", words(response)),
                }
            }
            Event::GateSuperseded(e) => self.title(&e.gate_id),
            Event::GateCollected(e) => self.title(&e.gate_id),
            Event::PermissionRevoked(e) => self.title(&e.gate_id),
            Event::GateAnswerRefused(e) => e.refusal.to_string(),
            Event::DelegationQueued(e) => {
                format!("{}: {}", e.delegation.kind, e.delegation.mission)
            }
            Event::DelegationStarted(e) => {
                format!("{} by {}, attempt {}", self.name(&e.delegation_id), e.by, e.attempts)
            }
            Event::DelegationReturned(e) => {
                let items = e.proposal.as_ref().map_or(0, |proposal| proposal.items.len());
                let proposes = match items {
                    0 => String::new(),
                    n => format!(" (proposes {})", counted(n, "item", "items")),
                };
                format!("{}{proposes} → {}", self.name(&e.delegation_id), e.result)
            }
            Event::DelegationFailed(e) => {
                let again = if e.again { " (queued once more)" } else { "" };
                format!("{}{again}: {}", self.name(&e.delegation_id), e.error)
            }
            Event::DelegationRefused(e) => e.refusal.to_string(),
            Event::DelegationCancelled(e) => {
                because(self.name(&e.delegation_id), e.reason.as_deref())
            }
            Event::ProposalDecided(e) => {
                let verb = match e.decision {
                    ProposalDecision::Accept => "accepted",
                    ProposalDecision::Modify => "modified",
                    ProposalDecision::Reject => "rejected",
                };
                let (name, taken) = (self.name(&e.delegation_id), e.items.len());
                because(format!("{name} {verb}, {taken} taken in"), e.reason.as_deref())
            }
            Event::TodoLineTicked(e) => format!("{}: {}", e.file, e.line),
            _ => self.said_of_runs(event).unwrap_or_else(|| self.said_of_metrics(event)),
        }
    }

    fn said_of_runs(&self, event: &Event) -> Option<String> {
        Some(match event {
            Event::RunStarted(e) => format!("{} with {}", e.run.agent, e.run.settings.model),
            Event::RunStepped(e) => {
                let calls = counted(e.counters.calls, "call", "calls");
                format!("{}: {calls} of the model", self.name(&e.run_id))
            }
            Event::RunContinued(e) => {
                let item = e.todo_id.map(|id| self.name(&id)).unwrap_or_default();
                let run = self.name(&e.run_id);
                format!("{run} for the {}. time {item}", e.counters.continuations)
            }
            Event::RunWaited(e) => {
                let what = match &e.waits_for {
                    Wait::Gate(id) => format!("an answer to {}", self.title(id)),
                    Wait::Delegations(ids) => {
                        let names: Vec<String> = ids.iter().map(|id| self.name(id)).collect();
                        names.join(", ")
                    }
                    Wait::Cooldown(until) => format!("until {until}"),
                    Wait::Pause => "until it is resumed".to_owned(),
                };
                format!("{} for {what}", self.name(&e.run_id))
            }
            Event::RunWoken(e) => self.name(&e.run_id),
            Event::RunCancelled(e) => because(self.name(&e.run_id), Some(&e.reason)),
            Event::RunStopped(e) => {
                let why = e.detail.as_deref().unwrap_or_else(|| e.reason.words());
                format!("{}: {why}", self.name(&e.run_id))
            }
            _ => return None,
        })
    }

    /// Events of metrics.
    fn said_of_metrics(&self, event: &Event) -> String {
        match event {
            Event::ReadingRecorded(e) => {
                format!("{}: {}", self.name(&e.reading.metric_id), e.reading.value)
            }
            Event::CollectionQueued(e) => {
                let names: Vec<String> = e.metric_ids.iter().map(|id| self.name(id)).collect();
                names.join(", ")
            }
            Event::CollectionFailed(e) => {
                let given_up = if e.gives_up { ", given up" } else { "" };
                let metric = self.name(&e.metric_id);
                format!("{metric}, attempt {}{given_up}: {}", e.attempt, e.error)
            }
            _ => String::new(),
        }
    }

    /// The title of the session in `session:ID`.
    fn assignee(&self, to: &str) -> String {
        match to.strip_prefix("session:") {
            Some(id) => format!("session {}", self.title(&id)),
            None => to.to_owned(),
        }
    }
}

/// What a list belongs to, if its keys are useful to people.
fn scope_words(scope: &Scope) -> String {
    match scope {
        Scope::Plan { branch, plan_file } => format!("{plan_file} on {branch}"),
        scope => scope.kind().to_string(),
    }
}

fn kind(gate: &Gate) -> &'static str {
    match gate.purpose {
        Some(Purpose::SignOff) => "sign-off",
        _ => gate.kind().name(),
    }
}

/// Why a hook was answered as it was, without the codes that programs read.
fn why_answered(reason: &str) -> String {
    let stop = StopReason::ALL.iter().find(|stop| stop.code() == reason);
    stop.map_or_else(|| reason.replace('_', " "), |stop| stop.words().to_owned())
}

fn quoted(text: &str) -> String {
    format!("`{text}`")
}

fn because(what: String, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{what} ({reason})"),
        None => what,
    }
}

fn outcome(what: String, outcome: Option<&str>) -> String {
    match outcome {
        Some(outcome) => format!("{what} → {outcome}"),
        None => what,
    }
}

fn until(what: &str, until: Option<punchlist_core::Time>) -> String {
    match until {
        Some(until) => format!("{what} until {}", day_or_time(until)),
        None => format!("{what} is no longer deferred"),
    }
}

fn link(number: i64, kind: &str, to: i64) -> String {
    format!("#{number} {} #{to}", kind.replace('_', " "))
}
