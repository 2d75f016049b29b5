//! Plans: a tree of tasks whose states are derived, rendered for agents that wake.

use punchlist_core::event::TodoCreated;
use punchlist_core::{Decision, Ids, Role, Scope, TodoId};
use punchlist_ops::{Envelope, Error};
use punchlist_store::rows::lists::TodoKey;
use punchlist_store::{Load, Stamp, Tx};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

use crate::sessions::{bound, within};

const FILE: &str = "docs/plans/auth.md";

fn worker(world: &World, name: &str) -> Envelope {
    let mut envelope = world.envelope(Role::Worker);
    let path = format!("primary.subagents.{name}");
    envelope.actor.agent = punchlist_core::AgentPath::parse(&path).unwrap();
    envelope.actor.principal = format!("worker:{path}");
    envelope
}

fn add(world: &World, me: &Envelope, parent: &str, content: &str) -> Result<Value, Error> {
    world.call_in(me, "task_add", json!({ "parentId": parent, "content": content }))
}

/// The id of a task by its content.
fn id(plan: &Value, content: &str) -> String {
    let mut open: Vec<&Value> = plan["tasks"].as_array().unwrap().iter().collect();
    while let Some(task) = open.pop() {
        if task["content"] == content {
            return task["id"].as_str().unwrap().to_owned();
        }
        open.extend(task["children"].as_array().unwrap());
    }
    panic!("no task {content} in {plan}")
}

/// The seed's example, built task by task.
fn seed(world: &World) -> Value {
    for agent in ["backend", "primary.subagents.backend", "primary.subagents.other"] {
        world.call("agent_register", json!({ "agent": agent })).unwrap();
    }
    let root = world.plan(&["Implement authentication"])[0].clone();
    let me = world.envelope(Role::Root);
    for step in ["Brainstorm design", "Execute plan", "Finish branch"] {
        add(world, &me, &root, step).unwrap();
    }
    let execute =
        id(&world.call("plan_tree", json!({ "planFile": FILE })).unwrap(), "Execute plan");
    for task in
        ["Task 1: Add user model", "Task 2: Add login endpoint", "Task 3: Add JWT middleware"]
    {
        add(world, &me, &execute, task).unwrap();
    }
    let plan = world.call("plan_tree", json!({ "planFile": FILE })).unwrap();
    let second = id(&plan, "Task 2: Add login endpoint");
    for step in ["Implementation", "Spec review", "Code quality review"] {
        add(world, &me, &second, step).unwrap();
    }
    world.call("plan_tree", json!({ "planFile": FILE })).unwrap()
}

/// O-6, O-12, O-15, O-16, O-21, O-24, O-28, D-12: an assigned task is active, a completed one is
/// completed, the agent's status shows, and the rendered text is the seed's.
fn a_plan_is_worked_on_and_rendered_as_the_seed_says(backend: Backend) {
    let world = World::new(backend);
    let plan = seed(&world);
    let call = |name: &str, input: Value| world.call(name, input).unwrap();
    let task = |content: &str| id(&plan, content);
    for content in ["Task 1: Add user model", "Task 2: Add login endpoint"] {
        call("task_assign", json!({ "taskId": task(content), "agent": "backend" }));
    }
    for content in ["Task 1: Add user model", "Implementation"] {
        call("task_complete", json!({ "taskId": task(content) }));
    }
    let current = call("plan_current", json!({ "planFile": FILE }));
    assert_eq!(current["current"]["content"], "Spec review");
    assert_eq!(current["reason"], "under_active");
    let told = call("plan_render", json!({ "planFile": FILE }));
    assert_eq!(
        told["text"].as_str().unwrap().trim_end(),
        "## Current Tasks\n\
         - [x] Task 1: Add user model (@backend, completed)\n\
         - [ ] Task 2: Add login endpoint (@backend, in spec review)  <-- current\n\
         - [ ] Task 3: Add JWT middleware (pending)"
    );
    call("agent_register", json!({ "agent": "backend", "type": "backend" }));
    call("agent_status", json!({ "agent": "backend", "status": "failed", "note": "crashed" }));
    let plan = call("plan_tree", json!({ "planFile": FILE }));
    let execute = &plan["tasks"][0]["children"][1];
    let second = &execute["children"][1];
    assert_eq!((&second["state"], &second["needs"]), (&json!("failed"), &json!("reassignment")));
    assert_eq!(plan["current"]["content"], "Spec review");
}

/// O-14, O-19, O-20, O-26, O-29: a file becomes a tree; importing it again changes nothing; an
/// edited file adds, moves and archives, and reports it; a faulty file imports nothing.
fn a_plan_file_becomes_a_tree(backend: Backend) {
    let world = World::new(backend);
    let import = |markdown: &str| {
        world.call("plan_import", json!({ "planFile": FILE, "markdown": markdown }))
    };
    let first = "# Auth\n\n## Task 1: Model\n- [x] Write it\n- [ ] Test it\n\n## Task 2: Login\n1. Endpoint\n";
    let made = import(first).unwrap();
    let counts = |counts: [i64; 4]| {
        let [added, moved, archived, unchanged] = counts;
        json!({ "added": added, "moved": moved, "archived": archived, "unchanged": unchanged })
    };
    assert_eq!(made["changes"], counts([6, 0, 0, 0]));
    assert_eq!(made["tasks"][0]["content"], "Auth");
    assert_eq!(made["current"]["content"], "Test it");
    let before = world.log().len();
    assert_eq!(before, 9);
    let again = import(first).unwrap();
    assert_eq!((&again["changes"], &again["tasks"]), (&counts([0, 0, 0, 6]), &made["tasks"]));
    assert_eq!(world.log().len(), before, "O-20");
    let edited =
        "# Auth\n\n## Task 2: Login\n1. Endpoint\n2. Docs\n\n## Task 1: Model\n- [x] Write it\n";
    let changed = import(edited).unwrap();
    assert_eq!(
        (&changed["changes"]["added"], &changed["changes"]["archived"]),
        (&json!(1), &json!(1))
    );
    let first_child = &changed["tasks"][0]["children"][0];
    assert_eq!(first_child["content"], "Task 2: Login");
    assert_eq!(first_child["id"], made["tasks"][0]["children"][1]["id"], "it keeps its row");
    let now = world.call("plan_tree", json!({ "planFile": FILE })).unwrap();
    let deep: String = (0..60).map(|n| format!("{}- [ ] t{n}\n", "  ".repeat(n))).collect();
    for (bad, word) in [
        ("", "no task"),
        ("words alone\n", "no task"),
        ("- [ ] a\n- [ ] a\n", "line 2"),
        ("- [ ] a\0b\n", "line 1"),
        (deep.as_str(), "50"),
    ] {
        let error = import(bad).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("bad_plan", 2), "{error}");
        assert!(error.to_string().to_lowercase().contains(word), "{word}: {error}");
    }
    assert_eq!(world.call("plan_tree", json!({ "planFile": FILE })).unwrap(), now);
    for (path, code) in [
        ("../outside.md", ("bad_value", 2)),
        ("/etc/passwd", ("bad_value", 2)),
        ("vanished.md", ("io", 3)),
    ] {
        let error = world.call("plan_import", json!({ "planFile": path })).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), code, "{path}: {error}");
    }
    let me = worker(&world, "w");
    let input = json!({ "action": "import", "planFile": FILE, "markdown": first });
    assert_eq!(world.call_in(&me, "plan", input).unwrap_err().meaning().exit, 4);
}

/// A task is named by its number, as an integer or as text, with or without its `t`.
fn a_task_is_named_by_its_number(backend: Backend) {
    let world = World::new(backend);
    let markdown = "# Auth\n- [ ] a\n- [ ] b\n- [ ] c\n";
    let input = json!({ "action": "import", "planFile": FILE, "markdown": markdown });
    let plan = world.call("plan", input).unwrap();
    for (content, form) in [("a", 0), ("b", 1), ("c", 2)] {
        let shown = world.call("todo_show", json!({ "todoId": id(&plan, content) })).unwrap();
        let seq = shown["todo"]["seq"].as_i64().unwrap();
        let named = [json!(seq), json!(seq.to_string()), json!(format!("t{seq}"))][form].clone();
        let order = json!({ "type": "coder", "mission": "Do it.", "todoId": named, "async": true });
        let id = world.call("delegate", order).unwrap()["delegationId"].clone();
        let listed = world.call("delegation_list", json!({ "todoId": named })).unwrap();
        assert_eq!(listed["delegations"][0]["id"], id, "{named}: {listed}");
        let done = world.call("plan", json!({ "action": "complete", "taskId": named })).unwrap();
        let tasks = done["tasks"][0]["children"].as_array().unwrap();
        assert_eq!(tasks[form]["state"], "completed", "{named}");
    }
    for nothing in [json!(null), json!(" ")] {
        let input = json!({ "action": "complete", "taskId": nothing });
        assert_eq!(world.call("plan", input).unwrap_err().code(), "missing_field");
    }
    let input = json!({ "action": "complete", "taskId": true });
    assert_eq!(world.call("plan", input).unwrap_err().code(), "wrong_type");
}

/// O-21: an agent with the status `complete` claims its open tasks; a reviewer completes them.
fn the_status_complete_claims_the_agents_tasks(backend: Backend) {
    let world = World::new(backend);
    for agent in ["primary.subagents.a", "primary.subagents.b"] {
        world.call("agent_register", json!({ "agent": agent })).unwrap();
    }
    let mut tasks = Vec::new();
    for file in [FILE, "docs/plans/other.md"] {
        let markdown = "# Auth\n- [ ] mine\n  - [ ] below\n- [ ] done\n- [ ] other\n";
        let import = json!({ "planFile": file, "markdown": markdown });
        let plan = world.call("plan_import", import).unwrap();
        for (content, agent) in [("mine", "a"), ("done", "a"), ("other", "b")] {
            let agent = format!("primary.subagents.{agent}");
            let assign = json!({ "taskId": id(&plan, content), "agent": agent });
            world.call("task_assign", assign).unwrap();
            tasks.push((id(&plan, content), content));
        }
        world.call("task_complete", json!({ "taskId": id(&plan, "done") })).unwrap();
    }
    let status = |status: &str| {
        let agent = "primary.subagents.a";
        let input = json!({ "agent": agent, "status": status, "note": "Merged" });
        world.call_in(&worker(&world, "a"), "agent_status", input).unwrap();
    };
    let shown = |id: &str| world.call("todo_show", json!({ "todoId": id })).unwrap();
    let claimed = || -> Vec<&str> {
        let is_claimed = |id: &str| shown(id)["todo"]["claim"].is_object();
        tasks.iter().filter(|(id, _)| is_claimed(id)).map(|(_, content)| *content).collect()
    };
    status("busy");
    assert!(claimed().is_empty());
    status("complete");
    assert_eq!(claimed(), ["mine", "mine"]);
    let (mine, _) = &tasks[0];
    let todo = &shown(mine)["todo"];
    assert_eq!(todo["status"], "in_progress", "only claimed, with a task open below it: {todo}");
    assert_eq!(todo["claim"]["outcome"], "Merged");
    assert_eq!(todo["claim"]["by"], "worker:primary.subagents.a");
    let events = world.log();
    status("complete");
    assert_eq!(world.log().len(), events.len(), "a heartbeat claims nothing twice");
    let accept = json!({ "todoId": mine });
    let operator = world.envelope(Role::Operator);
    let early = world.call_in(&operator, "todo_accept", accept.clone()).unwrap_err();
    assert_eq!(early.code(), "open_children");
    let plan = world.call("plan_tree", json!({ "planFile": FILE })).unwrap();
    world.call("task_complete", json!({ "taskId": id(&plan, "below") })).unwrap();
    world.call_in(&operator, "todo_accept", accept).unwrap();
    assert_eq!(shown(mine)["todo"]["status"], "completed");
}

/// The operator completes a task with everything below it; an agent may not.
fn only_the_operator_completes_with_children(backend: Backend) {
    let world = World::new(backend);
    let markdown = "# Auth\n- [ ] a\n  - [ ] a1\n    - [ ] a11\n  - [x] a2\n- [ ] b\n";
    let import = json!({ "planFile": FILE, "markdown": markdown });
    let before = world.call("plan_import", import).unwrap();
    let input = json!({ "taskId": id(&before, "a"), "outcome": "Merged", "withChildren": true });
    let seen = world.log();
    let root = world.envelope(Role::Root);
    let error = world.call_in(&root, "task_complete", input.clone()).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4), "{error}");
    let tree = || world.call("plan_tree", json!({ "planFile": FILE })).unwrap();
    assert_eq!(tree()["tasks"], before["tasks"]);
    assert_eq!(world.log().len(), seen.len(), "nothing was written");
    let operator = world.envelope(Role::Operator);
    world.call_in(&operator, "task_complete", input).unwrap();
    let tasks = tree();
    for (content, state) in
        [("a", "completed"), ("a1", "completed"), ("a11", "completed"), ("b", "pending")]
    {
        let shown = world.call("todo_show", json!({ "todoId": id(&tasks, content) })).unwrap();
        let (status, outcome) = (&shown["todo"]["status"], &shown["todo"]["outcome"]);
        assert_eq!(status, state, "{content}");
        assert_eq!(outcome == "Merged", state == "completed", "{content}: {shown}");
    }
}

/// The tool `plan` runs each operation by its action, and names missing fields.
fn the_tool_runs_each_operation_by_its_action(backend: Backend) {
    let world = World::new(backend);
    let plan = |input: Value| world.call("plan", input);
    let markdown = "# Auth\n- [ ] a\n- [ ] b\n";
    let made = plan(json!({ "action": "import", "planFile": FILE, "markdown": markdown })).unwrap();
    assert_eq!(made["current"]["content"], "a");
    let task = id(&made, "a");
    world.call("agent_register", json!({ "agent": "backend" })).unwrap();
    let assigned = plan(json!({ "action": "assign", "taskId": task, "agent": "backend" })).unwrap();
    assert_eq!(assigned["tasks"][0]["children"][0]["state"], "active");
    plan(json!({ "action": "add", "taskId": task, "content": "a1" })).unwrap();
    let current = plan(json!({ "action": "current", "planFile": FILE })).unwrap();
    assert_eq!(current["current"]["content"], "a1");
    let tree = plan(json!({ "action": "tree", "planFile": FILE })).unwrap();
    let done = plan(json!({ "action": "complete", "taskId": id(&tree, "a1") }));
    assert_eq!(done.unwrap()["current"]["content"], "a", "D-13: ready to close");
    let told = plan(json!({ "action": "render", "planFile": FILE })).unwrap();
    assert!(told["markdown"].as_str().unwrap().starts_with("## Current Tasks\n"));
    for (input, word) in [
        (json!({ "action": "tree" }), "planFile"),
        (json!({ "action": "assign", "taskId": task }), "agent"),
        (json!({ "action": "add", "taskId": task }), "content"),
        (json!({ "action": "complete" }), "taskId"),
    ] {
        let error = plan(input).unwrap_err();
        assert_eq!(error.code(), "missing_field");
        assert!(error.to_string().contains(word), "{error}");
    }
}

/// O-13: no current task is not an error; a plan that was not imported, or is on another branch, is
/// one.
fn no_current_task_is_not_an_error(backend: Backend) {
    let world = World::new(backend);
    let none = world.call("plan_current", json!({ "planFile": FILE })).unwrap_err();
    assert_eq!((none.code(), none.meaning().exit), ("unknown_plan", 1));
    let root = world.plan(&["only"])[0].clone();
    world.call("task_complete", json!({ "taskId": root })).unwrap();
    let none = world.call("plan_current", json!({ "planFile": FILE })).unwrap();
    assert_eq!(none, json!({ "current": null, "reason": "all_settled" }));
    let other = json!({ "planFile": FILE, "branch": "elsewhere" });
    let apart = world.call("plan_tree", other).unwrap_err();
    assert_eq!(apart.code(), "unknown_plan", "O-29: another branch is another plan");
    assert_eq!(apart.to_json()["error"]["branches"], json!(["main"]));
}

/// O-17, O-18, X-12: an agent can split only its own task; a late result of an agent that lost the
/// task is logged and does not count (Q-O3).
fn an_agent_can_split_only_its_own_task(backend: Backend) {
    let world = World::new(backend);
    let plan = seed(&world);
    let (mine, other) =
        (id(&plan, "Task 1: Add user model"), id(&plan, "Task 3: Add JWT middleware"));
    let me = worker(&world, "backend");
    let assign =
        |agent: &str| json!({ "taskId": mine, "agent": format!("primary.subagents.{agent}") });
    world.call("task_assign", assign("backend")).unwrap();
    add(&world, &me, &mine, "Write the migration").unwrap();
    assert_eq!(add(&world, &me, &other, "Sneak in").unwrap_err().code(), "not_permitted");
    assert_eq!(add(&world, &me, "999", "x").unwrap_err().code(), "unknown_todo");
    world.call("task_assign", assign("other")).unwrap();
    let late = world.call_in(&me, "task_complete", json!({ "taskId": mine })).unwrap_err();
    assert_eq!((late.code(), late.meaning().exit), ("not_permitted", 4));
    let log = world.log();
    let refused = log.iter().filter(|event| event["type"] == "command_refused").count();
    assert!(refused >= 1, "the late result stays visible");
    let plan = world.call("plan_tree", json!({ "planFile": FILE })).unwrap();
    let task = &plan["tasks"][0]["children"][1]["children"][0];
    assert_eq!(
        (&task["state"], &task["agent"]),
        (&json!("active"), &json!("primary.subagents.other"))
    );
}

/// O-4, O-8, O-9, O-10, O-11, O-23: the seed's own queries, as printed, on its own view.
fn the_seeds_queries_run_as_printed(backend: Backend) {
    let world = World::new(backend);
    let plan = seed(&world);
    let task = |content: &str| json!(id(&plan, content));
    world.call("agent_register", json!({ "agent": "backend" })).unwrap();
    world.call("agent_status", json!({ "agent": "backend", "status": "busy" })).unwrap();
    let second = task("Task 2: Add login endpoint");
    world.call("task_assign", json!({ "taskId": second, "agent": "backend" })).unwrap();
    world.call("task_complete", json!({ "taskId": task("Brainstorm design") })).unwrap();
    let count = |sql: &'static punchlist_store::sql::Sql, params: Vec<&'static str>| {
        let rows = world.ops.store().unwrap().read(move |tx| {
            let params: Vec<_> = params.iter().map(|text| (*text).into()).collect();
            tx.query(sql, &params, |_| Ok(()))
        });
        rows.map_err(|error: punchlist_store::Error| error.to_string()).unwrap().len()
    };
    let all = punchlist_store::sql!(
        "SELECT * FROM tasks WHERE project = $1 AND branch = $2 ORDER BY created_at"
    );
    assert_eq!(count(all, vec!["test", "main"]), 10);
    let active = punchlist_store::sql!(
        "SELECT t.*, a.status as agent_status FROM tasks t JOIN agents a ON t.assigned_agent = a.id \
         WHERE t.completed_at IS NULL AND t.assigned_agent IS NOT NULL"
    );
    assert_eq!(count(active, vec![]), 1);
    let pending = punchlist_store::sql!(
        "SELECT * FROM tasks WHERE assigned_agent IS NULL AND completed_at IS NULL"
    );
    assert_eq!(count(pending, vec![]), 8);
    let tree = punchlist_store::sql!(
        "WITH RECURSIVE task_tree AS ( \
             SELECT *, 0 as depth FROM tasks WHERE plan_file = $1 AND parent_id IS NULL \
             UNION ALL SELECT t.*, tt.depth + 1 FROM tasks t \
             JOIN task_tree tt ON t.parent_id = tt.id) \
         SELECT * FROM task_tree ORDER BY depth, created_at"
    );
    assert_eq!(count(tree, vec![FILE]), 10);
}

/// Bad input: an unknown agent, another agent's status, an invalid path.
fn bad_agents_and_statuses_are_refused(backend: Backend) {
    let world = World::new(backend);
    let status = |me: &Envelope, agent: &str| {
        world.call_in(me, "agent_status", json!({ "agent": agent, "status": "busy" }))
    };
    let root = world.envelope(Role::Root);
    assert_eq!(status(&root, "nobody").unwrap_err().code(), "unknown_agent");
    world.call("agent_register", json!({ "agent": "primary.subagents.a" })).unwrap();
    let me = worker(&world, "b");
    assert_eq!(status(&me, "primary.subagents.a").unwrap_err().code(), "not_permitted");
    let bad = json!({ "agent": "two words", "status": "busy" });
    assert_eq!(world.call("agent_status", bad).unwrap_err().meaning().exit, 2);
    let agents = world.call("agent_list", json!({})).unwrap();
    assert_eq!(agents["agents"][0]["status"], "idle");
}

/// A plan that grows task by task has the limit of a plan file.
fn a_plan_has_fifty_levels_at_most(backend: Backend) {
    let world = World::new(backend);
    let me = world.envelope(Role::Root);
    let mut parent = world.plan(&["level 1"])[0].clone();
    for level in 2..=50 {
        let plan = add(&world, &me, &parent, &format!("level {level}")).unwrap();
        parent = id(&plan, &format!("level {level}"));
    }
    let refused = add(&world, &me, &parent, "level 51").unwrap_err();
    assert_eq!((refused.code(), refused.meaning().exit), ("plan_too_deep", 1));
    let plan = world.call("plan_tree", json!({ "planFile": FILE })).unwrap();
    assert!(serde_json::from_str::<Value>(&plan.to_string()).is_ok(), "a client can read it");
}

/// Older versions did not limit the levels. Such a plan is read, and can be worked on.
fn a_plan_with_more_levels_can_be_read(backend: Backend) {
    let world = World::new(backend);
    let top = world.plan(&["level 1"])[0].clone();
    let project = world.ops.store().unwrap().read(|tx| tx.project("test")).unwrap().unwrap();
    let stamp = Stamp {
        project,
        actor: world.envelope(Role::Root).actor,
        cause: "test",
        at: world.now,
        proof: "none".to_owned(),
        recorded_at: world.now,
    };
    let deep = move |tx: &mut Tx<'_>| {
        let key = TodoKey::parse(&top).unwrap();
        let (list, first) = tx.list_of(project, key)?.unwrap();
        let mut snapshot = tx.snapshot(list, Load::All)?;
        let (mut ids, mut last) = (Ids::new(stamp.at, 7), snapshot.todo(first).unwrap().clone());
        let mut decision = Decision::default();
        for level in 2..=300 {
            last.parent_id = Some(last.id);
            last.id = TodoId::from(ids.ulid());
            last.seq = last.seq.map(|seq| seq + 1);
            last.title = format!("level {level}");
            decision.events.push(TodoCreated { todo: Box::new(last.clone()) }.into());
        }
        tx.record(&mut snapshot, &decision, &stamp, &mut ids).map(drop)
    };
    world.ops.store().unwrap().write(deep).unwrap();
    let plan = world.call("plan_tree", json!({ "planFile": FILE })).unwrap();
    assert!(serde_json::from_str::<Value>(&plan.to_string()).is_ok(), "a client can read it");
    let (mut tasks, mut order) = (&plan["tasks"], Vec::new());
    while let Some(first) = tasks.as_array().unwrap().first() {
        order.extend(tasks.as_array().unwrap().iter().map(|task| task["content"].clone()));
        tasks = &first["children"];
    }
    let all: Vec<Value> = (1..=300).map(|level| json!(format!("level {level}"))).collect();
    assert_eq!(order, all);
    let deepest = id(&plan, "level 300");
    let refused = add(&world, &world.envelope(Role::Root), &deepest, "more").unwrap_err();
    assert_eq!(refused.code(), "plan_too_deep");
    world.call("task_complete", json!({ "taskId": deepest })).unwrap();
}

/// T-18, K-6: the operations on plan tasks refuse the items of every other list, and change nothing.
fn plan_operations_refuse_items_of_other_lists(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "s", &["criterion"]);
    let me = within(&world, Role::Root, "s");
    world.call_in(&me, "todo", json!({ "action": "add", "items": ["step"] })).unwrap();
    let shown = world.call("issue_show", json!({ "number": 1 })).unwrap();
    let items = json!({ "items": [{ "title": "turn item" }] });
    let turn = world.call("create_todo", items).unwrap()["created"][0]["id"].clone();
    let session = Scope::Session { session_id: "x".to_owned() };
    let session = json!(world.list(session, &["session item"])[0]);
    let plan = seed(&world);
    let task = id(&plan, "Task 1: Add user model");
    let before = world.log().len();
    for item in [&turn, &shown["steps"][0]["id"], &shown["criteria"][0]["id"], &session] {
        for (operation, input) in [
            ("task_complete", json!({ "taskId": item, "outcome": "x" })),
            ("task_cancel", json!({ "taskId": item, "reason": "x" })),
            ("task_reopen", json!({ "taskId": item, "reason": "x" })),
            ("task_release", json!({ "taskId": item })),
            ("task_assign", json!({ "taskId": item, "agent": "primary" })),
            ("task_add", json!({ "parentId": item, "content": "x" })),
            ("task_after", json!({ "taskId": item, "after": [] })),
            ("task_after", json!({ "taskId": task, "after": [item] })),
            ("plan", json!({ "action": "complete", "taskId": item })),
        ] {
            for role in [Role::Root, Role::Operator] {
                let error = world.call_in(&world.envelope(role), operation, input.clone());
                assert_eq!(error.unwrap_err().code(), "unknown_todo", "{operation} {input}");
            }
        }
        let whole = json!({ "taskId": item, "withChildren": true });
        let error = world.call_in(&world.envelope(Role::Operator), "task_complete", whole);
        assert_eq!(error.unwrap_err().code(), "unknown_todo");
    }
    assert_eq!(world.log().len(), before, "nothing is written");
}

on_every_store!(
    a_plan_has_fifty_levels_at_most,
    a_plan_with_more_levels_can_be_read,
    plan_operations_refuse_items_of_other_lists,
    a_plan_file_becomes_a_tree,
    a_task_is_named_by_its_number,
    the_status_complete_claims_the_agents_tasks,
    only_the_operator_completes_with_children,
    the_tool_runs_each_operation_by_its_action,
    a_plan_is_worked_on_and_rendered_as_the_seed_says,
    no_current_task_is_not_an_error,
    an_agent_can_split_only_its_own_task,
    the_seeds_queries_run_as_printed,
    bad_agents_and_statuses_are_refused,
);
