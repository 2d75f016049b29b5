//! Tokens: what they prove, what they do not, and how the first one is created.

use punchlist_core::{AgentPath, Reach, Role, Span, Time, TokenId};
use punchlist_ops::error::TokenFault;
use punchlist_ops::follow::Follow;
use punchlist_ops::identity::{Facts, Terminal};
use punchlist_ops::{Envelope, Error, Proof};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

fn make(world: &World, input: Value) -> Value {
    world.call_in(&world.envelope(Role::Operator), "token_new", input).unwrap()
}

/// The envelope of a caller with this secret, as a surface would build it.
fn bearer(world: &World, secret: &str, facts: Facts) -> Result<Envelope, Error> {
    let (actor, proof) = world.ops.identify(facts, Some(secret))?;
    Ok(Envelope { actor, proof, ..world.envelope(Role::Root) })
}

fn fault(result: Result<Envelope, Error>) -> TokenFault {
    match result {
        Err(Error::BadToken { fault }) => fault,
        other => panic!("{other:?}"),
    }
}

/// P-28: the secret is shown once; the store keeps only its digest, and the log and the list
/// contain neither.
fn a_token_proves_its_role_and_its_secret_is_not_stored(backend: Backend) {
    let world = World::new(backend);
    let made = make(&world, json!({ "role": "lead", "agent": "boss", "expires": "12h" }));
    let secret = made["token"].as_str().unwrap();
    assert_eq!(secret.len(), "punch_".len() + 64);
    let envelope = bearer(&world, secret, Facts::default()).unwrap();
    assert_eq!(envelope.actor.role, Role::Lead);
    assert!(envelope.proof.is_token());
    assert_eq!(envelope.actor.principal, "lead:boss");
    let list = world.call_in(&world.envelope(Role::Operator), "token_list", json!({})).unwrap();
    assert_eq!(list["tokens"][0]["id"], made["id"]);
    assert_eq!(list["tokens"][0]["createdBy"], "operator:primary");
    let bare = secret.strip_prefix("punch_").unwrap();
    let log = world.log();
    assert_eq!(log[1]["type"], "token_issued");
    for text in [list.to_string(), json!(log).to_string()] {
        assert!(!text.contains(bare));
    }
}

/// The attack: a process that follows the log goes on reading after its token was revoked.
fn following_ends_with_its_token(backend: Backend) {
    let world = World::new(backend);
    let made = make(&world, json!({ "role": "root" }));
    let envelope = bearer(&world, made["token"].as_str().unwrap(), Facts::default()).unwrap();
    world.call("issue_create", json!({ "title": "before" })).unwrap();
    let mut follow = Follow::after(&world.ops, &envelope, None).unwrap();
    let operator = world.envelope(Role::Operator);
    world.call_in(&operator, "token_revoke", json!({ "id": made["id"] })).unwrap();
    world.call("issue_create", json!({ "title": "after", "forceNew": true })).unwrap();
    let error = follow.wait(&[], Span::seconds(20)).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("token_invalid", 4));
}

/// A revoked, expired, malformed or foreign token proves nothing.
fn an_invalid_token_proves_nothing(backend: Backend) {
    let world = World::new(backend);
    let made = make(&world, json!({ "role": "root" }));
    let secret = made["token"].as_str().unwrap().to_owned();
    let operator = world.envelope(Role::Operator);
    let revoke = || world.call_in(&operator, "token_revoke", json!({ "id": made["id"] })).unwrap();
    assert!(bearer(&world, &secret, Facts::default()).is_ok());
    revoke();
    let at = world.now;
    assert_eq!(fault(bearer(&world, &secret, Facts::default())), TokenFault::Revoked { at });
    // Revoking twice is not an error.
    assert_eq!(revoke()["token"]["revokedAt"], json!(at));

    for malformed in ["punch_", "hello", "punch_xyz", &secret[1..], &secret[..secret.len() - 1]] {
        assert_eq!(fault(bearer(&world, malformed, Facts::default())), TokenFault::Malformed);
    }
    let foreign = World::new(Backend::SqliteMemory);
    let theirs = make(&foreign, json!({ "role": "operator" }));
    let theirs = theirs["token"].as_str().unwrap();
    assert_eq!(fault(bearer(&world, theirs, Facts::default())), TokenFault::Unknown);

    // One second of real time is enough; the database's clock decides about expiry.
    let brief = make(&world, json!({ "role": "root", "expires": "1s" }));
    let brief = brief["token"].as_str().unwrap().to_owned();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let ended = loop {
        match bearer(&world, &brief, Facts::default()) {
            Ok(_) if std::time::Instant::now() < deadline => std::thread::yield_now(),
            result => break fault(result),
        }
    };
    assert!(matches!(ended, TokenFault::Expired { .. }));
}

/// `--as` upwards and `--agent` sideways: a caller can only narrow what its token proves.
fn a_bearer_cannot_reach_above_its_token(backend: Backend) {
    let world = World::new(backend);
    let made = make(&world, json!({ "role": "root", "agent": "coder" }));
    let secret = made["token"].as_str().unwrap();
    for role in [Role::Operator, Role::Lead, Role::Owner, Role::System] {
        let facts = Facts { carry: Some(role), terminal: Terminal::Person, ..Facts::default() };
        let error = bearer(&world, secret, facts).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4));
    }
    let beside = Facts { agent: AgentPath::parse("other"), ..Facts::default() };
    assert!(matches!(bearer(&world, secret, beside), Err(Error::AgentNotYours { .. })));
    let below = Facts { agent: AgentPath::parse("coder.subagents.x"), ..Facts::default() };
    assert_eq!(bearer(&world, secret, below).unwrap().actor.role, Role::Worker);
    // An operator's token may take any role, and the log keeps both names.
    let made = make(&world, json!({ "role": "operator", "agent": "ada" }));
    let facts = Facts { carry: Some(Role::Root), ..Facts::default() };
    let envelope = bearer(&world, made["token"].as_str().unwrap(), facts).unwrap();
    world.call_in(&envelope, "create_todo", json!({ "items": [{ "title": "x" }] })).unwrap();
    let last = world.log().pop().unwrap();
    assert_eq!((&last["actor"], &last["as"]), (&json!("operator:ada"), &json!("root")));
}

/// P-28: a call outside the token's reach is refused with the missing reach, and nothing changes.
fn a_narrowed_token_reaches_only_its_part(backend: Backend) {
    let world = World::new(backend);
    let plan = json!({ "items": [{ "title": "x" }] });
    let made = make(&world, json!({ "role": "root", "project": "test" }));
    let mut envelope = bearer(&world, made["token"].as_str().unwrap(), Facts::default()).unwrap();
    world.call_in(&envelope, "create_todo", plan.clone()).unwrap();
    envelope.project = "another".to_owned();
    let error = world.call_in(&envelope, "create_todo", plan.clone()).unwrap_err();
    assert_eq!(error.to_json()["error"]["missing"], "project `another`");
    assert_eq!((error.code(), error.meaning().exit), ("out_of_reach", 4));
    let error = world.call_in(&envelope, "event_list", json!({})).unwrap_err();
    assert_eq!(error.code(), "out_of_reach");

    let made = make(&world, json!({ "role": "root", "planFile": "docs/plan.md" }));
    let envelope = bearer(&world, made["token"].as_str().unwrap(), Facts::default()).unwrap();
    let plan_alone = Reach { plan_file: Some("docs/plan.md".into()), ..Reach::default() };
    assert_eq!(envelope.actor.reach.without_token(), plan_alone);
    for (name, input) in [("create_todo", plan), ("list_todo", json!({}))] {
        let error = world.call_in(&envelope, name, input).unwrap_err();
        assert_eq!(error.to_json()["error"]["missing"], "the whole project");
    }
}

/// P-28: a token for one issue sees that issue, its list, and no other.
fn a_token_for_one_issue_reaches_that_issue(backend: Backend) {
    let world = World::new(backend);
    for title in ["Alpha wants work", "Beta is something else"] {
        world.call("issue_create", json!({ "title": title })).unwrap();
    }
    let made = make(&world, json!({ "role": "root", "project": "test", "number": 2 }));
    let envelope = bearer(&world, made["token"].as_str().unwrap(), Facts::default()).unwrap();
    let shown = world.call_in(&envelope, "issue_show", json!({ "number": 2 })).unwrap();
    assert_eq!(shown["issue"]["title"], "Beta is something else");
    let taken = world.call_in(&envelope, "todo_next", json!({ "number": 2 })).unwrap();
    assert_eq!(taken["todo"], Value::Null);
    for (name, input, missing) in [
        ("issue_show", json!({ "number": 1 }), "issue 1"),
        ("todo_next", json!({ "number": 1 }), "issue 1"),
        ("issue_transition", json!({ "number": 1, "status": "triaged" }), "issue 1"),
        ("issue_list", json!({}), "the whole project"),
        ("issue_create", json!({ "title": "Gamma" }), "the whole project"),
    ] {
        let error = world.call_in(&envelope, name, input).unwrap_err();
        assert_eq!(error.to_json()["error"]["missing"], missing, "{name}");
    }
}

/// The first operator's token: created once, locally, which ends the bootstrap.
fn anybody_can_create_the_first_operator_token_but_no_second_one(backend: Backend) {
    let world = World::new(backend);
    let agent = world.envelope(Role::Root);
    let ask = |envelope: &Envelope, role: &str| {
        world.call_in(envelope, "token_new", json!({ "role": role }))
    };
    // Never for another role, and never for a caller with a token.
    assert_eq!(ask(&agent, "lead").unwrap_err().code(), "not_permitted");
    let id = TokenId::parse("01JCQ0000000000000000000AB").unwrap();
    let remote = Envelope { proof: Proof::Token(id), ..agent.clone() };
    assert_eq!(ask(&remote, "operator").unwrap_err().code(), "not_permitted");
    let first = ask(&agent, "operator").unwrap();
    let secret = first["token"].as_str().unwrap();
    assert_eq!(bearer(&world, secret, Facts::default()).unwrap().actor.role, Role::Operator);
    let error = ask(&agent, "operator").unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4));
}

/// A person at a terminal ends the bootstrap with any command, even one that only reads.
fn a_person_at_a_terminal_ends_the_bootstrap(backend: Backend) {
    let world = World::new(backend);
    let person = Envelope { proof: Proof::Terminal, ..world.envelope(Role::Operator) };
    world.call_in(&person, "status", json!({})).unwrap();
    let input = json!({ "role": "operator" });
    let error = world.call_in(&world.envelope(Role::Root), "token_new", input.clone()).unwrap_err();
    assert_eq!(error.code(), "not_permitted");
    world.call_in(&person, "token_new", input).unwrap();
}

/// Contract, Tokens: an issue without a project is the caller's project's.
fn an_issue_alone_is_one_of_the_callers_project(backend: Backend) {
    let world = World::new(backend);
    world.call("issue_create", json!({ "title": "a" })).unwrap();
    let made = make(&world, json!({ "role": "root", "number": 1 }));
    assert_eq!(made["reach"], json!({ "project": "test", "number": 1 }));
    assert_eq!(made.get("unknown"), None);
    let made = make(&world, json!({ "role": "root", "number": 7 }));
    assert_eq!(made["unknown"], json!(["issue #7 of `test`"]));
    let made = make(&world, json!({ "role": "root", "project": "api", "number": 3 }));
    assert_eq!(made["unknown"], json!(["project `api`"]));
}

/// A mistyped mission would make a token that reaches nothing.
fn a_mission_that_does_not_exist_yet_is_named(backend: Backend) {
    let world = World::new(backend);
    let lead = || make(&world, json!({ "role": "lead", "mission": "dx" }));
    assert_eq!(lead()["unknown"], json!(["mission `dx` of `test`"]));
    world.call("issue_create", json!({ "title": "a" })).unwrap();
    assert_eq!(lead()["unknown"], json!(["mission `dx` of `test`"]));
    let mission = json!({ "name": "DX", "pillars": [] });
    world.call_in(&world.envelope(Role::Operator), "mission_init", mission).unwrap();
    assert_eq!(lead().get("unknown"), None);
}

/// Contract, Context: a token's expiry is judged by the real clock, not by PUNCHLIST_NOW.
fn a_set_clock_does_not_judge_the_expiry_of_a_token(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    let later = Time::parse("2200-01-01T00:00:00Z").unwrap();
    let later = Envelope { now: later, ..operator.clone() };
    let input = json!({ "role": "root", "expires": "2199-01-01T00:00:00Z" });
    let made = world.call_in(&later, "token_new", input).unwrap();
    assert_eq!(made["expiresAt"], "2199-01-01T00:00:00.000000Z");
    let before = Envelope { now: Time::parse("2001-01-01T00:00:00Z").unwrap(), ..operator };
    let input = json!({ "role": "root", "expires": "2002-01-01T00:00:00Z" });
    let error = world.call_in(&before, "token_new", input).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("bad_value", 2));
}

fn bad_wishes_for_a_token_are_refused(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    for (input, code) in [
        (json!({ "role": "admin" }), "bad_value"),
        (json!({ "role": "root", "agent": "a b" }), "bad_value"),
        (json!({ "role": "root", "expires": "yesterday" }), "bad_value"),
        (json!({ "role": "root", "expires": "2020-01-01T00:00:00Z" }), "bad_value"),
        (json!({ "role": "root", "expires": "0s" }), "bad_value"),
        (json!({ "role": "owner", "pillar": "p" }), "missing_field"),
        // An empty limit is a mistake, not a token without limits.
        (json!({ "role": "operator", "agent": " " }), "missing_field"),
        (json!({ "role": "operator", "project": "" }), "missing_field"),
        (json!({ "role": "operator", "mission": " " }), "missing_field"),
        (json!({ "role": "operator", "planFile": "" }), "missing_field"),
        (json!({ "role": "operator", "session": "" }), "missing_field"),
        (json!({ "role": "operator", "expires": "" }), "missing_field"),
        (json!({ "role": "root", "number": 0, "project": "p" }), "bad_value"),
        (json!({}), "missing_field"),
    ] {
        let error = world.call_in(&operator, "token_new", input.clone()).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), (code, 2), "{input}");
    }
    let keyed = Envelope { idempotency_key: Some("k".into()), ..operator.clone() };
    let error = world.call_in(&keyed, "token_new", json!({ "role": "root" })).unwrap_err();
    assert_eq!(error.code(), "bad_value");
    for id in ["nonsense", "01JCQ0000000000000000000AB"] {
        let error = world.call_in(&operator, "token_revoke", json!({ "id": id })).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("unknown_token", 1));
    }
    let list = world.call_in(&operator, "token_list", json!({})).unwrap();
    assert_eq!(list, json!({ "tokens": [] }));
}

/// Contract, Context: under `tokens` nothing is answered, changed or logged without a token, whatever
/// the call itself would say: an answer, a refusal, a refusal that leaves a log entry, or nothing
/// that needs the store.
fn a_store_that_requires_tokens_refuses_every_call_without_one(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    world.call("issue_create", json!({ "title": "Before", "criteria": ["It works"] })).unwrap();
    let todo = world.plan(&["one"]).remove(0);
    let made = make(&world, json!({ "role": "operator" }));
    let bearer = bearer(&world, made["token"].as_str().unwrap(), Facts::default()).unwrap();
    world.call_in(&operator, "store_identity", json!({ "rule": "tokens" })).unwrap();
    let before = world.log();
    let nobody = |role| Envelope { proof: Proof::Nothing, ..world.envelope(role) };
    let (someone, root, worker) =
        (nobody(Role::Operator), nobody(Role::Root), nobody(Role::Worker));
    let keyed = Envelope { idempotency_key: Some("k".into()), ..root.clone() };
    let calls = [
        (&someone, "store_identity", json!({ "rule": "open" })),
        (&someone, "store_identity", json!({})),
        (&someone, "issue_show", json!({ "number": 1 })),
        (&someone, "issue_show", json!({ "number": 99 })),
        (&someone, "issue_comment", json!({ "number": 99, "text": "x" })),
        (&keyed, "issue_create", json!({ "title": "After", "forceNew": true })),
        (&root, "task_complete", json!({ "taskId": todo, "outcome": "x" })),
        (&worker, "todo_accept", json!({ "todoId": todo })),
        (&root, "issue_create", json!({ "titel": "mistyped" })),
        (&root, "todo_next", json!({ "planFile": "none.md" })),
        (&root, "project_list", json!({})),
        (&root, "event_list", json!({})),
    ];
    for (envelope, name, input) in &calls {
        let error = world.call_in(envelope, name, input.clone()).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("token_required", 4), "{name} {input}");
    }
    assert_eq!(world.log(), before);
    // A role that the caller may not take is not the reason: no role helps without a token.
    let facts = || Facts { carry: Some(Role::Operator), ..Facts::default() };
    let carried = world.ops.identify(facts(), None).unwrap_err();
    assert_eq!(carried.code(), "token_required");
    world.call_in(&bearer, "store_identity", json!({ "rule": "open" })).unwrap();
    assert_eq!(world.ops.identify(facts(), None).unwrap_err().code(), "not_permitted");
    let later = calls.map(|(envelope, name, input)| match world.call_in(envelope, name, input) {
        Ok(_) => "done",
        Err(error) => error.code(),
    });
    let refused = ["unknown_issue", "unknown_issue"];
    assert_eq!(later[..3], ["done"; 3]);
    assert_eq!(later[3..5], refused);
    assert_eq!(later[5..7], ["done"; 2]);
    assert_eq!(later[7..10], ["not_permitted", "unknown_field", "unknown_plan"]);
    assert_eq!(later[10..], ["done"; 2]);
}

on_every_store!(
    a_store_that_requires_tokens_refuses_every_call_without_one,
    a_token_proves_its_role_and_its_secret_is_not_stored,
    an_invalid_token_proves_nothing,
    following_ends_with_its_token,
    a_bearer_cannot_reach_above_its_token,
    a_narrowed_token_reaches_only_its_part,
    a_token_for_one_issue_reaches_that_issue,
    anybody_can_create_the_first_operator_token_but_no_second_one,
    a_person_at_a_terminal_ends_the_bootstrap,
    an_issue_alone_is_one_of_the_callers_project,
    a_mission_that_does_not_exist_yet_is_named,
    a_set_clock_does_not_judge_the_expiry_of_a_token,
    bad_wishes_for_a_token_are_refused,
);
