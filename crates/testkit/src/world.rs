//! A world for tests: operations on one store, with a settable clock and callers of any role.

use std::sync::Arc;

use punchlist_core::command::{CreateTodos, NewTodo};
use punchlist_core::event::ListOpened;
use punchlist_core::policy::policy;
use punchlist_core::text::Title;
use punchlist_core::{
    Actor, AgentPath, Decision, List, ListId, Role, Scope, Snapshot, Time, decide, select,
};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Context, Envelope, Error, Ops, Proof};
use punchlist_store::{Options, Stamp, sql};
use serde_json::Value;

use crate::{Backend, TestStore};

/// Operations on a store of their own.
#[derive(Debug)]
pub struct World {
    pub ops: Ops,
    pub store: TestStore,
    pub now: Time,
}

impl World {
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        Self::on(TestStore::new(backend))
    }

    #[must_use]
    pub fn on(store: TestStore) -> Self {
        let ops = Ops::new(store.target().clone(), Options::default());
        let now = Time::parse("2026-11-15T08:00:00Z").expect("a time");
        Self { ops, store, now }
    }

    /// The envelope of a caller in the project `test`, conversation `c1`, turn `t1`.
    #[must_use]
    pub fn envelope(&self, role: Role) -> Envelope {
        let path = if role == Role::Worker { "primary.subagents.w" } else { "primary" };
        Envelope {
            actor: Actor::new(role, AgentPath::parse(path).expect("a path")),
            proof: Proof::Engine,
            project: "test".to_owned(),
            context: Context {
                session: None,
                conversation: Some("c1".to_owned()),
                turn: Some("t1".to_owned()),
                ..Context::default()
            },
            idempotency_key: None,
            agents: Arc::default(),
            now: self.now,
        }
    }

    /// Calls an operation as `root`, in the default turn.
    pub fn call(&self, name: &str, input: Value) -> Result<Value, Error> {
        self.call_in(&self.envelope(Role::Root), name, input)
    }

    pub fn call_in(&self, envelope: &Envelope, name: &str, input: Value) -> Result<Value, Error> {
        self.ops.call(find(name)?, envelope, input)
    }

    /// A plan `docs/plans/auth.md` on `main` with these tasks, built from commands and events as
    /// the operations do. Returns the ids in order.
    #[must_use]
    pub fn plan(&self, titles: &[&str]) -> Vec<String> {
        let (branch, plan_file) = ("main".to_owned(), "docs/plans/auth.md".to_owned());
        self.list(Scope::Plan { branch, plan_file }, titles)
    }

    /// A list of any kind with these items; returns their ids in order.
    #[must_use]
    pub fn list(&self, scope: Scope, titles: &[&str]) -> Vec<String> {
        // Any event first, so that the project exists.
        self.call("create_todo", serde_json::json!({ "items": [{ "title": "first" }] }))
            .expect("the project opens");
        let now = self.now;
        let numbered = policy(scope.kind()).numbered;
        let items: Vec<NewTodo> = titles
            .iter()
            .map(|title| NewTodo::titled(Title::new(title).expect("a title")))
            .collect();
        let actor = self.envelope(Role::Operator).actor;
        let made = self.ops.store().expect("the store opens").write(move |tx| {
            let mut ids = punchlist_ops::clock::ids(now).expect("randomness");
            let project = tx.project("test")?.expect("the project");
            let (id, scope) = (ListId::from(ids.ulid()), scope.clone());
            let list = List::new(id, project, scope, now);
            let mut snapshot = Snapshot::empty(list.clone());
            let stamp = Stamp {
                project,
                actor: actor.clone(),
                cause: "testkit",
                at: now,
                proof: "none".into(),
                recorded_at: now,
            };
            let opened =
                Decision { events: vec![ListOpened { list }.into()], ..Decision::default() };
            tx.record(&mut snapshot, &opened, &stamp, &mut ids)?;
            let highest = sql!("SELECT coalesce(max(seq), 0) FROM todos");
            let highest = tx.first(highest, &[], |row| row.int(0))?.unwrap_or_default();
            let numbers = (highest + 1..).map(|seq| numbered.then_some(seq));
            let items = items.iter().cloned().zip(numbers);
            let items = items.map(|(item, seq)| NewTodo { seq, ..item }).collect();
            let command = CreateTodos { items }.into();
            let decision = decide(&snapshot, &command, &actor, now, &mut ids).expect("items");
            tx.record(&mut snapshot, &decision, &stamp, &mut ids)?;
            let todos = select::ordered(&snapshot);
            Ok::<_, Error>(todos.iter().map(|todo| todo.id.to_string()).collect())
        });
        made.expect("the list is made")
    }

    /// The log of the project `test`: its first thousand events, all those written so far.
    ///
    /// On PostgreSQL a concurrent transaction, even of another database, hides the newest events for
    /// a moment: the log shows only what nothing can overtake. So this reads until the log shows as
    /// many events as the table has.
    ///
    /// # Panics
    /// If events are still hidden after 20 seconds, or a read fails.
    #[must_use]
    pub fn log(&self) -> Vec<Value> {
        let written = self.events_written();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        loop {
            let input = serde_json::json!({ "after": 0, "limit": 1000 });
            let mut answer = self
                .call_in(&self.envelope(Role::Operator), "event_list", input)
                .expect("the log reads");
            let Value::Array(events) = answer["events"].take() else { panic!("no events") };
            if events.len() >= written.min(1_000) {
                return events;
            }
            assert!(
                std::time::Instant::now() < deadline,
                "timed out after 20 s: {written} events are written, the log shows {}",
                events.len()
            );
            std::thread::yield_now();
        }
    }

    /// The number of events of the project `test` in the table, visible or not.
    fn events_written(&self) -> usize {
        let written = self.ops.store().expect("the store opens").read(|tx| {
            let count = sql!(
                "SELECT count(*) FROM events e JOIN projects p ON p.id = e.project_id WHERE p.name = 'test'"
            );
            tx.first(count, &[], |row| row.int(0))
        });
        usize::try_from(written.expect("the table reads").unwrap_or_default()).expect("a count")
    }
}
