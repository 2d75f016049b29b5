//! Archiving, restoring and purging plans: who may, when, and what is left.

use punchlist_core::command::{ArchiveList, ImportPlan};
use punchlist_core::event::{ListArchived, ListPurged, ListUnarchived};
use punchlist_core::plan::{ArchivedPlan, PurgePlans, Tree, parse};
use punchlist_core::{ArchiveReason, Event, Refusal, Role, Snapshot, Span, apply};

use crate::plan_world::{PLAN_FILE, assign, complete, grown, id};
use crate::world::{World, actor, decided};

const BY_HAND: ArchiveList = ArchiveList { reason: ArchiveReason::ByHand, confirm: false };
const FINISHED: ArchiveList = ArchiveList { reason: ArchiveReason::Finished, confirm: false };
const MARKDOWN: &str = "# Auth\n- [ ] a\n- [ ] b\n";

fn archived() -> World {
    let mut world = grown(MARKDOWN);
    world.ok(Role::Root, BY_HAND);
    world
}

/// Q-O1: one command, two reasons. Finishing a plan with open tasks must be confirmed.
#[test]
fn a_plan_is_archived_by_hand_at_any_time_and_finished_when_all_is_settled() {
    for (settled, command, open) in [
        (&[][..], BY_HAND, None),
        (&["a"][..], BY_HAND, None),
        (&[][..], FINISHED, Some(3)),
        (&["a", "b"][..], FINISHED, Some(1)),
        (&["a", "b", "Auth"][..], FINISHED, None),
        (&["a"][..], ArchiveList { confirm: true, ..FINISHED }, None),
    ] {
        let mut world = grown(MARKDOWN);
        settled.iter().for_each(|title| complete(&mut world, title));
        let tasks = world.state.todos.clone();
        if let Some(open) = open {
            assert_eq!(world.refused(Role::Root, command), Refusal::OpenTasks { open });
            assert_eq!(world.state.list.archived_at, None);
            continue;
        }
        let decision = world.ok(Role::Root, command.clone());
        let (scope, archived_at) = (world.state.list.scope.clone(), world.now);
        let event = ListArchived { scope, archived_at, reason: command.reason };
        assert_eq!(decision.events, [Event::from(event)]);
        assert_eq!(world.state.list.archived_at, Some(world.now));
        assert_eq!(world.state.todos, tasks, "nothing is settled by that");
    }
}

#[test]
fn only_roles_that_keep_the_plan_archive_it() {
    for role in Role::ALL {
        let mut world = grown(MARKDOWN);
        let may = [Role::Operator, Role::Root].contains(&role);
        assert_eq!(world.run(&actor(role), BY_HAND).is_ok(), may, "{role}");
    }
}

#[test]
fn an_archived_plan_cannot_be_changed() {
    let mut world = archived();
    let at = world.state.list.archived_at.unwrap();
    let refusal = Refusal::Archived { at };
    assert_eq!(world.refused(Role::Root, BY_HAND), refusal);
    let todo_id = id(&world, "a");
    let note = punchlist_core::text::Body::new("x").unwrap();
    let command = punchlist_core::command::NoteTodo { todo_id, text: note };
    assert_eq!(world.refused(Role::Operator, command), refusal);
}

/// Importing its file restores a plan as it was, then changes it to match the file: no second tree.
#[test]
fn importing_the_file_restores_a_plan_with_all_its_work() {
    let mut world = grown(MARKDOWN);
    assign(&mut world, "a", "backend");
    complete(&mut world, "a");
    let before = world.state.todos.clone();
    world.ok(Role::Root, BY_HAND);
    let root = parse(MARKDOWN, "stem").unwrap().root;
    let decision = world.ok(Role::Root, ImportPlan { root, next_seq: 9 });
    let scope = world.state.list.scope.clone();
    assert_eq!(decision.events, [Event::from(ListUnarchived { scope })]);
    assert_eq!((world.state.list.archived_at, &world.state.todos), (None, &before));
}

/// Q-O1, Q-O2: only old plans are purged, only by the operator, and only if confirmed; the refusal
/// lists what would be deleted.
#[test]
fn only_the_operator_purges_and_the_refusal_lists_what_would_be_deleted() {
    let (young, mut old) = (archived(), archived());
    old.state.list.archived_at = Some(young.now.plus_seconds(-86_400));
    let plan = |world: &World| {
        let list = world.state.list.clone();
        ArchivedPlan { list, tasks: 3, last_seq: Some(7) }
    };
    let mut in_view = plan(&old);
    in_view.list.archived_at = None;
    let all = [plan(&young), plan(&old), in_view];
    let command = PurgePlans { older_than: Span::days(1), confirm: true };
    for role in Role::ALL {
        let decided = decided(&command, &all, &actor(role), young.now);
        assert_eq!(decided.is_ok(), role == Role::Operator, "{role}");
    }
    let operator = actor(Role::Operator);
    let purged = decided(&command, &all, &operator, young.now).unwrap();
    let scope = old.state.list.scope;
    assert_eq!(purged.len(), 1);
    assert_eq!(purged[0].event, ListPurged { scope, todos: 3, last_seq: Some(7) }.into());
    let unsure = PurgePlans { confirm: false, ..command };
    let refusal = decided(&unsure, &all, &operator, young.now).unwrap_err().refusal;
    assert_eq!(refusal.code(), "unconfirmed");
    let said = refusal.to_string();
    assert!(said.contains("3 tasks of 1 plan") && said.contains(PLAN_FILE), "{said}");
    let now = PurgePlans { older_than: Span::seconds(0), ..command };
    assert_eq!(decided(&now, &all, &operator, young.now).unwrap().len(), 2);
}

/// After the purge event the log gives an empty list that remembers its highest number.
#[test]
fn a_purged_list_is_empty_and_remembers_its_last_number() {
    let mut world = archived();
    let scope = world.state.list.scope.clone();
    let purged = ListPurged { scope, todos: 3, last_seq: Some(7) };
    apply(&mut world.state, &purged.into(), world.now);
    assert_eq!(world.state, Snapshot::empty(world.state.list.clone()));
    assert_eq!(world.state.list.last_seq, Some(7));
    assert!(Tree::of(&world.state).is_empty());
    let root = parse(MARKDOWN, "stem").unwrap().root;
    world.ok(Role::Root, ImportPlan { root, next_seq: 8 });
    assert_eq!((world.state.list.archived_at, world.state.todos.len()), (None, 3));
}
