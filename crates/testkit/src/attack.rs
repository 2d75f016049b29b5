//! Callers with tokens that are narrowed to something else, and what every operation may answer them.
//!
//! The expected answer is derived: a role that the authority table never allows is not permitted,
//! and every other role reaches nothing outside its token. An operation in `HARMLESS` may answer,
//! but without data from outside the token. A new operation must refuse until somebody lists it
//! there.

use punchlist_core::{Actor, AgentPath, Ids, Reach, Role, TokenId};
use punchlist_ops::catalogue::Operation;
use punchlist_ops::{Envelope, Proof};
use punchlist_store::rows::tokens::Token;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::World;
use crate::examples::caller;

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
    ("plan_list", Shows::Nothing),
    ("status", Shows::Nothing),
    ("event_list", Shows::Nothing),
    ("digest", Shows::Nothing),
    ("audit_closes", Shows::Nothing),
    ("run_list", Shows::Nothing),
    ("delegation_list", Shows::Nothing),
    ("conversation_list", Shows::Nothing),
    ("mission_list", Shows::Nothing),
    ("token_list", Shows::Nothing),
    ("delegation_take", Shows::Nothing),
    ("session_start", Shows::ItsOwn),
    ("session_hook", Shows::ItsOwn),
    // A question, work or a run that is limited to the reach of its caller.
    ("checkpoint", Shows::ItsOwn),
    ("ask", Shows::ItsOwn),
    ("form", Shows::ItsOwn),
    ("permission_ask", Shows::ItsOwn),
    ("delegate", Shows::ItsOwn),
    ("run_start", Shows::ItsOwn),
    ("session_context", Shows::Nothing),
];

/// The codes of a refusal. They include the codes for missing things, which reveal nothing.
const REFUSED: [&str; 11] = [
    "not_permitted",
    "out_of_reach",
    "unknown_conversation",
    "unknown_delegation",
    "unknown_gate",
    "unknown_permission",
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
    /// Nothing: a permitted caller sees something in its place.
    Nothing,
    /// Only what the caller has just created.
    ItsOwn,
}

/// The reaches of the tokens. None covers anything that a working input names.
#[must_use]
pub fn elsewhere() -> Vec<Reach> {
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

#[must_use]
pub fn outsider(world: &World, operation: &Operation, role: Role, reach: &Reach) -> Envelope {
    let path = if role == Role::Worker { "outsider.subagents.w" } else { "outsider" };
    let agent = AgentPath::parse(path).expect("a path");
    let actor = Actor { reach: reach.clone(), fixed: true, ..Actor::new(role, agent) };
    let proof = Proof::Token(TokenId::parse("01JCQ0000000000000000000CD").expect("an id"));
    Envelope { actor, proof, ..caller(world, operation) }
}

/// The parts of an answer that describe the question and not the store.
const HEADING: [&str; 4] = ["project", "actor", "role", "since"];

/// Does the answer tell nothing about the store?
#[must_use]
pub fn is_empty(answer: &Value) -> bool {
    fn is_nothing(value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(false) => true,
            Value::Bool(true) => false,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.values().all(is_nothing),
        }
    }
    let fields = answer.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !HEADING.contains(&name.as_str())).all(|(_, value)| is_nothing(value))
}

/// Does the operation answer a narrowed token without showing anything?
#[must_use]
pub fn answers_with_nothing(operation: &Operation) -> bool {
    HARMLESS.contains(&(operation.name, Shows::Nothing))
}

/// The fault of this answer, if it has one.
#[must_use]
pub fn fault(operation: &Operation, role: Role, reach: &Reach, answer: &Answer) -> Option<String> {
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
        (Ok(answer), Some((_, Shows::Nothing))) => is_empty(answer),
    };
    let said = || format!("{} as {role} within {reach:?}: {answer:?}", operation.name);
    (!is_fine).then(said)
}

/// The log entries after a position, except for those that record a refused attempt.
#[must_use]
pub fn changes(world: &World, before: usize) -> Vec<Value> {
    fn text<'l>(line: &'l Value, field: &str) -> &'l str {
        line[field].as_str().unwrap_or_default()
    }
    let by_outsider = |line: &Value| text(line, "actor").contains("outsider");
    let is_change = |line: &Value| !text(line, "type").ends_with("_refused");
    let lines = world.log().into_iter().skip(before);
    lines.filter(|line| by_outsider(line) && is_change(line)).collect()
}

/// An answer, over any surface.
pub type Answer = Result<Value, punchlist_ops::Error>;

/// Creates a token in the store for the actor of this envelope. Returns its id and its secret.
#[must_use]
pub fn token_for(world: &World, envelope: &Envelope, number: u128) -> (TokenId, String) {
    let secret = format!("punch_{number:064x}");
    let digest: String =
        Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let id = TokenId::from(Ids::new(world.now, number).ulid());
    let token = Token {
        id,
        role: envelope.actor.role,
        agent: Some(envelope.actor.agent.clone()),
        reach: envelope.actor.reach.clone(),
        created_by: "operator".to_owned(),
        created_at: world.now,
        expires_at: None,
        revoked_at: None,
        used_at: None,
    };
    let store = world.ops.store().expect("a store");
    store.write(move |tx| tx.insert_token(&token, &digest)).expect("a token");
    (id, secret)
}
