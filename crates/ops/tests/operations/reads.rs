//! The log, the status and the authority table.

use punchlist_core::Role;
use punchlist_ops::Envelope;
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

fn fill(world: &World, count: usize) {
    let items: Vec<Value> = (0..count).map(|n| json!({ "title": format!("item {n}") })).collect();
    world.call("create_todo", json!({ "items": items })).unwrap();
}

fn the_log_is_read_in_pages_without_gaps(backend: Backend) {
    let world = World::new(backend);
    fill(&world, 8);
    let whole = world.log();
    assert_eq!(whole.len(), 10);
    let mut cursor = json!(0);
    let mut seen = Vec::new();
    loop {
        let input = json!({ "after": cursor, "limit": 3 });
        let page = world.call("event_list", input).unwrap();
        seen.extend(page["events"].as_array().unwrap().iter().cloned());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, whole);
    let newest = world.call("event_list", json!({ "limit": 2 })).unwrap();
    assert_eq!(newest["events"].as_array().unwrap().as_slice(), &whole[8..]);
    let between = json!({ "after": whole[1]["seq"], "before": whole[5]["seq"], "limit": 3 });
    assert_eq!(world.call("event_list", between).unwrap(), json!({ "events": whole[2..5] }));
    assert_eq!(world.call("event_list", json!({ "limit": 0 })).unwrap_err().code(), "bad_value");
    assert!(world.call("event_list", json!({ "limit": 5000 })).is_ok());
}

/// T-21: a worker sees only its own events in the log; on a turn list it has none.
fn a_worker_sees_only_its_own_events(backend: Backend) {
    let world = World::new(backend);
    fill(&world, 2);
    assert_eq!(world.log().len(), 4);
    for input in [json!({}), json!({ "after": 0 }), json!({ "visibility": "project" })] {
        let answer = world.call_in(&world.envelope(Role::Worker), "event_list", input).unwrap();
        assert_eq!(answer, json!({ "events": [] }));
    }
    let own = world.call("event_list", json!({ "after": 0, "visibility": "own" })).unwrap();
    assert_eq!(own["events"].as_array().unwrap().len(), 4);
}

fn status_shows_the_newest_lists_to_who_may_see_them(backend: Backend) {
    let world = World::new(backend);
    fill(&world, 2);
    assert_eq!(world.log().len(), 4);
    let mut status = world.call("status", json!({})).unwrap();
    let id = status["lists"][0]["id"].take();
    assert!(id.is_string());
    let summary =
        json!({ "total": 2, "pending": 2, "inProgress": 0, "completed": 0, "cancelled": 0 });
    let at = "2026-11-15T08:00:00.000000Z";
    let expected = json!({
        "project": "test", "actor": "root:primary", "role": "root",
        "lists": [{
            "id": null, "kind": "turn", "about": "turn t1 of conversation c1",
            "summary": summary, "createdAt": at,
        }],
        "more": false, "waiting": [], "reviews": [], "running": [], "issues": [],
        "moreIssues": false, "plans": [], "missions": [], "failed": [], "lastEventAt": at,
    });
    assert_eq!(status, expected);
    let blind = world.call_in(&world.envelope(Role::Worker), "status", json!({})).unwrap();
    assert_eq!(blind["lists"], json!([]));
}

/// Each part alone is what it is in the whole, and the other parts are empty.
fn status_has_only_the_parts_that_were_asked_for(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    let status = |only: Option<&str>| {
        let input = only.map_or_else(|| json!({}), |part| json!({ "only": [part] }));
        world.call_in(&operator, "status", input).unwrap()
    };
    fill(&world, 2);
    let issue = json!({ "title": "Slow", "criteria": ["It is fast"] });
    world.call_in(&operator, "issue_create", issue).unwrap();
    let plan = json!({ "planFile": "p.md", "markdown": "- [ ] a" });
    world.call_in(&operator, "plan_import", plan).unwrap();
    // The log shows everything now, on PostgreSQL too.
    assert!(!world.log().is_empty());
    let whole = status(None);
    let empty = world.call_in(&operator, "status", json!({ "only": [] })).unwrap();
    let fields = [
        ("lists", "lists"),
        ("waiting", "waiting"),
        ("reviews", "reviews"),
        ("running", "running"),
        ("issues", "issues"),
        ("plans", "plans"),
        ("missions", "missions"),
        ("failed", "failed"),
        ("held", "held"),
        ("ungoverned", "ungoverned"),
    ];
    for (part, field) in fields {
        let mut expected = empty.clone();
        if let Some(value) = whole.get(field) {
            expected[field] = value.clone();
        }
        assert_eq!(status(Some(part)), expected, "{part}");
    }
    for field in ["lists", "issues", "plans"] {
        assert_ne!(whole[field], empty[field], "{field}");
    }
    let error = world.call_in(&operator, "status", json!({ "only": ["all"] })).unwrap_err();
    assert_eq!(error.code(), "bad_value");
}

#[test]
fn the_authority_table_needs_no_store() {
    let target = punchlist_store::Target::File("/proc/no/such/store.db".into());
    let ops = punchlist_ops::Ops::new(target, punchlist_store::Options::default());
    let world = World::new(Backend::SqliteMemory);
    let operation = punchlist_ops::catalogue::find("authority_show").unwrap();
    let shown = ops.call(operation, &world.envelope(Role::Root), json!({})).unwrap();
    assert_eq!(shown["tables"].as_array().unwrap().len(), 20);
    let one = ops.call(operation, &world.envelope(Role::Worker), json!({ "list": "turn" }));
    let one = one.unwrap();
    assert_eq!(one["tables"][0]["rows"][1]["action"], "create");
    assert_eq!(one["tables"][0]["rows"][1]["cells"], json!(["yes", "-", "-", "yes", "-", "-"]));
}

/// Contract, Answers: lists have a limit and a cursor; the pages together are the whole list.
fn every_list_is_read_in_pages(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    for n in 1..=5 {
        let make = |operation: &str, input: Value| {
            world.call_in(&operator, operation, input).unwrap();
        };
        make("issue_create", json!({ "title": format!("issue {n}"), "forceNew": true }));
        make("agent_register", json!({ "agent": format!("a{n}") }));
        make("plan_import", json!({ "planFile": format!("{n}.md"), "markdown": "- [ ] a\n" }));
        make("mission_init", json!({ "name": format!("Mission {n}"), "pillars": [] }));
        let other = Envelope { project: format!("project {n}"), ..operator.clone() };
        world.call_in(&other, "issue_create", json!({ "title": "there" })).unwrap();
    }
    // By urgency, then by number.
    for (number, priority) in [(2, "low"), (4, "critical"), (5, "high")] {
        let input = json!({ "number": number, "priority": priority });
        world.call_in(&operator, "issue_update", input).unwrap();
    }
    let pages = |operation: &str, plural: &str, limit: i64| {
        let (mut all, mut cursor, mut count) = (Vec::new(), Value::Null, 0);
        loop {
            let input = json!({ "limit": limit, "cursor": cursor });
            let page = world.call_in(&operator, operation, input).unwrap();
            all.extend(page[plural].as_array().unwrap().iter().cloned());
            count += 1;
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                return (all, count);
            }
        }
    };
    for (operation, plural, field, expected) in [
        ("ready", "issues", "number", json!([4, 5, 1, 3, 2])),
        ("agent_list", "agents", "agent", json!(["a1", "a2", "a3", "a4", "a5"])),
        ("plan_list", "plans", "planFile", json!(["1.md", "2.md", "3.md", "4.md", "5.md"])),
        (
            "mission_list",
            "missions",
            "slug",
            json!(["mission-1", "mission-2", "mission-3", "mission-4", "mission-5"]),
        ),
        (
            "project_list",
            "projects",
            "name",
            json!(["test", "project 1", "project 2", "project 3", "project 4", "project 5"]),
        ),
    ] {
        for (limit, most) in [(1, 6), (2, 3), (1000, 1)] {
            let (all, count) = pages(operation, plural, limit);
            let named: Vec<&Value> = all.iter().map(|row| &row[field]).collect();
            assert_eq!(json!(named), expected, "{operation} by {limit}");
            assert!(count <= most, "{operation} by {limit}: {count} pages");
        }
        let bad = world.call_in(&operator, operation, json!({ "cursor": "no such row!" }));
        assert_eq!(bad.unwrap_err().meaning().exit, 2, "{operation}");
    }
}

on_every_store!(
    every_list_is_read_in_pages,
    the_log_is_read_in_pages_without_gaps,
    a_worker_sees_only_its_own_events,
    status_shows_the_newest_lists_to_who_may_see_them,
    status_has_only_the_parts_that_were_asked_for,
);
