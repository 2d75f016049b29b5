//! The tool `todo`: the current checklist, addressed by text, returned in full every time.

use punchlist_core::Role;
use punchlist_ops::{Envelope, Error};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

use crate::sessions::{bound, within};

/// A world with a bound session `s`, and the agent in it.
fn at_work(backend: Backend, criteria: &[&str]) -> (World, Envelope) {
    let world = World::new(backend);
    bound(&world, "s", criteria);
    let me = within(&world, Role::Root, "s");
    (world, me)
}

fn todo(world: &World, me: &Envelope, input: Value) -> Result<Value, Error> {
    world.call_in(me, "todo", input)
}

fn lines(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().unwrap();
    let line = |item: &Value| {
        let text = |name: &str| item[name].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", text("status"), text("phase"), text("content"))
    };
    items.iter().map(line).collect()
}

/// K-6: without an issue, the tool says whom to ask, and stores nothing. A caller without a session is
/// told that, and not that its session has no issue.
fn without_an_issue_there_is_no_list(backend: Backend) {
    let world = World::new(backend);
    world.call("session_start", json!({ "externalId": "s" })).unwrap();
    let before = world.log().len();
    for (me, words, hint) in [
        (world.envelope(Role::Root), "neither an issue nor a session is named", "(--issue)"),
        (within(&world, Role::Root, "s"), "this session has no issue", "session_bind"),
    ] {
        for action in ["view", "set", "add"] {
            let input = json!({ "action": action, "items": ["a"] });
            let error = todo(&world, &me, input).unwrap_err();
            assert_eq!((error.code(), error.meaning().exit), ("unbound", 1));
            assert!(error.to_string().starts_with(words), "{error}");
            assert!(error.hint().unwrap().contains("ask the operator to bind an issue"));
            assert!(error.hint().unwrap().contains(hint), "{error:?}");
        }
    }
    assert_eq!(world.log().len(), before);
}

/// K-10, Q-K1: these fields and no others; phases are optional, `kind` defaults to step.
#[test]
fn the_input_is_that_of_the_design() {
    let schema = punchlist_ops::catalogue::find("todo").unwrap().input_schema();
    let fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["action", "content", "items", "phase", "kind", "text", "evidence"]);
    assert!(schema.get("required").is_none(), "what is missing is named when it is needed");
    let actions = ["view", "set", "add", "start", "done", "drop", "note", "block", "unblock"];
    assert_eq!(schema["properties"]["action"]["enum"], json!(actions));
    assert_eq!(schema["properties"]["kind"]["enum"], json!(["step", "criterion"]));
}

/// K-19, X-1: a refusal names the item by its text, with the status that the list shows.
fn a_refusal_shows_no_ids(backend: Backend) {
    let (world, me) = at_work(backend, &[]);
    todo(&world, &me, json!({ "items": ["low", "high"] })).unwrap();
    todo(&world, &me, json!({ "action": "drop", "content": "low" })).unwrap();
    let error = todo(&world, &me, json!({ "action": "done", "content": "low" })).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("already_settled", 1));
    assert!(error.to_string().starts_with("`low` is already abandoned since"), "{error}");
    let told = error.to_json();
    assert_eq!(told["error"]["status"], "abandoned");
    assert!(told["error"].get("todoId").is_none(), "{told}");
}

/// The summary counts what the items say: a claimed step is open, a claimed criterion closed.
fn the_summary_counts_the_items(backend: Backend) {
    let (world, me) = at_work(backend, &["fast"]);
    todo(&world, &me, json!({ "items": ["a", "b"] })).unwrap();
    todo(&world, &me, json!({ "action": "done", "content": "fast" })).unwrap();
    let step = world.call("issue_show", json!({ "number": 1 })).unwrap()["steps"][1]["id"].take();
    world.call_in(&me, "todo_claim", json!({ "todoId": step, "outcome": "o" })).unwrap();
    let view = todo(&world, &me, json!({ "action": "view" })).unwrap();
    let statuses = view["items"].as_array().unwrap().iter().map(|item| item["status"].clone());
    assert_eq!(statuses.collect::<Vec<_>>(), ["completed", "in_progress", "pending"]);
    assert_eq!(view["summary"], json!({ "total": 3, "open": 2, "closed": 1, "held": 0 }));
    let markdown = view["markdown"].as_str().unwrap();
    assert!(markdown.contains("- [x] b <!-- claimed by root:primary -->"), "{markdown}");
}

/// K-33, Q-K2: `set` replaces steps. It is no way to write criteria, and says so before it changes
/// anything.
fn set_is_refused_for_criteria(backend: Backend) {
    let (world, me) = at_work(backend, &[]);
    let kept = todo(&world, &me, json!({ "action": "set", "items": ["a", "b"] })).unwrap();
    let lines = world.log().len();
    let set = json!({ "action": "set", "items": ["it works"], "kind": "criterion" });
    let error = todo(&world, &me, set).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("bad_value", 2));
    assert!(error.hint().unwrap().contains("propose criteria with add"), "{error}");
    assert_eq!(world.log().len(), lines);
    let view = todo(&world, &me, json!({ "action": "view" })).unwrap();
    assert_eq!(view["items"], kept["items"]);
    let set = json!({ "action": "set", "items": ["a"], "kind": "step" });
    assert_eq!(todo(&world, &me, set).unwrap()["items"][1]["status"], "abandoned");
}

/// K-12, K-14, K-21, D-21: every action returns the whole list; `add` appends to the end of a
/// phase; `# Name` opens one; `view` changes nothing.
fn every_action_returns_the_whole_list(backend: Backend) {
    let (world, me) = at_work(backend, &["it works"]);
    let set = json!({ "action": "set", "phase": "Plan", "items": ["read", "# Build", "fix"] });
    todo(&world, &me, set).unwrap();
    let add = json!({ "action": "add", "phase": "Plan", "items": ["ask", "# Build", "test"] });
    let answer = todo(&world, &me, add).unwrap();
    let expected = [
        "pending - it works",
        "in_progress Plan read",
        "pending Plan ask",
        "pending Build fix",
        "pending Build test",
    ];
    assert_eq!(lines(&answer), expected);
    assert_eq!(answer["summary"], json!({ "total": 5, "open": 5, "closed": 0, "held": 0 }));
    let markdown = "# Criteria\n- [ ] it works\n\n# Plan\n- [/] read\n- [ ] ask\n\n\
                    # Build\n- [ ] fix\n- [ ] test\n";
    assert_eq!(answer["markdown"], markdown);
    let item = &answer["items"][1];
    let whole = json!({
        "content": "read", "status": "in_progress", "kind": "step", "phase": "Plan", "notes": [],
        "originAgent": "primary",
    });
    assert_eq!(*item, whole, "no id is shown (K-19)");
    let before = world.log().len();
    assert_eq!(before, 16);
    let view = todo(&world, &me, json!({ "action": "view" })).unwrap();
    assert_eq!((&view["items"], &view["markdown"]), (&answer["items"], &answer["markdown"]));
    assert!(view.get("message").is_none());
    assert_eq!(world.log().len(), before, "K-12");
    let done = todo(&world, &me, json!({ "action": "done", "content": "read" })).unwrap();
    assert_eq!(done["message"], "In progress: ask");
}

/// K-17, K-18, P-1: a dropped item is abandoned but kept; notes are only added, and shown; a
/// blocked step is held and shows its reason, and is never promoted.
fn dropping_noting_and_blocking(backend: Backend) {
    let (world, me) = at_work(backend, &[]);
    todo(&world, &me, json!({ "action": "set", "items": ["a", "b", "c"] })).unwrap();
    todo(&world, &me, json!({ "action": "drop", "content": "b" })).unwrap();
    for text in ["first", "second"] {
        todo(&world, &me, json!({ "action": "note", "content": "a", "text": text })).unwrap();
    }
    let block = json!({ "action": "block", "content": "a", "text": "no key" });
    let blocked = todo(&world, &me, block).unwrap();
    assert_eq!(lines(&blocked), ["pending - a", "abandoned - b", "in_progress - c"]);
    assert_eq!(blocked["items"][0]["notes"], json!(["first", "second"]));
    assert_eq!(blocked["items"][0]["hold"]["reason"], "no key");
    assert_eq!(blocked["summary"], json!({ "total": 3, "open": 2, "closed": 1, "held": 1 }));
    let done = todo(&world, &me, json!({ "action": "done", "content": "c" })).unwrap();
    assert_eq!(done["message"], "No step is ready: 1 held.");
    let free = todo(&world, &me, json!({ "action": "unblock", "content": "a" })).unwrap();
    assert_eq!(lines(&free), ["in_progress - a", "abandoned - b", "completed - c"]);
}

/// K-23, K-24, P-19: a missing field is named, a miss names the closest texts, a bare `done` or
/// `drop` changes nothing; the list stays as it was.
fn a_bad_call_changes_nothing_and_explains_itself(backend: Backend) {
    let (world, me) = at_work(backend, &["it works"]);
    todo(&world, &me, json!({ "action": "set", "items": ["Write the tests", "Run"] })).unwrap();
    let before = todo(&world, &me, json!({ "action": "view" })).unwrap();
    let long = "x".repeat(5_000);
    for (input, code, words) in [
        (json!({ "action": "done" }), "missing_field", "content"),
        (json!({ "action": "drop" }), "missing_field", "content"),
        (json!({ "action": "start", "content": "  " }), "missing_field", "content"),
        (json!({ "action": "note", "content": "Run" }), "missing_field", "text"),
        (json!({ "action": "block", "content": "Run" }), "missing_field", "text"),
        (json!({ "action": "set" }), "missing_field", "items"),
        (json!({ "action": "add", "items": [] }), "missing_field", "items"),
        (json!({ "action": "add", "items": ["# Only a heading"] }), "missing_field", "items"),
        (json!({ "content": "Run" }), "missing_field", "action"),
        (
            json!({ "action": "done", "content": "write tests" }),
            "no_such_text",
            "`Write the tests`",
        ),
        (
            json!({ "action": "done", "content": "task-2" }),
            "no_such_text",
            "addressed by their text",
        ),
        (json!({ "action": "add", "items": ["a", "a"] }), "duplicate_text", "`a`"),
        (json!({ "action": "add", "items": ["x", "Run"] }), "duplicate_text", "`Run`"),
        (json!({ "action": "set", "items": ["it works"] }), "duplicate_text", "`it works`"),
        (json!({ "action": "add", "items": [long] }), "too_long", "2000"),
        (json!({ "action": "finish", "content": "Run" }), "bad_value", "view"),
        (
            json!({ "action": "start", "content": "it works" }),
            "criterion_not_startable",
            "criterion",
        ),
        (json!({ "action": "drop", "content": "it works" }), "not_permitted", "criterion"),
        (json!({ "action": "done", "number": 2, "content": "Run" }), "unknown_field", "number"),
    ] {
        let error = todo(&world, &me, input.clone()).unwrap_err();
        let said = format!("{error} {}", error.hint().unwrap_or_default());
        assert_eq!(error.code(), code, "{input}: {said}");
        assert!(said.contains(words), "{input}: {said}");
        // K-60: no message mentions issues.
        assert!(!said.contains("issue"), "{input}: {said}");
        assert_eq!(todo(&world, &me, json!({ "action": "view" })).unwrap(), before, "{input}");
    }
}

/// An omission is repaired if only one meaning is possible: items without an action are added;
/// `items: []` with an action that ignores it is not an error.
fn arguments_are_repaired(backend: Backend) {
    let (world, me) = at_work(backend, &[]);
    let added = todo(&world, &me, json!({ "items": ["a", "b"] })).unwrap();
    assert_eq!(lines(&added), ["in_progress - a", "pending - b"]);
    let done = todo(&world, &me, json!({ "action": "done", "content": "a", "items": [] })).unwrap();
    assert_eq!(lines(&done), ["completed - a", "in_progress - b"]);
}

/// Emoji, right-to-left text, comments and markdown in a text are kept unchanged.
fn texts_are_kept_as_they_are(backend: Backend) {
    let (world, me) = at_work(backend, &[]);
    let texts = ["🧰 tools", "שלום עולם", "<!-- claimed by operator -->", "- [x] # Forged", "a\\b"];
    let answer = todo(&world, &me, json!({ "action": "set", "items": texts })).unwrap();
    let found: Vec<&str> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["content"].as_str().unwrap())
        .collect();
    assert_eq!(found, texts);
    for text in texts {
        todo(&world, &me, json!({ "action": "done", "content": text })).unwrap();
    }
}

/// K-47, K-11: a worker has neither this tool nor the issue tool; an agent cannot name another
/// list.
fn the_tool_is_root_only(backend: Backend) {
    let (world, me) = at_work(backend, &[]);
    todo(&world, &me, json!({ "items": ["a"] })).unwrap();
    for role in [Role::Worker, Role::Lead, Role::Owner, Role::System] {
        let caller = within(&world, role, "s");
        for (name, input) in [
            ("todo", json!({ "action": "view" })),
            ("issue", json!({ "action": "list" })),
            ("session_show", json!({ "session": "s" })),
        ] {
            let error = world.call_in(&caller, name, input).unwrap_err();
            assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4), "{role} {name}");
        }
    }
    world.call("issue_create", json!({ "title": "another" })).unwrap();
    // Another issue can only be named outside the input, and not if it conflicts with the named
    // session.
    let mut sly = me;
    sly.context.issue = Some(2);
    let refused = todo(&world, &sly, json!({ "action": "view" })).unwrap_err();
    assert_eq!((refused.code(), refused.meaning().exit), ("other_issue", 1));
    // A person may name it, without a session.
    let mut person = world.envelope(Role::Operator);
    person.context.issue = Some(1);
    let done = todo(&world, &person, json!({ "action": "done", "content": "A" })).unwrap();
    assert_eq!(lines(&done), ["completed - a"]);
}

/// K-25, K-53: the seed's own view of the rows, with its words.
fn the_seeds_view_reads_the_rows(backend: Backend) {
    let (world, me) = at_work(backend, &["it works"]);
    todo(&world, &me, json!({ "items": ["a", "b"], "phase": "P" })).unwrap();
    todo(&world, &me, json!({ "action": "note", "content": "a", "text": "n1" })).unwrap();
    todo(&world, &me, json!({ "action": "note", "content": "a", "text": "n2" })).unwrap();
    todo(&world, &me, json!({ "action": "drop", "content": "b" })).unwrap();
    let rows = world.ops.store().unwrap().read(|tx| {
        tx.query(
            punchlist_store::sql!(
                "SELECT content, status, kind, origin_agent, phase, notes, completed_at \
                 FROM issue_todos ORDER BY kind, content"
            ),
            &[],
            |row| {
                let notes: Value = serde_json::from_str(&row.text(5)?)?;
                let texts = [row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?];
                Ok((texts.join(" "), row.opt_text(4)?, notes, row.opt_text(6)?.is_some()))
            },
        )
    });
    let rows: Vec<(String, Option<String>, Value, bool)> =
        rows.map_err(|error: punchlist_store::Error| error.to_string()).unwrap();
    let phase = Some("P".to_owned());
    assert_eq!(
        rows,
        [
            ("it works pending criterion primary".to_owned(), None, json!([]), false),
            ("a in_progress step primary".to_owned(), phase.clone(), json!(["n1", "n2"]), false),
            ("b abandoned step primary".to_owned(), phase, json!([]), true),
        ]
    );
}

/// K-54, K-63: each change is an event with the full new value and its author; a list with open
/// items says what is in progress.
fn every_change_is_an_event_with_its_author(backend: Backend) {
    let (world, me) = at_work(backend, &[]);
    let before = world.log().len();
    todo(&world, &me, json!({ "items": ["a"] })).unwrap();
    let log = world.log();
    let types: Vec<&str> = log[before..].iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["list_opened", "todo_created", "todo_started", "checklist_changed"]);
    assert!(log[before..].iter().all(|event| event["actor"] == "root:primary"));
}

on_every_store!(
    the_summary_counts_the_items,
    a_refusal_shows_no_ids,
    set_is_refused_for_criteria,
    without_an_issue_there_is_no_list,
    every_action_returns_the_whole_list,
    dropping_noting_and_blocking,
    a_bad_call_changes_nothing_and_explains_itself,
    arguments_are_repaired,
    texts_are_kept_as_they_are,
    the_tool_is_root_only,
    the_seeds_view_reads_the_rows,
    every_change_is_an_event_with_its_author,
);
