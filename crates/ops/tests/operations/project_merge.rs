//! Two projects become one (ADR 0032): everything moves, the log still gives the tables, and what
//! stands against it changes nothing.

use std::ops::ControlFlow;

use punchlist_core::{AgentPath, List, ListId, Reach, Role, Scope};
use punchlist_ops::{Envelope, Error, Ops, Place};
use punchlist_store::care::Check;
use punchlist_store::care::portable::{Source, copy, write_out};
use punchlist_store::{Options, Store, sql};
use punchlist_testkit::{Backend, TestStore, World, on_every_lasting_store, on_every_store};
use serde_json::{Value, json};

use crate::copied::full;

/// A caller of this role in this project.
fn of(world: &World, role: Role, project: &str) -> Envelope {
    Envelope { project: project.to_owned(), ..world.envelope(role) }
}

fn call(world: &World, project: &str, name: &str, input: Value) -> Result<Value, Error> {
    world.call_in(&of(world, Role::Operator, project), name, input)
}

fn done(world: &World, project: &str, name: &str, input: Value) -> Value {
    call(world, project, name, input).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn merge(world: &World, from: &str, into: &str) -> Result<Value, Error> {
    let input = json!({ "from": from, "into": into, "confirm": true });
    call(world, "test", "project_merge", input)
}

fn refused(answer: Result<Value, Error>) -> (&'static str, u8, Value) {
    let error = answer.unwrap_err();
    (error.code(), error.meaning().exit, error.to_json()["error"].clone())
}

/// The problems that the doctor finds; a store in memory cannot be examined.
fn sick(ops: &Ops) -> Vec<String> {
    // The clock of the tests is not the real one, by which work is overdue.
    let is_bad = |check: &Check| !check.ok && check.name != "outbox";
    let bad = ops.examine().checks.into_iter().filter(is_bad);
    bad.map(|check| format!("{}: {}", check.name, check.detail)).collect()
}

/// The whole store as text, to see that nothing changed.
fn text(store: &Store) -> String {
    let mut out = Vec::new();
    store.view(|tx| write_out(tx, &mut out, &mut |_| ControlFlow::Continue(()))).unwrap();
    String::from_utf8(out).unwrap()
}

fn imported(world: &World, project: &str, file: &str) -> Value {
    let plan = json!({ "planFile": file, "markdown": "# Plan\n- [ ] a\n- [ ] b\n" });
    done(world, project, "plan_import", plan)
}

/// Two projects: `old` with linked issues, a bound session, a plan, a mission and an agent; `test`
/// with two issues, of which one was the second of three, and the same agent.
fn two_projects(backend: Backend) -> World {
    let world = World::new(backend);
    for title in ["Mine", "Mine too"] {
        done(&world, "test", "issue_create", json!({ "title": title }));
    }
    let first = json!({ "title": "Log in fails", "criteria": ["A test covers it"] });
    done(&world, "old", "issue_create", first);
    done(&world, "old", "issue_create", json!({ "title": "Sessions expire" }));
    done(&world, "old", "issue_link", json!({ "number": 2, "kind": "blocked_by", "to": 1 }));
    done(&world, "old", "session_start", json!({ "title": "Fix it", "externalId": "abc" }));
    done(&world, "old", "session_bind", json!({ "session": "abc", "number": 1 }));
    imported(&world, "old", "docs/plans/auth.md");
    let mission = json!({ "name": "Support", "pillars": [{ "name": "Answers" }] });
    done(&world, "old", "mission_init", mission);
    for project in ["old", "test"] {
        let agent = json!({ "agent": "primary.subagents.backend", "type": "backend" });
        done(&world, project, "agent_register", agent);
    }
    let busy = json!({ "agent": "primary.subagents.backend", "status": "busy", "note": "here" });
    let mut later = of(&world, Role::Operator, "old");
    later.now = later.now.plus_seconds(60);
    world.call_in(&later, "agent_status", busy).unwrap();
    world
}

/// Contract, "Context": FROM's issues get INTO's next numbers, and the answer maps old to new.
fn a_merge_moves_everything_and_maps_the_numbers(backend: Backend) {
    let world = two_projects(backend);
    let issue = done(&world, "old", "issue_show", json!({ "number": 1 }))["issue"].clone();
    let plan = json!({ "planFile": "docs/plans/auth.md" });
    let tree = done(&world, "old", "plan_tree", plan.clone());
    let merged = merge(&world, "old", "test").unwrap();
    assert_eq!(
        merged,
        json!({
            "from": "old",
            "into": "test",
            "issues": [{ "from": 1, "to": 3 }, { "from": 2, "to": 4 }],
            "counts": { "lists": 2, "missions": 1, "sessions": 1, "conversations": 4, "gates": 0,
                "delegations": 0, "runs": 0, "agents": 1, "tokens": 0 },
        })
    );
    let shown = done(&world, "test", "issue_show", json!({ "number": 3 }));
    let mut expected = issue;
    expected["number"] = json!(3);
    assert_eq!(shown["issue"], expected);
    assert_eq!(shown["criteria"][0]["content"], "A test covers it");
    let link = |number: i64| {
        let links =
            done(&world, "test", "issue_show", json!({ "number": number }))["links"].clone();
        (links[0]["kind"].clone(), links[0]["number"].clone())
    };
    assert_eq!(link(3), (json!("blocks"), json!(4)));
    assert_eq!(link(4), (json!("blocked_by"), json!(3)));
    let session = done(&world, "test", "session_show", json!({ "session": "abc" }));
    assert_eq!(session["session"]["boundIssue"], 3);
    assert_eq!(done(&world, "test", "plan_tree", plan), tree);
    done(&world, "test", "mission_status", json!({ "mission": "support" }));
    let agents = done(&world, "test", "agent_list", json!({}))["agents"].clone();
    assert_eq!(agents.as_array().unwrap().len(), 1);
    assert_eq!((&agents[0]["status"], &agents[0]["note"]), (&json!("busy"), &json!("here")));
    // The words of an issue are found where it is now, and numbers go on above it.
    let found = done(&world, "test", "issue_list", json!({ "text": "expire" }));
    assert_eq!(found["issues"][0]["number"], 4);
    let next = done(&world, "test", "issue_create", json!({ "title": "Next" }));
    assert_eq!(next["issue"]["number"], 5);
    let listed = done(&world, "test", "project_list", json!({}))["projects"].clone();
    assert_eq!(listed, json!([{ "name": "test", "current": true }]));
    assert_eq!(sick(&world.ops), [""; 0]);
}

/// What was merged is refused by its name, for reads and writes, because the old numbers mean other
/// issues now. Its log can still be read.
fn a_merged_project_is_only_a_name_and_a_log(backend: Backend) {
    let world = two_projects(backend);
    merge(&world, "old", "test").unwrap();
    for (name, input) in [
        ("issue_show", json!({ "number": 1 })),
        ("issue_list", json!({})),
        ("issue_create", json!({ "title": "x" })),
        ("status", json!({})),
        ("session_start", json!({ "title": "x" })),
        ("plan_import", json!({ "planFile": "x.md", "markdown": "# x\n- [ ] a\n" })),
        ("create_todo", json!({ "items": [{ "title": "x" }] })),
        ("digest", json!({})),
    ] {
        let (code, exit, error) = refused(call(&world, "old", name, input));
        assert_eq!((code, exit, &error["into"]), ("project_merged", 1, &json!("test")), "{name}");
    }
    let again = refused(merge(&world, "old", "test"));
    assert_eq!((again.0, again.1), ("project_merged", 1));
    let into_it = refused(merge(&world, "test", "old"));
    assert_eq!((into_it.0, into_it.1), ("project_merged", 1));
    let last = |project: &str| {
        // On PostgreSQL the log shows an event a moment later.
        let _ = world.log();
        let log = done(&world, project, "event_list", json!({ "after": 0, "limit": 1000 }));
        let last = log["events"].as_array().unwrap().last().unwrap().clone();
        (last["type"].clone(), last["data"]["issues"][1]["to"].clone())
    };
    assert_eq!(last("old"), (json!("project_merged"), json!(4)));
    assert_eq!(last("test"), (json!("project_merged"), json!(4)));
    assert_eq!(done(&world, "old", "overview", json!({}))["projects"][0]["name"], "test");
}

/// Counts the rows of a table that are in another project than `shop`.
macro_rules! elsewhere {
    ($table:literal) => {
        sql!(
            "SELECT count(*) FROM ",
            $table,
            " AS t JOIN projects AS p ON p.id = t.project_id WHERE p.name <> 'shop'"
        )
    };
}

/// A project with rows of every kind is merged, worked on, and merged again: the log gives the
/// tables all the time, and no row is left behind.
fn the_log_gives_the_tables_of_every_kind_after_a_merge(backend: Backend) {
    let (world, _) = full(backend);
    done(&world, "api", "issue_create", json!({ "title": "Of the api" }));
    done(&world, "shop", "issue_create", json!({ "title": "Of the shop" }));
    // Everybody stops working.
    let (mut answer, mut stopped) = (merge(&world, "test", "api"), 0);
    while let Err(error) = &answer {
        let (code, facts) = (error.code(), error.to_json()["error"].clone());
        assert_eq!(code, "project_busy", "{facts}");
        for work in facts["atWork"].as_array().unwrap() {
            stopped += 1;
            match work["kind"].as_str().unwrap() {
                "todo" => done(&world, "test", "todo_release", json!({ "todoId": work["todoId"] })),
                "run" => done(&world, "test", "run_stop", json!({ "run": work["runId"] })),
                _ => {
                    let cancel = json!({ "delegationId": work["delegationId"] });
                    done(&world, "test", "delegation_cancel", cancel)
                }
            };
        }
        answer = merge(&world, "test", "api");
    }
    assert!(stopped > 0, "the full store has held items and runs");
    let merged = answer.unwrap();
    for kind in ["lists", "missions", "sessions", "conversations", "gates", "delegations", "runs"] {
        assert!(merged["counts"][kind].as_u64().unwrap() > 0, "{kind}: {merged}");
    }
    assert_eq!(sick(&world.ops), [""; 0]);
    // What was moved changes as it did before.
    let number = merged["issues"][0]["to"].clone();
    let change = json!({ "number": number, "status": "rejected", "reason": "x", "confirm": true });
    let status = json!({ "number": number, "status": "open" });
    if call(&world, "api", "issue_transition", change).is_err() {
        done(&world, "api", "issue_transition", status);
    }
    done(&world, "api", "issue_comment", json!({ "number": number, "text": "moved" }));
    let sessions = done(&world, "api", "session_list", json!({}))["sessions"].clone();
    done(&world, "api", "session_end", json!({ "session": sessions[0]["id"] }));
    let slug = done(&world, "api", "mission_list", json!({}))["missions"][0]["slug"].clone();
    done(&world, "api", "mission_cycle", json!({ "mission": slug }));
    assert_eq!(sick(&world.ops), [""; 0]);
    let twice = merge(&world, "api", "shop").unwrap();
    assert_eq!(twice["issues"][0], json!({ "from": 1, "to": 2 }));
    assert_eq!(sick(&world.ops), [""; 0]);
    let (_, _, error) = refused(call(&world, "test", "status", json!({})));
    assert_eq!(error["into"], "shop", "the first of a chain names the last");
    let left = world.ops.store().unwrap().read(|tx| {
        let mut left = 0;
        for statement in [
            elsewhere!("lists"),
            elsewhere!("issues"),
            elsewhere!("issue_links"),
            elsewhere!("sessions"),
            elsewhere!("missions"),
            elsewhere!("conversations"),
            elsewhere!("gates"),
            elsewhere!("delegations"),
            elsewhere!("runs"),
            sql!("SELECT count(*) FROM agents WHERE id NOT LIKE 'shop/%'"),
        ] {
            left += tx.first(statement, &[], |row| row.int(0))?.unwrap_or_default();
        }
        Ok::<_, punchlist_store::Error>(left)
    });
    assert_eq!(left.unwrap(), 0);
}

/// Without a confirmation the answer says what would be moved; nothing is.
fn an_unconfirmed_merge_only_says_what_it_would_do(backend: Backend) {
    let world = two_projects(backend);
    let before = text(world.ops.store().unwrap());
    let input = json!({ "from": "old", "into": "test" });
    let (code, exit, error) = refused(call(&world, "test", "project_merge", input));
    assert_eq!((code, exit), ("unconfirmed", 1));
    assert_eq!(error["issues"], json!([{ "from": 1, "to": 3 }, { "from": 2, "to": 4 }]));
    assert_eq!(error["counts"]["sessions"], 1);
    assert_eq!(
        error["message"],
        "this would move from `old` into `test`: 2 issues (#1 becomes #3, #2 #4), 2 lists, \
         1 mission, 1 session, 4 conversations, 1 agent"
    );
    assert_eq!(text(world.ops.store().unwrap()), before);
}

/// What a project has once, and both have, is named; nothing changes.
fn what_both_have_is_named_and_nothing_changes(backend: Backend) {
    let world = two_projects(backend);
    imported(&world, "test", "docs/plans/auth.md");
    imported(&world, "test", "other.md");
    done(&world, "test", "mission_init", json!({ "name": "Support", "pillars": [] }));
    done(&world, "test", "session_start", json!({ "title": "Other", "externalId": "abc" }));
    for project in ["old", "test"] {
        done(&world, project, "create_todo", json!({ "items": [{ "title": "x" }] }));
    }
    let before = text(world.ops.store().unwrap());
    let (code, exit, error) = refused(merge(&world, "old", "test"));
    assert_eq!((code, exit), ("merge_conflict", 1));
    assert_eq!(
        error["conflicts"],
        json!([
            { "kind": "plan", "planFile": "docs/plans/auth.md", "branch": "main" },
            { "kind": "turn", "conversation": "c1", "turn": "t1" },
            { "kind": "mission", "mission": "support" },
            { "kind": "session", "externalId": "abc" },
        ])
    );
    assert_eq!(text(world.ops.store().unwrap()), before);
}

/// While somebody holds an item of FROM, or runs in it, nothing is merged.
fn a_project_in_use_is_not_merged(backend: Backend) {
    let world = two_projects(backend);
    let next = json!({ "planFile": "docs/plans/auth.md" });
    let taken = done(&world, "old", "todo_next", next);
    let start = json!({ "prompt": "Go.", "model": "scripted:x" });
    let run = done(&world, "old", "run_start", start)["run"]["id"].clone();
    let before = text(world.ops.store().unwrap());
    let (code, exit, error) = refused(merge(&world, "old", "test"));
    assert_eq!((code, exit), ("project_busy", 1));
    let work = |n: usize| (error["atWork"][n]["kind"].clone(), error["atWork"][n].clone());
    assert_eq!((work(0).0, &work(0).1["todoId"]), (json!("todo"), &taken["todo"]["id"]));
    assert_eq!((work(1).0, &work(1).1["runId"]), (json!("run"), &run));
    assert_eq!(text(world.ops.store().unwrap()), before);
    // INTO may be in use.
    done(&world, "old", "todo_release", json!({ "todoId": taken["todo"]["id"] }));
    done(&world, "old", "run_stop", json!({ "run": run }));
    let mut other = of(&world, Role::Operator, "test");
    other.context.conversation = Some("c2".to_owned());
    let start = json!({ "prompt": "Go.", "model": "scripted:x" });
    world.call_in(&other, "run_start", start).unwrap();
    merge(&world, "old", "test").unwrap();
    assert_eq!(sick(&world.ops), [""; 0]);
}

/// A writer that has found its project finishes before the project is merged, and what it wrote is
/// moved. SQLite has one writer at a time.
#[test]
fn a_writer_that_found_its_project_finishes_before_it_is_merged() {
    let world = two_projects(Backend::Postgres);
    let other = Store::open(world.store.target(), Options::default()).unwrap();
    let (found, is_found) = std::sync::mpsc::channel();
    let (now, mut ids) = (world.now, punchlist_ops::clock::ids(world.now).unwrap());
    let id = ListId::from(ids.ulid());
    std::thread::scope(|threads| {
        let writer = threads.spawn(move || {
            other.write(move |tx| {
                let project = tx.project("old")?.unwrap();
                found.send(()).unwrap();
                // The merge waits for this transaction.
                let waiting = sql!(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted \
                     AND relation = CAST('projects' AS regclass) AND database = \
                     (SELECT oid FROM pg_database WHERE datname = current_database())"
                );
                while tx.first(waiting, &[], |row| row.int(0))? == Some(0) {
                    std::thread::yield_now();
                }
                let (conversation_id, turn_id) = ("c9".to_owned(), "t9".to_owned());
                let scope = Scope::Turn { conversation_id, turn_id };
                tx.put_list(&List::new(id, project, scope, now))
            })
        });
        is_found.recv().unwrap();
        let merged = merge(&world, "old", "test").unwrap();
        assert_eq!(merged["counts"]["lists"], 3);
        writer.join().unwrap().unwrap();
    });
    let list = world.ops.store().unwrap().read(move |tx| {
        let list = tx.list_by_id(id)?.unwrap();
        Ok::<_, Error>((list.project_id, tx.project("test")?.unwrap()))
    });
    let (project, expected) = list.unwrap();
    assert_eq!(project, expected);
}

fn wrong_names_are_refused(backend: Backend) {
    let world = two_projects(backend);
    let (code, exit, error) = refused(merge(&world, "nowhere", "test"));
    assert_eq!((code, exit, &error["project"]), ("unknown_project", 1, &json!("nowhere")));
    assert_eq!(error["known"], json!(["test", "old"]));
    let (code, exit, error) = refused(merge(&world, "old", "nowhere"));
    assert_eq!((code, exit, &error["project"]), ("unknown_project", 1, &json!("nowhere")));
    let same = refused(merge(&world, "old", " old "));
    assert_eq!((same.0, same.1), ("merge_conflict", 1));
    for name in ["nowhere", "old"] {
        let listed = done(&world, "test", "project_list", json!({}))["projects"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 2, "{name} was not made");
    }
}

/// Only the operator, with a reach that is not narrowed; and what reaches only FROM reaches nothing
/// afterwards, not INTO.
fn a_reach_never_grows_by_a_merge(backend: Backend) {
    let world = two_projects(backend);
    let input = json!({ "from": "old", "into": "test", "confirm": true });
    for role in Role::ALL.into_iter().filter(|role| *role != Role::Operator) {
        let answer = world.call_in(&of(&world, role, "test"), "project_merge", input.clone());
        assert_eq!(refused(answer).0, "not_permitted", "{role:?}");
    }
    let narrowed = |project: &str, number: Option<i64>| {
        let mut envelope = of(&world, Role::Operator, project);
        let project = Some(project.to_owned());
        envelope.actor.reach = Reach { project, number, ..Reach::default() };
        envelope
    };
    for project in ["old", "test"] {
        let answer = world.call_in(&narrowed(project, None), "project_merge", input.clone());
        let (code, exit, _) = refused(answer);
        assert_eq!((code, exit), ("out_of_reach", 4), "{project}");
    }
    let token = json!({ "role": "root", "project": "old", "number": 3 });
    done(&world, "test", "token_new", token);
    assert_eq!(merge(&world, "old", "test").unwrap()["counts"]["tokens"], 1);
    let show = json!({ "number": 3 });
    let answer = world.call_in(&narrowed("old", None), "issue_show", show.clone());
    assert_eq!(refused(answer).0, "project_merged");
    let mut elsewhere = narrowed("old", None);
    elsewhere.project = "test".to_owned();
    assert_eq!(refused(world.call_in(&elsewhere, "issue_show", show)).0, "out_of_reach");
    // #1 is #3 now. A token for the old #3 sees neither of them, not even in the old log.
    let log = json!({ "after": 0, "names": true });
    let answer = world.call_in(&narrowed("old", Some(3)), "event_list", log.clone());
    assert_eq!(refused(answer).0, "project_merged");
    let read = world.call_in(&narrowed("old", None), "event_list", log).unwrap();
    assert_eq!(read.get("names"), None, "{read}");
}

fn at(folder: &str) -> Place {
    Place { folder: folder.to_owned(), ..Place::default() }
}

fn names(name: &str) -> Vec<String> {
    vec![name.to_owned(), format!("parent.{name}")]
}

/// Writes to a project from a folder.
fn write_from(world: &World, project: &str, folder: &str) {
    let mut envelope = of(world, Role::Operator, project);
    envelope.context.place = Some(at(folder));
    let input = json!({ "title": format!("From {folder}"), "forceNew": true });
    world.call_in(&envelope, "issue_create", input).unwrap();
}

/// The project that a folder belongs to.
fn located(world: &World, folder: &str, name: &str) -> String {
    world.ops.project_at(&at(folder), &names(name)).unwrap().project
}

/// The repositories of FROM are INTO's, and a repository of INTO stays INTO's, in whatever order they
/// write after the merge.
fn the_repositories_of_a_merged_project_are_the_others(backend: Backend) {
    let world = World::new(backend);
    let found = |folder: &str, name: &str| located(&world, folder, name);
    write_from(&world, "api", "/work/api");
    // Nobody has written to it from a folder yet.
    done(&world, "shop", "issue_create", json!({ "title": "x" }));
    merge(&world, "api", "shop").unwrap();
    assert_eq!(found("/work/api", "api"), "shop");
    write_from(&world, "shop", "/work/api");
    assert_eq!(found("/work/shop", "shop"), "shop");
    write_from(&world, "shop", "/work/shop");
    assert_eq!(found("/work/shop", "shop"), "shop");
    assert_eq!(found("/work/api", "api"), "shop");
    assert_eq!(found("/other/api", "api"), "parent.api", "another repository of the old name");
    let mut folders = world.ops.folders("shop", &[]).unwrap();
    folders.sort();
    assert_eq!(folders, ["/work/api", "/work/shop"]);
}

/// Exports and copies carry the merge: the old name is not made again by its repository.
fn a_moved_store_still_knows_its_merges(backend: Backend) {
    let world = two_projects(backend);
    write_from(&world, "old", "/work/old");
    merge(&world, "old", "test").unwrap();
    let store = world.ops.store().unwrap();
    let exported = text(store);
    for to in [Backend::SqliteFile, Backend::Postgres] {
        let moved = World::on(TestStore::new(to));
        let mut bytes = exported.as_bytes();
        let source = Source::open(&mut bytes).map_err(drop).unwrap();
        let other = moved.ops.store().unwrap();
        other.write_once(|tx| source.read_in(tx)).map_err(drop).unwrap();
        assert_eq!(text(other), exported);
        assert_eq!(sick(&moved.ops), [""; 0]);
        assert_eq!(refused(call(&moved, "old", "status", json!({}))).0, "project_merged");
        assert_eq!(located(&moved, "/work/old", "old"), "test");
        // Whichever repository comes first, both stay.
        write_from(&moved, "test", "/work/old");
        assert_eq!(located(&moved, "/work/test", "test"), "test");
        assert_eq!(located(&moved, "/work/old", "old"), "test");
    }
    let copied = TestStore::new(Backend::SqliteFile);
    let into = copied.open_with(Options { is_copied_into: true, ..Options::default() });
    copy(store, &into, &mut |_| ControlFlow::Continue(())).unwrap();
    drop(into);
    let copied = World::on(copied);
    assert_eq!(located(&copied, "/work/old", "old"), "test");
    assert_eq!(sick(&copied.ops), [""; 0]);
}

/// A row that was moved by hand is found.
fn the_doctor_finds_a_merge_that_the_log_does_not_have(backend: Backend) {
    let world = two_projects(backend);
    merge(&world, "old", "test").unwrap();
    let store = world.ops.store().unwrap();
    store.write(|tx| tx.write(sql!("UPDATE projects SET merged_into = NULL"), &[])).unwrap();
    let found = sick(&world.ops);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("merged projects are not those of the log"), "{found:?}");
}

/// The agents of both projects with one path are one agent.
fn an_agent_of_both_projects_is_one_agent(backend: Backend) {
    let world = two_projects(backend);
    merge(&world, "old", "test").unwrap();
    let path = AgentPath::parse("primary.subagents.backend").unwrap();
    let agent = world.ops.store().unwrap().read(move |tx| {
        let project = tx.project("test")?.unwrap();
        tx.agent(project, &path)
    });
    let agent = agent.unwrap().unwrap();
    assert_eq!(agent.created_at, world.now);
    assert_eq!(agent.heartbeat_at, world.now.plus_seconds(60));
    let later = json!({ "agent": "primary.subagents.backend", "status": "idle" });
    done(&world, "test", "agent_status", later);
}

on_every_store!(
    a_merge_moves_everything_and_maps_the_numbers,
    a_merged_project_is_only_a_name_and_a_log,
    an_unconfirmed_merge_only_says_what_it_would_do,
    what_both_have_is_named_and_nothing_changes,
    a_project_in_use_is_not_merged,
    wrong_names_are_refused,
    a_reach_never_grows_by_a_merge,
    the_repositories_of_a_merged_project_are_the_others,
    an_agent_of_both_projects_is_one_agent,
);

on_every_lasting_store!(
    the_log_gives_the_tables_of_every_kind_after_a_merge,
    a_moved_store_still_knows_its_merges,
    the_doctor_finds_a_merge_that_the_log_does_not_have,
);
