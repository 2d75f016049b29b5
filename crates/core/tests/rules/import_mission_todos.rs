//! Importing items of a mission that was kept elsewhere: what each becomes.

use punchlist_core::command::{ImportMissionTodos, NewTodo, OldStatus, OldTodo};
use punchlist_core::select::ordered;
use punchlist_core::text::{Body, Title};
use punchlist_core::{Event, ListKind, Refusal, Role, Status, Time};

use crate::world::World;

fn old(status: OldStatus) -> OldTodo {
    let time = |text| Time::parse(text);
    let id = Some(format!("old-{}", status.name()));
    let item = NewTodo { external_id: id, ..NewTodo::titled(Title::new(status.name()).unwrap()) };
    OldTodo {
        item,
        status,
        outcome: Body::new("as told").ok(),
        created_at: time("2025-01-01T00:00:00Z"),
        started_at: time("2025-01-02T00:00:00Z"),
        completed_at: time("2025-01-03T00:00:00Z"),
    }
}

fn all(accept: bool) -> ImportMissionTodos {
    ImportMissionTodos { items: OldStatus::ALL.map(old).to_vec(), accept }
}

fn statuses(world: &World) -> Vec<(&str, Status, bool)> {
    let shown = ordered(&world.state);
    let mut shown: Vec<_> = shown
        .into_iter()
        .map(|todo| (todo.title.as_str(), todo.status, todo.claim.is_some()))
        .collect();
    shown.sort_unstable();
    shown
}

/// M-20, P-22: `blocked` becomes pending, without a hold; a completed item becomes a claim; the old
/// times stay.
#[test]
fn every_old_status_is_mapped() {
    let mut world = World::new(ListKind::Pillar);
    world.ok(Role::Operator, all(false));
    let expected = [
        ("backlog", Status::Backlog, false),
        ("blocked", Status::Pending, false),
        ("cancelled", Status::Cancelled, false),
        ("completed", Status::InProgress, true),
        ("in_progress", Status::InProgress, false),
        ("pending", Status::Pending, false),
    ];
    assert_eq!(statuses(&world), expected);
    assert!(world.state.todos.values().all(|todo| todo.hold.is_none()));
    let made = Time::parse("2025-01-01T00:00:00Z").unwrap();
    assert!(world.state.todos.values().all(|todo| todo.created_at == made));
    let begun = Time::parse("2025-01-02T00:00:00Z");
    let working = world.state.todos.values().find(|todo| todo.title == "in_progress").unwrap();
    assert_eq!(working.started_at, begun);
}

/// M-20: a second import changes nothing, whatever happened to the items meanwhile.
#[test]
fn items_imported_before_are_skipped() {
    let mut world = World::new(ListKind::Pillar);
    world.ok(Role::Operator, all(false));
    let again = world.ok(Role::Operator, all(true));
    assert_eq!((again.events.len(), again.warnings.len()), (0, 6));
}

/// M-13: limits do not cut off existing work; the limit here is three, with a margin of one.
#[test]
fn limits_do_not_cut_off_existing_work() {
    let mut world = World::new(ListKind::Pillar);
    let mut items = Vec::new();
    for n in 0..9 {
        let mut item = old(OldStatus::Pending);
        item.item.external_id = Some(n.to_string());
        items.push(item);
    }
    world.ok(Role::Operator, ImportMissionTodos { items, accept: false });
    assert_eq!(world.state.tally.active(), 9);
}

/// P-22: only the operator imports, and only with its consent claims are accepted at once.
#[test]
fn only_the_operator_imports_and_may_accept() {
    let mut world = World::new(ListKind::Pillar);
    for role in [Role::Lead, Role::Owner, Role::Root, Role::Worker] {
        let refusal = world.refused(role, all(false));
        assert!(matches!(refusal, Refusal::NotPermitted { .. }), "{role}: {refusal}");
    }
    let decision = world.ok(Role::Operator, all(true));
    let completed = decision.events.iter().filter(|e| matches!(e, Event::TodoCompleted(_)));
    assert_eq!(completed.count(), 1);
    assert!(statuses(&world).contains(&("completed", Status::Completed, true)));
    for kind in ListKind::ALL.into_iter().filter(|kind| *kind != ListKind::Pillar) {
        let refusal = World::new(kind).refused(Role::Operator, all(false));
        assert!(matches!(refusal, Refusal::NotPermitted { .. }), "{kind}: {refusal}");
    }
}
