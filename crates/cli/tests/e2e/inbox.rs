//! `punch inbox`: what waits for a person, and how it is answered at a terminal and in scripts.

use punchlist_testkit::Backend;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::support::{Place, Punch, Ran};

/// The host's id of the session.
const SESSION: &str = "fix-it";

/// An issue with two criteria, both claimed, one with evidence, in a session.
struct Desk {
    place: Place,
    secret: String,
}

impl Desk {
    fn new(backend: Backend) -> Self {
        let place = Place::new(backend);
        let secret = place.operator();
        let desk = Self { place, secret };
        let criteria = ["--criteria", "It works", "--criteria", "A test covers it"];
        desk.place
            .punch(["issue", "new", "Log in fails"])
            .with(&desk.secret)
            .words(criteria)
            .said();
        let start = ["session", "start", "Fix it", "--external-id", SESSION];
        desk.place.punch(start).said();
        desk.agent(&["session", "bind", "1"]).said();
        desk.call("todo", &json!({ "action": "done", "content": "It works" }));
        let evidence = json!(["test:login"]);
        desk.call(
            "todo",
            &json!({ "action": "done", "content": "A test covers it", "evidence": evidence }),
        );
        desk
    }

    fn operator(&self, words: &[&str]) -> Punch {
        self.agent(words).with(&self.secret)
    }

    fn agent(&self, words: &[&str]) -> Punch {
        self.place.punch(words.iter().copied()).env("PUNCHLIST_SESSION", SESSION)
    }

    /// An agent's call.
    fn call(&self, operation: &str, input: &Value) -> Value {
        self.agent(&["call", operation, &input.to_string(), "--json"]).answer()
    }

    /// Asks for sign-off. Returns the gate's id.
    fn sign_off(&self) -> String {
        id(&self.call("checkpoint", &json!({ "reason": "criteria met, requesting sign-off" })))
    }

    fn ask(&self) -> String {
        id(&self.call("ask", &question()))
    }

    fn gate(&self, id: &str) -> Value {
        let list = self.operator(&["call", "gate_list", "--json"]).answer();
        let gates = list["gates"].as_array().unwrap();
        gates.iter().find(|gate| gate["id"] == id).unwrap().clone()
    }

    /// A person at a terminal who types this.
    fn typing(&self, words: &[&str], typed: &str) -> Ran {
        self.agent(words).words(["--no-color"]).stdin(typed).on_terminal()
    }
}

fn question() -> Value {
    json!({ "question": "Which port?", "options": ["8080", "8443"] })
}

fn form() -> Value {
    json!({ "title": "Deploy", "schema": {
        "type": "object", "required": ["region"], "properties": {
            "region": { "type": "string", "enum": ["eu", "us"], "description": "Where to" },
            "canary": { "type": "boolean", "default": true },
            "count": { "type": "integer", "maximum": 9 },
            "remark": { "type": "string" },
        } } })
}

fn id(asked: &Value) -> String {
    assert_eq!(asked["state"], "open");
    asked["gateId"].as_str().unwrap().to_owned()
}

fn what_waits_is_shown_with_all_that_is_needed_to_judge_it(backend: Backend) {
    let desk = Desk::new(backend);
    assert_eq!(desk.operator(&["inbox"]).said(), "Nothing is waiting for you.\n");
    assert_eq!(desk.operator(&["inbox", "--json"]).answer(), json!({ "gates": [] }));
    desk.agent(&["issue", "new", "Cookie is broken"]).said();
    let sign_off = desk.sign_off();
    let later = |operation: &str, input: &Value, at: &str| {
        let call = desk.agent(&["call", operation, &input.to_string(), "--json"]);
        id(&call.env("PUNCHLIST_NOW", at).answer())
    };
    let ask = later("ask", &question(), "2026-11-15T09:00:00Z");
    let form = later("form", &form(), "2026-11-15T09:30:00Z");
    let two_hours_on = desk.operator(&["inbox"]).env("PUNCHLIST_NOW", "2026-11-15T10:00:00Z");
    let expected = format!(
        "Sign-off on issue #1, asked by root:primary 2 h ago
  criteria met, requesting sign-off
  [?] It works
      claimed by root:primary 2 h ago
      no evidence
  [?] A test covers it
      claimed by root:primary 2 h ago
      test:login
  still open below it:
  #2 Cookie is broken (open)
  punch inbox answer {}

Question on issue #1, asked by root:primary 1 h ago
  Which port?
  1. 8080
  2. 8443
  punch inbox answer {}

Form on issue #1, asked by root:primary 30 min ago
  Deploy
  region: Where to (eu or us, required)
  canary: yes or no, unless said yes
  count: a whole number, at most 9
  remark: text
  punch inbox answer {}
",
        &sign_off[22..],
        &ask[22..],
        &form[22..]
    );
    assert_eq!(two_hours_on.said(), expected);
    let narrow = two_hours_on.env("COLUMNS", "44").said();
    for line in narrow.lines() {
        assert!(line.width() <= 44, "{line}\n{narrow}");
    }
    let others = desk.operator(&["inbox", "--issue", "2"]).said();
    assert_eq!(others, "Nothing is waiting for you.\n");
    let nowhere = desk.operator(&["inbox", "--session", "nope", "--json"]).refusal(1);
    assert_eq!(nowhere["code"], "unknown_session");
    // The caller's session does not filter its inbox.
    let all = desk.operator(&["inbox"]).env("PUNCHLIST_SESSION", "nope");
    assert_eq!(all.said().matches("punch inbox answer ").count(), 3);
    let one = desk.operator(&["inbox", "--limit", "1"]).said();
    assert!(one.starts_with("Sign-off on issue #1"), "the oldest first: {one}");
    assert!(one.ends_with(&format!("… more: the same with --cursor {sign_off}\n")), "{one}");
}

#[test]
fn each_gate_is_shown_with_everything_needed_to_decide_on_sqlite() {
    what_waits_is_shown_with_all_that_is_needed_to_judge_it(Backend::SqliteFile);
}

#[test]
fn each_gate_is_shown_with_everything_needed_to_decide_on_postgres() {
    what_waits_is_shown_with_all_that_is_needed_to_judge_it(Backend::Postgres);
}

#[test]
fn scripts_answer_with_flags() {
    let desk = Desk::new(Backend::SqliteFile);
    let sign_off = desk.sign_off();
    let refuse = ["inbox", "answer", &sign_off, "--refuse", "--response", "No test at all"];
    let refused = desk.operator(&refuse).words(["--reopen", "a TEST"]).said();
    let expected = "Refused the sign-off on issue #1; root:primary gets your answer.\n  \
                    to be met: A test covers it\n";
    assert_eq!(refused, expected);
    // A text is the option of that name, not a number.
    let ask = desk.ask();
    let resumed = desk.operator(&["inbox", "answer", "--resume", "--response", "8443"]).said();
    assert_eq!(resumed, "Answered the question on issue #1; root:primary continues.\n");
    assert_eq!(desk.gate(&ask)["response"], "8443");
    assert_eq!(desk.call("ask", &question())["response"], "8443");
    let form_id = id(&desk.call("form", &form()));
    let answer = |response: &str| {
        desk.operator(&["inbox", "answer", &form_id, "--resume", "--json", "--response", response])
    };
    for bad in ["eu", r#"{"region":"mars"}"#, r#"{"region":"#, "{}"] {
        assert_eq!(answer(bad).refusal(2)["code"], "bad_response", "{bad}");
    }
    let answered = answer(r#"{"region":"us","count":3}"#).answer();
    assert_eq!(answered["gate"]["response"], json!({ "region": "us", "count": 3 }));
    assert_eq!(desk.operator(&["inbox"]).said(), "Nothing is waiting for you.\n");
    let nothing = desk.operator(&["inbox", "answer", "--resume", "--json"]).refusal(1);
    assert_eq!(nothing["code"], "unknown_gate");
}

#[test]
fn a_gate_is_named_by_a_unique_part_of_its_id() {
    let desk = Desk::new(Backend::SqliteFile);
    let (first, second) = (desk.sign_off(), desk.ask());
    let code = |words: &[&str], exit: i32| {
        desk.operator(words).words(["--json"]).refusal(exit)["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(code(&["inbox", "answer", "0", "--resume"], 1), "unknown_gate");
    // A part that is in both texts.
    assert_eq!(code(&["inbox", "answer", "i", "--resume"], 1), "ambiguous_text");
    assert_eq!(code(&["inbox", "answer", "nope", "--resume"], 1), "unknown_gate");
    assert_eq!(code(&["inbox", "answer", " ", "--resume"], 1), "unknown_gate");
    assert_eq!(code(&["inbox", "answer", "--resume"], 2), "usage", "two wait");
    assert_eq!(code(&["inbox", "answer", &first], 2), "usage", "go on or not?");
    assert_eq!(code(&["inbox", "answer", &first, "--resume", "--refuse"], 2), "usage");
    let reopen = ["inbox", "answer", &first, "--resume", "--reopen", "It works"];
    assert_eq!(code(&reopen, 2), "usage");
    let end = second[16..].to_lowercase();
    desk.operator(&["inbox", "answer", &end, "--refuse"]).said();
    assert_eq!(desk.gate(&second)["state"], "refused");
    assert_eq!(desk.gate(&first)["state"], "open");
    // An answer counts once, however the gate is named.
    for name in [end.as_str(), second.as_str()] {
        assert_eq!(code(&["inbox", "answer", name, "--resume"], 1), "already_answered");
    }
}

#[test]
fn an_agent_sees_no_inbox_and_answers_nothing() {
    let desk = Desk::new(Backend::SqliteFile);
    let gate = desk.sign_off();
    for words in [
        vec!["inbox"],
        vec!["inbox", "answer", &gate, "--resume"],
        vec!["inbox", "answer", &gate[20..], "--resume"],
        vec!["inbox", "answer", "--resume"],
    ] {
        let refused = desk.agent(&words).words(["--json"]).refusal(4);
        assert_eq!(refused["code"], "not_permitted", "{words:?}");
    }
    let host = desk.agent(&["inbox", "answer"]).env("CLAUDECODE", "1").stdin("y\n\n");
    assert_eq!(host.on_terminal().exit, Some(4), "a terminal makes no agent a person");
    assert_eq!(desk.gate(&gate)["state"], "open");
}

/// Contract, Issues: a yes covers what was asked about. What changed since is said, and asked about.
#[test]
fn a_person_is_told_what_changed_since_a_sign_off_was_asked_for() {
    let desk = Desk::new(Backend::SqliteFile);
    let gate = desk.sign_off();
    desk.operator(&["issue", "set", "1", "--title", "Log in fails twice"]).said();
    let told = desk.typing(&["inbox", "answer"], "y\n\n\n");
    assert_eq!(told.exit, Some(0), "{told:?}");
    let said = told.stdout.replace("\r\n", "\n");
    assert!(
        said.contains("issue #1 has changed since the sign-off was asked for: title (it is at"),
        "{said}"
    );
    assert!(said.ends_with("It stays open.\n"), "{said}");
    assert_eq!(desk.gate(&gate)["state"], "open");
    let signed = desk.typing(&["inbox", "answer"], "y\n\ny\nn\n");
    assert_eq!(signed.exit, Some(0), "{signed:?}");
    assert_eq!(desk.gate(&gate)["state"], "resumed");
}

#[test]
fn a_person_signs_off_at_a_terminal() {
    let desk = Desk::new(Backend::SqliteFile);
    let gate = desk.sign_off();
    let left = desk.typing(&["inbox", "answer"], "\n");
    assert_eq!(left.exit, Some(0), "{left:?}");
    assert!(left.stdout.ends_with("It stays open.\r\n"), "{left:?}");
    assert_eq!(desk.gate(&gate)["state"], "open");
    let refused = desk.typing(&["inbox", "answer"], "n\n3\n2\nNot enough\n");
    assert_eq!(refused.exit, Some(0), "{refused:?}");
    assert!(refused.stdout.contains("Give numbers from 1 to 2."), "{refused:?}");
    assert!(refused.stdout.ends_with("  to be met: A test covers it\r\n"), "{refused:?}");
    let answered = desk.gate(&gate);
    assert_eq!(
        (&answered["state"], &answered["response"]),
        (&json!("refused"), &json!("Not enough"))
    );
    assert_eq!(answered["criteria"][0]["status"], "completed");
    assert_eq!(answered["criteria"][1]["notes"], json!(["Not enough"]));
    // The gate is already answered, so nothing is asked.
    let again = desk.typing(&["inbox", "answer", &gate], "y\n\n");
    assert_eq!(again.exit, Some(1), "{again:?}");
    assert!(again.stdout.contains("[already_answered]"), "{again:?}");
    let pause = id(&desk.call("checkpoint", &json!({ "reason": "lunch", "purpose": "pause" })));
    let resumed = desk.typing(&["inbox", "answer", &pause], "yes\nEnjoy\n");
    assert!(resumed.stdout.ends_with("continues.\r\n"), "{resumed:?}");
    assert_eq!(desk.gate(&pause)["response"], "Enjoy");
    let nothing = desk.typing(&["inbox", "answer"], "");
    assert!(nothing.stdout.ends_with("Nothing is waiting for you.\r\n"), "{nothing:?}");
    let unknown = desk.typing(&["inbox", "answer", "nope"], "");
    assert!(unknown.stdout.contains("[unknown_gate]"), "{unknown:?}");
}

#[test]
fn a_person_answers_questions_and_forms_at_a_terminal() {
    let desk = Desk::new(Backend::SqliteFile);
    let ask = desk.ask();
    let form = id(&desk.call("form", &form()));
    // Two gates wait, so the first question is which one. Then the second option, by its number.
    let ran = desk.typing(&["inbox", "answer"], "9\n");
    assert!(ran.stdout.ends_with("They stay open.\r\n"), "{ran:?}");
    let ran = desk.typing(&["inbox", "answer", &ask], "2\n");
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert_eq!(desk.gate(&ask)["response"], "8443");
    // Invalid answers are asked for again; an empty line takes the default, or leaves the field
    // out.
    let typed = "y\nmars\n1\n\nmany\n12\n4\n\n\n";
    let ran = desk.typing(&["inbox", "answer"], typed);
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    for said in [
        "`region` must be one of \"eu\", \"us\"",
        "`count` must be of type integer",
        "`count` must be at most 9",
        "  region: eu, canary: yes, count: 4\r\n",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
    let expected = json!({ "region": "eu", "canary": true, "count": 4 });
    assert_eq!(desk.gate(&form)["response"], expected);
    let ask = id(&desk.call("ask", &json!({ "question": "Why?" })));
    let ran = desk.typing(&["inbox", "answer"], "-\nI do not know\n");
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    let gate = desk.gate(&ask);
    assert_eq!((&gate["state"], &gate["response"]), (&json!("refused"), &json!("I do not know")));
}

/// A person who stops in the middle has answered nothing.
#[test]
fn an_interrupted_answer_does_not_count() {
    let desk = Desk::new(Backend::SqliteFile);
    let form = id(&desk.call("form", &form()));
    for typed in ["", "y\n", "y\n1\n\n\n", "y\n1\n\n\n\nn\n"] {
        let ran = desk.typing(&["inbox", "answer"], typed);
        assert_eq!(ran.exit, Some(0), "{typed:?}: {ran:?}");
        assert!(ran.stdout.ends_with("It stays open.\r\n"), "{typed:?}: {ran:?}");
        assert_eq!(desk.gate(&form)["state"], "open", "{typed:?}");
    }
}

/// P-32: a step that waits for its reviewer is shown with its id, and judged by its id or its text.
#[test]
fn a_claimed_step_is_judged_from_the_inbox() {
    let desk = Desk::new(Backend::SqliteFile);
    let add = ["todo", "add", "Mend the cookie", "Write the docs", "Ship it", "--issue", "1"];
    desk.operator(&add).said();
    let claim = |text: &str| {
        let words = ["todo", "claim", text, "done", "--issue", "1"];
        desk.place.punch(words).said();
    };
    for text in ["Mend the cookie", "Write the docs", "Ship it"] {
        claim(text);
    }
    let list = desk.operator(&["inbox", "--json"]).answer();
    let id = |n: usize| list["reviews"][n]["todoId"].as_str().unwrap().to_owned();
    let shown = desk.operator(&["inbox"]).said();
    assert!(shown.contains(&id(0)[22..]), "{shown}");
    assert!(shown.contains("punch inbox answer ID"), "{shown}");
    let accepted = desk.operator(&["inbox", "answer", &id(0), "--resume", "--json"]).answer();
    assert_eq!(accepted["todo"]["status"], "completed");
    let bare = desk.operator(&["inbox", "answer", &id(1), "--refuse", "--json"]).refusal(2);
    assert_eq!(bare["message"], "say what is missing");
    let back = ["inbox", "answer", &id(1), "--refuse", "--response", "no test", "--json"];
    assert_eq!(desk.operator(&back).answer()["todo"]["claim"], Value::Null);
    let by_text = desk.operator(&["todo", "accept", "ship", "--issue", "1", "--json"]).answer();
    assert_eq!(by_text["todo"]["title"], "Ship it");
}

/// A granted sign-off is in the issue's history.
#[test]
fn a_granted_sign_off_is_in_the_history() {
    let desk = Desk::new(Backend::SqliteFile);
    let gate = desk.sign_off();
    desk.operator(&["inbox", "answer", &gate, "--resume", "--response", "Well done."]).said();
    let shown = desk.operator(&["issue", "show", "1", "--json"]).answer();
    let granted = &shown["signOffs"][0];
    assert_eq!((&granted["gateId"], &granted["response"]), (&json!(gate), &json!("Well done.")));
    let page = desk.operator(&["issue", "show", "1"]).said();
    assert!(page.contains("Sign-offs\n  signed off by operator:primary"), "{page}");
}

/// P-28: a token for one issue or session answers what it reaches, without naming that again.
#[test]
fn a_narrowed_operator_answers_from_the_inbox() {
    for is_session in [true, false] {
        let desk = Desk::new(Backend::SqliteFile);
        let gate = desk.sign_off();
        let listed = desk.operator(&["session", "list", "--json"]).answer();
        let session = listed["sessions"][0]["id"].as_str().unwrap();
        let only = match is_session {
            true => format!("--only-session={session}"),
            false => "--only-issue=1".to_owned(),
        };
        let new = desk.operator(&["token", "new", "--role", "operator", &only, "--json"]).answer();
        let narrowed = |words: &[&str]| {
            desk.place.punch(words.iter().copied()).with(new["token"].as_str().unwrap())
        };
        let shown = narrowed(&["inbox", "--json"]).answer();
        assert_eq!(shown["gates"][0]["id"], json!(gate), "{only}");
        let answer = ["inbox", "answer", &gate[22..], "--refuse", "--response", "No", "--json"];
        assert_eq!(narrowed(&answer).answer()["gate"]["state"], "refused", "{only}");
    }
}

#[test]
fn an_answer_to_nothing_is_refused() {
    let desk = Desk::new(Backend::SqliteFile);
    for flag in ["--resume", "--refuse", "--allow=once"] {
        let refused = desk.operator(&["inbox", "answer", flag, "--json"]).refusal(1);
        assert_eq!(refused["code"], "unknown_gate", "{flag}");
    }
    desk.operator(&["issue", "set", "1", "--priority", "high"]).said();
    let plain = desk.operator(&["issue", "set", "1", "--no-priority", "--json"]).answer();
    assert_eq!(plain["issue"]["priority"], Value::Null);
}

#[test]
fn words_about_a_checklist_fit_what_was_done() {
    let desk = Desk::new(Backend::SqliteFile);
    let said = |words: &[&str]| desk.operator(words).said();
    let added = said(&["todo", "add", "# Build", "One", "--issue", "1"]);
    assert!(added.starts_with("Added: 1 item "), "{added}");
    let free = said(&["todo", "unblock", "One", "--issue", "1"]);
    assert!(free.starts_with("Not on hold: One "), "{free}");
}
