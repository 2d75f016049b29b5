//! Work that kills its worker: the second death in a row ends it, with real processes.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use punchlist_store::sql;
use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::running::Running;
use crate::support::{Place, Punch};

/// The worker waits for its model, and is killed meanwhile.
const SLOW: &str = "[[steps]]\ntext = \"Too late.\"\ndelay_ms = 600000\n";

/// How long a worker may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

struct Stage {
    place: Place,
}

impl Stage {
    fn new(backend: Backend) -> Self {
        let place = Place::new(backend);
        let script: PathBuf = place.home().join("slow.toml");
        std::fs::write(&script, SLOW).unwrap();
        let script = script.display();
        let config = format!(
            "[agents.primary]\nmodel = \"scripted:{script}\"\n\n\
             [agents.coder]\nmodel = \"scripted:{script}\"\n"
        );
        std::fs::write(place.home().join("punchlist.toml"), config).unwrap();
        Self { place }
    }

    /// Starts a process, waits until it has taken the work, kills it, and makes its lease expire.
    fn dies(&self, punch: &Punch, taken: i64) {
        let running = Running::start(punch);
        let until = Instant::now() + PATIENCE;
        while self.taken() < taken {
            assert!(Instant::now() < until, "nobody took the work");
            std::thread::yield_now();
        }
        // Dropping kills it at once, as the system does when memory is short.
        drop(running);
        let past = sql!("UPDATE outbox SET lease_until = 1, due_at = 1 WHERE lease_until > 1");
        let gone = sql!("UPDATE delegations SET lease_until = 1 WHERE lease_until > 1");
        let store = self.place.open();
        store.write(move |tx| tx.execute(past, &[]).and_then(|_| tx.execute(gone, &[]))).unwrap();
    }

    /// How often the run was taken.
    fn taken(&self) -> i64 {
        let epochs = sql!("SELECT max(epoch) FROM runs");
        let found = self.place.open().read(move |tx| tx.first(epochs, &[], |row| row.opt_int(0)));
        found.unwrap().flatten().unwrap_or_default()
    }

    fn ask(&self, operation: &str, input: &Value) -> Value {
        self.place.punch(["call", operation, &input.to_string(), "--json"]).answer()
    }
}

fn a_run_whose_worker_dies_twice_ends_and_its_item_is_held(backend: Backend) {
    let stage = Stage::new(backend);
    let place = &stage.place;
    let title = json!({ "title": "Poison" });
    let operator = place.operator();
    place.punch(["call", "issue_create", &title.to_string(), "--json"]).with(&operator).answer();
    place.punch(["todo", "add", "drink it", "--issue", "1"]).with(&operator).said();
    let run = place.punch(["run", "Drink it", "--issue", "1", "--json"]).with(&operator);
    stage.dies(&run, 1);
    stage.dies(&place.punch(["worker"]).with(&operator), 2);
    let runs = || stage.ask("run_list", &json!({}))["runs"][0].clone();
    assert_eq!(runs()["state"], "running");
    // The next worker ends the run, and does not start it again.
    place.punch(["worker", "--once"]).with(&operator).said();
    let ended = runs();
    assert_eq!((&ended["state"], &ended["stopReason"]), (&json!("ended"), &json!("error")));
    let detail = ended["stopDetail"].as_str().unwrap();
    assert!(detail.starts_with("worker_died: "), "{detail}");
    let shown = stage.ask("issue_show", &json!({ "number": 1 }));
    let hold = &shown["steps"][0]["hold"];
    assert_eq!(hold["kind"], "failed", "{shown}");
    assert!(hold["reason"].as_str().unwrap().contains("worker_died"), "{hold}");
    assert_eq!(place.punch(["worker", "--once"]).with(&operator).said(), "");
}

fn a_delegation_whose_worker_dies_twice_fails(backend: Backend) {
    let stage = Stage::new(backend);
    let place = &stage.place;
    let operator = place.operator();
    let session = stage.ask("session_start", &json!({}))["session"]["id"].clone();
    let session = session.as_str().unwrap();
    let todos = json!({ "todos": [
        { "id": "1", "content": "drink it", "status": "pending", "priority": "high" } ] });
    let in_session = |operation: &str, input: &Value| {
        let call = place.punch(["call", operation, &input.to_string(), "--json"]);
        call.words(["--session", session]).answer()
    };
    in_session("todo_write", &todos);
    let items = sql!("SELECT id FROM todos");
    let item = place.open().read(move |tx| tx.first(items, &[], |row| row.text(0))).unwrap();
    let order = json!({ "type": "coder", "mission": "Drink it", "async": true, "todoId": item });
    let id = in_session("delegate", &order)["delegationId"].clone();
    let worker = || place.punch(["worker"]).with(&operator);
    stage.dies(&worker(), 1);
    stage.dies(&worker(), 2);
    place.punch(["worker", "--once"]).with(&operator).said();
    let delegation = stage.ask("delegation_show", &json!({ "delegationId": id }));
    let delegation = &delegation["delegation"];
    assert_eq!((&delegation["state"], &delegation["attempts"]), (&json!("failed"), &json!(2)));
    let error = delegation["error"].as_str().unwrap();
    assert!(error.starts_with("worker_died: "), "{error}");
    let run = &stage.ask("run_list", &json!({}))["runs"][0];
    assert_eq!((&run["state"], &run["stopReason"]), (&json!("ended"), &json!("error")));
    let shown = stage.ask("todo_show", &json!({ "todoId": item }));
    assert_eq!(shown["todo"]["hold"]["kind"], "failed", "{shown}");
}

#[test]
fn a_run_whose_worker_dies_twice_ends_on_sqlite() {
    a_run_whose_worker_dies_twice_ends_and_its_item_is_held(Backend::SqliteFile);
}

#[test]
fn a_run_whose_worker_dies_twice_ends_on_postgres() {
    a_run_whose_worker_dies_twice_ends_and_its_item_is_held(Backend::Postgres);
}

#[test]
fn a_delegation_whose_worker_dies_twice_fails_on_sqlite() {
    a_delegation_whose_worker_dies_twice_fails(Backend::SqliteFile);
}

#[test]
fn a_delegation_whose_worker_dies_twice_fails_on_postgres() {
    a_delegation_whose_worker_dies_twice_fails(Backend::Postgres);
}

/// A tool starts a program in its own session; then `punch run` is killed. The next start kills
/// that program, and no program of a living process.
#[test]
fn what_a_killed_run_left_is_ended_by_the_next_start() {
    let place = Place::sqlite();
    let operator = place.operator();
    let folder = place.home();
    let script =
        "[[steps]]\ncalls = [ { tool = \"leave\", input = {} } ]\n[[steps]]\ntext = \"Done.\"\n";
    std::fs::write(folder.join("leave.toml"), script).unwrap();
    let tool = "setsid sh -c 'env -i sleep 600 & echo $! > hidden'; \
                setsid sh -c 'sleep 600 & echo $! > pid.new; mv pid.new pid'; sleep 600";
    let config = folder.join(".config/punchlist/punchlist.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    let text = format!(
        "[tools.leave]\ndescription = \"Leaves.\"\ncommand = [\"sh\", \"-c\", {tool:?}]\n\
         permission = \"allow\"\ntimeout = \"10m\"\n"
    );
    std::fs::write(&config, text).unwrap();
    let pid = folder.join("pid");
    let begin = || {
        drop(std::fs::remove_file(&pid));
        let model = ["run", "Leave it", "--model", "scripted:leave.toml", "--json"];
        let running = Running::start(&place.punch(model).with(&operator));
        let until = Instant::now() + PATIENCE;
        while !pid.exists() {
            assert!(Instant::now() < until, "the tool was not called");
            std::thread::yield_now();
        }
        (running, std::fs::read_to_string(&pid).unwrap().trim().to_owned())
    };
    let lives = |id: &str| std::path::Path::new("/proc").join(id).join("cwd").exists();
    let (killed, left) = begin();
    // One without a mark of ours is found by its cgroup, where there is one.
    let hidden = std::fs::read_to_string(folder.join("hidden")).unwrap().trim().to_owned();
    let groups = std::fs::read_to_string(format!("/proc/{hidden}/cgroup")).unwrap();
    let is_caged = groups.contains("/punch-");
    println!("the tool has a cgroup of its own: {is_caged}");
    drop(killed);
    assert!(lives(&left) && lives(&hidden), "nobody ends it yet");
    let (_alive, kept) = begin();
    assert!(!lives(&left), "the next start ends it");
    assert_eq!(lives(&hidden), !is_caged);
    if !is_caged {
        let id = nix::unistd::Pid::from_raw(hidden.parse().unwrap());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    place.punch(["worker", "--once"]).with(&operator).said();
    assert!(lives(&kept), "it belongs to a process that lives");
    drop(_alive);
    let ran = place.punch(["worker", "--once"]).with(&operator).run();
    assert!(!lives(&kept), "{ran:?}");
    assert!(ran.stderr.contains("that an earlier punch had left running"), "{ran:?}");
}
