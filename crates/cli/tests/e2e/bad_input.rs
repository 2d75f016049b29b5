//! Malformed, unknown or forbidden input: the exit code, the stable code, the message, its stream,
//! and that nothing changed.
//!
//! Each case runs three times: for a program on a store that does not exist (and must not
//! afterwards), for a program on a store that does, and for a person.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::support::{Names, Place, Punch};

const WORKER: [&str; 2] = ["--agent", "primary.subagents.x"];

/// A run that must fail, and how.
struct Case {
    words: Vec<OsString>,
    stdin: Vec<u8>,
    env: Option<(&'static str, &'static str)>,
    exit: i32,
    code: &'static str,
    /// Texts that the message or the hint must contain.
    says: Vec<String>,
}

fn case<W: Into<OsString>>(
    words: impl IntoIterator<Item = W>,
    exit: i32,
    code: &'static str,
    says: &[&str],
) -> Case {
    Case {
        words: words.into_iter().map(Into::into).collect(),
        stdin: Vec::new(),
        env: None,
        exit,
        code,
        says: says.iter().map(|text| (*text).to_owned()).collect(),
    }
}

/// A call in the default turn with its input on standard input.
fn input(operation: &str, input: impl Into<Vec<u8>>, code: &'static str, says: &[&str]) -> Case {
    let words = ["call", operation, "-", "--conversation", "c1", "--turn", "t1"];
    Case { stdin: input.into(), ..case(words, 2, code, says) }
}

impl Case {
    fn on(&self, place: &Place) -> Punch {
        let punch = place.punch(self.words.clone()).stdin(self.stdin.clone());
        match self.env {
            Some((name, value)) => punch.env(name, value),
            None => punch,
        }
    }

    /// For a program: the error object on stdout, and only notes on stderr.
    fn refuses_a_program(&self, place: &Place) {
        let punch = self.on(place).words(["--json"]);
        let error = punch.refusal(self.exit);
        assert_eq!(error["code"], self.code, "{}: {error}", punch.shown());
        let hint = error["hint"].as_str().unwrap_or_default();
        let text = format!("{}\n{hint}", error["message"].as_str().unwrap());
        self.says_enough(&punch, &text);
    }

    /// For a person: a message on stderr, and nothing on stdout.
    fn refuses_a_person(&self, place: &Place) {
        let punch = self.on(place);
        let ran = punch.run();
        assert_eq!((ran.exit, ran.stdout.as_str()), (Some(self.exit), ""), "{}", punch.shown());
        let remarks = ran.remarks();
        let opening = format!("error [{}]: ", self.code);
        assert!(remarks.starts_with(&opening), "{}: {remarks}", punch.shown());
        self.says_enough(&punch, &remarks);
    }

    fn says_enough(&self, punch: &Punch, text: &str) {
        for wanted in &self.says {
            assert!(text.contains(wanted), "{}: no `{wanted}` in: {text}", punch.shown());
        }
        assert!(text.len() < 2_000, "{}: too many words: {text}", punch.shown());
    }
}

fn all_refuse_and_change_nothing(cases: &[Case]) {
    let (fresh, used) = (Place::sqlite(), Place::sqlite());
    used.create("already here");
    let before = used.log_length();
    for case in cases {
        case.refuses_a_program(&fresh);
        let shown = case.on(&fresh).shown();
        let left = std::fs::read_dir(fresh.file().parent().unwrap()).unwrap().count();
        assert_eq!(left, 0, "a store was made by: {shown}");
        assert!(!fresh.home().join("data").exists(), "a data directory was made by: {shown}");
        case.refuses_a_program(&used);
        case.refuses_a_person(&used);
        assert_eq!(used.log_length(), before, "the log grew by: {shown}");
    }
}

#[test]
fn fields_that_do_not_fit_are_named_and_nothing_changes() {
    all_refuse_and_change_nothing(&[
        input("create_todo", r#"{"itms":[]}"#, "unknown_field", &["`itms`", "`items`"]),
        input(
            "create_todo",
            r#"{"items":[{"title":"a"},{"title":"b","contxt":"c"}]}"#,
            "unknown_field",
            &["`items[1].contxt`", "`context`"],
        ),
        input(
            "create_todo",
            r#"{"items":[{"title":"a"}],"zzz":1}"#,
            "unknown_field",
            &["`zzz`", "the fields are: items"],
        ),
        input("list_todo", r#"{"state":"all"}"#, "unknown_field", &["`state`", "`status`"]),
        input("create_todo", "{}", "missing_field", &["`items`"]),
        // An empty input is an object without fields.
        input("create_todo", "", "missing_field", &["`items`"]),
        input("create_todo", r#"{"items":[{}]}"#, "missing_field", &["`items[0].title`"]),
        input(
            "create_todo",
            r#"{"items":[{"title":null}]}"#,
            "missing_field",
            &["`items[0].title`"],
        ),
        // T-9: an empty batch, and a title of white space only, are missing.
        input("create_todo", r#"{"items":[]}"#, "missing_field", &["`items`"]),
        input(
            "create_todo",
            r#"{"items":[{"title":" \t\n"}]}"#,
            "missing_field",
            &["`items[0].title`"],
        ),
        // T-16: both fields are required.
        input("complete_todo", r#"{"outcome":"a"}"#, "missing_field", &["`todoId`"]),
        input("complete_todo", r#"{"todoId":"a"}"#, "missing_field", &["`outcome`"]),
        input("complete_todo", r#"{"todoId":"a","outcome":"  "}"#, "missing_field", &["`outcome`"]),
        // T-19: a context field is dropped, but a misspelt one is an unknown field.
        input(
            "create_todo",
            r#"{"items":[{"title":"a"}],"turnID":"t9"}"#,
            "unknown_field",
            &["`turnID`"],
        ),
    ]);
}

#[test]
fn values_of_the_wrong_kind_are_named_and_nothing_changes() {
    let of = |value: &str| format!(r#"{{"items":[{{"title":"a","order":{value}}}]}}"#);
    all_refuse_and_change_nothing(&[
        // T-5: the order counts from 1.
        input("create_todo", of("0"), "bad_value", &["`items[0].order`", "0", "1 to 1000000"]),
        input("create_todo", of("-3"), "bad_value", &["`items[0].order`", "-3", "1 to 1000000"]),
        input("create_todo", of("1000001"), "bad_value", &["1000001", "1 to 1000000"]),
        input(
            "create_todo",
            of("1.5"),
            "wrong_type",
            &["`items[0].order`", "an integer, not a decimal number"],
        ),
        input(
            "create_todo",
            of("99999999999999999999"),
            "wrong_type",
            &["not a number beyond 64 bits"],
        ),
        input("create_todo", of(r#""1""#), "wrong_type", &["an integer", "a string"]),
        input("create_todo", of("true"), "wrong_type", &["an integer", "a boolean"]),
        input("create_todo", of("1e400"), "invalid_json", &["not JSON"]),
        input("create_todo", of("1e3"), "wrong_type", &["not a decimal number"]),
        input(
            "create_todo",
            of("9223372036854775808"),
            "wrong_type",
            &["not a number beyond 64 bits"],
        ),
        input("create_todo", r#"{"items":"a"}"#, "wrong_type", &["`items`", "an array"]),
        input("create_todo", r#"{"items":{}}"#, "wrong_type", &["`items`", "an object"]),
        input("create_todo", r#"{"items":[1]}"#, "wrong_type", &["`items[0]`", "an object"]),
        input(
            "create_todo",
            r#"{"items":[{"title":5}]}"#,
            "wrong_type",
            &["`items[0].title`", "a string", "a number"],
        ),
        input(
            "create_todo",
            r#"{"items":[{"title":"a","context":["b"]}]}"#,
            "wrong_type",
            &["`items[0].context`", "a string", "an array"],
        ),
        input("complete_todo", r#"{"todoId":7,"outcome":"a"}"#, "wrong_type", &["`todoId`"]),
        // T-13, T-16: the status is one of a few words.
        input(
            "list_todo",
            r#"{"status":"done"}"#,
            "bad_value",
            &["`status`", "`done`", "pending, in_progress, completed, cancelled, all"],
        ),
        input("list_todo", r#"{"status":"Pending"}"#, "bad_value", &["`Pending`"]),
        input("list_todo", r#"{"status":5}"#, "wrong_type", &["`status`", "a string"]),
        input(
            "complete_todo",
            r#"{"todoId":"a","outcome":"b","status":"pending"}"#,
            "bad_value",
            &["`pending`", "completed, cancelled"],
        ),
        // Characters that no database stores faithfully.
        input(
            "create_todo",
            r#"{"items":[{"title":"a\u0000b"}]}"#,
            "bad_value",
            &["`items[0].title`", "NUL"],
        ),
        input(
            "complete_todo",
            r#"{"todoId":"a","outcome":"b\u0000c"}"#,
            "bad_value",
            &["`outcome`", "NUL"],
        ),
    ]);
}

#[test]
fn an_input_over_a_limit_is_refused_with_the_limit() {
    let titled = |title: &str| json!({ "items": [{ "title": title }] }).to_string();
    let many = json!({ "items": vec![json!({ "title": "a" }); 201] }).to_string();
    // Few enough characters, but too many bytes.
    let long = json!({ "items": [{ "title": "a", "context": "é".repeat(32_769) }] }).to_string();
    let (turn, key) = ("t".repeat(501), "k".repeat(501));
    let create = ["call", "create_todo", r#"{"items":[{"title":"a"}]}"#];
    let in_turn = ["--conversation", "c1", "--turn", "t1", "--idempotency-key", &key];
    all_refuse_and_change_nothing(&[
        input("create_todo", many, "too_long", &["`items`", "201 items", "200"]),
        input(
            "create_todo",
            titled(&"é".repeat(501)),
            "too_long",
            &["`items[0].title`", "501 characters", "500"],
        ),
        input("create_todo", long, "too_long", &["`items[0].context`", "65538 bytes", "65536"]),
        input(
            "complete_todo",
            json!({ "todoId": "a", "outcome": "x".repeat(65_537) }).to_string(),
            "too_long",
            &["`outcome`", "65537 bytes", "65536"],
        ),
        input("create_todo", titled(&"x".repeat(10 << 20)), "input_too_large", &["4194304"]),
        case(
            ["call", "list_todo", "--conversation", "c1", "--turn", &turn],
            2,
            "too_long",
            &["`turn`", "501 characters", "500"],
        ),
        case(
            [&create[..], &in_turn].concat(),
            2,
            "too_long",
            &["`idempotencyKey`", "501 characters", "500"],
        ),
    ]);
}

/// `token new --only-project` is another flag.
#[test]
fn a_project_that_is_too_long_is_named_by_its_own_flag() {
    let place = Place::sqlite();
    let name = "p".repeat(501);
    for (words, flag) in [
        (["issue", "new", "a", "--project", &name].as_slice(), "--project"),
        (&["token", "new", "--role", "worker", "--only-project", &name], "--only-project"),
    ] {
        let ran = place.punch(words).run();
        let said = format!("error [too_long]: {flag} has 501 characters; the limit is 500\n");
        assert!(ran.remarks().starts_with(&said), "{}", ran.remarks());
    }
}

#[test]
fn what_is_not_a_json_object_is_refused() {
    let deep = format!(r#"{{"items":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let bytes = b"{\"items\":[{\"title\":\"\xff\"}]}".to_vec();
    let argument = OsString::from_vec(bytes.clone());
    let mut on_argv = case(["call", "create_todo"], 2, "invalid_utf8", &["UTF-8"]);
    on_argv.words.push(argument);
    on_argv.words.extend(["--conversation", "c1", "--turn", "t1"].map(OsString::from));
    let mut bad_flag = case(["call", "list_todo", "--turn"], 2, "usage", &["UTF-8"]);
    bad_flag.words.push(OsString::from_vec(vec![0xff]));
    all_refuse_and_change_nothing(&[
        input("create_todo", r#"{"items":"#, "invalid_json", &["not JSON", "column 9"]),
        input("create_todo", "{items:[]}", "invalid_json", &["not JSON"]),
        input("create_todo", r#"{"items":[]} x"#, "invalid_json", &["trailing"]),
        input("create_todo", deep, "invalid_json", &["recursion limit"]),
        input("create_todo", "[]", "wrong_type", &["`input`", "an object", "an array"]),
        input("create_todo", r#""items""#, "wrong_type", &["an object", "a string"]),
        input("create_todo", "null", "wrong_type", &["an object", "null"]),
        input("create_todo", bytes, "invalid_utf8", &["UTF-8"]),
        on_argv,
        bad_flag,
    ]);
}

#[test]
fn unknown_words_are_answered_with_the_nearest_real_one() {
    let now = Case {
        env: Some(("PUNCHLIST_NOW", "soon")),
        ..case(["status"], 2, "usage", &["`soon`", "RFC 3339"])
    };
    all_refuse_and_change_nothing(&[
        case(
            ["call", "creat_todo", "{}"],
            2,
            "unknown_operation",
            &["`creat_todo`", "`create_todo`", "punch call --list"],
        ),
        case(["call", "zzz"], 2, "unknown_operation", &["`zzz`", "punch call --list"]),
        case(["call"], 2, "usage", &["no operation", "punch call --list"]),
        case(["call", "list_todo", "{}", "more"], 2, "usage", &["'more'"]),
        case(["stauts"], 2, "usage", &["'stauts'", "'status'"]),
        case(["status", "--quite"], 2, "usage", &["'--quite'", "'--quiet'"]),
        case(["log", "--limitt", "3"], 2, "usage", &["'--limitt'", "'--limit'"]),
        case(["log", "--limit", "0"], 2, "bad_value", &["limit", "at least 1"]),
        case(["log", "--limit", "few"], 2, "wrong_type", &["limit", "an integer"]),
        case(["log", "--visibility", "none"], 2, "bad_value", &["`none`", "project, own"]),
        case(["status", "--as", "admin"], 2, "usage", &["'admin'", "operator", "worker"]),
        case(["status", "--agent", "a..b"], 2, "usage", &["'a..b'", "joined by dots"]),
        case(["status", "--agent", "../etc"], 2, "usage", &["'../etc'", "joined by dots"]),
        case(["mcp", "--profile", "none"], 2, "usage", &["'none'", "turn, issue"]),
        now,
    ]);
}

/// A word that begins with `-` is text only after `--`, or if it is joined to its flag. A mistyped
/// flag is never taken for a title or a reason.
#[test]
fn an_unknown_flag_is_never_taken_for_text() {
    let dash = "goes after --";
    all_refuse_and_change_nothing(&[
        case(["issue", "new", "--titel"], 2, "usage", &["'--titel'"]),
        case(["issue", "new", "--body", "--dry-run", "x"], 2, "usage", &["'--dry-run'"]),
        case(["plan", "cancel", "34", "--dry-run"], 2, "usage", &["'--dry-run'", dash]),
        case(["plan", "complete", "33", "--force"], 2, "usage", &["'--force'", dash]),
        case(["todo", "add", "--dry-run", "--issue", "1"], 2, "usage", &["'--dry-run'", dash]),
        case(["todo", "note", "a", "--text", "--issue", "1"], 2, "usage", &["'--text'"]),
        case(["todo", "done", "-x", "--issue", "1"], 2, "usage", &["'-x'"]),
        case(["call", "list_todo", "--dry-run"], 2, "usage", &["'--dry-run'", dash]),
        case(["run", "--dry-run"], 2, "usage", &["'--dry-run'", dash]),
        case(["issue", "comment", "1", "--help-me"], 2, "usage", &["'--help-me'"]),
        case(["session", "promote", "--yes"], 2, "usage", &["'--yes'", dash]),
    ]);
    let place = Place::sqlite();
    let db = place.db();
    let words = ["--db", &db, "--project", "test", "issue", "new", "--json", "--", "--titel"];
    assert_eq!(place.bare(words).answer()["issue"]["title"], "--titel");
}

#[test]
fn the_context_that_is_missing_is_named() {
    // T-20
    let create = ["call", "create_todo", r#"{"items":[{"title":"a"}]}"#];
    let with = |more: &[&'static str]| [&create, more].concat();
    all_refuse_and_change_nothing(&[
        case(
            create,
            2,
            "missing_context",
            &["the conversation and the turn", "--conversation ID and --turn ID"],
        ),
        case(
            with(&["--turn", "t1"]),
            2,
            "missing_context",
            &["the conversation of", "--conversation ID"],
        ),
        case(with(&["--conversation", "c1"]), 2, "missing_context", &["the turn of", "--turn ID"]),
        case(
            with(&["--conversation", "c1", "--turn", " "]),
            2,
            "missing_context",
            &["the turn of"],
        ),
        case(["call", "list_todo"], 2, "missing_context", &["the conversation and the turn"]),
        case(
            [
                "call",
                "complete_todo",
                r#"{"todoId":"a","outcome":"b","turnId":"t1","conversationId":"c1"}"#,
            ],
            2,
            "missing_context",
            &["the conversation and the turn"],
        ),
    ]);
}

#[test]
fn a_worker_has_no_turn_tools_and_no_agent_rises() {
    // T-21
    let turn = ["--conversation", "c1", "--turn", "t1"];
    let as_worker = |operation, input| [&["call", operation, input], &turn[..], &WORKER].concat();
    let refused = |words: Vec<&str>, says: &[&str]| case(words, 4, "not_permitted", says);
    let create = r#"{"items":[{"title":"a"}]}"#;
    let complete = r#"{"todoId":"a","outcome":"b"}"#;
    all_refuse_and_change_nothing(&[
        refused(
            as_worker("create_todo", create),
            &["the role worker may not create", "report back"],
        ),
        refused(as_worker("list_todo", "{}"), &["the role worker may not view"]),
        refused(as_worker("complete_todo", complete), &["the role worker may not complete"]),
        // A caller that may not call the operation does not learn what is wrong with the input.
        refused(as_worker("create_todo", r#"{"itms":1}"#), &["the role worker"]),
        refused(
            [&["call", "list_todo", "--as", "worker"], &turn[..]].concat(),
            &["the role worker"],
        ),
        refused(vec!["status", "--as", "operator"], &["you act as root", "the role operator"]),
        refused(vec!["status", "--as", "lead"], &["you act as root", "the role lead"]),
        refused(
            [&["status", "--as", "root"], &WORKER[..]].concat(),
            &["you act as worker", "the role root"],
        ),
        refused(vec!["mcp", "--as", "operator"], &["the role operator"]),
    ]);
}

#[test]
fn a_role_may_be_narrowed() {
    let place = Place::sqlite();
    let narrowed = |words: &[&str]| place.punch(["status", "--json"]).words(words).answer();
    let expected = |actor: &str, role: &str| {
        json!({
            "project": "test", "actor": actor, "role": role, "lists": [], "more": false,
            "waiting": [], "reviews": [], "running": [], "issues": [], "moreIssues": false,
            "plans": [], "missions": [], "failed": [], "lastEventAt": null,
        })
    };
    assert_eq!(narrowed(&[]), expected("root:primary", "root"));
    assert_eq!(narrowed(&["--as", "supervisor"]), expected("root:primary", "root"));
    assert_eq!(narrowed(&["--as", "worker"]), expected("root:primary", "worker"));
    assert_eq!(narrowed(&WORKER), expected("worker:primary.subagents.x", "worker"));
}

/// T-18: an id of no item, of another turn, another conversation, another project.
fn ids_out_of_reach(backend: Backend) {
    let place = Place::new(backend);
    let (open, settled) = (place.create("open"), place.create("settled"));
    let settle = json!({ "todoId": settled, "outcome": "done" });
    let answer = place.call("complete_todo", &settle).answer();
    assert_eq!(answer["remaining"], 1);
    let before = place.log_of(5);
    let unknown = |id: &str| {
        json!({
            "code": "unknown_todo", "message": format!("no todo `{id}` in this turn list"),
            "hint": "call list_todo for the ids of this turn; other turns are out of reach",
            "todoId": id, "list": "turn",
        })
    };
    let input = |id: &str| json!({ "todoId": id, "outcome": "mine now" }).to_string();
    let complete =
        |conversation, turn, id| place.call_in(conversation, turn, "complete_todo", &input(id));
    for id in ["01JCQ0000000000000000000AB", "x", "../../etc/passwd", "'; DROP TABLE todos; --"] {
        assert_eq!(complete("c1", "t1", id).refusal(1), unknown(id));
    }
    let missing = json!({
        "code": "missing_field", "message": "`todoId` is missing or empty",
        "hint": "give `todoId`", "path": "todoId",
    });
    for blank in ["", " \t"] {
        assert_eq!(complete("c1", "t1", blank).refusal(2), missing);
    }
    for (conversation, turn) in [("c1", "t2"), ("c2", "t1"), ("t1", "c1")] {
        assert_eq!(complete(conversation, turn, &open).refusal(1), unknown(&open));
    }
    let twice = ["--project", "test", "--project", "other"];
    let elsewhere = complete("c1", "t1", &open).words(twice);
    let exit = elsewhere.run().exit;
    assert_eq!(exit, Some(2), "a flag is given once");
    let words = ["call", "complete_todo", &input(&open), "--json", "--db", &place.db()];
    let turn = ["--project", "other", "--conversation", "c1", "--turn", "t1"];
    assert_eq!(place.bare(words).words(turn).refusal(1), unknown(&open));
    let again = complete("c1", "t1", &settled).refusal(1);
    let expected = json!({
        "code": "already_settled",
        "message": "`settled` is already completed since 2026-11-15T08:00:00Z",
        "hint": "create a new item instead, or ask the operator to reopen it",
        "todoId": settled, "title": "settled", "status": "completed",
        "settledAt": "2026-11-15T08:00:00.000000Z", "outcome": "done",
    });
    assert_eq!(again, expected);
    assert_eq!(place.log_of(before), before);
}

#[test]
fn ids_out_of_reach_are_refused_and_nothing_changes_on_sqlite() {
    ids_out_of_reach(Backend::SqliteFile);
}

#[test]
fn ids_out_of_reach_are_refused_and_nothing_changes_on_postgres() {
    ids_out_of_reach(Backend::Postgres);
}

/// Texts at the limits are accepted, in every script.
#[test]
fn the_longest_texts_are_stored_unchanged() {
    let place = Place::sqlite();
    let (title, context) = ("漢".repeat(500), "é".repeat(32_768));
    let input = json!({ "items": [{ "title": title, "context": context, "order": 1_000_000 }] });
    let create = place.call_in("c1", "t1", "create_todo", "-").stdin(input.to_string());
    let expected = json!({
        "created": [{ "id": "<id 1>", "title": title, "order": 1_000_000 }], "totalPending": 1,
    });
    assert_eq!(Names::default().hide(&create.answer()), expected);
    let listed: Value = place.call("list_todo", &json!({})).answer();
    assert_eq!(
        (&listed["items"][0]["title"], &listed["items"][0]["context"]),
        (&json!(title), &json!(context))
    );
}
