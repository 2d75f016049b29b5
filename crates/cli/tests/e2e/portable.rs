//! `punch export` and `punch import` on the command line: a store moved to another place, and an
//! imported checklist (P-18, P-22, K-61).

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::doctor::clean;
use crate::identity::{at_terminal, first_operator, with};
use crate::support::{Place, Punch};

const LASTING: [Backend; 2] = [Backend::SqliteFile, Backend::Postgres];

fn call(place: &Place, operation: &str, input: &Value) -> Punch {
    place.punch(["call", operation, &input.to_string(), "--json"])
}

/// A store with some data of every kind. Returns the operator's secret.
pub(crate) fn lived_in(place: &Place) -> String {
    let secret = place.operator();
    let me = |operation: &str, input: Value| call(place, operation, &input).answer();
    let operator =
        |operation: &str, input: Value| with(call(place, operation, &input), &secret).answer();
    let titled = |title: &str| json!({ "title": title, "criteria": [format!("{title} is over")] });
    operator("issue_create", titled("Log in fails"));
    me("issue_create", json!({ "title": "\"Quotes\" \\ and\nlines", "body": "é 🙂 \u{2028}" }));
    operator("issue_create", titled("Pages are slow"));
    me("issue_link", json!({ "number": 2, "kind": "blocked_by", "to": 1 }));
    me("issue_comment", json!({ "number": 2, "text": "It also fails on Firefox." }));
    me("issue_defer", json!({ "number": 3, "until": "2030-01-01T00:00:00Z" }));
    operator("issue_transition", json!({ "number": 3, "status": "triaged" }));

    let sent = operator("session_send_to_agent", json!({ "number": 1, "message": "Begin." }));
    let session = sent["session"]["id"].as_str().unwrap().to_owned();
    let inside = |operation: &str, input: Value| {
        call(place, operation, &input).words(["--session", &session]).answer()
    };
    let set = json!({ "action": "set", "items": ["Read", "# Fix", "Patch", "Ship"] });
    inside("todo", set);
    inside("todo", json!({ "action": "note", "content": "Read", "text": "twice,\nslowly" }));
    inside("todo", json!({ "action": "done", "content": "Read", "evidence": ["note:read"] }));
    inside("todo", json!({ "action": "block", "content": "Ship", "text": "no key" }));
    let criterion = "Log in fails is over";
    inside("todo", json!({ "action": "done", "content": criterion, "evidence": ["test:login"] }));
    let order = json!({ "type": "researcher", "mission": "Why?", "async": true });
    let delegation = inside("delegate", order)["delegationId"].clone();
    let worker = ["--agent", "primary.subagents.researcher"];
    let taken = call(place, "delegation_take", &json!({})).words(worker).answer();
    let report = json!({
        "delegationId": delegation, "epoch": taken["epoch"],
        "result": "The cookie.\n```todo-proposal\n- [ ] Set SameSite\n```",
    });
    call(place, "delegation_report", &report).words(worker).answer();
    inside("proposal_decide", json!({ "delegationId": delegation, "decision": "accept" }));
    inside("delegate", json!({ "type": "writer", "mission": "Write.", "async": true }));
    call(place, "delegation_take", &json!({ "types": ["writer"] })).words(worker).answer();
    let asked = inside("ask", json!({ "question": "Which port?", "options": ["1", "2"] }));
    let answer = json!({ "gateId": asked["gateId"], "decision": "resume", "response": "1" });
    operator("gate_answer", answer);
    inside("checkpoint", json!({ "reason": "acceptance criteria met, requesting sign-off" }));

    let first = place.create("A turn's plan");
    place.create("Its second item");
    let done = json!({ "todoId": first, "outcome": "done" });
    place.call("complete_todo", &done).words(["--idempotency-key", "k"]).answer();
    let elsewhere = place.bare(["call", "issue_create", r#"{"title":"Another"}"#, "--json"]);
    elsewhere.words(["--db", &place.db(), "--project", "elsewhere"]).answer();
    secret
}

/// Everything that can be read from a store, except for data about the reader.
pub(crate) fn seen(place: &Place) -> Vec<Value> {
    let look = |operation: &str, input: Value| call(place, operation, &input).answer();
    let mut seen: Vec<Value> = [1, 2, 3]
        .into_iter()
        .map(|number: i64| place.punch(["issue", "show", &number.to_string(), "--json"]).answer())
        .collect();
    let sessions = look("session_list", json!({}));
    for session in sessions["sessions"].as_array().unwrap() {
        seen.push(look(
            "conversation_show",
            json!({ "conversationId": session["conversationId"] }),
        ));
    }
    seen.push(sessions);
    seen.push(look("delegation_list", json!({})));
    seen.push(look("issue_list", json!({ "text": "quotes lines" })));
    seen.push(look("issue_list", json!({ "status": "triaged" })));
    seen.push(place.call("list_todo", &json!({ "status": "all" })).answer());
    place.wait_for_log();
    seen.push(look("event_list", json!({ "after": 0, "limit": 1000 })));
    seen
}

fn export_to(place: &Place, file: &Path) -> Punch {
    place.punch(["export", "store", file.to_str().unwrap(), "--json"])
}

fn import(place: &Place, file: &Path) -> Punch {
    place.punch(["import", "store", file.to_str().unwrap(), "--json"])
}

/// A store with data, and its export.
fn exported(backend: Backend) -> (Place, PathBuf, Value) {
    let place = Place::new(backend);
    let secret = lived_in(&place);
    let file = place.home().join("store.jsonl");
    let done = with(export_to(&place, &file), &secret).answer();
    (place, file, done)
}

/// The number of events of the project `test` in an export.
fn log_of_test(file: &Path) -> usize {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rows: Vec<(Value, Value)> =
        lines.map(|mut line| (line["table"].take(), line["row"].take())).collect();
    let (_, project) = rows.iter().find(|(_, row)| row["name"] == "test").unwrap();
    let is_event =
        |(table, row): &&(Value, Value)| table == "events" && row["project_id"] == project["id"];
    rows.iter().filter(is_event).count()
}

/// P-18: everything is restored in an empty store on either database, and exports to the same bytes
/// again. Later events are numbered above the imported ones.
fn a_store_moves_to_another_place(backend: Backend) {
    let (place, file, done) = exported(backend);
    let text = fs::read(&file).unwrap();
    let rows = text.iter().filter(|byte| **byte == b'\n').count() - 2;
    let last = done["lastSeq"].as_i64().unwrap();
    let expected = json!({
        "file": file, "bytes": text.len(), "rows": rows, "events": done["events"], "lastSeq": last,
    });
    assert_eq!(done, expected);
    let events = done["events"].as_u64().unwrap();
    assert!(events > 40, "{events}");
    let before = (place.log_of(log_of_test(&file)), seen(&place));

    for to in LASTING {
        let other = Place::new(to);
        let imported = import(&other, &file).answer();
        assert_eq!(imported, json!({ "rows": rows, "events": events, "lastSeq": last }));
        clean(&other);
        assert_eq!((other.log_length(), seen(&other)), before, "{backend:?} to {to:?}");

        let again = other.home().join("again.jsonl");
        let (exit, answer) = at_terminal(&export_to(&other, &again));
        assert_eq!(exit, Some(0), "{answer}");
        assert!(fs::read(&again).unwrap() == text, "{backend:?} to {to:?}: not the same bytes");

        other.create("written here");
        let after = json!({ "after": last, "limit": 10 });
        let new = || call(&other, "event_list", &after).answer()["events"].take();
        let new = (0..200).map(|_| new()).find(|new| new != &json!([])).unwrap();
        assert_eq!(new[0]["data"]["todo"]["title"], "written here");
        assert!(new[0]["seq"].as_i64().unwrap() > last);
        let issue = call(&other, "issue_create", &json!({ "title": "The fourth" })).answer();
        assert_eq!(issue["issue"]["number"], 4, "no number comes twice");
        clean(&other);
        // And back again, with the additions.
        let (exit, _) = at_terminal(&export_to(&other, &again).words(["--force"]));
        assert_eq!(exit, Some(0));
        let home = Place::new(backend);
        import(&home, &again).answer();
        clean(&home);
    }
}

/// An export contains no token, no digest of one, no stored answer, and not whether the store has
/// an operator.
fn an_export_holds_no_secret(backend: Backend) {
    let (place, file, _) = exported(backend);
    let text = fs::read_to_string(&file).unwrap();
    for table in ["tokens", "answers", "facts", "issue_search"] {
        assert!(!text.contains(&format!("{{\"table\":\"{table}\"")), "{table}");
    }
    assert!(!text.contains("digest\"") && !text.contains("punch_"));
    let other = Place::new(backend);
    import(&other, &file).answer();
    // This store has no operator yet, so the bootstrap is open once, as in any new store.
    let secret = first_operator(&other);
    let rows = with(other.punch(["token", "list", "--json"]), &secret).answer();
    assert_eq!(rows["tokens"].as_array().unwrap().len(), 1);
    drop(place);
}

#[test]
fn a_file_is_private_whole_and_never_overwritten_unasked() {
    let (place, file, _) = exported(Backend::SqliteFile);
    let whole = fs::read(&file).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    fs::write(&file, "mine").unwrap();
    let (exit, refused) = at_terminal(&export_to(&place, &file));
    let expected = json!({
        "code": "file_exists", "message": format!("{} exists already", file.display()),
        "hint": "name a file that does not exist, or use --force", "file": file,
    });
    assert_eq!((exit, &refused["error"]), (Some(1), &expected));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    at_terminal(&export_to(&place, &file).words(["--force"]));
    assert_eq!(fs::read(&file).unwrap(), whole);
    let store = place.file();
    let (exit, refused) = at_terminal(&export_to(&place, &store).words(["--force"]));
    assert_eq!((exit, &refused["error"]["code"]), (Some(2), &json!("bad_value")));
    clean(&place);
    let nowhere = place.home().join("no/such/folder");
    let (exit, refused) = at_terminal(&export_to(&place, &nowhere));
    assert_eq!((exit, &refused["error"]["code"]), (Some(3), &json!("io")), "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("no/such/folder"), "{refused}");
    let left: Vec<_> = fs::read_dir(place.home()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(left, [file], "nothing half done is left");
}

#[test]
fn the_whole_store_is_the_operators_to_export() {
    let place = Place::sqlite();
    let secret = lived_in(&place);
    let token = |words: &[&str]| {
        let new = place.punch(["token", "new", "--json"]).words(words.iter().copied());
        with(new, &secret).answer()["token"].as_str().unwrap().to_owned()
    };
    let lead = token(&["--role", "lead"]);
    let narrow = token(&["--role", "operator", "--only-project", "test"]);
    let file = place.home().join("out");
    for (attempt, code) in [
        (export_to(&place, &file), "not_permitted"),
        (export_to(&place, Path::new("-")), "not_permitted"),
        (export_to(&place, &file).words(["--as", "operator"]), "not_permitted"),
        (with(export_to(&place, &file), &lead), "not_permitted"),
        (with(export_to(&place, &file), &narrow), "out_of_reach"),
        (with(export_to(&place, &file), "punch_1"), "token_invalid"),
    ] {
        assert_eq!(attempt.refusal(4)["code"], code, "{}", attempt.shown());
    }
    let (exit, hosted) = at_terminal(&export_to(&place, &file).env("CLAUDECODE", "1"));
    assert_eq!((exit, &hosted["error"]["code"]), (Some(4), &json!("not_permitted")));
    assert!(!file.exists());

    // Standard output is the default, and gets the same bytes.
    with(export_to(&place, &file), &secret).answer();
    let text = fs::read_to_string(&file).unwrap();
    for words in [&["export"][..], &["export", "store"], &["export", "store", "-"]] {
        let ran = with(place.punch(words.iter().copied()), &secret).run();
        assert_eq!((ran.exit, ran.stdout == text), (Some(0), true));
    }
    // A reader that stops early is not an error.
    let mut child = with(place.punch(["export"]), &secret).spawn();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Only the operator may import into an empty store that has one; without an operator, anybody may.
#[test]
fn an_import_needs_the_operators_leave_where_there_is_an_operator() {
    let (_place, file, done) = exported(Backend::SqliteFile);
    for backend in LASTING {
        let other = Place::new(backend);
        // A person has read it, and nothing more.
        at_terminal(&other.punch(["status", "--json"]));
        assert_eq!(import(&other, &file).refusal(4)["code"], "not_permitted");
        let (exit, answer) = at_terminal(&import(&other, &file));
        assert_eq!((exit, &answer["rows"]), (Some(0), &done["rows"]));
        // A store imported by the operator has an operator: the bootstrap does not open again.
        let third = Place::new(backend);
        at_terminal(&import(&third, &file));
        let token = third.punch(["token", "new", "--role", "operator", "--json"]);
        assert_eq!(token.refusal(4)["code"], "not_permitted");
    }
}

/// Nothing of a foreign, newer, truncated or broken export is imported.
fn a_bad_export_changes_nothing(backend: Backend) {
    let (place, file, _) = exported(Backend::SqliteFile);
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let header = |version: &str| text.replacen(version, &format!("{version}9"), 1);
    let broken = |line: usize, by: &str| {
        let mut lines = lines.clone();
        lines[line] = by;
        lines.join("\n")
    };
    let middle = lines.len() / 2;
    let number = |line: usize| json!(line + 1);
    let half = lines[middle].split_at(20).0;
    let other = Place::new(backend);
    for (bad, exit, code, line) in [
        (String::new(), 2, "not_an_export", Value::Null),
        ("Dear diary,\n".to_owned(), 2, "not_an_export", Value::Null),
        (header("\"version\":"), 3, "export_newer", Value::Null),
        (header("\"schema\":"), 3, "export_newer", Value::Null),
        (lines[..middle].join("\n"), 2, "bad_export", number(middle)),
        (lines[..lines.len() - 1].join("\n"), 2, "bad_export", number(lines.len() - 1)),
        (broken(middle, half), 2, "bad_export", number(middle)),
        (broken(1, lines[2]), 2, "bad_export", Value::Null),
        (text.replacen("Pages are slow", "Pages are fast", 1), 2, "bad_export", Value::Null),
    ] {
        let error = other.punch(["import", "store", "-", "--json"]).stdin(bad).refusal(exit);
        assert_eq!(error["code"], code, "{error}");
        if line != Value::Null {
            assert_eq!(error["line"], line, "{error}");
        }
        assert!(error["hint"].is_string(), "{error}");
    }
    let missing = other.punch(["import", "store", "nowhere", "--json"]).refusal(3);
    assert_eq!(missing["code"], "io");
    // The store is still empty, and accepts the complete export; but only once.
    import(&other, &file).answer();
    let again = import(&other, &file).refusal(1);
    let expected = json!({
        "code": "store_not_empty", "message": "the store is not empty",
        "hint": "name an empty or new store with --db",
    });
    assert_eq!(again, expected);
    let other_way = import(&place, &file).refusal(4);
    assert_eq!(other_way["code"], "not_permitted");
    clean(&other);
}

/// A file that is not an export does not create a store, and a missing store is not exported.
#[test]
fn a_file_that_is_not_an_export_creates_no_store() {
    let place = Place::sqlite();
    let diary = place.home().join("diary");
    fs::write(&diary, "Dear diary,\n").unwrap();
    import(&place, &diary).refusal(2);
    assert!(!place.file().exists());
    let (exit, refused) = at_terminal(&export_to(&place, &place.home().join("out")));
    assert_eq!((exit, &refused["error"]["code"]), (Some(3), &json!("store_unreachable")));
    assert!(!place.file().exists());
}

/// K-61: the portable part of a project is its name; issues, todos and links are not exported.
/// Anybody may see it.
#[test]
fn a_project_export_has_no_issues_todos_or_links() {
    let place = Place::sqlite();
    lived_in(&place);
    let expected = json!({
        "format": "punchlist-project", "version": 1, "project": { "name": "test" },
    });
    let ran = place.punch(["export", "project"]).run();
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), expected);
    let file = place.home().join("project.json");
    let export = place.punch(["export", "project", file.to_str().unwrap(), "--json"]);
    assert_eq!(export.answer(), json!({ "file": file, "bytes": ran.stdout.len() }));
    assert_eq!(fs::read_to_string(&file).unwrap(), ran.stdout);
    assert_eq!(export.refusal(1)["code"], "file_exists");
    export.words(["--force"]).answer();
}

on_every_lasting_store!(
    a_store_moves_to_another_place,
    an_export_holds_no_secret,
    a_bad_export_changes_nothing,
);
