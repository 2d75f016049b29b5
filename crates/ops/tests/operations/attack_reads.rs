//! Reads of narrowed tokens in a store where most of what there is lies outside their reach, and
//! orders into the sessions of others.

use std::time::Duration;

use punchlist_core::{Actor, Reach, Role};
use punchlist_ops::catalogue::find;
use punchlist_ops::follow::Follow;
use punchlist_ops::{Context, Envelope, Proof, clock};
use punchlist_testkit::attack::outsider;
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

use crate::sessions::{bound, within};

/// A root's token for issue 1.
fn narrowed(world: &World) -> Envelope {
    let reach = Reach { number: Some(1), ..Reach::default() };
    let show = find("issue_show").unwrap();
    let context = Context::default();
    Envelope { context, ..outsider(world, show, Role::Root, &reach) }
}

/// 15.10: what a narrowed token does not reach takes no place in what it is shown.
fn what_is_out_of_reach_takes_no_place(backend: Backend) {
    let world = World::new(backend);
    world.call("issue_create", json!({ "title": "Mine" })).unwrap();
    let mut mine = narrowed(&world);
    let agent = mine.actor.agent.clone();
    mine.context.issue = Some(1);
    world.call_in(&mine, "todo", json!({ "action": "add", "items": ["Read"] })).unwrap();
    let session = world.call_in(&mine, "session_start", json!({})).unwrap();
    mine.context.session = session["session"]["id"].as_str().map(str::to_owned);
    world.call_in(&mine, "session_bind", json!({ "number": 1 })).unwrap();
    world.call_in(&mine, "ask", json!({ "question": "May I?" })).unwrap();
    for n in 0..12 {
        let markdown = format!("# Plan {n}\n- [ ] a\n");
        let plan = json!({ "planFile": format!("docs/{n}.md"), "markdown": markdown });
        world.call("plan_import", plan).unwrap();
        world.call("ask", json!({ "question": format!("Question {n}?") })).unwrap();
    }
    // From here on the log shows every event, also on PostgreSQL.
    let _ = world.log();
    // Gates are for the operator to see.
    let mut boss = mine.clone();
    boss.actor = Actor { reach: mine.actor.reach.clone(), ..Actor::new(Role::Operator, agent) };
    let shown = world.call_in(&boss, "status", json!({})).unwrap();
    assert_eq!((&shown["more"], &shown["plans"]), (&json!(false), &json!([])), "{shown}");
    let abouts = |rows: &Value, field: &str| -> Vec<Value> {
        rows.as_array().unwrap().iter().map(|row| row[field].clone()).collect()
    };
    assert_eq!(abouts(&shown["lists"], "about"), ["issue #1"], "{shown}");
    assert_eq!(abouts(&shown["waiting"], "text"), ["May I?"], "{shown}");
    let by_root = world.call_in(&mine, "status", json!({})).unwrap();
    assert_eq!((&by_root["lists"], &by_root["waiting"]), (&shown["lists"], &json!([])));
    let newest = world.call_in(&mine, "event_list", json!({ "limit": 1 })).unwrap();
    assert_eq!(newest["events"][0]["type"], "gate_opened", "{newest}");
    // A caller that reaches everything still sees the newest ten, and that there are more.
    let all = world.call_in(&world.envelope(Role::Operator), "status", json!({})).unwrap();
    assert_eq!((all["lists"].as_array().unwrap().len(), &all["more"]), (10, &json!(true)));
}

/// An event within reach names a thing that is not: its name is not told.
fn names_of_what_is_out_of_reach_are_not_told(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "Secret plans", &[]);
    bound(&world, "other", &[]);
    let session = within(&world, Role::Root, "Secret plans");
    world.call_in(&session, "ask", json!({ "question": "Which port?" })).unwrap();
    world.call_in(&session, "session_unbind", json!({})).unwrap();
    let number = world.call("issue_create", json!({ "title": "Secret" })).unwrap();
    let number = &number["issue"]["number"];
    world.call_in(&session, "session_bind", json!({ "number": number })).unwrap();
    let _ = world.log();
    let log = |envelope: &Envelope| {
        let input = json!({ "after": 0, "names": true });
        world.call_in(envelope, "event_list", input).unwrap()
    };
    let is_asked = |log: &Value| log["events"].to_string().contains("gate_opened");
    let (wide, narrow) = (log(&world.envelope(Role::Root)), log(&narrowed(&world)));
    assert!(is_asked(&wide) && is_asked(&narrow), "{narrow}");
    assert!(wide["names"].to_string().contains("Secret plans"), "{}", wide["names"]);
    assert!(!narrow["names"].to_string().contains("Secret plans"), "{}", narrow["names"]);
    // What it reaches has its name.
    assert!(narrow["names"].to_string().contains("#1"), "{}", narrow["names"]);
}

/// X-26, 15.4: the log is selected by the real time, whatever clock its writer set.
fn the_log_is_selected_by_the_real_time(backend: Backend) {
    let world = World::new(backend);
    let created = |hours: i64, title: &str| {
        let now = world.now.plus_seconds(hours * 3_600);
        let envelope = Envelope { now, ..world.envelope(Role::Root) };
        world.call_in(&envelope, "issue_create", json!({ "title": title })).unwrap();
    };
    created(1_000, "Earlier, dated later");
    let since = clock::now();
    for n in 0..3 {
        created(-1_000, &format!("Later, dated earlier {n}"));
    }
    let whole = world.log().len();
    let list = |input: Value| world.call("event_list", input).unwrap();
    let found = list(json!({ "since": since.to_string() }));
    let titles = found["events"].to_string();
    assert!(!titles.contains("Earlier") && titles.contains("Later, dated earlier 0"), "{titles}");
    // Page by page, the oldest first, and every entry shows that its clock was set.
    let first = list(json!({ "since": since.to_string(), "limit": 1 }));
    assert_eq!(first["events"][0], found["events"][0]);
    let rest = list(json!({ "since": since.to_string(), "after": first["nextCursor"] }));
    let (found, rest) = (found["events"].as_array().unwrap(), rest["events"].as_array().unwrap());
    assert_eq!((&found[1..], rest.len() + 1 < whole), (&rest[..], true));
    for event in found {
        assert_ne!(
            event["at"].as_str().unwrap()[..10],
            event["recordedAt"].as_str().unwrap()[..10]
        );
    }
    let none = list(json!({ "since": since.plus_seconds(3_600).to_string() }));
    assert_eq!((&none["events"], none.get("nextCursor")), (&json!([]), None));
    let newest = list(json!({ "since": since.to_string(), "before": found[1]["seq"] }));
    assert_eq!(newest["events"], json!(found[..1]));
}

/// 15.11: lead and owner do not delegate into the session of another.
fn nobody_delegates_into_the_session_of_another(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "s", &["A test covers it"]);
    let order = json!({ "type": "researcher", "mission": "Find out why.", "async": true });
    let before = world.log().len();
    for role in [Role::Lead, Role::Owner] {
        let refused = world.call_in(&within(&world, role, "s"), "delegate", order.clone());
        assert_eq!(refused.unwrap_err().code(), "not_permitted", "{role}");
    }
    let is_made = |line: &Value| line["type"] == "delegation_created";
    assert!(!world.log().iter().skip(before).any(is_made));
    // In its own session, and outside of any, work is delegated.
    world.call_in(&within(&world, Role::Root, "s"), "delegate", order.clone()).unwrap();
    for role in [Role::Lead, Role::Owner] {
        world.call_in(&world.envelope(role), "delegate", order.clone()).unwrap();
    }
}

on_every_store!(
    what_is_out_of_reach_takes_no_place,
    names_of_what_is_out_of_reach_are_not_told,
    the_log_is_selected_by_the_real_time,
    nobody_delegates_into_the_session_of_another,
);

/// Following goes on behind a whole page of what is out of reach, and does not take old events for
/// new ones.
#[test]
fn a_narrowed_follower_passes_over_what_it_does_not_reach() {
    let world = World::new(Backend::SqliteFile);
    world.call("issue_create", json!({ "title": "Mine" })).unwrap();
    let mine = Envelope { proof: Proof::Engine, ..narrowed(&world) };
    let mut from_now = Follow::after(&world.ops, &mine, None).unwrap();
    let mut from_start = Follow::after(&world.ops, &mine, Some(0)).unwrap();
    let known = from_start.next(Duration::ZERO).unwrap().len();
    assert!(known > 0);
    let tasks: String = (0..1_200).map(|n| format!("- [ ] task {n}\n")).collect();
    let plan = json!({ "planFile": "docs/long.md", "markdown": format!("# Long\n{tasks}") });
    world.call("plan_import", plan).unwrap();
    assert!(world.log().len() >= 1_000);
    let comment = json!({ "number": 1, "text": "Here I am." });
    world.call_in(&mine, "issue_comment", comment).unwrap();
    for follow in [&mut from_now, &mut from_start] {
        let heard = follow.next(Duration::from_secs(20)).unwrap();
        let causes: Vec<&str> = heard.iter().map(|event| event.cause.as_str()).collect();
        assert_eq!(causes, ["issue_comment"]);
    }
}
