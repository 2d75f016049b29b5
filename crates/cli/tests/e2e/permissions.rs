//! Permission to call a tool is asked for in the inbox: once, always or no. Permanent permissions
//! are listed and revoked.

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::support::{Place, Punch, Ran};

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

    /// The question of the agent's runner.
    fn ask(&self, call: &str) -> Value {
        let input = json!({
            "tool": "deploy", "input": { "to": "staging" }, "run": "r", "call": call,
            "definition": { "command": ["./deploy.sh", "two words"], "env": ["KEY"] },
        });
        let words = ["call", "permission_ask", &input.to_string(), "--json"];
        self.place.punch(words).answer()
    }

    fn gate(&self, call: &str) -> String {
        let asked = self.ask(call);
        assert_eq!(asked["permission"], "open", "{asked}");
        asked["gateId"].as_str().unwrap().to_owned()
    }

    fn typing(&self, typed: &str) -> Ran {
        self.place.punch(["inbox", "answer", "--no-color"]).stdin(typed).on_terminal()
    }
}

fn a_tool_waits_in_the_inbox(backend: Backend) {
    let desk = Desk::new(backend);
    let gate = desk.gate("c1");
    let expected = format!(
        "Permission, asked by root:primary now
  primary wants to call deploy
  with {{\"to\":\"staging\"}}
  runs ./deploy.sh 'two words', env [\"KEY\"]
  answer with --allow once, --allow always or --refuse
  punch inbox answer {}
",
        &gate[22..]
    );
    assert_eq!(desk.operator(&["inbox"]).said(), expected);
    let said = desk.operator(&["inbox", "answer", &gate, "--allow", "once"]).said();
    assert_eq!(said, "Allowed: primary may call deploy this once.\n");
    assert_eq!(desk.ask("c1")["permission"], "allowed");
    assert_eq!(desk.operator(&["permission", "list"]).said(), "Nothing is permitted always.\n");
    let gate = desk.gate("c2");
    let refuse = desk.operator(&["inbox", "answer", "--refuse", "--response", "not today"]);
    assert_eq!(refuse.said(), "Denied: primary may not call deploy.\n");
    let denied = desk.ask("c2");
    assert_eq!((&denied["permission"], &denied["gateId"]), (&json!("denied"), &json!(gate)));
    // Resuming means once.
    desk.gate("c3");
    desk.operator(&["inbox", "answer", "--resume"]).said();
    assert_eq!(desk.ask("c3")["response"], json!({ "allow": "once" }));
}

fn what_is_given_always_is_listed_and_taken_back(backend: Backend) {
    let desk = Desk::new(backend);
    let gate = desk.gate("c1");
    let said = desk.operator(&["inbox", "answer", "--allow", "always"]).said();
    let expected = format!(
        "Allowed: primary may call deploy from now on \
         (to take it back: punch permission revoke {})\n",
        &gate[22..]
    );
    assert_eq!(said, expected);
    assert_eq!(desk.ask("c2")["standing"], true);
    let listed = desk.operator(&["permission", "list"]).said();
    let expected = format!(
        "primary may call deploy, permitted by operator:primary now
  runs ./deploy.sh 'two words', env [\"KEY\"]
  permission {}
",
        &gate[22..]
    );
    assert_eq!(listed, expected);
    let said = desk.operator(&["permission", "revoke", &gate]).said();
    assert_eq!(said, "Taken back: you are asked again before primary calls deploy.\n");
    assert_eq!(desk.operator(&["permission", "list"]).said(), "Nothing is permitted always.\n");
    desk.gate("c3");
    // On a server, the first token set the identity rule, and the operator reset it.
    let rules = if desk.place.db().starts_with("postgres") { 2 } else { 0 };
    assert_eq!(desk.place.log_of(6 + rules), 6 + rules);
    let events = desk.operator(&["log"]).said();
    assert!(events.contains("permission revoked  `deploy`"), "{events}");
}

/// P-21: an agent sees no inbox and answers nothing, whatever it tries.
fn an_agent_permits_nothing(backend: Backend) {
    let desk = Desk::new(backend);
    let gate = desk.gate("c1");
    let agent = |words: &[&str]| desk.place.punch(words.iter().copied()).words(["--json"]);
    for words in [
        &["inbox"][..],
        &["inbox", "answer", &gate, "--allow", "always"],
        &["inbox", "answer", &gate, "--resume"],
        &["permission", "list"],
        &["permission", "revoke", &gate],
    ] {
        assert_eq!(agent(words).refusal(4)["code"], "not_permitted", "{words:?}");
    }
    assert_eq!(desk.ask("c1")["permission"], "open");
    let code = |words: &[&str], exit| {
        let refused = desk.operator(words).words(["--json"]).refusal(exit);
        refused["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(code(&["inbox", "answer", &gate, "--allow", "forever"], 2), "usage");
    assert_eq!(code(&["inbox", "answer", &gate, "--allow", "once", "--refuse"], 2), "usage");
    assert_eq!(
        code(&["inbox", "answer", &gate, "--resume", "--response", "forever"], 2),
        "bad_response"
    );
    assert_eq!(code(&["permission", "revoke", &gate], 1), "no_permission");
    assert_eq!(code(&["permission", "revoke", "nope"], 1), "unknown_permission");
    let ask = json!({ "question": "Which port?" }).to_string();
    let asked = agent(&["call", "ask", &ask]).answer();
    let other = asked["gateId"].as_str().unwrap();
    assert_eq!(code(&["inbox", "answer", other, "--allow", "once"], 2), "usage");
    assert_eq!(code(&["permission", "revoke", other], 1), "no_permission");
    assert_eq!(desk.ask("c1")["permission"], "open");
}

#[test]
fn a_tool_is_answered_at_a_terminal() {
    let desk = Desk::new(Backend::SqliteFile);
    desk.gate("c1");
    let ran = desk.typing("\n");
    assert!(ran.stdout.ends_with("It stays open.\r\n"), "{ran:?}");
    let ran = desk.typing("perhaps\nonce\n");
    assert!(ran.stdout.contains("Answer with once, always or no."), "{ran:?}");
    assert!(ran.stdout.contains("primary may call deploy this once."), "{ran:?}");
    assert_eq!(desk.ask("c1")["permission"], "allowed");
    desk.gate("c2");
    let ran = desk.typing("no\nnot today\n");
    assert!(ran.stdout.contains("Denied"), "{ran:?}");
    assert_eq!(desk.ask("c2")["response"], "not today");
    desk.gate("c3");
    let ran = desk.typing("always\n");
    assert!(ran.stdout.contains("from now on"), "{ran:?}");
    assert_eq!(desk.ask("c4")["standing"], true);
}

on_every_lasting_store!(
    a_tool_waits_in_the_inbox,
    what_is_given_always_is_listed_and_taken_back,
    an_agent_permits_nothing,
);
