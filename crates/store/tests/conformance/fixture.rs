//! A list in a store, and commands run on it as operations do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use punchlist_core::command::{Command, CreateTodos, NewTodo};
use punchlist_core::text::Title;
use punchlist_core::{
    Actor, AgentPath, Decision, Ids, List, ListId, ListKind, ProjectId, Role, Scope, Snapshot,
    Time, Todo, decide,
};
use punchlist_store::{Error, Load, Recorded, Stamp, Store, Tx};
use punchlist_testkit::{Backend, TestStore};

pub(crate) struct Fixture {
    pub(crate) store: Arc<Store>,
    pub(crate) list: List,
    pub(crate) now: Time,
    pub(crate) place: TestStore,
    /// The number of events that the commands have recorded so far.
    recorded: AtomicUsize,
}

pub(crate) fn ids(n: u128) -> Ids {
    Ids::new(Time::from_micros(1_763_193_600_000_000), n << 32)
}

impl Fixture {
    pub(crate) fn new(backend: Backend) -> Self {
        Self::of(backend, ListKind::Turn)
    }

    pub(crate) fn of(backend: Backend, kind: ListKind) -> Self {
        let place = TestStore::new(backend);
        let store = Arc::new(place.open());
        let now = Time::parse("2026-11-15T08:00:00Z").unwrap();
        let mut ids = ids(1);
        let (id, project) = (ListId::from(ids.ulid()), ProjectId::from(ids.ulid()));
        let scope = Scope::from_keys(kind, "outer".into(), inner(kind).into());
        let list = List::new(id, project, scope, now);
        let made = list.clone();
        store
            .write(move |tx| {
                tx.insert_project(made.project_id, "test", made.created_at)?;
                tx.put_list(&made)
            })
            .unwrap();
        Self { store, list, now, place, recorded: AtomicUsize::new(0) }
    }

    pub(crate) fn stamp(&self) -> Stamp {
        let actor = Actor::new(Role::Operator, AgentPath::primary());
        Stamp {
            project: self.list.project_id,
            actor,
            cause: "test",
            at: self.now,
            proof: "none".to_owned(),
            recorded_at: self.now,
        }
    }

    /// Decides and records a command as the operator.
    pub(crate) fn run(&self, command: impl Into<Command>, seed: u128) -> Decision {
        let (list, stamp, command) = (self.list.clone(), self.stamp(), command.into());
        let decision = self
            .store
            .write(move |tx| {
                let mut ids = ids(seed);
                let mut snapshot = tx.snapshot(list.clone(), Load::All)?;
                let decision =
                    decide(&snapshot, &command, &stamp.actor, stamp.at, &mut ids).unwrap();
                tx.record(&mut snapshot, &decision, &stamp, &mut ids)?;
                Ok::<_, Error>(decision)
            })
            .unwrap();
        self.recorded.fetch_add(decision.events.len(), Ordering::Relaxed);
        decision
    }

    /// The log with all events of the commands so far.
    pub(crate) fn whole_log(&self) -> Vec<Recorded> {
        self.log(self.recorded.load(Ordering::Relaxed))
    }

    /// Creates items with these titles.
    pub(crate) fn create(&self, titles: &[&str], seed: u128) -> Vec<Todo> {
        let items = titles.iter().map(|t| NewTodo::titled(Title::new(t).unwrap())).collect();
        self.run(CreateTodos { items }, seed);
        self.todos()
    }

    pub(crate) fn todos(&self) -> Vec<Todo> {
        let list = self.list.id;
        self.store.read(move |tx| tx.todos(list)).unwrap()
    }

    pub(crate) fn snapshot(&self, load: Load) -> Snapshot {
        let list = self.list.clone();
        self.store.read(move |tx| tx.snapshot(list.clone(), load)).unwrap()
    }

    pub(crate) fn read<T: Send + 'static>(
        &self,
        job: impl FnMut(&mut Tx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> T {
        self.store.read(job).unwrap()
    }

    /// The log, once it has `count` events: a concurrent test may hold back PostgreSQL's horizon
    /// for a moment.
    pub(crate) fn log(&self, count: usize) -> Vec<Recorded> {
        let project = self.list.project_id;
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        loop {
            let events = self.read(move |tx| tx.events_after(project, None, 0, 10_000));
            if events.len() >= count || std::time::Instant::now() > deadline {
                return events;
            }
            std::thread::yield_now();
        }
    }
}

fn inner(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Session | ListKind::Issue => "",
        _ => "inner",
    }
}
