//! Every operation, called by every role with a token that is narrowed to something else. What it
//! may answer is in `punchlist_testkit::attack`.

use std::sync::Arc;

use punchlist_core::{Reach, Role, RunId};
use punchlist_ops::catalogue::{CATALOGUE, Effect, find};
use punchlist_ops::config::{Origin, Roster};
use punchlist_ops::{Envelope, Proof};
use punchlist_testkit::attack::{
    Answer, answers_with_nothing, changes, elsewhere, fault, is_empty, outsider,
};
use punchlist_testkit::examples::{caller, working_input};
use punchlist_testkit::{Backend, World};
use serde_json::{Value, json};

fn no_role_gets_around_the_table_or_its_reach(backend: Backend) {
    let mut faults = Vec::new();
    for operation in CATALOGUE {
        let world = World::new(backend);
        let input = working_input(&world, operation);
        for role in Role::ALL {
            for reach in elsewhere() {
                let before = world.log().len();
                let envelope = outsider(&world, operation, role, &reach);
                let answer = world.ops.call(operation, &envelope, input.clone());
                faults.extend(fault(operation, role, &reach, &answer));
                let may_change = operation.effect == Effect::Write && answer.is_ok();
                let changed = changes(&world, before);
                if !may_change && !changed.is_empty() {
                    faults.push(format!("{} as {role} changed {changed:?}", operation.name));
                }
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

/// Callers with the right role and a token that is not narrowed get an answer, and see something
/// where a narrowed token sees nothing. So the refusals and the empty answers in the test above are
/// caused by the token and not by the input or an empty store.
#[test]
fn the_attacked_inputs_work_for_permitted_callers() {
    for operation in CATALOGUE {
        let world = World::new(Backend::SqliteMemory);
        let input = working_input(&world, operation);
        let me = caller(&world, operation);
        let answer = world.ops.call(operation, &me, input.clone());
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error:?}", operation.name));
        // Not every role that may ask sees something.
        let by_others = Role::ALL.into_iter().filter(|role| operation.access.allows(*role));
        let mut by_others = by_others.map(|role| {
            let envelope = Envelope { actor: world.envelope(role).actor, ..me.clone() };
            world.ops.call(operation, &envelope, input.clone())
        });
        let is_told = !answers_with_nothing(operation)
            || !is_empty(&answer)
            || by_others.any(|answer| answer.is_ok_and(|answer| !is_empty(&answer)));
        assert!(is_told, "{} has nothing to hide: {answer}", operation.name);
    }
}

/// The calls of a run, as its model could make them: they get no further than the caller that
/// started the run.
#[test]
fn no_run_gets_around_the_table_or_its_reach() {
    let (mut faults, mut tried) = (Vec::new(), 0);
    for operation in CATALOGUE {
        let world = World::new(Backend::SqliteMemory);
        let input = working_input(&world, operation);
        for role in Role::ALL {
            for reach in elsewhere() {
                let starter = outsider(&world, operation, role, &reach);
                let Some((agent, run, epoch)) = run_of(&world, &starter) else { continue };
                let before = world.log().len();
                let record = |answer: &Value| (answer.clone(), Vec::new());
                let system = world.envelope(Role::System);
                let (by, held) = ((&agent, &system), (run, epoch));
                let called = world.ops.call_in_run(operation, by, held, input.clone(), record);
                let answer: Answer = called.and_then(|call| call.map(|(answer, _)| answer));
                let answer = answer.map(|answer| without_own(answer, run));
                faults.extend(fault(operation, agent.actor.role, &reach, &answer));
                let may_change = operation.effect == Effect::Write && answer.is_ok();
                let changed = changes(&world, before);
                if !may_change && !changed.is_empty() {
                    faults.push(format!("{} in a run changed {changed:?}", operation.name));
                }
                tried += 1;
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
    assert!(tried > CATALOGUE.len() * 5, "{tried}");
}

/// The answer without what the caller did, and what is about its run: a run sees itself.
fn without_own(mut answer: Value, run: RunId) -> Value {
    let own = ["outsider".to_owned(), run.to_string()];
    for items in answer.as_object_mut().into_iter().flatten().filter_map(|(_, v)| v.as_array_mut())
    {
        items.retain(|item| !own.iter().any(|own| item.to_string().contains(own)));
    }
    answer
}

/// Starts a run, if this caller may, and takes it. Returns the envelope of its agent.
fn run_of(world: &World, starter: &Envelope) -> Option<(Envelope, RunId, i64)> {
    let mut start = Envelope { context: punchlist_ops::Context::default(), ..starter.clone() };
    let agents = "[agents.outsider]\nmodel = \"scripted:x\"";
    start.agents = Roster::default().read(agents, Origin::User).unwrap().into();
    let started = world.call_in(&start, "run_start", json!({ "prompt": "Go." })).ok()?;
    let run = started["run"]["id"].as_str().and_then(RunId::parse).unwrap();
    let system = Envelope { agents: Arc::clone(&start.agents), ..world.envelope(Role::System) };
    let taken = world.call_in(&system, "run_take", json!({ "run": run.to_string() })).unwrap();
    let look = world.ops.look_at_run(&system, run, 10, None).unwrap();
    let mut agent = Envelope { actor: look.run.actor(), proof: Proof::Run(run), ..starter.clone() };
    agent.context.run = Some(run);
    Some((agent, run, taken["epoch"].as_i64().unwrap()))
}

/// A token for one issue works on that issue as far as its role allows.
#[test]
fn a_narrowed_token_works_within_its_reach() {
    let world = World::new(Backend::SqliteMemory);
    world.call("issue_create", json!({ "title": "Mine" })).unwrap();
    let reach = Reach { number: Some(1), ..Reach::default() };
    let show = find("issue_show").unwrap();
    let mut envelope = outsider(&world, show, Role::Root, &reach);
    envelope.context = punchlist_ops::Context::default();
    world.call_in(&envelope, "issue_comment", json!({ "number": 1, "text": "hello" })).unwrap();
    let session = world.call_in(&envelope, "session_start", json!({})).unwrap();
    envelope.context.session = session["session"]["id"].as_str().map(str::to_owned);
    world.call_in(&envelope, "session_bind", json!({ "number": 1 })).unwrap();
    let set = json!({ "action": "set", "items": ["Read", "Write"] });
    world.call_in(&envelope, "todo", set).unwrap();
    let shown = world.call_in(&envelope, "issue_show", json!({ "number": 1 })).unwrap();
    assert_eq!(shown["steps"].as_array().unwrap().len(), 2);
    let log = world.call_in(&envelope, "event_list", json!({})).unwrap();
    assert!(log["events"].as_array().unwrap().len() > 4, "{log}");
}

/// A session without an issue can be used only with the token that started it; another token of the
/// same agent cannot read its chat.
#[test]
fn an_unbound_session_is_only_usable_by_its_starter() {
    let world = World::new(Backend::SqliteMemory);
    for title in ["Mine to work on", "A secret one"] {
        world.call("issue_create", json!({ "title": title })).unwrap();
    }
    let show = find("issue_show").unwrap();
    let wide = Reach { project: Some("test".to_owned()), ..Reach::default() };
    let narrow = Reach { number: Some(1), ..wide.clone() };
    let bearer = |reach: &Reach| {
        let mut envelope = outsider(&world, show, Role::Root, reach);
        envelope.context = punchlist_ops::Context::default();
        envelope
    };
    let (wide, narrow) = (bearer(&wide), bearer(&narrow));
    let started = world.call_in(&wide, "session_start", json!({ "externalId": "x" })).unwrap();
    let (session, chat) = (&started["session"]["id"], &started["session"]["conversationId"]);
    world.call_in(&wide, "session_bind", json!({ "session": session, "number": 2 })).unwrap();
    let post = json!({ "conversationId": chat, "text": "the secret" });
    world.call_in(&wide, "conversation_post", post).unwrap();
    world.call_in(&wide, "session_unbind", json!({ "session": session })).unwrap();
    for (name, input, code) in [
        ("conversation_show", json!({ "conversationId": chat }), "unknown_conversation"),
        (
            "conversation_post",
            json!({ "conversationId": chat, "text": "planted" }),
            "unknown_conversation",
        ),
        ("session_show", json!({ "session": session }), "unknown_session"),
        ("session_end", json!({ "session": session }), "unknown_session"),
        ("session_start", json!({ "externalId": "x" }), "out_of_reach"),
    ] {
        let refused = world.call_in(&narrow, name, input).unwrap_err();
        assert_eq!(refused.code(), code, "{name}");
    }
    let listed = world.call_in(&narrow, "conversation_list", json!({})).unwrap();
    assert_eq!(listed["conversations"], json!([]));
}

/// A token for one pillar cannot read the mission's chat, which shows items of other pillars.
#[test]
fn a_token_for_a_pillar_cannot_read_the_missions_chat() {
    let world = World::new(Backend::SqliteMemory);
    world.mission(punchlist_testkit::developer_experience(), None);
    let operator = world.envelope(Role::Operator);
    let slug = "developer-experience";
    let status = world.call_in(&operator, "mission_status", json!({ "mission": slug })).unwrap();
    let chat = json!({ "conversationId": status["mission"]["conversationId"] });
    let text = |text: &str| Some(text.to_owned());
    let mission = Reach { mission: text(slug), ..Reach::default() };
    let pillar = Reach { pillar: text("build-performance"), ..mission.clone() };
    let show = find("conversation_show").unwrap();
    let lead = |reach: &Reach| outsider(&world, show, Role::Lead, reach);
    world.call_in(&lead(&mission), "conversation_show", chat.clone()).unwrap();
    let refused = world.call_in(&lead(&pillar), "conversation_show", chat).unwrap_err();
    assert_eq!(refused.code(), "unknown_conversation");
}

mod sqlite {
    #[test]
    fn no_role_gets_around_the_table_or_its_reach() {
        super::no_role_gets_around_the_table_or_its_reach(punchlist_testkit::Backend::SqliteMemory);
    }
}

mod postgres {
    #[test]
    fn no_role_gets_around_the_table_or_its_reach() {
        super::no_role_gets_around_the_table_or_its_reach(punchlist_testkit::Backend::Postgres);
    }
}
