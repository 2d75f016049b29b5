//! The digest and the audit: who did what, and which completions need a second look (P-30).

use punchlist_core::command::{
    ClaimTodo, Command, CompleteTodo, CreateTodos, HoldTodo, NewTodo, ReturnTodo,
};
use punchlist_core::evidence::Evidence;
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::HoldKind;
use punchlist_core::{Ids, List, ListId, Role, Scope, Time, TodoId, decide};
use punchlist_store::{Load, Stamp};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

/// A plan in the project of a world, with commands run on it directly.
struct Plan<'w> {
    world: &'w World,
    list: List,
    seed: std::cell::Cell<u128>,
}

impl<'w> Plan<'w> {
    fn new(world: &'w World) -> Self {
        world.call("create_todo", json!({ "items": [{ "title": "makes the project" }] })).unwrap();
        let created_at = world.now;
        let list = world.ops.store().unwrap().write(move |tx| {
            let id = ListId::from(Ids::new(created_at, 77).ulid());
            let scope = Scope::Plan { branch: "main".into(), plan_file: "PLAN.md".into() };
            let list = List::new(id, tx.project("test")?.unwrap(), scope, created_at);
            tx.put_list(&list)?;
            Ok::<_, punchlist_store::Error>(list)
        });
        Self { world, list: list.unwrap(), seed: 100.into() }
    }

    fn run(&self, role: Role, at: Time, command: impl Into<Command>) {
        let (list, command) = (self.list.clone(), command.into());
        let actor = self.world.envelope(role).actor;
        let (project, cause) = (self.list.project_id, "test");
        let seed = self.seed.replace(self.seed.get() + 1) << 40;
        let (proof, recorded_at) = ("none".to_owned(), at);
        let stamp = Stamp { project, actor, cause, at, proof, recorded_at };
        let done = self.world.ops.store().unwrap().write(move |tx| {
            let mut ids = Ids::new(at, seed);
            let mut snapshot = tx.snapshot(list.clone(), Load::All)?;
            let decision = decide(&snapshot, &command, &stamp.actor, at, &mut ids).unwrap();
            tx.record(&mut snapshot, &decision, &stamp, &mut ids)
        });
        done.unwrap();
    }

    fn create(&self, role: Role, at: Time, title: &str) -> TodoId {
        let items = vec![NewTodo::titled(Title::new(title).unwrap())];
        self.run(role, at, CreateTodos { items });
        let id = self.list.id;
        let todos = self.world.ops.store().unwrap().read(move |tx| tx.todos(id)).unwrap();
        todos.into_iter().find(|todo| todo.title == title).unwrap().id
    }

    fn complete(&self, role: Role, at: Time, todo_id: TodoId, evidence: &[&str]) {
        let evidence = evidence.iter().map(|text| Evidence::parse(text).unwrap()).collect();
        let outcome = Some("done".to_owned());
        let metrics_impacted = Vec::new();
        self.run(role, at, CompleteTodo { todo_id, outcome, evidence, metrics_impacted });
    }
}

fn ask(world: &World, name: &str, input: Value) -> Value {
    world.call_in(&world.envelope(Role::Operator), name, input).unwrap()
}

/// A world whose clock is the real one, by which these reports select.
fn today(backend: Backend) -> World {
    World { now: punchlist_ops::clock::now(), ..World::new(backend) }
}

fn the_digest_says_who_did_what(backend: Backend) {
    let world = today(backend);
    let plan = Plan::new(&world);
    let (old, new) = (world.now.plus_seconds(-90_000), world.now.plus_seconds(-60));
    let body = |text: &str| Body::new(text).unwrap();
    let done_long_ago = plan.create(Role::Root, old, "done long ago");
    plan.complete(Role::Root, old, done_long_ago, &[]);
    let returned = plan.create(Role::Root, old, "returned");
    let held = plan.create(Role::Root, old, "held");
    let done = plan.create(Role::Root, old, "done");
    let claim = ClaimTodo {
        todo_id: returned,
        outcome: Some("I did".into()),
        evidence: vec![],
        clock: None,
    };
    plan.run(Role::Root, new, claim);
    plan.run(Role::Operator, new, ReturnTodo { todo_id: returned, feedback: body("Not yet") });
    let kind = HoldKind::Blocked;
    plan.run(
        Role::Root,
        new,
        HoldTodo { todo_id: held, kind, reason: body("No key"), until: None },
    );
    plan.complete(Role::Root, new, done, &[]);

    let at = new.to_string();
    let deed = |deed: &str, id: TodoId, title: &str, said: &str| {
        let todo_id = id.to_string();
        json!({ "deed": deed, "todoId": todo_id, "title": title, "said": said, "at": at })
    };
    let counts = |completed: u64, returned: u64, held: u64, claimed: u64| {
        json!({
            "completed": completed, "cancelled": 0, "returned": returned, "held": held,
            "escalated": 0, "claimed": claimed,
        })
    };
    let expected = json!({
        "project": "test", "total": counts(1, 1, 1, 1),
        "actors": [
            {
                "actor": "root:primary", "counts": counts(1, 0, 1, 1), "more": false,
                "deeds": [
                    deed("claimed", returned, "returned", "I did"),
                    deed("held", held, "held", "No key"),
                    deed("completed", done, "done", "done"),
                ],
            },
            {
                "actor": "operator:primary", "counts": counts(0, 1, 0, 0), "more": false,
                "deeds": [deed("returned", returned, "returned", "Not yet")],
            },
        ],
    });
    let mut digest = ask(&world, "digest", json!({}));
    let since = digest.as_object_mut().unwrap().remove("since").unwrap();
    let since = Time::parse(since.as_str().unwrap()).unwrap();
    assert!(since >= world.now.plus_seconds(-86_400), "{since}");
    assert_eq!(digest, expected);
    let longer = ask(&world, "digest", json!({ "since": "2d" }));
    assert_eq!(longer["total"]["completed"], 2);
    let shorter = ask(&world, "digest", json!({ "since": "30s" }));
    assert_eq!(shorter["actors"], json!([]));
    let named = ask(&world, "digest", json!({ "since": at }));
    assert_eq!(named["total"], expected["total"]);
}

fn the_audit_points_at_completions_and_says_why(backend: Backend) {
    let world = today(backend);
    let plan = Plan::new(&world);
    let ago = |seconds: i64| world.now.plus_seconds(-seconds);
    let sound = plan.create(Role::Root, ago(900_000), "sound");
    plan.complete(Role::Operator, ago(9_000), sound, &["commit:0123abc"]);
    let bare = plan.create(Role::Root, ago(900_000), "bare");
    plan.complete(Role::Operator, ago(8_000), bare, &[]);
    let own = plan.create(Role::Root, ago(900_000), "own");
    plan.complete(Role::Root, ago(7_000), own, &["test:it_works"]);
    let claimed = plan.create(Role::Operator, ago(900_000), "claimed");
    let claim = |todo_id| {
        let outcome = Some("I did".into());
        ClaimTodo { todo_id, outcome, evidence: vec![], clock: None }
    };
    plan.run(Role::Root, ago(6_500), claim(claimed));
    plan.complete(Role::Root, ago(6_000), claimed, &["pr:12"]);
    // F07 of the security review: the maker completes what the operator returned.
    let returned = plan.create(Role::Root, ago(900_000), "returned");
    plan.run(Role::Root, ago(5_900), claim(returned));
    let feedback = Body::new("Not yet").unwrap();
    plan.run(Role::Operator, ago(5_800), ReturnTodo { todo_id: returned, feedback });
    plan.complete(Role::Root, ago(5_700), returned, &["pr:13"]);
    for n in 0..5 {
        let quick = plan.create(Role::Root, ago(900_000), &format!("quick {n}"));
        plan.complete(Role::Operator, ago(100 + n * 15), quick, &["note:quick"]);
    }
    let answer = ask(&world, "audit_closes", json!({}));
    assert_eq!(answer["completions"], 10);
    let counts = json!({
        "noEvidence": 1, "ownWork": 3, "selfAccepted": 1, "returned": 1, "burst": 5,
    });
    assert_eq!(answer["counts"], counts);
    let closes = answer["closes"].as_array().unwrap();
    let said: Vec<(&str, &Value)> =
        closes.iter().map(|close| (close["title"].as_str().unwrap(), &close["reasons"])).collect();
    assert_eq!(said.len(), 9);
    let reasons = |title: &str| {
        let found = said.iter().find(|(known, _)| *known == title);
        found.map_or(json!(null), |(_, reasons)| (*reasons).clone())
    };
    assert_eq!(reasons("sound"), json!(null));
    assert_eq!(reasons("bare"), json!(["no_evidence"]));
    assert_eq!(reasons("own"), json!(["own_work"]));
    assert_eq!(reasons("claimed"), json!(["own_work", "self_accepted"]));
    assert_eq!(reasons("returned"), json!(["own_work", "returned"]));
    assert_eq!(reasons("quick 3"), json!(["burst"]));
    let expected = json!({
        "todoId": bare.to_string(), "title": "bare", "actor": "operator:primary",
        "at": ago(8_000).to_string(), "outcome": "done", "reasons": ["no_evidence"],
    });
    assert!(closes.contains(&expected), "{closes:?}");
    let recent = ask(&world, "audit_closes", json!({ "since": "5m" }));
    assert_eq!((&recent["completions"], &recent["counts"]["ownWork"]), (&json!(5), &json!(0)));
}

/// Reports select by the time at which an event was recorded, so a duration counts back from the real
/// clock, whatever PUNCHLIST_NOW says.
fn a_duration_counts_back_from_the_real_clock(backend: Backend) {
    for days in [-30, 30] {
        let mut world = today(backend);
        world.now = world.now.plus_seconds(days * 86_400);
        let made = world.call("create_todo", json!({ "items": [{ "title": "a" }] })).unwrap();
        let done = json!({ "todoId": made["created"][0]["id"], "outcome": "done" });
        world.call("complete_todo", done).unwrap();
        let last_day = json!({ "since": "24h" });
        assert_eq!(ask(&world, "digest", last_day.clone())["total"]["completed"], 1, "{days}");
        assert_eq!(ask(&world, "audit_closes", last_day.clone())["completions"], 1, "{days}");
        // Waits until the log shows all events.
        assert!(!world.log().is_empty());
        let log = ask(&world, "event_list", last_day);
        let last = log["events"].as_array().unwrap().last().cloned().unwrap_or_default();
        assert_eq!(last["type"], "todo_completed", "{days}");
        let none = ask(&world, "event_list", json!({ "since": "2099-01-01T00:00:00Z" }));
        assert_eq!(none["events"], json!([]));
    }
}

/// The log is read in pages; events after the first page count, too.
fn a_long_log_is_read_beyond_the_first_page(backend: Backend) {
    let world = World::new(backend);
    let items: Vec<Value> = (0..100).map(|n| json!({ "title": format!("{n}") })).collect();
    let made = world.call("create_todo", json!({ "items": items })).unwrap();
    for item in made["created"].as_array().unwrap().iter().take(60) {
        let input = json!({ "todoId": item["id"], "outcome": "done" });
        world.call("complete_todo", input).unwrap();
    }
    for _ in 0..10 {
        world.call("create_todo", json!({ "items": items })).unwrap();
    }
    let digest = ask(&world, "digest", json!({}));
    assert_eq!(digest["total"]["completed"], 60);
    assert_eq!(digest["actors"][0]["deeds"].as_array().unwrap().len(), 50);
    assert_eq!(digest["actors"][0]["more"], true);
    let audit = ask(&world, "audit_closes", json!({}));
    let counts = json!({
        "noEvidence": 60, "ownWork": 60, "selfAccepted": 0, "returned": 0, "burst": 60,
    });
    assert_eq!(audit["counts"], counts);
    // Every completion is on exactly one page, and the counts are those of all pages.
    let mut seen = std::collections::BTreeSet::new();
    let (mut input, mut pages) = (json!({ "limit": 25, "reason": "burst" }), 0);
    loop {
        let page = ask(&world, "audit_closes", input.clone());
        assert_eq!(page["counts"], counts);
        for close in page["closes"].as_array().unwrap() {
            assert!(seen.insert(close["todoId"].as_str().unwrap().to_owned()));
        }
        pages += 1;
        if page["nextCursor"].is_null() {
            break;
        }
        input["cursor"] = page["nextCursor"].clone();
    }
    assert_eq!((seen.len(), pages), (60, 3));
    let none = ask(&world, "audit_closes", json!({ "reason": "self_accepted" }));
    assert_eq!((&none["closes"], &none["nextCursor"]), (&json!([]), &Value::Null));
    let input = json!({ "cursor": "soon" });
    let error = world.call_in(&world.envelope(Role::Operator), "audit_closes", input).unwrap_err();
    assert_eq!(error.code(), "bad_value");
}

#[test]
fn a_malformed_since_is_refused_and_an_empty_project_gives_an_empty_report() {
    let world = World::new(Backend::SqliteMemory);
    for name in ["digest", "audit_closes"] {
        for bad in ["soon", "1w", "-1h", "yesterday", "2026-11-15"] {
            let envelope = world.envelope(Role::Operator);
            let error = world.call_in(&envelope, name, json!({ "since": bad })).unwrap_err();
            assert_eq!(error.code(), "bad_value", "{bad}");
        }
        for role in [Role::Worker, Role::Owner, Role::System] {
            let error = world.call_in(&world.envelope(role), name, json!({})).unwrap_err();
            assert_eq!(error.code(), "not_permitted");
        }
    }
    assert_eq!(ask(&world, "digest", json!({}))["actors"], json!([]));
    assert_eq!(ask(&world, "audit_closes", json!({ "since": "" }))["completions"], 0);
}

on_every_store!(
    the_digest_says_who_did_what,
    the_audit_points_at_completions_and_says_why,
    a_duration_counts_back_from_the_real_clock,
    a_long_log_is_read_beyond_the_first_page,
);
