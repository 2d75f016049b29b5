//! What needs a person's attention in `status`: metrics that miss their targets.

use punchlist_core::Role;
use punchlist_core::mission::Standing;
use punchlist_testkit::{Backend, World, developer_experience, on_every_store};
use serde_json::{Value, json};

const MISSION: &str = "developer-experience";

/// The newest reading decides, and a warning is not yet a miss. A paused mission needs nobody.
fn metrics_that_miss_their_targets_are_listed(backend: Backend) {
    let mut world = World::new(backend);
    world.mission(developer_experience(), None);
    let mut missed = |value: Option<i64>| {
        if let Some(value) = value {
            world.now = world.now.plus_seconds(60);
            let metric = "local-build-time";
            let input = json!({ "mission": MISSION, "metric": metric, "value": value });
            world.call_in(&world.envelope(Role::Lead), "metric_record", input).unwrap();
        } else {
            world.stand(MISSION, None, Standing::Paused);
        }
        let status = world.call_in(&world.envelope(Role::Operator), "status", json!({})).unwrap();
        let rows = status["offTarget"].as_array().cloned().unwrap_or_default();
        rows.iter().map(|row| (row["metric"].clone(), row["current"].clone())).collect::<Vec<_>>()
    };
    let none: Vec<(Value, Value)> = Vec::new();
    let build = |value: i64| vec![(json!("local-build-time"), json!(value))];
    assert_eq!(missed(Some(72)), none, "a warning");
    assert_eq!(missed(Some(120)), build(120));
    assert_eq!(missed(Some(50)), none, "on target again");
    assert_eq!(missed(Some(130)), build(130));
    assert_eq!(missed(None), none, "the mission is paused");
}

on_every_store!(metrics_that_miss_their_targets_are_listed);
