//! A mission is created from its file and updated to match it: what is added, archived and kept.

use punchlist_core::conversation::{About, Channel};
use punchlist_core::mission::{
    InitMission, Initialised, LimitScope, MissionSpec, OverduePending, SetStanding, Settings,
    Standing, apply_mission,
};
use punchlist_core::{By, Decide, Ids, Mission, ProjectId, Refusal, Role, Time};
use serde_json::{Value, json};

use crate::world::{actor, decided};

pub(crate) fn now() -> Time {
    Time::parse("2026-11-15T08:00:00Z").unwrap()
}

fn project() -> ProjectId {
    ProjectId::from(Ids::new(now(), 9).ulid())
}

fn spec(file: Value) -> MissionSpec {
    let spec: MissionSpec = serde_json::from_value(file).unwrap();
    assert_eq!(spec.faults(), []);
    spec
}

fn init_at(file: Value, existing: Option<&Mission>, at: Time) -> Initialised {
    let command =
        InitMission { spec: spec(file), directory: Some("project".into()), only_missing: false };
    let mut ids = Ids::new(at, 1);
    command
        .decide((project(), existing), By { actor: &actor(Role::Operator), now: at, ids: &mut ids })
        .unwrap()
}

fn init(file: impl Into<Value>, existing: Option<&Mission>) -> Initialised {
    init_at(file.into(), existing, now().plus_seconds(if existing.is_some() { 60 } else { 0 }))
}

/// The mission that these tests use: `outer`, with the pillar `inner` and another.
pub(crate) fn mission() -> Mission {
    let file =
        json!({ "name": "outer", "pillars": [{ "name": "inner" }, { "name": "Onboarding" }] });
    init(file, None).mission
}

fn file() -> Value {
    json!({
        "name": "Developer Experience", "description": "why", "cadence": "0 9 * * 1",
        "pillars": [
            {
                "name": "Build Performance",
                "metrics": [{ "name": "Local build time" }, { "name": "Cache hits" }],
                "strategies": [{ "description": "measure" }, { "description": "cut" }],
            },
            { "name": "Onboarding" },
        ],
    })
}

/// M-52, M-53: three kinds of chats, with what they belong to; created together with new parts.
#[test]
fn chats_are_created_once_with_new_parts() {
    let made = init(file(), None);
    let Mission { id, pillars, conversation_id, .. } = &made.mission;
    let about = |pillar: Option<usize>| {
        let pillar = pillar.map(|n| (pillars[n].id, pillars[n].slug.clone()));
        Some(About { mission_id: *id, mission_slug: "developer-experience".into(), pillar })
    };
    let chats: Vec<_> = made
        .conversations
        .iter()
        .map(|c| (c.id, c.channel, c.title.as_str(), c.about.clone()))
        .collect();
    let (build, welcome) = (&pillars[0], &pillars[1]);
    assert_eq!(
        chats,
        [
            (*conversation_id, Channel::Mission, "Developer Experience", about(None)),
            (build.conversation_id, Channel::Pillar, "Build Performance", about(Some(0))),
            (
                build.todos_conversation_id,
                Channel::PillarTodo,
                "[TODOs] Build Performance",
                about(Some(0))
            ),
            (welcome.conversation_id, Channel::Pillar, "Onboarding", about(Some(1))),
            (
                welcome.todos_conversation_id,
                Channel::PillarTodo,
                "[TODOs] Onboarding",
                about(Some(1))
            ),
        ]
    );
    assert_eq!(init(file(), Some(&made.mission)).conversations, []);
    let mut more = file();
    more["pillars"].as_array_mut().unwrap().push(json!({ "name": "Docs" }));
    let titles: Vec<String> =
        init(more, Some(&made.mission)).conversations.into_iter().map(|c| c.title).collect();
    assert_eq!(titles, ["Docs", "[TODOs] Docs"]);
}

/// M-53: the same file again changes nothing: no event, no new time.
#[test]
fn the_same_file_again_changes_nothing() {
    let made = init(file(), None);
    assert_eq!(made.changes.len(), 3, "{:?}", made.changes);
    let again = init(file(), Some(&made.mission));
    assert_eq!((again.changes, again.decision.events), (vec![], vec![]));
    assert_eq!(again.mission, made.mission);
}

/// A part removed from the file is archived with all it has; a part that returns is the same as
/// before.
#[test]
fn a_removed_part_is_archived_and_a_returned_one_is_the_same() {
    let made = init(file(), None).mission;
    let mut less = file();
    less["pillars"] = json!([{
        "name": "Build Performance", "description": "new words",
        "metrics": [{ "name": "Cache hits" }],
        "strategies": [{ "description": "cut", "status": "completed" }],
    }]);
    let cut = init(less, Some(&made));
    assert_eq!(cut.changes, ["updated pillar `build-performance`", "archived pillar `onboarding`"]);
    let [build, welcome] = &cut.mission.pillars[..] else { panic!("{cut:?}") };
    assert_eq!((build.id, welcome.id), (made.pillars[0].id, made.pillars[1].id));
    assert_eq!((build.status, welcome.status), (Standing::Active, Standing::Archived));
    let metrics: Vec<_> =
        build.metrics.iter().map(|m| (m.slug.as_str(), m.archived_at.is_some())).collect();
    assert_eq!(metrics, [("cache-hits", false), ("local-build-time", true)]);
    assert_eq!(build.strategies.len(), 1);
    assert_eq!(build.strategies[0].id, made.pillars[0].strategies[1].id, "the same words");
    assert!(cut.mission.metric("local-build-time").is_none(), "it is not measured any more");
    let takes = |mission: &Mission, slug: &str| mission.takes_work(slug).map(|p| p.slug.clone());
    assert!(matches!(takes(&cut.mission, "onboarding"), Err(Refusal::MissionArchived { .. })));

    let back = init(file(), Some(&cut.mission)).mission;
    assert_eq!(back.pillars[1].status, Standing::Active);
    let ids =
        |mission: &Mission| mission.metrics().map(|(_, metric)| metric.id).collect::<Vec<_>>();
    assert_eq!(ids(&back), ids(&made));
    assert_eq!(takes(&back, "onboarding"), Ok("onboarding".to_owned()));
}

/// A paused mission or pillar stays paused unless the file sets a status, and so does its cadence.
#[test]
fn a_file_without_a_status_keeps_the_status_of_a_mission() {
    let mut state = Some(init(file(), None).mission);
    assert_eq!(state.as_ref().unwrap().next_cycle_at, Time::parse("2026-11-16T09:00:00Z"));
    for pillar in [None, Some("onboarding".to_owned())] {
        let command = SetStanding { pillar, status: Standing::Paused };
        let mission = state.clone().unwrap();
        let decision = decided(&command, &mission, &actor(Role::Operator), now()).unwrap();
        assert!(apply_mission(&mut state, &decision.events[0], now()));
    }
    let paused = state.unwrap();
    assert_eq!((paused.status, paused.next_cycle_at), (Standing::Paused, None));
    let mut changed = file();
    changed["description"] = json!("other words");
    let kept = init(changed.clone(), Some(&paused)).mission;
    assert_eq!((kept.status, kept.pillars[1].status), (Standing::Paused, Standing::Paused));
    assert_eq!(kept.next_cycle_at, None);
    changed["status"] = json!("active");
    let resumed = init(changed, Some(&paused)).mission;
    assert_eq!(resumed.next_cycle_at, Time::parse("2026-11-16T09:00:00Z"));
}

/// M-2, M-3, M-4: the limits of a file without `todo`, with an empty one, and with settings.
#[test]
fn missing_settings_of_the_todo_block_have_defaults() {
    let with = |todo: Value| init(json!({ "name": "m", "todo": todo }), None).mission.todo;
    let usual = init(json!({ "name": "m" }), None).mission.todo;
    assert_eq!(usual, Settings::default());
    assert_eq!((usual.limits.active, usual.limits.backlog), (10, 50));
    assert_eq!(usual.limits.active_soft_margin, 0);
    assert_eq!((usual.archive_after_days, usual.backlog_stale_days), (30, 30));
    assert_eq!(
        (usual.limit_scope, usual.overdue_pending),
        (LimitScope::Mission, OverduePending::Demote)
    );
    assert!(!usual.auto_cancel_stale_backlog && !usual.owner_may_rebalance);
    assert_eq!(with(json!({})), usual);
    assert_eq!(with(json!(null)), usual);
    let said = with(json!({ "activeTodoLimit": 5, "limitScope": "pillar" }));
    assert_eq!((said.limits.active, said.limits.backlog), (5, 50));
    assert_eq!(said.limit_scope, LimitScope::Pillar);
    let stored = serde_json::to_value(&said).unwrap();
    assert_eq!((&stored["activeTodoLimit"], &stored["backlogTodoLimit"]), (&json!(5), &json!(50)));
}

/// Only the operator creates and changes missions.
#[test]
fn nobody_else_makes_or_changes_a_mission() {
    for role in Role::ALL {
        let command = InitMission { spec: spec(file()), directory: None, only_missing: false };
        let mut ids = Ids::new(now(), 1);
        let decided = command
            .decide((project(), None), By { actor: &actor(role), now: now(), ids: &mut ids });
        assert_eq!(decided.is_ok(), role == Role::Operator, "{role}");
    }
}
