//! Rows: what was written is what is read, and the tables refuse invalid values.

use punchlist_core::authority::Action;
use punchlist_core::command::{
    CancelTodo, CompleteTodo, HoldTodo, NoteTodo, PromoteTodo, StartTodo,
};
use punchlist_core::deadline::Deadline;
use punchlist_core::evidence::Evidence;
use punchlist_core::text::Body;
use punchlist_core::todo::{Claim, Hold, HoldKind, Priority, SettledBy, Wish};
use punchlist_core::{
    AgentPath, Credential, ListKind, Role, Status, Tally, Time, Todo, TodoId, TodoKind, TokenId,
};
use punchlist_store::rows::lists::Lock;
use punchlist_store::{Error, ErrorKind, Load, Tx, sql};
use punchlist_testkit::{Backend, on_every_store};
use serde_json::json;

use crate::fixture::{Fixture, ids};

/// A todo with a value in every field.
fn full(id: TodoId, parent: &Todo, at: Time) -> Todo {
    let text = "emoji 🧰, right-to-left שלום, quote ' and \" and \\ and \n a line";
    Todo {
        id,
        list_id: parent.list_id,
        seq: Some(7),
        parent_id: Some(parent.id),
        kind: TodoKind::Criterion,
        title: text.into(),
        description: "d".repeat(65_536),
        justification: "j".into(),
        completion_criteria: "c".into(),
        agent_type: Some("researcher".into()),
        status: Status::Completed,
        priority: Priority::Critical,
        position: i64::MAX,
        phase: Some("phase".into()),
        deadline: Deadline::parse("2026-02-21"),
        origin_agent: AgentPath::parse("primary.subagents.x").unwrap(),
        external_id: Some("own-1".into()),
        assignee: AgentPath::parse("coder"),
        assigned_by_taking: true,
        claim: Some(Box::new(Claim {
            by: "root:primary".into(),
            at,
            outcome: Some("ok".into()),
            evidence: vec![Evidence::parse("commit:0123abc").unwrap()],
            agent: AgentPath::parse("primary.subagents.x"),
            proof: Some(Credential::Token(TokenId::from(ids(8).ulid()))),
            accepted_by_maker: true,
        })),
        hold: Some(Box::new(Hold {
            kind: HoldKind::Failed,
            reason: text.into(),
            at,
            by: "x".into(),
            conflicts_with: Some(TodoId::from(ids(9).ulid())),
            until: None,
        })),
        defer_until: Some(at.plus_seconds(5)),
        outcome: Some("done".into()),
        evidence: vec![Evidence::parse("note:ok").unwrap()],
        settled_by: Some(SettledBy { principal: "operator:ada".into(), role: Role::Operator }),
        ratified_at: Some(at),
        created_at: at.plus_seconds(-9),
        updated_at: at.plus_seconds(1),
        started_at: Some(at.plus_seconds(2)),
        settled_at: Some(at.plus_seconds(3)),
        removed_at: Some(at.plus_seconds(4)),
        related_pillars: vec!["onboarding".into()],
        wishes: vec![Wish {
            by: "owner:x".into(),
            at,
            action: Action::Promote,
            command: Box::new(PromoteTodo { todo_id: id, reason: Some(text.into()) }.into()),
        }],
        overdue_notified_for: Deadline::parse("2026-02-21"),
        archived_at: Some(at.plus_seconds(6)),
        after: vec![TodoId::from(ids(4).ulid()), TodoId::from(ids(5).ulid())],
    }
}

fn every_field_of_a_todo_comes_back(backend: Backend) {
    let fixture = Fixture::new(backend);
    let parent = fixture.create(&["parent"], 2)[0].clone();
    let todo = full(TodoId::from(ids(3).ulid()), &parent, fixture.now);
    let (list, written) = (fixture.list.id, todo.clone());
    fixture.store.write(move |tx| tx.insert_todo(&written, false)).unwrap();
    assert_eq!(fixture.read(move |tx| tx.todo(list, todo.id)), Some(todo.clone()));

    let changed = Todo { title: "changed".into(), claim: None, hold: None, ..todo };
    let written = changed.clone();
    fixture.store.write(move |tx| tx.update_todo(&written)).unwrap();
    assert_eq!(fixture.read(move |tx| tx.todo(list, changed.id)), Some(changed));
}

/// Whole lists are read without the columns that are usually empty, if all of them are. So each field
/// is also the only one with a value.
fn every_field_comes_back_with_its_list_even_alone(backend: Backend) {
    let fixture = Fixture::new(backend);
    let plain = fixture.create(&["plain"], 2)[0].clone();
    let full = json!(full(plain.id, &plain, fixture.now));
    let fields = full.as_object().unwrap().iter().filter(|(field, _)| *field != "id");
    let alone = fields.zip(100..).map(|((field, value), seed)| {
        let mut todo = json!(plain);
        todo["id"] = json!(TodoId::from(ids(seed).ulid()));
        todo[field] = value.clone();
        serde_json::from_value::<Todo>(todo).unwrap()
    });
    let written: Vec<Todo> = alone.collect();
    assert!(written.len() > 30, "{}", written.len());
    let expected = written.iter().chain([&plain]).map(|todo| (todo.id, todo.clone())).collect();
    let write =
        move |tx: &mut Tx<'_>| written.iter().try_for_each(|todo| tx.insert_todo(todo, false));
    fixture.store.write(write).unwrap();
    assert_eq!(fixture.snapshot(Load::All).todos, expected);
}

/// T-22: create, createBatch, findByTurn by one or several statuses, findById, update, and
/// countByStatus with zeros for absent statuses.
fn the_repository_offers_what_the_turn_design_asks_for(backend: Backend) {
    let fixture = Fixture::new(backend);
    let tally = fixture.snapshot(Load::Counts).tally;
    assert_eq!(tally, Tally::default());
    let todos = fixture.create(&["a", "b", "c", "d"], 2);
    fixture.run(StartTodo { todo_id: todos[1].id, reason: None }, 3);
    let outcome = Some("no".to_owned());
    fixture.run(CancelTodo { todo_id: todos[3].id, outcome }, 4);

    let titles = |todos: &[Todo]| todos.iter().map(|t| t.title.clone()).collect::<Vec<_>>();
    let list = fixture.list.id;
    let pending = fixture.read(move |tx| tx.todos_in(list, Status::Pending));
    assert_eq!(titles(&pending), ["a", "c"]);
    let open: Vec<Todo> = fixture.snapshot(Load::Open).todos.into_values().collect();
    assert_eq!(titles(&open), ["a", "b", "c"]);
    assert_eq!(titles(&fixture.todos()), ["a", "b", "c", "d"]);
    let (one, id) = (todos[2].clone(), todos[2].id);
    assert_eq!(fixture.read(move |tx| tx.todo(list, id)), Some(one));
    let expected = Tally { pending: 2, in_progress: 1, cancelled: 1, ..Tally::default() };
    let snapshot = fixture.snapshot(Load::Counts);
    assert_eq!((snapshot.tally, snapshot.last_position), (expected, Some(3)));
}

/// T-4, X-8: settling keeps the row.
fn rows_are_never_deleted_by_settling(backend: Backend) {
    let fixture = Fixture::new(backend);
    let todos = fixture.create(&["a", "b"], 2);
    let outcome = || Some("x".to_owned());
    fixture.run(CancelTodo { todo_id: todos[0].id, outcome: outcome() }, 3);
    let done = CompleteTodo {
        todo_id: todos[1].id,
        outcome: outcome(),
        evidence: vec![],
        metrics_impacted: vec![],
    };
    fixture.run(done, 4);
    let statuses: Vec<Status> = fixture.todos().iter().map(|t| t.status).collect();
    assert_eq!(statuses, [Status::Cancelled, Status::Completed]);
}

fn a_todo_of_another_list_is_not_found(backend: Backend) {
    let fixture = Fixture::new(backend);
    let todo = fixture.create(&["a"], 2)[0].clone();
    let mut other = fixture.list.clone();
    other.id = punchlist_core::ListId::from(ids(9).ulid());
    other.scope = punchlist_core::Scope::from_keys(ListKind::Turn, "outer".into(), "t2".into());
    let made = other.clone();
    fixture.store.write(move |tx| tx.put_list(&made)).unwrap();
    let found = fixture.read(move |tx| tx.snapshot(other.clone(), Load::Todo(todo.id)));
    assert_eq!(found.todos.len(), 0);
}

fn notes_are_numbered_and_kept_in_order(backend: Backend) {
    let fixture = Fixture::new(backend);
    let id = fixture.create(&["a"], 2)[0].id;
    for text in ["first", "second", "third"] {
        let text = Body::new(text).unwrap();
        fixture.run(NoteTodo { todo_id: id, text }, 3);
    }
    let notes = fixture.read(move |tx| tx.notes(id));
    let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(texts, ["first", "second", "third"]);
    assert_eq!((notes[0].author.as_str(), notes[0].at), ("primary", fixture.now));
}

/// M-16, M-17: an unknown status or priority cannot get into the table in any way.
fn the_tables_refuse_unknown_words(backend: Backend) {
    let fixture = Fixture::new(backend);
    fixture.create(&["a"], 2);
    let before = fixture.todos();
    for statement in [
        sql!("UPDATE todos SET status = 'blocked'"),
        sql!("UPDATE todos SET priority = 'urgent'"),
        sql!("UPDATE todos SET kind = 'epic'"),
        sql!("UPDATE lists SET kind = 'board'"),
        sql!("UPDATE todos SET list_id = 'nowhere'"),
    ] {
        let refused = fixture.store.write(move |tx| tx.execute(statement, &[]));
        assert!(refused.is_err(), "{statement:?}");
    }
    assert_eq!(fixture.todos(), before);
}

fn deleting_a_project_deletes_all_that_hangs_on_it(backend: Backend) {
    let fixture = Fixture::new(backend);
    let id = fixture.create(&["a"], 2)[0].id;
    fixture.run(NoteTodo { todo_id: id, text: Body::new("n").unwrap() }, 3);
    fixture.store.write(|tx| tx.execute(sql!("DELETE FROM projects"), &[])).unwrap();
    assert_eq!(fixture.todos(), []);
    assert_eq!(fixture.read(move |tx| tx.notes(id)), []);
}

fn a_list_is_found_by_its_scope_alone(backend: Backend) {
    for kind in ListKind::ALL {
        let fixture = Fixture::of(backend, kind);
        let (project, scope) = (fixture.list.project_id, fixture.list.scope.clone());
        let found = fixture.store.write(move |tx| tx.list(project, &scope, Lock::Row)).unwrap();
        assert_eq!(found.as_ref(), Some(&fixture.list));
        let recent = fixture.read(move |tx| tx.recent_lists(project, 5));
        assert_eq!(recent, [fixture.list]);
    }
}

fn a_hold_is_stored_beside_the_status(backend: Backend) {
    let fixture = Fixture::of(backend, ListKind::Issue);
    let id = fixture.create(&["a"], 2)[0].id;
    let reason = Body::new("waits for the key").unwrap();
    fixture.run(HoldTodo { todo_id: id, kind: HoldKind::Blocked, reason, until: None }, 3);
    let todo = fixture.todos()[0].clone();
    assert_eq!(todo.status, Status::Pending);
    assert_eq!(todo.hold.unwrap().reason, "waits for the key");
}

fn a_second_list_of_one_scope_is_a_conflict(backend: Backend) {
    let fixture = Fixture::new(backend);
    let mut twin = fixture.list.clone();
    twin.id = punchlist_core::ListId::from(ids(9).ulid());
    let refused: Result<(), Error> = fixture.store.write(move |tx| tx.put_list(&twin));
    assert_eq!(refused.unwrap_err().kind, ErrorKind::Conflict);
}

on_every_store!(
    every_field_of_a_todo_comes_back,
    every_field_comes_back_with_its_list_even_alone,
    the_repository_offers_what_the_turn_design_asks_for,
    rows_are_never_deleted_by_settling,
    a_todo_of_another_list_is_not_found,
    notes_are_numbered_and_kept_in_order,
    the_tables_refuse_unknown_words,
    deleting_a_project_deletes_all_that_hangs_on_it,
    a_list_is_found_by_its_scope_alone,
    a_hold_is_stored_beside_the_status,
    a_second_list_of_one_scope_is_a_conflict,
);
