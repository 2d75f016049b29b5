//! A process that dies at any store call of a delegation loses nothing and repeats nothing.
//!
//! The test starts itself as a child that works on the same store and exits at the n-th store call,
//! for every n. Then another worker continues, as it would after the leases of the dead one have
//! expired.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

use punchlist_core::{Role, Run, Time};
use punchlist_engine::agent::ConfiguredTools;
use punchlist_engine::model::{Scripted, Shelf};
use punchlist_engine::{Pump, Worker};
use punchlist_ops::catalogue::find;
use punchlist_ops::config::{Config, Origin};
use punchlist_ops::{Context, Envelope, Ops, clock};
use punchlist_store::{Options, Target, care, sql};
use punchlist_testkit::{Backend, TestStore, World};
use serde_json::{Value, json};

/// The store a child works on, and the number of the call at which it dies.
const STORE: &str = "PUNCHLIST_TEST_CRASH_STORE";
const AT: &str = "PUNCHLIST_TEST_CRASH_AT";

/// The highest number of calls. A child that makes more is a failure of the test.
const CALLS_MAX: usize = 400;

const PRIMARY: &str = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "have it written" } ] }, save = "plan" } ]
[[steps]]
calls = [ { tool = "delegate", input = { type = "coder", mission = "Write.", todoId = "{{plan.created.0.id}}" } } ]
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "written" } } ]
[[steps]]
text = "It is written."
"#;

const CODER: &str = r#"
[[steps]]
calls = [ { tool = "append", input = { line = "a line" } } ]
[[steps]]
text = "I wrote a line."
"#;

/// One worker on a store, with both agents and a tool that writes to a file.
struct Site {
    ops: Ops,
    config: Config,
    shelf: Shelf,
}

impl Site {
    fn new(target: Target, folder: &Path, options: Options) -> Self {
        let file = folder.join("written");
        let text = format!(
            "[agents.primary]\nmodel = \"scripted:p\"\ntodo_driven_execution = true\n\
             [agents.coder]\nmodel = \"scripted:c\"\nrole = \"worker\"\n\
             [tools.append]\ncommand = [\"tee\", \"-a\", {file:?}]\ndescription = \"adds\"\n\
             permission = \"allow\"\n\
             schema = {{ type = \"object\", properties = {{ line = {{ type = \"string\" }} }} }}\n"
        );
        let config = Config::default().read(&text, Origin::User, folder).unwrap();
        let shelf = Shelf::default();
        for (name, script) in [("scripted:p", PRIMARY), ("scripted:c", CODER)] {
            shelf.put(name, Arc::new(Scripted::read(name, script).unwrap()));
        }
        Self { ops: Ops::new(target, options), config, shelf }
    }

    fn call(&self, name: &str, input: Value) -> Value {
        let world = World::new(Backend::SqliteMemory);
        let envelope = Envelope {
            agents: Arc::clone(&self.config.agents),
            context: Context::default(),
            now: clock::now(),
            ..world.envelope(Role::Operator)
        };
        self.ops.call(find(name).unwrap(), &envelope, input).unwrap()
    }

    fn work(&self, folder: &Path) {
        let clock: &(dyn Fn() -> Time + Sync) = &clock::now;
        let folders = |_: &str, _: &Run| Some(folder.to_owned());
        let tools = ConfiguredTools::new(&self.ops, &self.config, &folders, clock);
        let worker = Worker {
            executor: None,
            ops: &self.ops,
            agents: Arc::clone(&self.config.agents),
            models: &self.shelf,
            outside: &tools,
            pump: Pump::default(),
            jobs: 1,
            clock,
            is_stopped: &|| false,
            report: &|_| {},
            observer: &|_| {},
        };
        worker.once().unwrap();
    }

    /// Makes the leases of the dead process expire.
    fn let_leases_end(&self) {
        let store = self.ops.store().unwrap();
        store
            .write(|tx| {
                let held = sql!("UPDATE outbox SET lease_until = 0, due_at = 0 WHERE done_at IS NULL RETURNING id");
                tx.query(held, &[], |row| row.text(0))?;
                let held = sql!(
                    "UPDATE delegations SET lease_until = 0 WHERE lease_until IS NOT NULL RETURNING id"
                );
                tx.query(held, &[], |row| row.text(0))
            })
            .unwrap();
    }

    /// Checks the final state.
    fn check(&self, run: &str, folder: &Path, at: usize) {
        let shown = self.call("run_show", json!({ "run": run }));
        assert_eq!(shown["run"]["stopReason"], json!("drained"), "{at}: {shown:#}");
        assert_eq!(shown["text"], json!("It is written."), "{at}");
        let done = shown["done"].as_array().unwrap();
        assert_eq!(
            (done.len(), shown["left"].as_array().unwrap().len()),
            (1, 0),
            "{at}: {shown:#}"
        );
        let delegations = self.call("delegation_list", json!({}));
        let delegations = delegations["delegations"].as_array().unwrap();
        assert_eq!(delegations.len(), 1, "{at}: {delegations:#?}");
        assert_eq!(delegations[0]["state"], json!("returned"), "{at}: {delegations:#?}");
        assert_eq!(delegations[0]["result"], json!("I wrote a line."), "{at}");
        // Count in the table, because concurrent tests may delay a server's log for a while.
        let count = |kind: &'static str| {
            let counted = sql!("SELECT count(*) FROM events WHERE type = $1");
            let store = self.ops.store().unwrap();
            let found = store.read(move |tx| tx.first(counted, &[kind.into()], |row| row.int(0)));
            found.unwrap().unwrap_or_default()
        };
        let once = ["delegation_queued", "delegation_returned", "todo_created", "todo_completed"];
        assert_eq!(once.map(count), [1; 4], "{at}");
        // A tool call that had started is not started again.
        let written = fs::read_to_string(folder.join("written")).unwrap_or_default();
        assert!(written.matches("a line").count() <= 1, "{at}: {written}");
        let report = care::examine(self.ops.target(), Options::default());
        assert!(report.ok, "{at}: {report:?}");
    }
}

/// Exits at the store call that the environment names.
fn die_there() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let at: Option<usize> = env::var(AT).ok().and_then(|at| at.parse().ok());
    if at == Some(CALLS.fetch_add(1, Ordering::SeqCst) + 1) {
        std::process::abort();
    }
}

fn start(site: &Site) -> String {
    let started = site.call("run_start", json!({ "prompt": "Have a line written." }));
    started["run"]["id"].as_str().unwrap().to_owned()
}

/// As a child: works on the given store, and may die. Run directly: does the same without dying.
fn an_errand(backend: Backend) {
    let folder = tempfile::tempdir().unwrap();
    if let Ok(store) = env::var(STORE) {
        let (url, folder) = store.split_once('\n').unwrap();
        let target = Target::parse(url);
        let options = Options { around_writes: Some(die_there), ..Options::default() };
        Site::new(target, Path::new(folder), options).work(Path::new(folder));
        return;
    }
    let store = TestStore::new(backend);
    let site = Site::new(store.target().clone(), folder.path(), Options::default());
    let run = start(&site);
    site.work(folder.path());
    site.check(&run, folder.path(), 0);
    assert_eq!(
        fs::read_to_string(folder.path().join("written")).unwrap().matches("a line").count(),
        1
    );
}

/// Q-M6, M-56, M-62, X-16, F-8: this holds for every moment.
fn a_death_at_any_call_loses_and_repeats_nothing(backend: Backend, child: &str) {
    for at in 1..=CALLS_MAX {
        let folder = tempfile::tempdir().unwrap();
        let store = TestStore::new(backend);
        let site = Site::new(store.target().clone(), folder.path(), Options::default());
        let run = start(&site);
        let given = format!("{}\n{}", store.url(), folder.path().display());
        let status = Command::new(env::current_exe().unwrap())
            .args(["--exact", child, "--nocapture"])
            .env(STORE, given)
            .env(AT, at.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        site.let_leases_end();
        site.work(folder.path());
        site.check(&run, folder.path(), at);
        if status.success() {
            assert!(at > 20, "only {at} calls were seen");
            return;
        }
    }
    panic!("it makes more than {CALLS_MAX} calls");
}

mod sqlite {
    use super::*;

    #[test]
    fn errand() {
        an_errand(Backend::SqliteFile);
    }

    #[test]
    fn a_death_at_any_call() {
        let child = "crash::sqlite::errand";
        a_death_at_any_call_loses_and_repeats_nothing(Backend::SqliteFile, child);
    }
}

mod postgres {
    use super::*;

    #[test]
    fn errand() {
        an_errand(Backend::Postgres);
    }

    #[test]
    fn a_death_at_any_call() {
        let child = "crash::postgres::errand";
        a_death_at_any_call_loses_and_repeats_nothing(Backend::Postgres, child);
    }
}
