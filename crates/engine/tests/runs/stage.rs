//! A stage: a world with configured agents whose models play scripts, and a crew that executes.

use std::sync::{Arc, Mutex};

use punchlist_core::{Role, RunId, Time};
use punchlist_engine::agent::{Crew, Live, Outcome};
use punchlist_engine::model::{Scripted, Shelf};
use punchlist_ops::config::{Origin, Roster};
use punchlist_ops::{Envelope, Error};
use punchlist_testkit::{Backend, World};
use serde_json::{Value, json};

/// A world with agents.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) agents: Arc<Roster>,
    pub(crate) shelf: Shelf,
    /// What happened, in words.
    pub(crate) told: Mutex<Vec<String>>,
}

impl Stage {
    /// Agents as a user's file would name them, and the scripts they play, by file name.
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

    /// One agent `primary` that plays this script, and goes on by itself.
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

    /// Begins a run.
    pub(crate) fn start(&self, prompt: &str) -> RunId {
        self.start_with(json!({ "prompt": prompt }))
    }

    pub(crate) fn start_with(&self, input: Value) -> RunId {
        let started = self.call("run_start", input).unwrap();
        RunId::parse(started["run"]["id"].as_str().unwrap()).unwrap()
    }

    /// Executes it.
    pub(crate) fn drive(&self, run: RunId) -> Outcome {
        self.crew(&|| false, |crew| crew.drive("test", run).unwrap())
    }

    pub(crate) fn crew<T>(
        &self,
        is_stopped: &(dyn Fn() -> bool + Sync),
        job: impl FnOnce(&Crew<'_>) -> T,
    ) -> T {
        let clock = || -> Time { self.world.now };
        let told = |live: &Live<'_>| {
            let words = match live {
                Live::Calls { tool, .. } => format!("calls {tool}"),
                Live::Returned { tool, is_error: true, .. } => format!("{tool} failed"),
                Live::Continues { .. } => "continues".to_owned(),
                Live::Waits { kind, .. } => format!("waits for {kind}"),
                Live::Ends { reason, .. } => format!("ends: {reason}"),
                _ => return,
            };
            self.told.lock().unwrap().push(words);
        };
        job(&Crew {
            ops: &self.world.ops,
            agents: &self.agents,
            models: &self.shelf,
            outside: &(),
            clock: &clock,
            is_stopped,
            told: &told,
        })
    }

    pub(crate) fn show(&self, run: RunId) -> Value {
        self.call("run_show", json!({ "run": run.to_string() })).unwrap()
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// What was said in the chat of a run: role, kind and text.
    pub(crate) fn chat(&self, run: RunId) -> Vec<(String, String, String)> {
        let run = self.show(run);
        let input = json!({ "conversationId": run["run"]["conversationId"], "limit": 1000 });
        let chat = self.call("conversation_show", input).unwrap();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let messages = chat["messages"].as_array().unwrap();
        messages.iter().map(|m| (word(&m["role"]), word(&m["kind"]), word(&m["text"]))).collect()
    }
}
