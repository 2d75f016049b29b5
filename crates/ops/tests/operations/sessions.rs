//! Sessions and binding: one pointer to an issue, moved by permitted callers, and nothing else
//! changes.

use std::time::{Duration, Instant};

use punchlist_core::{Actor, AgentPath, Refusal, Role};
use punchlist_ops::{Envelope, Error};
use punchlist_store::sql;
use punchlist_testkit::{Backend, World, on_every_lasting_store, on_every_store};
use serde_json::{Value, json};

const NOW: &str = "2026-11-15T08:00:00.000000Z";

/// A caller of this role inside a session.
pub(crate) fn within(world: &World, role: Role, session: &str) -> Envelope {
    let mut envelope = world.envelope(role);
    envelope.context.session = Some(session.to_owned());
    envelope
}

/// A session with the host's id `session`, bound to a new issue with these criteria.
pub(crate) fn bound(world: &World, session: &str, criteria: &[&str]) -> i64 {
    let operator = world.envelope(Role::Operator);
    let title = format!("work of {session}");
    let new = json!({ "title": title, "criteria": criteria });
    let made = world.call_in(&operator, "issue_create", new).unwrap();
    let number = made["issue"]["number"].as_i64().unwrap();
    let start = json!({ "title": session, "externalId": session });
    world.call_in(&world.envelope(Role::Root), "session_start", start).unwrap();
    let bind = json!({ "session": session, "number": number });
    world.call_in(&world.envelope(Role::Root), "session_bind", bind).unwrap();
    number
}

fn shown(world: &World, number: i64) -> Value {
    world.call("issue_show", json!({ "number": number })).unwrap()
}

/// criteria in the text of an item stay text, also in a session whose issue has criteria of
/// its own; those are items, and only they are signed off.
fn criteria_in_a_text_do_not_become_items(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &["A test covers it"]);
    let me = within(&world, Role::Root, "s");
    let plan = json!({ "items": [{ "title": "Measure", "completionCriteria": "a table" }] });
    world.call_in(&me, "create_todo", plan).unwrap();
    let listed = world.call_in(&me, "list_todo", json!({})).unwrap();
    let items = listed["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["completionCriteria"]), (1, &json!("a table")));
    let issue = shown(&world, number);
    let criteria = issue["criteria"].as_array().unwrap();
    assert_eq!((criteria.len(), &criteria[0]["content"]), (1, &json!("A test covers it")));
    assert_eq!(issue["steps"], json!([]));
}

/// The agent of a session is the one that acts in it, never the person who started it.
fn the_agent_of_a_session_is_who_acted_last(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    let new = json!({ "title": "Fix it", "criteria": ["ok"] });
    world.call_in(&operator, "issue_create", new).unwrap();
    let sent = world.call_in(&operator, "session_send_to_agent", json!({ "number": 1 })).unwrap();
    let id = sent["session"]["id"].as_str().unwrap().to_owned();
    let seen = || {
        let session = world.call("session_show", json!({ "session": id })).unwrap();
        let issue = shown(&world, 1);
        let listed = world.call("issue_list", json!({})).unwrap();
        let all = [
            &session["session"]["agent"],
            &issue["sessions"][0]["agent"],
            &issue["issue"]["worker"],
            &listed["issues"][0]["worker"],
        ];
        assert!(all.iter().take(2).all(|one| one == &all[0]), "{all:?}");
        (all[0].clone(), all[2].clone(), all[3].clone())
    };
    assert_eq!(seen(), (Value::Null, Value::Null, Value::Null), "nobody has begun");
    let mut coder = within(&world, Role::Root, &id);
    coder.actor = Actor::new(Role::Root, AgentPath::parse("coder").unwrap());
    let done = json!({ "action": "done", "content": "ok" });
    world.call_in(&coder, "todo", done).unwrap();
    let is_coder = json!("root:coder");
    assert_eq!(seen(), (is_coder.clone(), is_coder.clone(), is_coder.clone()));
    world.call_in(&operator, "issue_comment", json!({ "number": 1, "text": "Go on." })).unwrap();
    assert_eq!(seen().0, is_coder, "a person is not an agent");
    world.call_in(&operator, "session_end", json!({ "session": id })).unwrap();
    assert_eq!(seen(), (is_coder, Value::Null, Value::Null), "an ended session keeps its agent");
}

/// A session starts with all its fields, is found by its host's id, and is not created twice (K-9:
/// it has no mode).
fn a_session_is_started_once_for_a_host(backend: Backend) {
    let world = World::new(backend);
    let start = json!({ "title": "Fix it", "host": "claude", "externalId": "abc" });
    let made = world.call("session_start", start.clone()).unwrap();
    let session = &made["session"];
    let expected = json!({
        "id": session["id"], "title": "Fix it", "state": "active", "boundIssue": null,
        "conversationId": session["conversationId"], "host": "claude", "externalId": "abc",
        "ungoverned": true,
        "startedBy": "root:primary", "agent": "root:primary", "createdAt": NOW, "updatedAt": NOW, "endedAt": null,
    });
    assert_eq!(*session, expected);
    assert_eq!(world.call("session_start", start).unwrap(), made);
    for named in ["abc", session["id"].as_str().unwrap()] {
        assert_eq!(world.call("session_show", json!({ "session": named })).unwrap(), made);
    }
    let listed = world.call("session_list", json!({ "state": "active" })).unwrap();
    assert_eq!(listed, json!({ "sessions": [expected] }));
    let unknown = world.call("session_show", json!({ "session": "xyz" })).unwrap_err();
    assert_eq!((unknown.code(), unknown.meaning().exit), ("unknown_session", 1));
    let none = world.call("session_show", json!({})).unwrap_err();
    assert_eq!(none.code(), "missing_context");
}

/// K-1, K-3, K-4, K-5, K-58, Q-K5: binding changes the pointer and the assignment; no item changes
/// or is lost, and the next session sees the same list.
fn binding_moves_a_pointer_and_nothing_else(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "one", &["it works"]);
    let one = within(&world, Role::Root, "one");
    let set = json!({ "action": "set", "items": ["read", "# Build", "fix", "test"] });
    world.call_in(&one, "todo", set).unwrap();
    world.call_in(&one, "todo", json!({ "action": "done", "content": "read" })).unwrap();
    let note = json!({ "action": "note", "content": "fix", "text": "see RFC 9457" });
    let before = world.call_in(&one, "todo", note).unwrap();
    let issue = shown(&world, number);
    let id = issue["sessions"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(issue["issue"]["assignment"], json!(format!("session:{id}")));
    assert_eq!(issue["issue"]["status"], "open", "K-58");

    world.call("session_unbind", json!({ "session": "one" })).unwrap();
    let after = shown(&world, number);
    assert_eq!(after["issue"]["assignment"], Value::Null);
    assert_eq!((&after["steps"], &after["criteria"]), (&issue["steps"], &issue["criteria"]));
    let out = world.call_in(&one, "todo", json!({ "action": "view" })).unwrap_err();
    assert_eq!(out.code(), "unbound");

    world.call("session_start", json!({ "externalId": "two" })).unwrap();
    world.call("session_bind", json!({ "session": "two", "number": number })).unwrap();
    let two = within(&world, Role::Root, "two");
    let again = world.call_in(&two, "todo", json!({ "action": "view" })).unwrap();
    assert_eq!((&again["items"], &again["markdown"]), (&before["items"], &before["markdown"]));
    let sessions = shown(&world, number)["sessions"].clone();
    let titles: Vec<&Value> =
        sessions.as_array().unwrap().iter().map(|s| &s["externalId"]).collect();
    assert_eq!(titles, [&json!("one"), &json!("two")], "both have worked on it");

    // Unbinding does not change an assignment that belongs to another session by now.
    let bind = json!({ "session": "one", "number": number, "takeOver": true });
    world.call_in(&world.envelope(Role::Operator), "session_bind", bind).unwrap();
    let assigned = shown(&world, number)["issue"]["assignment"].clone();
    assert_eq!(assigned, json!(format!("session:{id}")));
    world.call("session_unbind", json!({ "session": "two" })).unwrap();
    assert_eq!(shown(&world, number)["issue"]["assignment"], assigned);
}

/// K-2, D-27: one active session per issue. A second is refused with the holder's name, and only
/// the operator can take over. An issue of another project is not found.
fn one_session_at_a_time_works_on_an_issue(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "one", &[]);
    world.call("session_start", json!({ "externalId": "two" })).unwrap();
    for (role, take_over) in [(Role::Root, false), (Role::Root, true), (Role::Operator, false)] {
        let bind = json!({ "session": "two", "number": number, "takeOver": take_over });
        let error = world.call_in(&world.envelope(role), "session_bind", bind).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("issue_held", 1));
        assert!(error.to_string().contains("`one`"), "{error}");
    }
    let bind = json!({ "session": "two", "number": number, "takeOver": true });
    world.call_in(&world.envelope(Role::Operator), "session_bind", bind).unwrap();
    let one = world.call("session_show", json!({ "session": "one" })).unwrap();
    assert_eq!(one["session"]["boundIssue"], Value::Null);
    let view = json!({ "action": "view" });
    let error = world.call_in(&within(&world, Role::Root, "one"), "todo", view).unwrap_err();
    assert_eq!(error.code(), "unbound");

    let mut other = world.envelope(Role::Root);
    other.project = "other".to_owned();
    world.call_in(&other, "session_start", json!({ "externalId": "three" })).unwrap();
    let bind = json!({ "session": "three", "number": number });
    let error = world.call_in(&other, "session_bind", bind).unwrap_err();
    assert_eq!(error.code(), "unknown_issue");
}

/// K-2 under a race: if two sessions bind at once, exactly one gets the issue.
fn of_two_concurrent_binds_one_wins(backend: Backend) {
    let world = World::new(backend);
    for round in 0..5 {
        let title = format!("issue {round}");
        let made = world.call("issue_create", json!({ "title": title, "forceNew": true })).unwrap();
        let number = made["issue"]["number"].clone();
        let names = [format!("a{round}"), format!("b{round}")];
        for name in &names {
            world.call("session_start", json!({ "externalId": name })).unwrap();
        }
        let bind = |name: &String| {
            let input = json!({ "session": name, "number": number });
            world.call("session_bind", input)
        };
        let answers: Vec<_> = std::thread::scope(|scope| {
            let threads = names.each_ref().map(|name| scope.spawn(|| bind(name)));
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let won = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(won, 1, "{answers:?}");
        let lost = answers.into_iter().find_map(Result::err).unwrap();
        assert_eq!(lost.code(), "issue_held");
    }
}

/// K-7: a new session with the issue's title, bound to it, whose first message is the operator's
/// text and the hint; completely or not at all.
fn an_issue_is_sent_to_an_agent_in_one_step(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    world.call_in(&operator, "issue_create", json!({ "title": "Log in fails" })).unwrap();
    let send = json!({ "number": 1, "message": "Start with the tests." });
    let sent = world.call_in(&operator, "session_send_to_agent", send.clone()).unwrap();
    let session = &sent["session"];
    assert_eq!((&session["title"], &session["boundIssue"]), (&json!("Log in fails"), &json!(1)));
    let show = json!({ "conversationId": session["conversationId"] });
    let chat = world.call("conversation_show", show).unwrap();
    let messages = chat["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1);
    let text = messages[0]["text"].as_str().unwrap();
    assert!(text.starts_with("Start with the tests.\n\n") && text.contains("#1"), "{text}");
    assert_eq!((&messages[0]["role"], &messages[0]["kind"]), (&json!("user"), &json!("text")));
    let again = world.call_in(&operator, "session_send_to_agent", send).unwrap_err();
    assert_eq!(again.code(), "issue_held");
    let sessions = world.call("session_list", json!({})).unwrap();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "the refused one left nothing");
}

/// K-8: an issue is created from an unbound session and bound: both or neither.
fn a_session_is_promoted_in_one_step(backend: Backend) {
    let world = World::new(backend);
    world.call("issue_create", json!({ "title": "Log in fails on Safari" })).unwrap();
    world.call("session_start", json!({ "externalId": "s" })).unwrap();
    let promote = |title: &str| {
        world.call("session_promote", json!({ "session": "s", "title": title, "criteria": ["ok"] }))
    };
    assert_eq!(promote("Log in fails on Safari!").unwrap_err().code(), "look_alike");
    let shown = world.call("session_show", json!({ "session": "s" })).unwrap();
    assert_eq!(shown["session"]["boundIssue"], Value::Null);
    let promoted = promote("The build is slow").unwrap();
    assert_eq!(promoted["session"]["boundIssue"], 2);
    assert_eq!(
        promoted["issue"]["assignment"],
        json!(format!("session:{}", promoted["session"]["id"].as_str().unwrap()))
    );
    let view = world.call_in(&within(&world, Role::Root, "s"), "todo", json!({ "action": "view" }));
    assert_eq!(view.unwrap()["items"][0]["content"], "ok");
    assert_eq!(promote("Something else").unwrap_err().code(), "already_bound");
}

/// K-37, K-64: ending a session unbinds its issue and resolves nothing; an ended session stays
/// ended.
fn ending_a_session_closes_nothing(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &[]);
    let me = within(&world, Role::Root, "s");
    world.call_in(&me, "todo", json!({ "action": "add", "items": ["only"] })).unwrap();
    world.call_in(&me, "todo", json!({ "action": "done", "content": "only" })).unwrap();
    let ended = world.call("session_end", json!({ "session": "s" })).unwrap();
    assert_eq!(
        (&ended["session"]["state"], &ended["session"]["boundIssue"]),
        (&json!("ended"), &Value::Null)
    );
    let issue = shown(&world, number)["issue"].clone();
    assert_eq!((&issue["status"], &issue["assignment"]), (&json!("open"), &Value::Null));
    let again = world.call("session_end", json!({ "session": "s" })).unwrap_err();
    assert_eq!(again.code(), "session_ended");
    let bind = json!({ "session": "s", "number": number });
    assert_eq!(world.call("session_bind", bind).unwrap_err().code(), "session_ended");
}

/// P-8: a list belongs to its issue and never to a host's session id: another host with another id
/// An ended session asks nobody and delegates nothing.
fn an_ended_session_cannot_ask_or_delegate(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "s", &[]);
    let me = within(&world, Role::Root, "s");
    world.call("session_end", json!({ "session": "s" })).unwrap();
    for (operation, input) in [
        ("checkpoint", json!({ "reason": "wait" })),
        ("ask", json!({ "question": "which?" })),
        ("delegate", json!({ "type": "researcher", "mission": "look", "async": true })),
    ] {
        let error = world.call_in(&me, operation, input).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("session_ended", 1), "{operation}");
    }
    let operator = world.envelope(Role::Operator);
    let open = world.call_in(&operator, "gate_list", json!({ "state": "open" })).unwrap();
    assert_eq!(open["gates"], json!([]));
}

/// X-6, K-8: an item that is also a criterion is refused, and then nothing is filed.
fn a_promoted_item_is_not_lost_in_a_criterion(backend: Backend) {
    let world = World::new(backend);
    world.call("session_start", json!({ "externalId": "s" })).unwrap();
    let me = within(&world, Role::Root, "s");
    let todos = json!({ "todos": [
        { "id": "1", "content": "low", "status": "pending", "priority": "low" },
        { "id": "2", "content": "high", "status": "in_progress", "priority": "high" },
    ] });
    world.call_in(&me, "todo_write", todos).unwrap();
    let lines = world.log().len();
    let promote = json!({ "session": "s", "title": "Found", "criteria": ["high"] });
    let error = world.call_in(&me, "session_promote", promote).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("duplicate_text", 1));
    assert_eq!(world.log().len(), lines);
}

/// gets the same list with the same ids.
fn a_list_outlives_every_session(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "claude-1", &["c"]);
    let me = within(&world, Role::Root, "claude-1");
    world.call_in(&me, "todo", json!({ "action": "add", "items": ["a"] })).unwrap();
    let before = shown(&world, number);
    world.call("session_end", json!({ "session": "claude-1" })).unwrap();
    let start = json!({ "externalId": "codex-9", "host": "codex" });
    world.call("session_start", start).unwrap();
    world.call("session_bind", json!({ "session": "codex-9", "number": number })).unwrap();
    let after = shown(&world, number);
    assert_eq!((&before["steps"], &before["criteria"]), (&after["steps"], &after["criteria"]));
}

/// A folder does not select the session: the caller or its host names it.
fn a_folder_does_not_select_the_session(backend: Backend) {
    let world = World::new(backend);
    let mut here = world.envelope(Role::Root);
    here.context.directory = Some("/home/ada/here".to_owned());
    world.call_in(&here, "session_start", json!({ "externalId": "old" })).unwrap();
    world.call_in(&here, "session_start", json!({ "externalId": "new" })).unwrap();
    let own = |envelope: &Envelope| {
        let shown = world.call_in(envelope, "session_show", json!({}))?;
        Ok(shown["session"]["externalId"].as_str().unwrap().to_owned())
    };
    let none = Err(Error::MissingContext { missing: vec!["session"] });
    assert_eq!(own(&here), none);
    here.context.host_session = Some("old".to_owned());
    assert_eq!(own(&here), Ok("old".to_owned()));
    here.context.session = Some("new".to_owned());
    assert_eq!(own(&here), Ok("new".to_owned()));
    here.context.session = None;
    here.context.host_session = Some("nobody knows this one".to_owned());
    assert_eq!(own(&here), none);
}

/// An issue that the caller names overrides the host's session; if it conflicts with a session that
/// the caller names, it is refused. A sign-off needs a session of that issue.
fn a_named_issue_is_used_or_refused(backend: Backend) {
    let world = World::new(backend);
    let bound_to = bound(&world, "s", &["it works"]);
    let number = world.call("issue_create", json!({ "title": "Another" })).unwrap();
    let number = number["issue"]["number"].as_i64().unwrap();
    let mut me = world.envelope(Role::Root);
    me.context.host_session = Some("s".to_owned());
    me.context.issue = Some(number);
    world.call_in(&me, "todo", json!({ "action": "add", "items": ["x"] })).unwrap();
    assert_eq!(shown(&world, number)["steps"][0]["content"], "x");
    assert_eq!(shown(&world, bound_to)["steps"], json!([]));
    let asked = world.call_in(&me, "ask", json!({ "question": "Which?" })).unwrap();
    let operator = world.envelope(Role::Operator);
    let list = world.call_in(&operator, "gate_list", json!({ "number": number })).unwrap();
    assert_eq!(list["gates"][0]["id"], asked["gateId"]);
    let sign_off = json!({ "reason": "done", "purpose": "sign_off" });
    let refused = world.call_in(&me, "checkpoint", sign_off).unwrap_err();
    assert_eq!(refused, Refusal::OtherIssue { number, bound: None }.into());
    me.context.session = Some("s".to_owned());
    for (operation, input) in [
        ("todo", json!({ "action": "add", "items": ["y"] })),
        ("ask", json!({ "question": "Which?" })),
        ("session_context", json!({})),
    ] {
        let refused = world.call_in(&me, operation, input).unwrap_err();
        assert_eq!(refused, Refusal::OtherIssue { number, bound: Some(bound_to) }.into());
    }
}

/// The context for an agent is one text; without an issue it is empty.
fn the_context_of_a_session_is_one_text(backend: Backend) {
    let world = World::new(backend);
    world.call("session_start", json!({ "externalId": "s" })).unwrap();
    let none = world.call("session_context", json!({ "session": "s" })).unwrap();
    assert_eq!(none, json!({ "text": "", "number": null }));
    let number = bound(&world, "t", &["it works"]);
    let me = within(&world, Role::Root, "t");
    let set = json!({ "action": "set", "items": ["read", "fix"] });
    world.call_in(&me, "todo", set).unwrap();
    world.call_in(&me, "todo", json!({ "action": "done", "content": "read" })).unwrap();
    world.call_in(&me, "ask", json!({ "question": "Which port?" })).unwrap();
    let context = world.call_in(&me, "session_context", json!({})).unwrap();
    assert_eq!(context["number"], number);
    assert_eq!(
        context["text"].as_str().unwrap(),
        "Issue #1 (open): work of t\n\
         Checklist: 1 of 3 closed, 0 of 1 criteria met.\n\
         Waiting for the operator since 2026-11-15T08:00:00.000000Z: ask: Which port?\n\
         Criteria (1):\n- [ ] it works\n\
         Open steps (1):\n- [/] fix\n\
         Closed steps (1):\n- [x] read"
    );
    let small = json!({ "budget": 100 });
    let text = world.call_in(&me, "session_context", small).unwrap()["text"].clone();
    assert!(text.as_str().unwrap().chars().count() <= 100);
}

/// One order of locks: project, mission, issue, session, list, todo. While another transaction holds a
/// row that comes before the session, these operations wait without the session's lock.
#[test]
fn a_session_is_locked_after_its_issue() {
    let world = World::new(Backend::Postgres);
    let project = || sql!("SELECT id FROM projects FOR UPDATE");
    let issue = || sql!("SELECT id FROM issues WHERE number = 1 FOR UPDATE");
    let number = bound(&world, "s", &[]);
    let other = bound(&world, "other", &[]);
    world.call("session_unbind", json!({ "session": "other" })).unwrap();
    for (held, operation, input) in [
        (issue(), "session_bind", json!({ "session": "s", "number": other })),
        (issue(), "session_bind", json!({ "session": "s", "number": number })),
        (issue(), "session_unbind", json!({ "session": "s" })),
        (project(), "session_promote", json!({ "session": "s", "title": "a new one" })),
        (issue(), "session_bind", json!({ "session": "other", "number": number })),
        (issue(), "session_end", json!({ "session": "other" })),
    ] {
        std::thread::scope(|scope| {
            let store = world.ops.store().unwrap();
            let call = || world.call(operation, input.clone());
            let (calling, is_free) = store
                .write_once(|tx| {
                    tx.query(held, &[], |_| Ok(()))?;
                    let calling = scope.spawn(call);
                    let blocked = sql!(
                        "SELECT count(*) FROM pg_locks WHERE NOT granted \
                         AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
                    );
                    let until = Instant::now() + Duration::from_secs(20);
                    while tx.first(blocked, &[], |row| row.int(0))? == Some(0) {
                        assert!(Instant::now() < until, "{operation} does not wait");
                    }
                    let free = sql!(
                        "SELECT count(*) FROM (SELECT id FROM sessions FOR UPDATE SKIP LOCKED) AS s"
                    );
                    Ok::<_, punchlist_store::Error>((
                        calling,
                        tx.first(free, &[], |row| row.int(0))?,
                    ))
                })
                .unwrap();
            assert_eq!(is_free, Some(2), "{operation} holds its session");
            calling.join().unwrap().unwrap();
        });
    }
}

on_every_store!(
    a_promoted_item_is_not_lost_in_a_criterion,
    an_ended_session_cannot_ask_or_delegate,
    criteria_in_a_text_do_not_become_items,
    a_session_is_started_once_for_a_host,
    the_agent_of_a_session_is_who_acted_last,
    binding_moves_a_pointer_and_nothing_else,
    one_session_at_a_time_works_on_an_issue,
    an_issue_is_sent_to_an_agent_in_one_step,
    a_session_is_promoted_in_one_step,
    ending_a_session_closes_nothing,
    a_list_outlives_every_session,
    a_folder_does_not_select_the_session,
    a_named_issue_is_used_or_refused,
    the_context_of_a_session_is_one_text,
);

mod lasting {
    use super::*;
    on_every_lasting_store!(of_two_concurrent_binds_one_wins);
}
