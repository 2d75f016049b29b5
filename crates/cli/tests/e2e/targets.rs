//! The target of a write: the named issue, session or plan, or nothing.

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::support::{Place, Punch};

/// Four issues. A session in this folder is bound to #4, and its agent has two steps there.
struct Folder {
    place: Place,
    secret: String,
}

impl Folder {
    fn new(backend: Backend) -> Self {
        let place = Place::new(backend);
        let secret = place.operator();
        let folder = Self { place, secret };
        for title in ["One", "Two", "Three", "Four"] {
            folder.person(&["issue", "new", title]).said();
        }
        folder.person(&["issue", "send", "4"]).said();
        folder.person(&["todo", "add", "Read", "Write", "--issue", "4"]).said();
        folder
    }

    fn agent(&self, words: &[&str]) -> Punch {
        self.place.punch(words.iter().copied())
    }

    fn person(&self, words: &[&str]) -> Punch {
        self.agent(words).with(&self.secret)
    }

    fn steps(&self, number: i64) -> Vec<(String, String)> {
        let shown = self.person(&["issue", "show", &number.to_string(), "--json"]).answer();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let steps = shown["steps"].as_array().unwrap().iter();
        let pair = |step: &Value| (text(&step["content"]), text(&step["status"]));
        let mut steps: Vec<_> = steps.map(pair).collect();
        // The clock is fixed, so the order of creation is not visible.
        steps.sort();
        steps
    }
}

fn step(content: &str, status: &str) -> (String, String) {
    (content.to_owned(), status.to_owned())
}

fn an_issue_that_is_named_is_written(backend: Backend) {
    let folder = Folder::new(backend);
    let others = folder.steps(4);
    let said = folder.agent(&["todo", "add", "x", "--issue", "3"]).said();
    assert!(said.contains("(#3: 0 of 1 closed)"), "{said}");
    assert_eq!(folder.steps(3), [step("x", "in_progress")]);
    folder.agent(&["todo", "set", "y", "--issue", "3"]).said();
    assert_eq!(folder.steps(3), [step("x", "abandoned"), step("y", "in_progress")]);
    let context = folder.agent(&["session", "context", "--issue", "3", "--json"]).answer();
    assert_eq!(context["number"], 3);
    assert_eq!(folder.steps(4), others, "nothing of another issue was touched");
    let unknown = folder.agent(&["todo", "add", "x", "--issue", "9", "--json"]).refusal(1);
    assert_eq!(unknown["code"], "unknown_issue");
}

#[test]
fn an_issue_that_is_named_is_written_on_sqlite() {
    an_issue_that_is_named_is_written(Backend::SqliteFile);
}

#[test]
fn an_issue_that_is_named_is_written_on_postgres() {
    an_issue_that_is_named_is_written(Backend::Postgres);
}

/// The folder does not count, for people or agents, because several of each may work in it.
#[test]
fn a_write_without_a_target_asks_for_one() {
    let folder = Folder::new(Backend::SqliteFile);
    let before = folder.place.log_length();
    for punch in [
        folder.agent(&["todo", "add", "x", "--json"]),
        folder.person(&["todo", "add", "x", "--json"]),
    ] {
        assert_eq!(punch.refusal(1)["code"], "unbound", "{}", punch.shown());
    }
    for words in [["session", "unbind", "--json"], ["session", "end", "--json"]] {
        assert_eq!(folder.person(&words).refusal(2)["code"], "missing_context");
    }
    let context = folder.agent(&["session", "context", "--json"]).answer();
    assert_eq!(context, json!({ "text": "", "number": null }));
    assert_eq!(folder.place.log_length(), before);
}

/// K-45: an issue that a person creates after sending another one to an agent is not its child.
#[test]
fn an_issue_is_a_child_only_in_a_session_that_was_named() {
    let folder = Folder::new(Backend::SqliteFile);
    folder.person(&["issue", "new", "Unrelated"]).said();
    folder.agent(&["issue", "new", "Found by an agent"]).said();
    let links = |number: &str| {
        folder.person(&["issue", "show", number, "--json"]).answer()["links"].clone()
    };
    assert_eq!((links("5"), links("6")), (json!([]), json!([])));
    folder.person(&["issue", "transition", "4", "resolved"]).said();
    let list = folder.person(&["session", "list", "--json"]).answer();
    let session = list["sessions"][0]["id"].as_str().unwrap().to_owned();
    folder.agent(&["issue", "new", "Found on the way", "--session", &session]).said();
    assert_eq!(links("7")[0]["kind"], "child_of");
}

/// `--issue` is never ignored silently.
#[test]
fn an_issue_that_a_command_cannot_use_is_refused() {
    let folder = Folder::new(Backend::SqliteFile);
    let before = folder.place.log_length();
    for words in [
        vec!["issue", "new", "x", "--issue", "3", "--json"],
        vec!["issue", "comment", "2", "x", "--issue", "3", "--json"],
        vec!["session", "start", "x", "--issue", "3", "--json"],
    ] {
        assert_eq!(folder.person(&words).refusal(2)["code"], "usage", "{words:?}");
    }
    assert_eq!(folder.place.log_length(), before);
    folder.person(&["issue", "comment", "#3", "x", "--issue", "3"]).said();
    let taken = folder.agent(&["todo", "next", "--issue", "4", "--json"]).answer();
    assert_eq!(taken["todo"]["title"], "Read");
}
