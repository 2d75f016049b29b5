//! Missions in the store: the view with the design's own columns, cascading deletes, and that
//! folding the log gives every row.

use punchlist_core::command::{CancelTodo, CompleteTodo, CreateTodos, NewTodo, StartTodo};
use punchlist_core::deadline::Deadline;
use punchlist_core::event::ReadingRecorded;
use punchlist_core::metric::{Figure, Reading};
use punchlist_core::mission::{InitMission, RunCycle, SetStanding, Standing};
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::Priority;
use punchlist_core::{By, Decide, Decision, ListKind, Mission, Status, Todo};
use punchlist_store::care::{Report, examine};
use punchlist_store::rows::lists::Lock;
use punchlist_store::sql::Sql;
use punchlist_store::{Error, Options, sql};
use punchlist_testkit::{Backend, on_every_lasting_store, on_every_store};
use serde_json::json;

use crate::fixture::{Fixture, ids};

/// The list of the pillar `inner` of the mission `outer`, with its mission, as operations create
/// them.
fn fixture(backend: Backend) -> (Fixture, Mission) {
    let fixture = Fixture::of(backend, ListKind::Pillar);
    let mission = init(&fixture, "Outer", 100);
    let (list, stamp) = (fixture.list.clone(), fixture.stamp());
    let opened = punchlist_core::event::ListOpened { list: list.clone() }.into();
    let put = fixture.store.write(move |tx| {
        // Now that the pillar exists, the list is linked to it.
        tx.put_list(&list)?;
        tx.append(&stamp, &list.id.to_string(), &opened)
    });
    put.unwrap();
    (fixture, mission)
}

/// Updates the mission `outer` to its file, with this name.
fn init(fixture: &Fixture, name: &str, seed: u128) -> Mission {
    let spec = serde_json::from_value(json!({
        "name": name, "slug": "outer", "cadence": "0 9 * * 1",
        "pillars": [
            {
                "name": "Inner", "description": "goals",
                "metrics": [
                    { "name": "Speed", "target": { "operator": "<", "value": 60 } },
                    { "name": "Size", "cron": "0 * * * *", "collect": { "file": "size.txt" } },
                ],
                "strategies": [{ "description": "measure" }, { "description": "cut" }],
            },
            { "name": "Other" },
        ],
    }));
    let command =
        InitMission { spec: spec.unwrap(), directory: Some("project".into()), only_missing: false };
    let (project, stamp) = (fixture.list.project_id, fixture.stamp());
    let made = fixture.store.write(move |tx| {
        let mut state = tx.mission(project, "outer", Lock::Row)?;
        let mut ids = ids(seed);
        let made = {
            let by = By { actor: &stamp.actor, now: stamp.at, ids: &mut ids };
            command.decide((project, state.as_ref()), by)
        };
        let made = made.unwrap();
        tx.record_mission(&mut state, &made.decision, &stamp)?;
        for conversation in &made.conversations {
            tx.open_conversation(conversation, &stamp)?;
        }
        Ok::<_, Error>(state.unwrap())
    });
    made.unwrap()
}

fn count(fixture: &Fixture, statement: &'static Sql) -> i64 {
    fixture.read(move |tx| tx.first(statement, &[], |row| row.int(0))).unwrap()
}

/// One item with every possible field, and two with the fewest.
fn items(fixture: &Fixture) -> Vec<Todo> {
    let text = |text: &str| Body::new(text).ok();
    let full = NewTodo {
        description: text("what"),
        justification: text("why"),
        completion_criteria: text("when done"),
        agent_type: Title::new("coder").ok(),
        priority: Priority::Critical,
        deadline: Deadline::parse("2026-12-01"),
        ..NewTodo::titled(Title::new("full").unwrap())
    };
    let mut waiting = NewTodo::titled(Title::new("waiting").unwrap());
    waiting.status = Status::Backlog;
    let least = NewTodo::titled(Title::new("least").unwrap());
    fixture.run(CreateTodos { items: vec![full, waiting, least] }, 2);
    fixture.todos()
}

/// M-15, M-18, M-24, M-25, D-9: exactly the columns of the design, in its order and words. Start
/// and completion times are set when they happened, and only a completed item has an outcome.
fn the_view_carries_the_designs_columns(backend: Backend) {
    let (fixture, mission) = fixture(backend);
    let todos = items(&fixture);
    fixture.run(StartTodo { todo_id: todos[0].id, reason: None }, 3);
    let (evidence, metrics_impacted) = (vec![], vec![]);
    let outcome = Some("seen".to_owned());
    let todo_id = todos[0].id;
    fixture.run(CompleteTodo { todo_id, outcome, evidence, metrics_impacted }, 4);
    let outcome = Some("not needed".to_owned());
    fixture.run(CancelTodo { todo_id: todos[2].id, outcome }, 5);
    // With `*`, so that a missing or an extra column is noticed as well.
    let query = sql!("SELECT * FROM mission_todos ORDER BY id");
    let rows: Vec<Vec<Option<String>>> = fixture.read(move |tx| {
        tx.query(query, &[], |row| (0..15).map(|column| row.opt_text(column)).collect())
    });
    let at = Some("2026-11-15T08:00:00.000000Z");
    let (pillar, mission) = (mission.pillars[0].id.to_string(), mission.id.to_string());
    let ids: Vec<String> = todos.iter().map(|todo| todo.id.to_string()).collect();
    let (pillar, mission) = (Some(pillar.as_str()), Some(mission.as_str()));
    let none = None;
    let row = |cells: [Option<&str>; 15]| cells.map(|cell| cell.map(str::to_owned)).to_vec();
    #[rustfmt::skip]
    let expected = vec![
        row([Some(&ids[0]), pillar, mission, Some("full"), Some("what"), Some("why"),
             Some("when done"), Some("2026-12-01"), Some("completed"), Some("critical"),
             Some("coder"), Some("seen"), at, at, at]),
        row([Some(&ids[1]), pillar, mission, Some("waiting"), Some(""), Some(""), Some(""), none,
             Some("backlog"), Some("medium"), none, none, at, none, none]),
        row([Some(&ids[2]), pillar, mission, Some("least"), Some(""), Some(""), Some(""), none,
             Some("cancelled"), Some("medium"), none, none, at, none, none]),
    ];
    assert_eq!(rows, expected);
    let by_name = sql!(
        "SELECT id, \"pillarId\", \"missionId\", title, description, justification, \
         \"completionCriteria\", deadline, status, priority, \"assignedAgent\", outcome, \
         \"createdAt\", \"startedAt\", \"completedAt\" FROM mission_todos"
    );
    let named = fixture.read(move |tx| tx.query(by_name, &[], |row| row.text(0)));
    assert_eq!(named.len(), 3);
    // There is no sixteenth column.
    let wide = fixture.store.read(|tx| {
        let query = sql!("SELECT * FROM mission_todos");
        tx.query(query, &[], |row| row.opt_text(15))
    });
    assert!(wide.is_err(), "{wide:?}");
    for kind in [ListKind::Turn, ListKind::Plan] {
        let other = Fixture::of(backend, kind);
        other.create(&["a"], 2);
        assert_eq!(count(&other, sql!("SELECT count(*) FROM mission_todos")), 0, "{kind}");
    }
}

/// M-16, M-17, M-18: the store itself refuses an unknown status or priority.
fn the_store_refuses_unknown_statuses_and_priorities(backend: Backend) {
    for statement in [
        sql!("UPDATE todos SET status = 'blocked'"),
        sql!("UPDATE todos SET status = ''"),
        sql!("UPDATE todos SET priority = 'urgent'"),
        sql!("UPDATE todos SET title = NULL"),
    ] {
        let (fixture, _) = fixture(backend);
        items(&fixture);
        let refused = fixture.store.write(move |tx| tx.execute(statement, &[]));
        assert!(refused.is_err(), "{}", statement.postgres);
        let kept =
            sql!("SELECT count(*) FROM mission_todos WHERE status IN ('pending', 'backlog')");
        assert_eq!(count(&fixture, kept), 3);
    }
    let (fixture, _) = fixture(backend);
    items(&fixture);
    for statement in [
        sql!("UPDATE todos SET status = 'backlog'"),
        sql!("UPDATE todos SET status = 'in_progress'"),
        sql!("UPDATE todos SET priority = 'critical'"),
        sql!("UPDATE todos SET priority = 'low'"),
    ] {
        assert_eq!(fixture.store.write(move |tx| tx.execute(statement, &[])).unwrap(), 3);
    }
}

/// M-19: deleting a pillar deletes its items, and deleting a mission deletes its pillars.
fn deleting_a_mission_deletes_its_parts(backend: Backend) {
    for statement in [
        sql!("DELETE FROM pillars WHERE slug = 'inner'"),
        sql!("DELETE FROM missions WHERE slug = 'outer'"),
    ] {
        let (fixture, mission) = fixture(backend);
        let (outer, other) = (items(&fixture).len(), mission.pillars[1].id.to_string());
        assert_eq!(outer, 3);
        fixture.store.write(move |tx| tx.execute(statement, &[])).unwrap();
        assert_eq!(
            count(&fixture, sql!("SELECT count(*) FROM todos")),
            0,
            "{}",
            statement.postgres
        );
        assert_eq!(count(&fixture, sql!("SELECT count(*) FROM mission_todos")), 0);
        assert_eq!(count(&fixture, sql!("SELECT count(*) FROM metrics")), 0);
        let left = fixture.read(|tx| tx.query(sql!("SELECT id FROM pillars"), &[], |r| r.text(0)));
        let whole = statement.postgres.contains("missions");
        assert_eq!(left, if whole { vec![] } else { vec![other] });
    }
}

fn look(fixture: &Fixture) -> Report {
    examine(fixture.place.target(), Options::default())
}

/// After creating, measuring, pausing, resuming, a cycle and an update, folding the log gives the
/// rows. Each differing row is named (design §3).
fn folding_the_log_gives_a_mission(backend: Backend) {
    let lived = || {
        let (fixture, mission) = fixture(backend);
        items(&fixture);
        let (project, stamp) = (fixture.list.project_id, fixture.stamp());
        let metric_id = mission.pillars[0].metrics[0].id;
        let lived = fixture.store.write(move |tx| {
            for value in [55.0, 63.5, 72.0] {
                let (value, source) = (Figure::new(value).unwrap(), "manual".to_owned());
                let reading = Reading { metric_id, value, at: stamp.at, source };
                let mission_id = mission.id;
                let recorded = ReadingRecorded { mission_id, reading: reading.clone() };
                let decision = Decision { events: vec![recorded.into()], ..Decision::default() };
                tx.add_reading(mission_id, &reading, &decision, &stamp)?;
            }
            let mut state = tx.mission(project, "outer", Lock::Row)?;
            for (pillar, status) in [
                (None, Standing::Paused),
                (None, Standing::Active),
                (Some("other"), Standing::Paused),
            ] {
                let command = SetStanding { pillar: pillar.map(str::to_owned), status };
                let before = state.clone().unwrap();
                let decision = command
                    .decide(&before, By { actor: &stamp.actor, now: stamp.at, ids: &mut ids(8) })
                    .unwrap();
                tx.record_mission(&mut state, &decision, &stamp)?;
            }
            let before = state.clone().unwrap();
            let cycle = {
                let by = By { actor: &stamp.actor, now: stamp.at, ids: &mut ids(9) };
                RunCycle { if_due: false }.decide(&before, by)
            };
            tx.record_mission(&mut state, &cycle.unwrap().unwrap(), &stamp)
        });
        lived.unwrap();
        init(&fixture, "Outer, renamed", 200);
        fixture
    };
    let sound = look(&lived());
    assert!(sound.ok, "{sound:?}");
    let fold = |report: &Report| {
        let check = report.checks.iter().find(|check| check.name == "fold").unwrap();
        (check.ok, check.detail.clone())
    };
    assert!(fold(&sound).1.contains("1 mission, 1 list, 3 todos"), "{sound:?}");
    for (statement, words) in [
        (
            sql!("UPDATE missions SET name = 'forged'"),
            "mission outer: name is \"forged\", the log says \"Outer, renamed\"",
        ),
        (sql!("UPDATE missions SET status = 'archived'"), "mission outer: status is \"archived\""),
        (sql!("UPDATE missions SET next_cycle_at = NULL"), "mission outer: nextCycleAt is null"),
        (sql!("UPDATE missions SET last_cycle_at = 1"), "mission outer: lastCycleAt is"),
        (
            sql!("UPDATE missions SET \"jsonConfig\" = replace(\"jsonConfig\", '10', '99')"),
            "mission outer: todo is",
        ),
        (sql!("UPDATE missions SET \"jsonConfig\" = '{'"), "mission outer cannot be decoded"),
        (
            sql!("UPDATE pillars SET description = 'forged' WHERE slug = 'inner'"),
            "mission outer, pillar inner: description is \"forged\"",
        ),
        (
            sql!("UPDATE pillars SET status = 'active' WHERE slug = 'other'"),
            "mission outer, pillar other: status is \"active\", the log says \"paused\"",
        ),
        (sql!("DELETE FROM pillars WHERE slug = 'other'"), "has not the pillars the log says"),
        (
            sql!("UPDATE strategies SET status = 'completed'"),
            "mission outer, pillar inner: strategies is",
        ),
        (sql!("UPDATE metrics SET target = NULL"), "mission outer, pillar inner: metrics is"),
        (
            sql!("UPDATE readings SET value = 1 WHERE value > 70"),
            "mission outer has 3 readings that are not the 3 of the log",
        ),
        (sql!("DELETE FROM readings WHERE value > 70"), "has 2 readings that are not the 3"),
        (
            sql!("DELETE FROM events WHERE type = 'mission_initialised'"),
            "mission outer is in the tables, but not in the log",
        ),
    ] {
        let fixture = lived();
        assert!(fixture.store.write(move |tx| tx.execute(statement, &[])).unwrap() > 0);
        let (ok, detail) = fold(&look(&fixture));
        assert!(!ok && detail.contains(words), "{}: {detail}", statement.postgres);
    }
    let fixture = lived();
    let gone = sql!("DELETE FROM missions");
    fixture.store.write(move |tx| tx.execute(gone, &[])).unwrap();
    let (_, detail) = fold(&look(&fixture));
    assert!(detail.contains("mission outer is in the log, but not in the tables"), "{detail}");
}

on_every_store!(
    the_view_carries_the_designs_columns,
    the_store_refuses_unknown_statuses_and_priorities,
    deleting_a_mission_deletes_its_parts,
);
on_every_lasting_store!(folding_the_log_gives_a_mission);
