//! Every operation, called by every role with a token that is narrowed to something else.
//!
//! The expected answer is derived: a role that the authority table never allows is not permitted,
//! and every other role reaches nothing outside its token. An operation in [`HARMLESS`] may answer,
//! but without data from outside the token. A new operation must refuse until somebody lists it
//! there.

use punchlist_core::{Actor, AgentPath, Reach, Role, TokenId};
use punchlist_ops::catalogue::{CATALOGUE, Effect, Operation};
use punchlist_ops::{Envelope, Proof};
use punchlist_testkit::{Backend, World};
use serde_json::{Value, json};

use crate::every_operation::{caller, working_input};

/// Operations that answer even if the token reaches nothing in this world, and what their answer
/// may contain.
const HARMLESS: &[(&str, Shows)] = &[
    ("authority_show", Shows::NothingOfTheStore),
    ("project_export", Shows::NothingOfTheStore),
    // The name of the project it is in.
    ("project_list", Shows::ItsOwn),
    ("overview", Shows::ItsOwn),
    // A link for a browser whose reach is that of the caller.
    ("sign_in_link", Shows::ItsOwn),
    ("plan_list", Shows::EmptyLists),
    ("status", Shows::EmptyLists),
    ("event_list", Shows::EmptyLists),
    ("digest", Shows::EmptyLists),
    ("audit_closes", Shows::EmptyLists),
    ("run_list", Shows::EmptyLists),
    ("delegation_list", Shows::EmptyLists),
    ("conversation_list", Shows::EmptyLists),
    ("mission_list", Shows::EmptyLists),
    ("token_list", Shows::EmptyLists),
    ("delegation_take", Shows::EmptyLists),
    ("session_start", Shows::ItsOwn),
    ("session_hook", Shows::ItsOwn),
    // A question, work or a run that is limited to the reach of its caller.
    ("checkpoint", Shows::ItsOwn),
    ("ask", Shows::ItsOwn),
    ("form", Shows::ItsOwn),
    ("permission_ask", Shows::ItsOwn),
    ("delegate", Shows::ItsOwn),
    ("run_start", Shows::ItsOwn),
    ("session_context", Shows::EmptyLists),
];

/// The codes of a refusal. They include the codes for missing things, which reveal nothing.
const REFUSED: [&str; 10] = [
    "not_permitted",
    "out_of_reach",
    "unknown_conversation",
    "unknown_delegation",
    "unknown_gate",
    "unknown_run",
    "unknown_session",
    "unknown_todo",
    "unbound",
    "agent_at_work",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// Data that is the same on every store.
    NothingOfTheStore,
    /// Lists without an entry.
    EmptyLists,
    /// Only what the caller has just created.
    ItsOwn,
}

/// The reaches of the tokens. None covers anything that a working input names.
pub(crate) fn elsewhere() -> Vec<Reach> {
    let text = |text: &str| Some(text.to_owned());
    let none = Reach::default();
    vec![
        Reach { project: text("elsewhere"), ..none.clone() },
        Reach { mission: text("elsewhere"), ..none.clone() },
        Reach { mission: text("elsewhere"), pillar: text("elsewhere"), ..none.clone() },
        Reach { project: text("test"), number: Some(999), ..none.clone() },
        Reach { plan_file: text("elsewhere.md"), ..none.clone() },
        Reach { session: text("01JCQ0000000000000000000AB"), ..none },
    ]
}

pub(crate) fn outsider(
    world: &World,
    operation: &Operation,
    role: Role,
    reach: &Reach,
) -> Envelope {
    let path = if role == Role::Worker { "outsider.subagents.w" } else { "outsider" };
    let agent = AgentPath::parse(path).unwrap();
    let actor = Actor { reach: reach.clone(), fixed: true, ..Actor::new(role, agent) };
    let proof = Proof::Token(TokenId::parse("01JCQ0000000000000000000CD").unwrap());
    Envelope { actor, proof, ..caller(world, operation) }
}

/// Are all lists in the answer empty?
fn is_empty(answer: &Value) -> bool {
    match answer {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        _ => true,
    }
}

/// The fault of this answer, if it has one.
pub(crate) fn fault(
    operation: &Operation,
    role: Role,
    reach: &Reach,
    answer: &Answer,
) -> Option<String> {
    let shows = HARMLESS.iter().find(|(name, _)| *name == operation.name);
    let is_fine = match (answer, shows) {
        (Err(error), _) if !operation.access.allows(role) => {
            ["not_permitted", "out_of_reach"].contains(&error.code()) && error.meaning().exit == 4
        }
        (Err(error), _) => REFUSED.contains(&error.code()),
        (Ok(_), None) => false,
        (Ok(_), Some((_, Shows::NothingOfTheStore | Shows::ItsOwn))) => {
            reach.project.as_deref().is_none_or(|project| project == "test")
        }
        (Ok(answer), Some((_, Shows::EmptyLists))) => is_empty(answer),
    };
    let said = || format!("{} as {role} within {reach:?}: {answer:?}", operation.name);
    (!is_fine).then(said)
}

/// The log entries after a position, except for those that record a refused attempt.
pub(crate) fn changes(world: &World, before: usize) -> Vec<Value> {
    // On PostgreSQL, earlier events of the world may become visible only now.
    let by_outsider = |line: &Value| line["actor"].as_str().unwrap().contains("outsider");
    let is_change = |line: &Value| !line["type"].as_str().unwrap().ends_with("_refused");
    let lines = world.log(0).into_iter().skip(before);
    lines.filter(|line| by_outsider(line) && is_change(line)).collect()
}

pub(crate) type Answer = Result<Value, punchlist_ops::Error>;

fn no_role_gets_around_the_table_or_its_reach(backend: Backend) {
    let mut faults = Vec::new();
    for operation in CATALOGUE {
        let world = World::new(backend);
        let input = working_input(&world, operation);
        for role in Role::ALL {
            for reach in elsewhere() {
                let before = world.log(0).len();
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

/// Callers with the right role and a token that is not narrowed get an answer. So the refusals in
/// the test above are caused by the token and not by the input.
#[test]
fn the_attacked_inputs_work_for_permitted_callers() {
    for operation in CATALOGUE {
        let world = World::new(Backend::SqliteMemory);
        let input = working_input(&world, operation);
        let answer = world.ops.call(operation, &caller(&world, operation), input);
        assert!(answer.is_ok(), "{}: {answer:?}", operation.name);
    }
}

/// A token for one issue works on that issue as far as its role allows.
#[test]
fn a_narrowed_token_works_within_its_reach() {
    let world = World::new(Backend::SqliteMemory);
    world.call("issue_create", json!({ "title": "Mine" })).unwrap();
    let reach = Reach { number: Some(1), ..Reach::default() };
    let show = punchlist_ops::catalogue::find("issue_show").unwrap();
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
    let show = punchlist_ops::catalogue::find("issue_show").unwrap();
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
    let show = punchlist_ops::catalogue::find("conversation_show").unwrap();
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
