//! Sessions, the rest of `punch issue`, criteria and delegations: each command once, as people and
//! agents use it, and its errors.

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::support::{Names, Place, Punch};

/// A place with an operator, and commands given as words.
struct Desk {
    place: Place,
    secret: String,
}

impl Desk {
    fn new(backend: Backend) -> Self {
        let place = Place::new(backend);
        let secret = place.operator();
        Self { place, secret }
    }

    fn operator(&self, words: &[&str]) -> Punch {
        self.place.punch(words.iter().copied()).with(&self.secret)
    }

    fn agent(&self, words: &[&str]) -> Punch {
        self.place.punch(words.iter().copied())
    }

    fn refused(&self, words: &[&str], exit: i32) -> (String, String) {
        let error = self.operator(words).words(["--json"]).refusal(exit);
        let word = |name: &str| error[name].as_str().unwrap().to_owned();
        (word("code"), word("message"))
    }
}

fn a_session_lives_over_its_commands(backend: Backend) {
    let desk = Desk::new(backend);
    desk.operator(&["issue", "new", "Log in fails", "--criteria", "It works"]).said();
    let start = ["session", "start", "Fix it", "--host", "claude", "--external-id", "s1", "--json"];
    let started = desk.agent(&start).answer();
    let mut names = Names::default();
    let session = &names.hide(&started)["session"];
    assert_eq!(
        (&session["title"], &session["state"], &session["boundIssue"], &session["externalId"]),
        (&json!("Fix it"), &json!("active"), &Value::Null, &json!("s1"))
    );
    let id = started["session"]["id"].as_str().unwrap();
    assert_eq!(desk.agent(&start).answer(), started, "a known one comes back");
    let short = &id[22..];
    let again = desk.agent(&start[..start.len() - 1]).said();
    assert_eq!(again, format!("Started session {short} (Fix it)\n"));
    let bound = format!("Bound session {short} (Fix it); it works on issue #1\n");
    assert_eq!(desk.operator(&["session", "bind", "1", "--session", "s1"]).said(), bound);
    // By position, by flag and by the host's id; the current folder does not count.
    let whole = format!(
        "Fix it\n  active; started now by root:primary\n  works on issue #1\n  \
         not governed: its hooks do not fire, so it may stop early (`punch doctor`)\n  \
         session {short}\n  host claude\n  its host's id s1\n  conversation {}\n",
        &started["session"]["conversationId"].as_str().unwrap()[22..]
    );
    for words in [vec![id], vec![short], vec!["s1"], vec!["--session", "s1"]] {
        let words = [vec!["session", "show"], words].concat();
        assert_eq!(desk.operator(&words).said(), whole, "{words:?}");
    }
    let unnamed = desk.operator(&["session", "show", "--json"]).refusal(2);
    assert_eq!(unnamed["code"], "missing_context");
    let list = format!("{short}  not governed  #1  now  Fix it\n");
    assert_eq!(desk.operator(&["session", "list", "--state", "active"]).said(), list);
    let context = desk.agent(&["session", "context", "s1"]).said();
    assert!(context.starts_with("Issue #1 (open): Log in fails\n"), "{context}");
    assert!(context.ends_with("Criteria (1):\n- [ ] It works\n"), "{context}");
    let unbound = format!("Unbound session {short} (Fix it)\n");
    assert_eq!(desk.operator(&["session", "unbind", "s1"]).said(), unbound);
    assert_eq!(desk.agent(&["session", "context", "s1"]).said(), "", "nothing to know");
    let promote = ["session", "promote", "Found more", "--criteria", "Gone", "--session", "s1"];
    let promoted = desk.agent(&promote).said();
    assert_eq!(promoted, format!("Filed issue #2: Found more; session {short} works on it now\n"));
    let ended = format!("Ended session {short} (Fix it)\n");
    assert_eq!(desk.operator(&["session", "end", "s1"]).said(), ended);
    let ended = desk.operator(&["session", "show", "s1"]).said();
    assert!(ended.contains("\n  works on no issue\n  ended now\n"), "{ended}");
}

#[test]
fn a_session_lives_over_its_commands_on_sqlite() {
    a_session_lives_over_its_commands(Backend::SqliteFile);
}

#[test]
fn a_session_lives_over_its_commands_on_postgres() {
    a_session_lives_over_its_commands(Backend::Postgres);
}

#[test]
fn each_change_of_an_issue_prints_one_line() {
    let desk = Desk::new(Backend::SqliteFile);
    let said = |words: &[&str]| desk.operator(words).said();
    let none = "No sessions to show. `punch session start TITLE` begins one.\n";
    assert_eq!(said(&["session", "list"]), none);
    said(&["issue", "new", "Log in fails"]);
    said(&["issue", "new", "Cookie is broken"]);
    said(&["issue", "new", "White page"]);
    assert_eq!(said(&["issue", "comment", "1", "Seen"]), "Commented on issue #1: Log in fails\n");
    let linked = said(&["issue", "link", "2", "child_of", "1"]);
    assert_eq!(linked, "Linked issue #2, child of #1: Cookie is broken\n");
    let sent = said(&["issue", "send", "1", "Start with the tests."]);
    assert!(sent.starts_with("Sent issue #1 to an agent; session "), "{sent}");
    assert_eq!(sent.lines().count(), 1, "{sent}");
    let dup = said(&["issue", "dup", "3", "1", "--note", "the same"]);
    assert_eq!(dup, "Closed issue #3, duplicate of #1: White page\n");
    let rests = said(&["issue", "defer", "2", "2026-11-16T08:00:00Z"]);
    assert!(rests.starts_with("Issue #2 is deferred until 2026-11-16T08:00:00"), "{rests}");
    assert!(rests.ends_with(" (in 1 d): Cookie is broken\n"), "{rests}");
    let back = said(&["issue", "defer", "2"]);
    assert_eq!(back, "Issue #2 is no longer deferred: Cookie is broken\n");
    let asked = ("open_children".to_owned(), "issue #1 has open children: #2".to_owned());
    assert_eq!(desk.refused(&["issue", "transition", "1", "resolved"], 1), asked);
    let closed = said(&["issue", "transition", "1", "resolved", "--confirm"]);
    assert_eq!(closed, "Issue #1 is resolved now: Log in fails\nClosed with open children: #2\n");
    let page = said(&["issue", "show", "1"]);
    let rest = page.split_once("\n\n").unwrap().1;
    let sections: Vec<&str> = rest.split("\n\n").map(|part| part.lines().next().unwrap()).collect();
    assert_eq!(sections, ["Links", "Open children", "Sessions", "Ledger"], "{page}");
    assert!(page.contains("  parent of #2 Cookie is broken\n"), "{page}");
    assert!(page.contains("  duplicated by #3 White page\n"), "{page}");
    assert!(page.contains("  operator:primary, now\n    Seen\n"), "{page}");
    let unlinked = said(&["issue", "unlink", "2", "child_of", "1"]);
    assert_eq!(unlinked, "Unlinked issue #2, child of #1: Cookie is broken\n");
    // K-7: the first message of the sent session names the issue.
    let list = desk.operator(&["session", "list", "--json"]).answer();
    let chat = json!({ "conversationId": list["sessions"][0]["conversationId"] }).to_string();
    let chat = said(&["call", "conversation_show", &chat]);
    assert!(chat.starts_with("Log in fails\n\noperator:primary, now\n  Start with"), "{chat}");
    assert!(chat.contains("#1"), "{chat}");
    let run = said(&["call", "run_start", r#"{"prompt":"Go","model":"scripted:x"}"#]);
    assert!(
        run.starts_with("Started run ") && run.contains(" of primary with scripted:x"),
        "{run}"
    );
    assert_eq!(run.lines().count(), 1, "{run}");
}

#[test]
fn criteria_are_confirmed_and_dropped_by_a_part_of_their_text() {
    let desk = Desk::new(Backend::SqliteFile);
    let criteria = ["--criteria", "It works", "--criteria", "A test covers it"];
    desk.agent(&["issue", "new", "Log in fails"]).words(criteria).said();
    let said = desk.operator(&["criterion", "ratify", "1", "works"]).said();
    assert_eq!(said, "Ratified; issue #1 Log in fails: 0 of 2 closed, 0 of 2 criteria met\n");
    let page = desk.operator(&["todo", "show", "--issue", "1"]).said_without_ids();
    let proposed = "      proposed by an agent, not ratified\n";
    let items = format!("Criteria\n  [ ] It works\n  [ ] A test covers it\n{proposed}");
    assert!(page.contains(&items), "{page}");
    let said = desk.operator(&["criterion", "drop", "1", "TEST", "--reason", "no time"]).said();
    assert_eq!(said, "Dropped; issue #1 Log in fails: 1 of 2 closed, 0 of 1 criteria met\n");
    let page = desk.operator(&["todo", "show", "--issue", "1"]).said_without_ids();
    assert!(page.contains("  [ ] It works\n  [-] A test covers it\n"), "{page}");
    let again = desk.refused(&["criterion", "ratify", "1", "works"], 1);
    assert_eq!(again.0, "already_ratified");
    let by_agent = desk.agent(&["criterion", "drop", "1", "It works", "--json"]).refusal(4);
    assert_eq!(by_agent["code"], "not_permitted");
}

#[test]
fn delegations_are_taken_reported_and_decided() {
    let desk = Desk::new(Backend::SqliteFile);
    let agent = |words: &[&str]| desk.agent(words).env("PUNCHLIST_SESSION", "s1");
    let said = |words: &[&str]| agent(words).said();
    assert_eq!(said(&["delegation", "list"]), "No delegations to show.\n");
    assert_eq!(said(&["delegation", "take"]), "Nothing to take.\n");
    desk.agent(&["issue", "new", "Log in fails"]).said();
    said(&["session", "start", "Fix it", "--external-id", "s1"]);
    said(&["session", "bind", "1"]);
    let order = r#"{"type":"researcher","mission":"Find out why","async":true}"#;
    let queued = agent(&["call", "delegate", order, "--json"]).answer();
    let id = queued["delegationId"].as_str().unwrap();
    let later = agent(&["call", "delegate", order]).env("PUNCHLIST_NOW", "2026-11-15T08:01:00Z");
    let later = later.said();
    assert!(later.contains(" is queued.\n") && later.contains("no agent `researcher`"), "{later}");
    let list = said(&["delegation", "list", "--state", "queued"]);
    assert!(
        list.starts_with(&format!("{}  queued  now       researcher  Find out why\n", &id[22..])),
        "{list}"
    );
    let taken = said(&["delegation", "take", "--types", "researcher", "--for", "10m"]);
    let short = &id[22..];
    let yours = format!("Yours: delegation {short} (researcher): Find out why; the lease ends in ");
    assert!(taken.starts_with(&yours), "{taken}");
    let longer = said(&["delegation", "heartbeat", id, "1", "--lease-s", "900"]);
    assert!(longer.starts_with("Yours: the lease ends in "), "{longer}");
    let proposal = r#"{"items":[{"content":"Patch the cookie","phase":"Fix"}]}"#;
    let report = ["delegation", "report", id, "1", "--result", "The cookie."];
    let report = desk.agent(&report).words(["--proposal", proposal]).said();
    let returned = format!(
        "Returned delegation {short} (researcher): The cookie; it proposes 1 item (`punch \
         delegation decide`)"
    );
    assert_eq!(report.split_whitespace().collect::<Vec<_>>().join(" "), returned);
    let shown = desk.operator(&["delegation", "show", id]).said();
    assert!(shown.contains("\n  → The cookie.\n  it proposes, and nobody has"), "{shown}");
    assert!(shown.ends_with("\n  - Patch the cookie (Fix)\n"), "{shown}");
    // An item needs only a text.
    let item = r#"{"content":"Test it","phase":"Fix"}"#;
    let decide = ["delegation", "decide", id, "modify", "--items", "Patch it", "--items", item];
    let decided = desk.operator(&decide).said();
    assert_eq!(decided, format!("Modified the proposal of delegation {short} (researcher)\n"));
    let list = desk.operator(&["todo", "view", "--issue", "1"]).said_without_ids();
    assert!(list.starts_with("Steps\n  [/] Patch it\nFix\n  [ ] Test it\n"), "{list}");
    let shown = desk.operator(&["delegation", "show", id]).said();
    assert!(shown.starts_with("researcher  returned\n"), "{shown}");
    assert!(shown.contains("its proposal was answered with modify:"), "{shown}");
    let second = desk.agent(&["delegation", "list", "--state", "queued", "--json"]).answer();
    let second = second["delegations"][0]["id"].as_str().unwrap();
    let cancelled = desk.operator(&["delegation", "cancel", second, "--reason", "enough"]).said();
    assert_eq!(cancelled, format!("Cancelled delegation {} (researcher)\n", &second[22..]));
}

#[test]
fn invalid_commands_have_their_codes_and_change_nothing() {
    let desk = Desk::new(Backend::SqliteFile);
    desk.operator(&["issue", "new", "Log in fails"]).said();
    desk.operator(&["session", "start", "One", "--external-id", "s1"]).said();
    let before = desk.place.log_length();
    let unknown = "there is no session `nope` in this project";
    let id = "01JCQ0000000000000000000AB";
    for (words, exit, code, message) in [
        (vec!["session", "show", "nope"], 1, "unknown_session", unknown),
        (vec!["session", "end", "nope"], 1, "unknown_session", unknown),
        (vec!["session", "unbind", "--session", "nope"], 1, "unknown_session", unknown),
        (vec!["session", "context", "nope"], 1, "unknown_session", unknown),
        (vec!["session", "bind", "9"], 1, "unknown_issue", "there is no issue #9 here"),
        (vec!["issue", "send", "9"], 1, "unknown_issue", "there is no issue #9 here"),
        (vec!["issue", "comment", "1", " "], 2, "missing_field", "`text` is missing or empty"),
        (vec!["issue", "link", "1", "child_of", "1"], 1, "self_link", "linked to itself"),
        (vec!["issue", "link", "1", "cousin_of", "1"], 2, "bad_value", "`kind` cannot be"),
        (vec!["issue", "defer", "1", "soon"], 2, "bad_value", "`until`"),
        (vec!["criterion", "ratify", "1", "x"], 1, "no_such_text", "no item has the text `x`"),
        (vec!["criterion", "ratify", "1"], 2, "usage", "<TEXT>"),
        (vec!["session", "promote"], 2, "usage", "<TITLE>"),
        (vec!["session", "begin"], 2, "usage", "begin"),
        (vec!["delegation", "show", id], 1, "unknown_delegation", id),
        (vec!["delegation", "report", id, "1"], 2, "missing_field", "`result`"),
        (vec!["delegation", "decide", id, "maybe"], 2, "bad_value", "`decision` cannot be"),
    ] {
        let (found, said) = desk.refused(&words, exit);
        assert_eq!(found, code, "{words:?}: {said}");
        assert!(said.contains(message), "{words:?}: {said}");
    }
    assert_eq!(desk.place.log_length(), before);
}

/// The log for people contains no JSON, and no id for which the same page has a name.
#[test]
fn the_log_is_readable_text() {
    let desk = Desk::new(Backend::SqliteFile);
    let agent = |operation: &str, input: &Value| {
        let call = desk.agent(&["call", operation, &input.to_string(), "--json"]);
        call.words(["--session", "s1"]).answer()
    };
    desk.operator(&["issue", "new", "Log in fails", "--criteria", "It works"]).said();
    desk.agent(&["session", "start", "Fix it", "--external-id", "s1"]).said();
    desk.agent(&["session", "bind", "1", "--session", "s1"]).said();
    agent("todo", &json!({ "action": "set", "items": ["Read", "Mend"] }));
    agent("todo", &json!({ "action": "done", "content": "It works", "evidence": ["test:a"] }));
    let gate = agent("checkpoint", &json!({ "reason": "done, says I" }));
    let gate = gate["gateId"].as_str().unwrap().to_owned();
    desk.agent(&[
        "call",
        "gate_answer",
        &json!({ "gateId": gate, "decision": "resume" }).to_string(),
    ])
    .words(["--json"])
    .refusal(4);
    desk.operator(&["inbox", "answer", &gate, "--refuse", "--response", "no test"]).said();
    agent("delegate", &json!({ "type": "coder", "mission": "Mend it", "async": true }));
    desk.agent(&["delegation", "take"]).said();
    let log = desk.operator(&["log", "--limit", "200"]).env("COLUMNS", "200").said();
    assert!(!log.contains(['{', '}', '"']), "{log}");
    for words in [
        "session started      `Fix it`\n",
        "session bound        `Fix it` to #1\n",
        "issue assigned       #1 to session `Fix it`\n",
        "todo started         Read\n",
        "todo claimed         It works (test:a)\n",
        "asked                sign-off: done, says I\n",
        "answered             `done, says I` refused: no test\n",
        "claim returned       It works: ",
        "delegation queued    coder: Mend it\n",
        "delegation started   coder by root:primary, attempt 1\n",
    ] {
        assert!(log.contains(words), "{words}\n{log}");
    }
    let status = desk.operator(&["status"]).said();
    assert!(status.contains("  #1  Log in fails  (0 of 1 met)\n"), "{status}");
}
