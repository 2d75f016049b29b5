//! The whole life of a plan over real MCP: the seed's example is imported from its file, handed
//! out, split, worked on, taken over and rendered, by four servers with four principals on one
//! store.

use std::fs;

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::party::Party;
use crate::support::Place;

const FILE: &str = "docs/plans/2025-12-24-auth.md";

/// The seed's tree before any work.
const PLAN: &str = "\
# Implement authentication

- [ ] Brainstorm design
- [ ] Set up worktree
- [ ] Write implementation plan
- [ ] Execute plan
    - [ ] Task 1: Add user model
    - [ ] Task 2: Add login endpoint
        - [ ] Implementation
        - [ ] Spec review
        - [ ] Code quality review
    - [ ] Task 3: Add JWT middleware
- [ ] Finish branch
";

/// The seed's tree as it is printed there, with our one mark for all formats.
const TREE: &str = "\
[ ] Implement authentication (plan: docs/plans/2025-12-24-auth.md)
    [ ] Brainstorm design
    [ ] Set up worktree
    [ ] Write implementation plan
    [ ] Execute plan
        [x] Task 1: Add user model (@backend, completed)
        [ ] Task 2: Add login endpoint (@backend, active)
            [x] Implementation
            [ ] Spec review  <-- current
            [ ] Code quality review
        [ ] Task 3: Add JWT middleware (pending)
    [ ] Finish branch";

/// The seed's rendering for injection, as printed there.
const TASKS: &str = "\
## Current Tasks
- [x] Task 1: Add user model (@backend, completed)
- [ ] Task 2: Add login endpoint (@backend, in spec review)  <-- current
- [ ] Task 3: Add JWT middleware (pending)";

const LINE: &str = "Plan docs/plans/2025-12-24-auth.md: 2 of 9 tasks settled; current: Spec review, in \
                    Task 2: Add login endpoint (@backend, active)";

/// The number of events in the log at the end.
const LOG: usize = 52;

const MODEL: &str = "Task 1: Add user model";
const LOGIN: &str = "Task 2: Add login endpoint";
const JWT: &str = "Task 3: Add JWT middleware";

/// The plan as one of the parties sees it.
struct Plan<'a>(&'a Party);

impl Plan<'_> {
    fn tree(&self) -> Value {
        self.0.call("plan", json!({ "action": "tree", "planFile": FILE }))
    }

    fn task(&self, content: &str) -> Value {
        let plan = self.tree();
        let mut open: Vec<&Value> = plan["tasks"].as_array().unwrap().iter().collect();
        while let Some(task) = open.pop() {
            if task["content"] == content {
                return task.clone();
            }
            open.extend(task["children"].as_array().unwrap());
        }
        panic!("no task {content} in {plan}")
    }

    fn id(&self, content: &str) -> Value {
        self.task(content)["id"].clone()
    }

    /// The state and the needs of a task.
    fn state(&self, content: &str) -> (String, Value) {
        let task = self.task(content);
        (task["state"].as_str().unwrap().to_owned(), task["needs"].clone())
    }

    fn assign(&self, content: &str, agent: &str) {
        self.0.call("agent_register", json!({ "agent": agent }));
        let assign = json!({ "action": "assign", "taskId": self.id(content), "agent": agent });
        self.0.call("plan", assign);
    }

    fn complete(&self, content: &str) {
        self.0.call("plan", json!({ "action": "complete", "taskId": self.id(content) }));
    }

    /// The current task, and why it is the current one.
    fn here(&self) -> (Value, String) {
        let place = self.0.call("plan_current", json!({ "planFile": FILE }));
        (place["current"]["content"].clone(), place["reason"].as_str().unwrap().to_owned())
    }

    fn stands_at(&self, content: &str, reason: &str) {
        assert_eq!(self.here(), (json!(content), reason.to_owned()));
    }

    fn told(&self, form: &str) -> String {
        let told = self.0.call("plan_render", json!({ "planFile": FILE, "form": form }));
        assert_eq!(told["leftOut"], 0);
        told["text"].as_str().unwrap().to_owned()
    }
}

/// O-6, O-12 to O-21, O-24 to O-28, D-12, D-13, F-11, P-7, Q-O3 through the binary, on both
/// databases.
fn a_plan_lives_over_mcp(backend: Backend) {
    let place = Place::new(backend);
    fs::create_dir_all(place.home().join("docs/plans")).unwrap();
    fs::write(place.home().join(FILE), PLAN).unwrap();
    let orchestrator = Party::new(&place, &["--profile", "plan"], None);
    assert_eq!(orchestrator.client.names(), ["plan", "todo_claim"]);
    let plan = Plan(&orchestrator);

    // Imported twice: the second time changes nothing.
    let import = json!({ "planFile": FILE });
    let made = orchestrator.call("plan_import", import.clone());
    let counts = |added: i64, same: i64| {
        let (moved, archived) = (0, 0);
        json!({ "added": added, "moved": moved, "archived": archived, "unchanged": same })
    };
    assert_eq!(made["changes"], counts(12, 0));
    assert_eq!(orchestrator.call("plan_import", import)["changes"], counts(0, 12));
    plan.stands_at("Brainstorm design", "first_open");

    // Assigned tasks are active, and the agent's own status shows.
    let agent = "backend";
    orchestrator.call("agent_register", json!({ "agent": agent, "type": "backend" }));
    let status = |agent: &str, status: &str| {
        orchestrator.call("agent_status", json!({ "agent": agent, "status": status }));
    };
    plan.assign(MODEL, agent);
    plan.complete(MODEL);
    plan.assign(LOGIN, agent);
    for (said, state, needs) in [
        ("busy", "active", json!(null)),
        ("blocked", "blocked", json!(null)),
        ("failed", "failed", json!("reassignment")),
        ("complete", "active", json!("completion")),
        ("busy", "active", json!(null)),
    ] {
        status(agent, said);
        assert_eq!(plan.state(LOGIN), (state.to_owned(), needs), "{said}");
    }
    // The status `complete` claimed the task; its subtasks are open, so it is returned to the
    // agent.
    let login = |orchestrator: &Party| {
        orchestrator.call("todo_show", json!({ "todoId": plan.id(LOGIN) }))["todo"].clone()
    };
    assert!(login(&orchestrator)["claim"].is_object());
    let back = json!({ "todoId": plan.id(LOGIN), "feedback": "Its steps are open" });
    orchestrator.call("todo_return", back);
    assert!(login(&orchestrator)["claim"].is_null());
    let itself = Party::new(&place, &["--agent", agent, "--profile", "plan"], None);
    Plan(&itself).complete("Implementation");
    itself.end();

    // The position and the rendered text: the seed's worked example.
    plan.stands_at("Spec review", "under_active");
    assert_eq!(plan.told("tree"), TREE);
    assert_eq!(plan.told("tasks"), TASKS);
    assert_eq!(plan.told("line"), LINE);

    // A worker can split its own task, and no other.
    let (first, second) = ("primary.subagents.jwt", "primary.subagents.other");
    let worker = Party::new(&place, &["--agent", first], None);
    assert_eq!(worker.client.names(), ["plan", "todo_claim"]);
    let add = |content: &str, under: &str| json!({ "action": "add", "taskId": plan.id(under), "content": content });
    assert_eq!(worker.refused("plan", add("Mine", JWT)), "not_permitted", "not assigned yet");
    plan.assign(JWT, first);
    worker.call("plan", add("Sign the token", JWT));
    worker.call("plan", add("Check the token", JWT));
    worker.call("plan", add("Read the header", "Check the token"));
    assert_eq!(worker.refused("plan", add("Sneak in", LOGIN)), "not_permitted");
    let complete = |content: &str| json!({ "action": "complete", "taskId": plan.id(content), "outcome": "ok" });
    assert_eq!(worker.refused("plan", complete(LOGIN)), "not_permitted");
    let import = json!({ "action": "import", "planFile": FILE });
    assert_eq!(worker.refused("plan", import), "not_permitted");
    assert_eq!(
        worker
            .refused("plan", json!({ "action": "assign", "taskId": plan.id(JWT), "agent": first })),
        "not_permitted"
    );
    worker.call("plan", complete("Sign the token"));
    assert_eq!(plan.state("Sign the token").0, "completed");

    // A task that the worker added stays when the file, which lacks it, is imported again.
    let again = orchestrator.call("plan_import", json!({ "planFile": FILE }));
    assert_eq!(again["changes"], counts(0, 12));

    // Taken over: the old agent's late result is recorded and does not count.
    orchestrator.call("agent_register", json!({ "agent": first }));
    status(first, "failed");
    assert_eq!(plan.state(JWT), ("failed".to_owned(), json!("reassignment")));
    plan.assign(JWT, second);
    assert_eq!(plan.state(JWT), ("active".to_owned(), json!(null)));
    assert_eq!(worker.refused("plan", complete(JWT)), "not_permitted");
    let task = plan.task(JWT);
    assert_eq!((&task["state"], &task["agent"]), (&json!("active"), &json!(second)));
    worker.end();

    // Worked to the end: a parent must be completed explicitly.
    let successor = Party::new(&place, &["--agent", second], None);
    successor.call("plan", complete("Read the header"));
    successor.call("plan", complete("Check the token"));
    successor.call("plan", complete(JWT));
    successor.end();
    plan.complete("Spec review");
    plan.stands_at("Code quality review", "under_active");
    plan.complete("Code quality review");
    plan.stands_at(LOGIN, "ready_to_close");
    plan.complete(LOGIN);
    plan.stands_at("Brainstorm design", "first_open");
    for step in ["Brainstorm design", "Set up worktree", "Write implementation plan"] {
        plan.complete(step);
    }
    plan.stands_at("Execute plan", "ready_to_close");
    plan.complete("Execute plan");
    let drop = json!({ "taskId": plan.id("Finish branch"), "reason": "No branch was needed" });
    orchestrator.call("task_cancel", drop);
    plan.stands_at("Implement authentication", "ready_to_close");
    plan.complete("Implement authentication");
    assert_eq!(plan.here(), (json!(null), "all_settled".to_owned()));
    let told = plan.told("line");
    assert_eq!(told, format!("Plan {FILE}: nothing is current, all 10 tasks are settled"));
    orchestrator.end();

    // The file is unchanged (O-3), the log is complete, and the store is sound.
    assert_eq!(fs::read_to_string(place.home().join(FILE)).unwrap(), PLAN);
    assert_eq!(place.log_of(LOG), LOG);
    let late = place.punch(["wait", "--types", "command_refused", "--after", "0", "--json"]);
    let refused = &late.answer()["events"];
    let who = |event: &Value| (event["actor"].clone(), event["data"]["action"].clone());
    let refused: Vec<_> = refused.as_array().unwrap().iter().map(who).collect();
    let complete = (json!(format!("worker:{first}")), json!("complete"));
    assert_eq!(refused, [complete.clone(), complete], "the one that was not its own, the late one");
    let doctor = place.punch(["doctor", "--json"]).answer();
    assert_eq!(doctor["store"]["ok"], true, "{doctor}");
}

on_every_lasting_store!(a_plan_lives_over_mcp);

/// Only the text between the brackets changes, in one step. A file that no longer matches the plan
/// does not change.
#[test]
fn completed_tasks_are_ticked_in_the_plans_file() {
    let place = Place::sqlite();
    let file = place.home().join("plan.md");
    let text = "\u{feff}# T\r\n\r\n- [ ] build  \r\n  after: \"read\"\r\n1. [/] read\r\n- [ ] ship";
    fs::write(&file, text).unwrap();
    assert_eq!(place.punch(["plan", "import", "plan.md"]).run().exit, Some(0));
    for task in ["t3", "t2"] {
        assert_eq!(place.punch(["plan", "complete", task]).run().exit, Some(0), "{task}");
    }
    let dry = place.punch(["plan", "sync", "plan.md", "--dry-run"]).run();
    assert!(dry.stdout.contains("2 boxes in plan.md would be ticked"), "{}", dry.stdout);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let synced = place.punch(["plan", "sync"]).run();
    assert!(synced.stdout.contains("Ticked 2 boxes in plan.md"), "{}", synced.stdout);
    let ticked = text.replace("[ ] build", "[x] build").replace("[/] read", "[x] read");
    assert_eq!(fs::read_to_string(&file).unwrap(), ticked);
    let again = place.punch(["plan", "sync", "--json"]).answer();
    assert_eq!(again["edits"], json!([]));
    fs::write(&file, ticked.clone() + "\r\n- [ ] more\r\n").unwrap();
    let refused = place.punch(["plan", "sync", "--json"]).refusal(1);
    assert_eq!((&refused["code"], &refused["new"]), (&json!("plan_changed"), &json!(["more"])));
    assert_eq!(fs::read_to_string(&file).unwrap(), ticked + "\r\n- [ ] more\r\n");
}
