//! A small world for the core's own tests: a list of any kind, and commands decided and folded.

use punchlist_core::capacity::Limits;
use punchlist_core::command::{Command, CreateTodos, NewTodo};
use punchlist_core::delegation::{Delegate, Mode, Review};
use punchlist_core::gate::details::{Overdue, Question, WantedCall};
use punchlist_core::gate::form::Form;
use punchlist_core::gate::{Details, GateKind};
use punchlist_core::text::{Body, Title};
use punchlist_core::{
    Actor, AgentPath, By, Decide, Decision, Event, Ids, List, ListId, ListKind, ProjectId, Refusal,
    Refused, Role, Scope, Snapshot, Time, TodoId, apply, decide,
};
use serde_json::json;

/// One list and all its events.
pub(crate) struct World {
    pub(crate) state: Snapshot,
    pub(crate) log: Vec<(Event, Time)>,
    pub(crate) now: Time,
    ids: Ids,
}

impl World {
    pub(crate) fn new(kind: ListKind) -> Self {
        let now = Time::parse("2026-11-15T08:00:00Z").unwrap();
        let mut ids = Ids::new(now, 1);
        let limits = (kind == ListKind::Pillar).then_some(Limits {
            active: 3,
            backlog: 2,
            active_soft_margin: 1,
        });
        let inner = match kind {
            ListKind::Session | ListKind::Issue => String::new(),
            _ => "inner".to_owned(),
        };
        let (id, project) = (ListId::from(ids.ulid()), ProjectId::from(ids.ulid()));
        let scope = Scope::from_keys(kind, "outer".to_owned(), inner);
        let list = List::new(id, project, scope, now);
        let state = Snapshot { limits, ..Snapshot::empty(list) };
        Self { state, log: Vec::new(), now, ids }
    }

    pub(crate) fn run(
        &mut self,
        actor: &Actor,
        command: impl Into<Command>,
    ) -> Result<Decision, Refused> {
        self.now = self.now.plus_seconds(1);
        let decision = decide(&self.state, &command.into(), actor, self.now, &mut self.ids)?;
        for event in &decision.events {
            apply(&mut self.state, event, self.now);
            self.log.push((event.clone(), self.now));
        }
        Ok(decision)
    }

    /// Runs a command that must be accepted.
    pub(crate) fn ok(&mut self, role: Role, command: impl Into<Command>) -> Decision {
        self.run(&actor(role), command).unwrap()
    }

    /// Runs a command that must be refused; returns the refusal.
    pub(crate) fn refused(&mut self, role: Role, command: impl Into<Command>) -> Refusal {
        self.run(&actor(role), command).unwrap_err().refusal
    }

    /// Creates items as the operator and returns their ids in order.
    pub(crate) fn create(&mut self, titles: &[&str]) -> Vec<TodoId> {
        let items = titles.iter().map(|t| NewTodo::titled(Title::new(t).unwrap())).collect();
        let decision = self.run(&actor(Role::Operator), CreateTodos { items }).unwrap();
        decision
            .events
            .iter()
            .filter_map(|event| match event {
                Event::TodoCreated(created) => Some(created.todo.id),
                _ => None,
            })
            .collect()
    }
}

/// Decides a command on an aggregate other than a list.
pub(crate) fn decided<C: Decide>(
    command: &C,
    on: C::On<'_>,
    actor: &Actor,
    now: Time,
) -> Result<C::Out, Refused> {
    command.decide(on, By { actor, now, ids: &mut Ids::new(now, 1) })
}

/// Decides a command whose rule needs neither time nor ids.
pub(crate) fn by_policy<C: Decide>(command: &C, on: C::On<'_>) -> Result<C::Out, Refused> {
    decided(command, on, &actor(Role::System), Time::from_micros(0))
}

/// An actor of a role, tied to the mission and pillar of the world.
pub(crate) fn actor(role: Role) -> Actor {
    let path = if role == Role::Worker { "primary.subagents.w" } else { "primary" };
    let mut actor = Actor::new(role, AgentPath::parse(path).unwrap());
    actor.mission = Some("outer".to_owned());
    actor.pillar = Some("inner".to_owned());
    actor
}

/// Work for a coder, about no item.
pub(crate) fn order(mission: &str) -> Delegate {
    Delegate {
        kind: Title::new("coder").unwrap(),
        mission: Body::new(mission).unwrap(),
        rationale: None,
        mode: Mode::Async,
        review: Review::Review,
        todo_id: None,
        conversation_id: None,
        run_id: None,
    }
}

/// What a gate of this kind asks, with nothing in it that may be left out.
pub(crate) fn details(kind: GateKind) -> Details {
    match kind {
        GateKind::Checkpoint => Details::Checkpoint {},
        GateKind::Ask => Details::Ask(Question::default()),
        GateKind::Form => Details::Form(Form(json!({}))),
        GateKind::Permission => Details::Permission(WantedCall {
            run: "r".to_owned(),
            call: "c".to_owned(),
            input: json!({}),
            digest: "d".to_owned(),
            definition: json!({}),
        }),
        GateKind::Escalation => Details::Escalation(Overdue {
            mission: "m".to_owned(),
            pillar: "p".to_owned(),
            todo_id: Ids::new(Time::from_micros(0), 8).ulid().into(),
            deadline: None,
            options: Vec::new(),
        }),
    }
}
