//! Agents: the status each reports, who may report it, and which agents are silent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::authority::{Action, Subject, may};
use crate::command::ClaimTodo;
use crate::event::AgentChanged;
use crate::named::named;
use crate::{Actor, AgentPath, By, Decide, ListKind, Refusal, Refused, Span, Time, Todo, TodoKind};

/// A busy agent without a heartbeat for this long counts as silent.
pub const SILENT_AFTER: Span = Span::seconds(300);

named! {
    /// The status an agent reports (O-23).
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum AgentStatus {
        Idle = "idle",
        Busy = "busy",
        Blocked = "blocked",
        Failed = "failed",
        Complete = "complete",
        Archived = "archived",
    }
}

impl fmt::Display for AgentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An agent and its last reported status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    pub path: AgentPath,
    pub kind: Option<String>,
    pub status: AgentStatus,
    pub note: Option<String>,
    pub heartbeat_at: Time,
    pub created_at: Time,
    pub updated_at: Time,
}

impl Agent {
    /// Is it busy, without a heartbeat for too long?
    #[must_use]
    pub fn is_silent(&self, now: Time) -> bool {
        let seconds = i64::try_from(SILENT_AFTER.as_seconds()).unwrap_or(i64::MAX);
        self.status == AgentStatus::Busy && self.heartbeat_at < now.plus_seconds(-seconds)
    }
}

/// Register an agent, or report that it is back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterAgent {
    pub agent: AgentPath,
    /// `None` keeps the old kind.
    pub kind: Option<String>,
}

/// Report the status of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAgentStatus {
    pub agent: AgentPath,
    pub status: AgentStatus,
    pub note: Option<String>,
}

/// The new state of the agent, and an event if something changed: a heartbeat alone emits none.
pub type Heard = (Agent, Option<AgentChanged>);

impl Decide for RegisterAgent {
    type On<'a> = Option<&'a Agent>;
    type Out = Heard;

    fn decide(
        &self,
        known: Self::On<'_>,
        By { actor, now, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        for_oneself(&self.agent, actor)?;
        let agent = match known.cloned() {
            Some(known) => {
                let kind = self.kind.clone().or(known.kind);
                Agent { kind, heartbeat_at: now, updated_at: now, ..known }
            }
            None => Agent {
                path: self.agent.clone(),
                kind: self.kind.clone(),
                status: AgentStatus::Idle,
                note: None,
                heartbeat_at: now,
                created_at: now,
                updated_at: now,
            },
        };
        Ok(heard(known, agent))
    }
}

impl Decide for SetAgentStatus {
    type On<'a> = Option<&'a Agent>;
    type Out = Heard;

    fn decide(
        &self,
        known: Self::On<'_>,
        By { actor, now, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        for_oneself(&self.agent, actor)?;
        let Some(before) = known else {
            return Err(Refusal::UnknownAgent { agent: self.agent.clone() }.into());
        };
        let (status, note) = (self.status, self.note.clone());
        let agent = Agent { status, note, heartbeat_at: now, updated_at: now, ..before.clone() };
        Ok(heard(known, agent))
    }
}

impl SetAgentStatus {
    /// Can this status claim tasks? The caller loads tasks only if so.
    #[must_use]
    pub const fn may_claim(&self) -> bool {
        matches!(self.status, AgentStatus::Complete)
    }

    /// The claim that this status makes on a plan task, if any.
    #[must_use]
    pub fn claim(&self, task: &Todo, actor: &Actor) -> Option<ClaimTodo> {
        let (todo_id, outcome, evidence) = (task.id, self.note.clone(), Vec::new());
        let claims = self.claims(task, actor);
        claims.then_some(ClaimTodo { todo_id, outcome, evidence, clock: None })
    }

    /// Does this status claim the plan task? The status `complete` says that the agent's open tasks
    /// are done. It does not complete them: their reviewer accepts or returns the claim.
    #[must_use]
    pub fn claims(&self, task: &Todo, actor: &Actor) -> bool {
        let task_subject = Subject::Todo(ListKind::Plan, TodoKind::Step);
        self.may_claim()
            && task.assignee.as_ref() == Some(&self.agent)
            && !task.status.is_settled()
            && task.claim.is_none()
            && may(actor, task_subject, Action::Claim, || actor.agent == self.agent)
    }
}

/// A worker may report only its own status.
fn for_oneself(agent: &AgentPath, actor: &Actor) -> Result<(), Refusal> {
    if !may(actor, Subject::Agent, Action::Register, || actor.agent == *agent) {
        return Err(Refusal::NotYourself { agent: agent.clone() });
    }
    Ok(())
}

fn heard(before: Option<&Agent>, agent: Agent) -> Heard {
    let same = before.is_some_and(|known| {
        (known.status, &known.note, &known.kind) == (agent.status, &agent.note, &agent.kind)
    });
    let changed = (!same).then(|| AgentChanged {
        agent: agent.path.clone(),
        kind: agent.kind.clone(),
        status: agent.status,
        note: agent.note.clone(),
    });
    (agent, changed)
}

/// The agents of a project. An agent in neither collection is unknown, which is not an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agents {
    pub status: BTreeMap<AgentPath, AgentStatus>,
    /// Agents that are silent.
    pub silent: BTreeSet<AgentPath>,
}

impl Agents {
    /// The status of the agents at this time.
    #[must_use]
    pub fn at(now: Time, agents: impl IntoIterator<Item = Agent>) -> Self {
        let mut known = Self::default();
        for agent in agents {
            if agent.is_silent(now) {
                known.silent.insert(agent.path.clone());
            }
            known.status.insert(agent.path, agent.status);
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ids;

    fn decide<'a, C: Decide<On<'a> = Option<&'a Agent>, Out = Heard>>(
        command: &C,
        known: Option<&'a Agent>,
        actor: &Actor,
        now: Time,
    ) -> Result<Heard, Refused> {
        command.decide(known, By { actor, now, ids: &mut Ids::new(now, 1) })
    }
    use crate::Role;

    #[test]
    fn names_and_parsing_agree() {
        for status in AgentStatus::ALL {
            assert_eq!(AgentStatus::parse(status.name()), Some(status));
        }
        assert_eq!(AgentStatus::parse("sleepy"), None);
    }

    fn path(text: &str) -> AgentPath {
        AgentPath::parse(text).unwrap()
    }

    fn at(second: i64) -> Time {
        Time::from_micros(0).plus_seconds(second)
    }

    fn registered(kind: Option<&str>) -> Agent {
        let command = RegisterAgent { agent: path("a.b"), kind: kind.map(str::to_owned) };
        let operator = Actor::new(Role::Operator, AgentPath::primary());
        decide(&command, None, &operator, at(0)).unwrap().0
    }

    #[test]
    fn a_worker_reports_only_its_own_status() {
        let known = registered(None);
        for (role, own, may) in [
            (Role::Operator, false, true),
            (Role::Root, false, true),
            (Role::System, false, true),
            (Role::Worker, true, true),
            (Role::Worker, false, false),
        ] {
            let actor = Actor::new(role, path(if own { "a.b" } else { "a.c" }));
            let register = RegisterAgent { agent: path("a.b"), kind: None };
            let status = AgentStatus::Busy;
            let say = SetAgentStatus { agent: path("a.b"), status, note: None };
            let refused = Refusal::NotYourself { agent: path("a.b") };
            let expected = if may { Ok(()) } else { Err(refused.into()) };
            let said = decide(&say, Some(&known), &actor, at(1)).map(|_| ());
            let come = decide(&register, Some(&known), &actor, at(1)).map(|_| ());
            assert_eq!((said, come), (expected.clone(), expected), "{role} {own}");
        }
    }

    #[test]
    fn a_change_emits_an_event_and_a_heartbeat_does_not() {
        let root = Actor::new(Role::Root, AgentPath::primary());
        let known = registered(Some("coder"));
        let say = |status, note: Option<&str>| {
            let note = note.map(str::to_owned);
            let command = SetAgentStatus { agent: path("a.b"), status, note };
            decide(&command, Some(&known), &root, at(9)).unwrap()
        };
        let (same, event) = say(AgentStatus::Idle, None);
        assert_eq!((same.heartbeat_at, same.created_at, event), (at(9), at(0), None));
        assert!(say(AgentStatus::Busy, None).1.is_some());
        assert!(say(AgentStatus::Idle, Some("bored")).1.is_some());
        let again = RegisterAgent { agent: path("a.b"), kind: None };
        let (agent, event) = decide(&again, Some(&known), &root, at(9)).unwrap();
        assert_eq!((agent.kind.as_deref(), event), (Some("coder"), None), "it stays what it was");
        let stranger = SetAgentStatus { agent: path("x"), status: AgentStatus::Busy, note: None };
        let refused = decide(&stranger, None, &root, at(9)).unwrap_err();
        assert_eq!(refused.refusal, Refusal::UnknownAgent { agent: path("x") });
    }

    #[test]
    fn a_busy_agent_is_silent_after_five_minutes() {
        for (status, second, silent) in [
            (AgentStatus::Busy, 300, false),
            (AgentStatus::Busy, 301, true),
            (AgentStatus::Idle, 301, false),
            (AgentStatus::Blocked, 301, false),
        ] {
            let agent = Agent { status, ..registered(None) };
            let known = Agents::at(at(second), [agent]);
            assert_eq!(known.silent.contains(&path("a.b")), silent, "{status} {second}");
            assert_eq!(known.status.get(&path("a.b")), Some(&status));
        }
    }
}
