//! Hooks of a narrowed token that name the process of another's session. A process is only a word
//! that the caller says, so it gives no more than the token does.

use punchlist_core::{Reach, Role};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Context, Envelope};
use punchlist_testkit::attack::outsider;
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

use crate::sessions::{bound, within};

/// A root's token for one issue.
fn narrowed(world: &World, number: i64) -> Envelope {
    let reach = Reach { number: Some(number), ..Reach::default() };
    let hook = find("session_hook").unwrap();
    let context = Context::default();
    Envelope { context, ..outsider(world, hook, Role::Root, &reach) }
}

fn hook(world: &World, by: &Envelope, more: impl Into<Value>) -> Value {
    let (mut input, more) = (json!({ "host": "claude", "event": "start" }), more.into());
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.call_in(by, "session_hook", input).unwrap()
}

/// A caller that descends from this process.
fn below(by: &Envelope, process: &str) -> Envelope {
    let mut envelope = by.clone();
    envelope.context.processes = vec![process.to_owned()].into();
    envelope
}

/// The session of issue 1 fires its hooks from the process `p`.
fn world_with_a_victim(backend: Backend) -> World {
    let world = World::new(backend);
    bound(&world, "victim", &["The secret"]);
    bound(&world, "other", &["Mine"]);
    let root = world.envelope(Role::Root);
    hook(&world, &root, json!({ "event": "prompt", "externalId": "victim", "processes": ["p"] }));
    world
}

/// The session that is forked from is not told to a caller that does not reach it.
fn a_fork_of_what_is_out_of_reach_tells_nothing(backend: Backend) {
    let world = world_with_a_victim(backend);
    let fork = json!({ "source": "fork", "externalId": "fork", "processes": ["p"] });
    let told = hook(&world, &narrowed(&world, 2), fork);
    assert_eq!((&told["reason"], &told["text"]), (&json!("nothing_to_say"), &Value::Null));
    let fork = json!({ "source": "fork", "externalId": "fork 2", "processes": ["p"] });
    let told = hook(&world, &world.envelope(Role::Root), fork);
    assert!(told["text"].as_str().unwrap().contains("The secret"), "{told}");
}

/// Another's process stays with its session, whatever a narrowed token says about it.
fn the_process_of_another_session_is_not_taken(backend: Backend) {
    let world = world_with_a_victim(backend);
    let mine = narrowed(&world, 2);
    let steal = json!({ "source": "clear", "externalId": "thief", "processes": ["p", "mine"] });
    hook(&world, &mine, steal);
    let victim = below(&world.envelope(Role::Root), "p");
    let seen = world.call_in(&victim, "todo", json!({ "action": "view" })).unwrap();
    assert_eq!(seen["items"][0]["content"], "The secret");
    // A caller that only says that it descends from there finds no session, and is not told its id.
    let id = world.call_in(&victim, "session_show", json!({})).unwrap();
    let id = id["session"]["id"].as_str().unwrap().to_owned();
    for name in ["session_show", "session_end", "session_unbind", "drive_pause"] {
        let refused = world.call_in(&below(&mine, "p"), name, json!({})).unwrap_err();
        assert!(!refused.to_json().to_string().contains(&id), "{name}: {refused:?}");
    }
    // Its own process is its own, and leads to its own session.
    let shown = world.call_in(&below(&mine, "mine"), "session_show", json!({})).unwrap();
    assert_eq!(shown["session"]["externalId"], "thief");
}

/// A process of the same name in another project has its own session there.
fn a_process_of_another_project_keeps_its_session(backend: Backend) {
    let world = world_with_a_victim(backend);
    let elsewhere = Envelope { project: "elsewhere".to_owned(), ..world.envelope(Role::Root) };
    hook(&world, &elsewhere, json!({ "source": "clear", "externalId": "x", "processes": ["p"] }));
    let victim = below(&world.envelope(Role::Root), "p");
    let shown = world.call_in(&victim, "session_show", json!({})).unwrap();
    assert_eq!(shown["session"]["externalId"], "victim");
}

/// A session that was moved out of its starter's reach comes back without that issue.
fn a_resumed_session_is_not_bound_out_of_reach(backend: Backend) {
    let world = world_with_a_victim(backend);
    let (mine, operator) = (narrowed(&world, 2), world.envelope(Role::Operator));
    hook(&world, &mine, json!({ "externalId": "own", "processes": ["mine"] }));
    world.call_in(&within(&world, Role::Root, "victim"), "session_unbind", json!({})).unwrap();
    let bind = json!({ "session": "own", "number": 1 });
    world.call_in(&operator, "session_bind", bind).unwrap();
    world.call_in(&operator, "session_end", json!({ "session": "own" })).unwrap();
    let told = hook(&world, &mine, json!({ "source": "resume", "externalId": "own" }));
    assert_eq!(told["text"], Value::Null, "{told}");
    let shown = world.call_in(&mine, "session_show", json!({ "session": "own" })).unwrap();
    assert_eq!(shown["session"]["boundIssue"], Value::Null, "{shown}");
}

on_every_store!(
    a_fork_of_what_is_out_of_reach_tells_nothing,
    the_process_of_another_session_is_not_taken,
    a_process_of_another_project_keeps_its_session,
    a_resumed_session_is_not_bound_out_of_reach,
);
