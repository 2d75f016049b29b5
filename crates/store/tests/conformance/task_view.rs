//! The view `tasks`: the plan design's indexes, and archived lists.

use punchlist_core::command::ArchiveList;
use punchlist_core::{ArchiveReason, ListKind};
use punchlist_store::{Dialect, sql};
use punchlist_testkit::{Backend, on_every_store};

use crate::fixture::Fixture;

/// O-5: there is an index by project and branch, by parent and by agent, on both databases.
fn the_designs_three_look_ups_have_an_index(backend: Backend) {
    let fixture = Fixture::of(backend, ListKind::Plan);
    let sqlite = sql!(
        "SELECT m.name || ': ' || group_concat(c.name, ', ') FROM sqlite_master AS m \
         JOIN pragma_index_info(m.name) AS c WHERE m.type = 'index' \
         AND m.name IN ('lists_by_scope', 'todos_by_parent', 'todos_by_assignee') \
         GROUP BY m.name ORDER BY m.name"
    );
    let postgres = sql!(
        "SELECT indexname || ': ' || substring(indexdef FROM '\\((.*?)\\)') FROM pg_indexes \
         WHERE schemaname = current_schema() \
         AND indexname IN ('lists_by_scope', 'todos_by_parent', 'todos_by_assignee') ORDER BY 1"
    );
    let statement = fixture.store.dialect().pick(sqlite, postgres);
    let indexes = fixture.read(move |tx| tx.query(statement, &[], |row| row.text(0)));
    assert_eq!(
        indexes,
        [
            "lists_by_scope: project_id, kind, scope_outer, scope_inner",
            "todos_by_assignee: assignee, status",
            "todos_by_parent: parent_id",
        ]
    );
    if fixture.store.dialect() == Dialect::Postgres {
        // PostgreSQL scans a small table even if there is an index.
        return;
    }
    for (plan, index) in [
        (
            sql!(
                "EXPLAIN QUERY PLAN SELECT * FROM tasks WHERE project = 'p' AND branch = 'main' \
                 ORDER BY created_at"
            ),
            "lists_by_scope",
        ),
        (sql!("EXPLAIN QUERY PLAN SELECT * FROM todos WHERE parent_id = 'x'"), "todos_by_parent"),
        (sql!("EXPLAIN QUERY PLAN SELECT * FROM todos WHERE assignee = 'x'"), "todos_by_assignee"),
    ] {
        let steps = fixture.read(move |tx| tx.query(plan, &[], |row| row.text(3)));
        assert!(steps.iter().any(|step| step.contains(index)), "{index}: {steps:?}");
        assert!(!steps.iter().any(|step| step.starts_with("SCAN ")), "{steps:?}");
    }
}

/// Q-O1: an archived list is in the tables, but not in the view.
fn an_archived_list_is_not_in_the_view(backend: Backend) {
    let fixture = Fixture::of(backend, ListKind::Plan);
    fixture.create(&["a", "b"], 2);
    let count = || {
        let shown = sql!("SELECT count(*) FROM tasks");
        fixture.read(move |tx| tx.first(shown, &[], |row| row.int(0)))
    };
    assert_eq!(count(), Some(2));
    fixture.run(ArchiveList { reason: ArchiveReason::ByHand, confirm: false }, 3);
    assert_eq!((count(), fixture.todos().len()), (Some(0), 2));
}

on_every_store!(the_designs_three_look_ups_have_an_index, an_archived_list_is_not_in_the_view);
