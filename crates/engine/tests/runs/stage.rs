//! A test world with configured agents whose models play scripts, and a runtime that executes their
//! runs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use punchlist_core::{Role, RunId, Time};
use punchlist_engine::agent::{Live, Outcome, Runtime};
use punchlist_engine::model::{Cancel, Scripted, Shelf};
use punchlist_engine::{Pump, Worker};
use punchlist_ops::config::{Origin, Roster};
use punchlist_ops::{Envelope, Error, Ops};
use punchlist_store::Options;
use punchlist_testkit::{Backend, World};
use serde_json::{Value, json};

/// A test world with agents.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) agents: Arc<Roster>,
    pub(crate) shelf: Shelf,
    /// The events so far, as texts.
    pub(crate) told: Mutex<Vec<String>>,
}

impl Stage {
    /// Agents as a user's file would configure them, and their scripts, by file name.
    pub(crate) fn new(backend: Backend, config: &str, scripts: &[(&str, &str)]) -> Self {
        let agents = Roster::default().read(config, Origin::User).unwrap();
        let shelf = Shelf::default();
        for (name, script) in scripts {
            let name = format!("scripted:{name}");
            let model = Scripted::read(&name, script).unwrap();
            shelf.put(&name, Arc::new(model));
        }
        let told = Mutex::default();
        Self { world: World::new(backend), agents: Arc::new(agents), shelf, told }
    }

    /// One agent `primary` that plays this script, with driving on.
    pub(crate) fn solo(backend: Backend, script: &str) -> Self {
        let config = "[agents.primary]\nmodel = \"scripted:a\"\ntodo_driven_execution = true";
        Self::new(backend, config, &[("a", script)])
    }

    pub(crate) fn envelope(&self, role: Role) -> Envelope {
        let mut envelope = self.world.envelope(role);
        envelope.agents = Arc::clone(&self.agents);
        envelope.context = punchlist_ops::Context::default();
        envelope
    }

    pub(crate) fn call(&self, name: &str, input: Value) -> Result<Value, Error> {
        self.world.call_in(&self.envelope(Role::Operator), name, input)
    }

    /// Starts a run.
    pub(crate) fn start(&self, prompt: &str) -> RunId {
        self.start_with(json!({ "prompt": prompt }))
    }

    pub(crate) fn start_with(&self, input: Value) -> RunId {
        let started = self.call("run_start", input).unwrap();
        RunId::parse(started["run"]["id"].as_str().unwrap()).unwrap()
    }

    /// Executes a run.
    pub(crate) fn drive(&self, run: RunId) -> Outcome {
        self.runtime(&|| false, |runtime| runtime.drive("test", run, &Cancel::default()).unwrap())
    }

    pub(crate) fn runtime<T>(
        &self,
        is_stopped: &(dyn Fn() -> bool + Sync),
        job: impl FnOnce(&Runtime<'_>) -> T,
    ) -> T {
        let clock = || -> Time { self.world.now };
        let told = |live: &Live<'_>| self.told.lock().unwrap().extend(words(live));
        job(&Runtime {
            executor: None,
            ops: &self.world.ops,
            agents: &self.agents,
            models: &self.shelf,
            outside: &(),
            clock: &clock,
            is_stopped,
            observer: &told,
        })
    }

    pub(crate) fn show(&self, run: RunId) -> Value {
        self.call("run_show", json!({ "run": run.to_string() })).unwrap()
    }

    /// The events so far, and the reasons of failed runs.
    pub(crate) fn told(&self) -> Vec<String> {
        let mut told = self.told.lock().unwrap().clone();
        let runs = self.call("run_list", json!({})).unwrap();
        let details = runs["runs"].as_array().unwrap().iter().map(|run| &run["stopDetail"]);
        told.extend(details.filter_map(|detail| detail.as_str().map(str::to_owned)));
        told
    }

    /// The messages in the chat of a run: role, kind and text.
    pub(crate) fn chat(&self, run: RunId) -> Vec<(String, String, String)> {
        let run = self.show(run);
        let input = json!({ "conversationId": run["run"]["conversationId"], "limit": 1000 });
        let chat = self.call("conversation_show", input).unwrap();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let messages = chat["messages"].as_array().unwrap();
        messages.iter().map(|m| (word(&m["role"]), word(&m["kind"]), word(&m["text"]))).collect()
    }

    /// Does all due and queued work, one after another.
    pub(crate) fn work(&self) {
        self.worker(&|| false, &|_| {}, |worker| worker.once());
    }

    /// Like `work`, but calls `then` at the first event with this text.
    pub(crate) fn work_and(&self, when: &str, then: impl Fn() + Sync) {
        let happened = AtomicBool::new(false);
        let hear = |words: &str| {
            if words == when && !happened.swap(true, Ordering::SeqCst) {
                then();
            }
        };
        self.worker(&|| false, &hear, |worker| worker.once());
        assert!(happened.load(Ordering::SeqCst), "{:#?}", self.told());
    }

    /// Like `work`, but another worker takes the delegation of this type at once.
    pub(crate) fn work_and_take(&self, kind: &str) -> Value {
        let taken = Mutex::new(Value::Null);
        self.work_and("delegate returned", || *taken.lock().unwrap() = self.take(kind));
        let taken = taken.lock().unwrap().clone();
        assert!(taken["delegation"]["id"].is_string(), "{taken}");
        taken
    }

    /// Works, also on work that becomes due later, until this event has happened `times` times.
    pub(crate) fn work_until(&self, when: &str, times: usize) {
        let seen = AtomicUsize::new(0);
        let has_happened = || seen.load(Ordering::SeqCst) >= times;
        // The test fails instead of hanging.
        let until = Instant::now() + Duration::from_secs(60);
        let is_stopped = || has_happened() || Instant::now() > until;
        let hear = |words: &str| {
            if words == when {
                seen.fetch_add(1, Ordering::SeqCst);
            }
        };
        self.worker(&is_stopped, &hear, |worker| worker.run());
        assert!(has_happened(), "{:#?}", self.told());
    }

    fn worker(
        &self,
        is_stopped: &(dyn Fn() -> bool + Sync),
        told: &(dyn Fn(&str) + Sync),
        job: impl FnOnce(&Worker<'_>) -> Result<(), Error>,
    ) {
        let clock = || -> Time { self.world.now };
        let hear = |live: &Live<'_>| {
            if let Some(words) = words(live) {
                self.told.lock().unwrap().push(words.clone());
                told(&words);
            }
        };
        let worker = Worker {
            executor: None,
            ops: &self.world.ops,
            agents: Arc::clone(&self.agents),
            models: &self.shelf,
            outside: &(),
            pump: Pump::default(),
            jobs: 1,
            clock: &clock,
            is_stopped,
            report: &|_| {},
            observer: &hear,
        };
        job(&worker).unwrap();
    }

    /// An outside worker takes a delegation.
    pub(crate) fn take(&self, kind: &str) -> Value {
        let worker = self.envelope(Role::Worker);
        self.world.call_in(&worker, "delegation_take", json!({ "types": [kind] })).unwrap()
    }

    /// The outside worker reports.
    pub(crate) fn report(&self, taken: &Value, said: &Value) {
        let (id, epoch) = (&taken["delegation"]["id"], &taken["epoch"]);
        let mut input = json!({ "delegationId": id, "epoch": epoch });
        input.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        self.world.call_in(&self.envelope(Role::Worker), "delegation_report", input).unwrap();
    }

    /// Starts the run for a delegation, as a process would.
    pub(crate) fn begin(&self, agent: &str, taken: &Value) {
        let input = json!({ "agent": agent, "delegationId": taken["delegation"]["id"] });
        let begun = self.world.call_in(&self.envelope(Role::System), "run_begin", input).unwrap();
        assert_eq!(begun["run"]["state"], "running");
    }

    /// Reopens the store, as another process would.
    pub(crate) fn reopen(&mut self) {
        self.world.ops = Ops::new(self.world.store.target().clone(), Options::default());
    }
}

/// An event as text, if tests use it.
fn words(live: &Live<'_>) -> Option<String> {
    Some(match live {
        Live::Asks { run, .. } => format!("asks {}", run.agent),
        Live::Calls { tool, .. } => format!("calls {tool}"),
        Live::Returned { tool, is_error: true, text, .. } => format!("{tool} failed: {text}"),
        Live::Returned { tool, .. } => format!("{tool} returned"),
        Live::Continues { .. } => "continues".to_owned(),
        Live::Waits { kind, .. } => format!("waits for {kind}"),
        Live::Ends { reason, detail, .. } => match detail {
            Some(detail) => format!("ends: {reason}: {detail}"),
            None => format!("ends: {reason}"),
        },
        _ => return None,
    })
}
