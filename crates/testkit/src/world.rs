//! A world for tests: operations on one store, with a clock one sets and callers of any role.

use punchlist_core::{Actor, AgentPath, Role, Time};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Context, Envelope, Error, Ops, Proof};
use punchlist_store::Options;
use serde_json::Value;

use crate::{Backend, TestStore};

/// Operations on one store of their own.
#[derive(Debug)]
pub struct World {
    pub ops: Ops,
    pub store: TestStore,
    pub now: Time,
}

impl World {
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        let store = TestStore::new(backend);
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
            proof: Proof::Local,
            project: "test".to_owned(),
            context: Context {
                session: None,
                conversation: Some("c1".to_owned()),
                turn: Some("t1".to_owned()),
            },
            idempotency_key: None,
            now: self.now,
        }
    }

    /// Calls an operation as `root` in the usual turn.
    pub fn call(&self, name: &str, input: Value) -> Result<Value, Error> {
        self.call_in(&self.envelope(Role::Root), name, input)
    }

    pub fn call_in(&self, envelope: &Envelope, name: &str, input: Value) -> Result<Value, Error> {
        self.ops.call(find(name)?, envelope, input)
    }

    /// The log of the project from the start.
    ///
    /// On PostgreSQL a test that runs beside this one may hold the horizon back for a moment, so
    /// it is read again until it holds at least `count` events, for a bounded time.
    #[must_use]
    pub fn log(&self, count: usize) -> Vec<Value> {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        loop {
            let input = serde_json::json!({ "after": 0, "limit": 1000 });
            let mut answer = self
                .call_in(&self.envelope(Role::Operator), "event_list", input)
                .expect("the log reads");
            let Value::Array(events) = answer["events"].take() else { panic!("no events") };
            if events.len() >= count || std::time::Instant::now() > deadline {
                return events;
            }
            std::thread::yield_now();
        }
    }
}
