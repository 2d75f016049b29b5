//! Folding the log gives the tables: there is no second projection.

use punchlist_core::command::{
    AssignTodo, CancelTodo, ClaimTodo, CompleteTodo, CreateTodos, DeferTodo, HoldTodo, NewTodo,
    ReviseTodo, StartTodo, UnholdTodo,
};
use punchlist_core::effect::Effect;
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::HoldKind;
use punchlist_core::{AgentPath, Event, ListKind, MetricId, Snapshot, apply};
use punchlist_store::Load;
use punchlist_store::rows::outbox::EVERYTHING;
use punchlist_testkit::{Backend, on_every_store};

use crate::fixture::Fixture;

/// A metric that is measured again.
const SPEED: &str = "01JCQ0000000000000000000AB";

pub(crate) fn play(fixture: &Fixture) {
    let kind = fixture.list.kind();
    let todos = fixture.create(&["a", "b", "c", "d"], 2);
    let outcome = || Some("because".to_owned());
    let reason = Body::new("waits").unwrap();
    let hold = HoldTodo { todo_id: todos[3].id, kind: HoldKind::Blocked, reason, until: None };
    fixture.run(hold, 3);
    fixture.run(UnholdTodo { todo_id: todos[3].id }, 4);
    fixture.run(DeferTodo { todo_id: todos[3].id, until: Some(fixture.now) }, 5);
    if kind != ListKind::Issue {
        fixture.run(StartTodo { todo_id: todos[0].id, reason: None }, 6);
    }
    let complete = CompleteTodo {
        todo_id: todos[0].id,
        outcome: outcome(),
        evidence: vec![],
        metrics_impacted: vec![MetricId::parse(SPEED).unwrap()],
    };
    fixture.run(complete, 7);
    fixture.run(CancelTodo { todo_id: todos[1].id, outcome: outcome() }, 8);
    let revise = ReviseTodo {
        todo_id: todos[2].id,
        title: Title::new("c, better").ok(),
        priority: None,
        position: Some(9),
        deadline: None,
        reason: None,
    };
    fixture.run(revise, 9);
    let mut new = NewTodo::titled(Title::new("last").unwrap());
    new.parent_id = (kind == ListKind::Plan).then_some(todos[2].id);
    fixture.run(CreateTodos { items: vec![new] }, 10);
    match kind {
        ListKind::Plan | ListKind::Pillar => {
            let assignee = AgentPath::primary();
            fixture.run(AssignTodo { todo_id: todos[2].id, assignee, is_known: true }, 11);
            if kind == ListKind::Pillar {
                // In lists where only items in progress can be completed, only those can be
                // claimed.
                fixture.run(StartTodo { todo_id: todos[2].id, reason: outcome() }, 13);
            }
            let claim = ClaimTodo {
                todo_id: todos[2].id,
                outcome: outcome(),
                evidence: vec![],
                clock: None,
            };
            fixture.run(claim, 12);
        }
        ListKind::Turn | ListKind::Session | ListKind::Issue => {}
    }
}

fn folding_the_log_gives_the_tables(backend: Backend) {
    for kind in ListKind::ALL {
        let fixture = Fixture::of(backend, kind);
        play(&fixture);
        let tables = fixture.snapshot(Load::All);
        let log = fixture.whole_log();
        let mut folded = Snapshot::empty(fixture.list.clone());
        for recorded in &log {
            let event = recorded.event().unwrap().unwrap();
            assert_eq!(event.type_name(), recorded.type_name);
            apply(&mut folded, &event, recorded.at);
        }
        assert_eq!(folded, tables, "{kind}");
        assert!(log.is_sorted_by(|a, b| a.seq < b.seq));
        assert!(log.iter().all(|e| e.aggregate == fixture.list.id.to_string()));
    }
}

fn events_and_effects_come_with_the_change(backend: Backend) {
    let fixture = Fixture::of(backend, ListKind::Pillar);
    play(&fixture);
    let work = fixture.store.write(|tx| tx.take_work(EVERYTHING, 60)).unwrap().unwrap();
    let id = fixture.todos()[0].id;
    let metric_id = MetricId::parse(SPEED).unwrap();
    assert_eq!(work.effect, Effect::CollectMetric { metric_id, todo_id: Some(id) });
    let completed =
        fixture.whole_log().into_iter().find(|e| e.type_name == "todo_completed").unwrap();
    assert!(matches!(completed.event().unwrap(), Some(Event::TodoCompleted(e)) if e.todo_id == id));
    assert_eq!(
        (completed.actor.as_str(), completed.cause.as_str(), completed.v, completed.at),
        ("operator:primary", "test", 1, fixture.now)
    );
}

on_every_store!(folding_the_log_gives_the_tables, events_and_effects_come_with_the_change);
