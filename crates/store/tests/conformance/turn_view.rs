//! The view `turn_todos`: the turn design's own columns and words, its queries, its indexes.

use punchlist_core::command::{CancelTodo, CreateTodos, NewTodo, StartTodo};
use punchlist_core::text::{Body, Title};
use punchlist_core::{ListKind, Status};
use punchlist_store::{Dialect, sql};
use punchlist_testkit::{Backend, on_every_store};

use crate::fixture::Fixture;

/// T-1, T-5, T-6, X-2, D-9: the columns of the design; `priority` is the position, and
/// `completedAt` is set for completed and cancelled items.
fn the_view_carries_the_designs_columns(backend: Backend) {
    let fixture = Fixture::new(backend);
    let mut item = NewTodo::titled(Title::new("title").unwrap());
    item.description = Body::new("context").ok();
    item.completion_criteria = Body::new("criteria").ok();
    item.agent_type = Title::new("coder").ok();
    item.position = Some(4);
    let plain = NewTodo::titled(Title::new("plain").unwrap());
    fixture.run(CreateTodos { items: vec![item, plain] }, 2);
    let todos = fixture.todos();
    fixture.run(StartTodo { todo_id: todos[0].id, reason: None }, 3);
    let outcome = Some("not needed".to_owned());
    fixture.run(CancelTodo { todo_id: todos[1].id, outcome }, 4);
    let query = sql!(
        "SELECT id, \"conversationId\", \"turnId\", title, context, \"completionCriteria\", \
         \"agentType\", status, priority, outcome, \"createdAt\", \"startedAt\", \"completedAt\" \
         FROM turn_todos WHERE \"turnId\" = $1 ORDER BY priority"
    );
    let rows = fixture.read(move |tx| {
        tx.query(query, &["inner".into()], |row| {
            let mut cells = Vec::new();
            for column in 0..13 {
                let number = if column == 8 { Some(row.int(column)?.to_string()) } else { None };
                cells.push(match number {
                    Some(number) => Some(number),
                    None => row.opt_text(column)?,
                });
            }
            Ok(cells)
        })
    });
    let at = "2026-11-15T08:00:00.000000Z";
    let row = |cells: [Option<&str>; 13]| cells.map(|c| c.map(str::to_owned)).to_vec();
    let ids: Vec<String> = todos.iter().map(|t| t.id.to_string()).collect();
    let first = row([
        Some(&ids[0]),
        Some("outer"),
        Some("inner"),
        Some("title"),
        Some("context"),
        Some("criteria"),
        Some("coder"),
        Some("in_progress"),
        Some("4"),
        None,
        Some(at),
        Some(at),
        None,
    ]);
    let second = row([
        Some(&ids[1]),
        Some("outer"),
        Some("inner"),
        Some("plain"),
        Some(""),
        Some(""),
        None,
        Some("cancelled"),
        Some("5"),
        Some("not needed"),
        Some(at),
        None,
        Some(at),
    ]);
    assert_eq!(rows, [first, second]);
}

/// T-8: the view shows only turn lists.
fn other_lists_do_not_show_in_the_turn_view(backend: Backend) {
    for kind in ListKind::ALL {
        let fixture = Fixture::of(backend, kind);
        fixture.create(&["a"], 2);
        let count = fixture
            .read(|tx| tx.first(sql!("SELECT count(*) FROM turn_todos"), &[], |row| row.int(0)));
        assert_eq!(count, Some(i64::from(kind == ListKind::Turn)), "{kind}");
    }
}

/// T-3: both look-ups use an index and never scan all rows.
fn the_designs_two_look_ups_use_an_index(backend: Backend) {
    let fixture = Fixture::new(backend);
    if fixture.store.dialect() == Dialect::Postgres {
        // PostgreSQL scans a small table even if there is an index, so check that the indexes
        // exist.
        let names = fixture.read(|tx| {
            let query = sql!(
                "SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema() \
                 AND indexname IN ('lists_by_turn', 'lists_by_conversation', 'todos_by_list') \
                 ORDER BY 1"
            );
            tx.query(query, &[], |row| row.text(0))
        });
        assert_eq!(names, ["lists_by_conversation", "lists_by_turn", "todos_by_list"]);
        return;
    }
    for plan in [
        sql!(
            "EXPLAIN QUERY PLAN SELECT * FROM turn_todos WHERE turnId = 'a' AND status = 'pending'"
        ),
        sql!(
            "EXPLAIN QUERY PLAN SELECT * FROM turn_todos WHERE conversationId = 'c' AND turnId = 'a'"
        ),
    ] {
        let steps = fixture.read(move |tx| tx.query(plan, &[], |row| row.text(3)));
        assert!(steps.iter().all(|step| step.starts_with("SEARCH ")), "{steps:?}");
        assert!(steps.iter().any(|step| step.contains("todos_by_list")), "{steps:?}");
    }
}

/// T-2: a turn list has four statuses; the fifth cannot be reached.
fn a_new_turn_item_is_pending(backend: Backend) {
    let fixture = Fixture::new(backend);
    let mut item = NewTodo::titled(Title::new("a").unwrap());
    item.status = Status::Backlog;
    fixture.run(CreateTodos { items: vec![item] }, 2);
    assert_eq!(fixture.todos()[0].status, Status::Pending);
}

on_every_store!(
    the_view_carries_the_designs_columns,
    other_lists_do_not_show_in_the_turn_view,
    the_designs_two_look_ups_use_an_index,
    a_new_turn_item_is_pending,
);
