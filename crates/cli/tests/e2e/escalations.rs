//! Overdue items of a mission are in the inbox, and are answered there (M-76, M-77).

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::mission_file::Desk;
use crate::support::Ran;

/// A mission with overdue items, after a cycle.
fn late(backend: Backend, titles: &[&str]) -> Desk {
    let desk = Desk::with_mission(backend);
    for title in titles {
        desk.punch(&["mission", "add", "docs", title, "--deadline", "2026-11-01"]).said();
    }
    desk.punch(&["mission", "cycle"]).said();
    desk
}

fn typing(desk: &Desk, typed: &str) -> Ran {
    let answer = desk.place.punch(["inbox", "answer", "--no-color"]);
    answer.stdin(typed).on_terminal()
}

fn todo(desk: &Desk, title: &str) -> Value {
    let list = desk.punch(&["mission", "todos", "--json"]).answer();
    let todos = list["todos"].as_array().unwrap();
    todos.iter().find(|todo| todo["title"] == title).unwrap().clone()
}

fn gate(desk: &Desk) -> String {
    let list = desk.punch(&["inbox", "--json"]).answer();
    list["gates"][0]["id"].as_str().unwrap().to_owned()
}

fn an_escalation_is_shown_and_answered_by_flags(backend: Backend) {
    let desk = late(backend, &["Write it down"]);
    let id = gate(&desk);
    let shown = desk.punch(&["inbox"]).said();
    let expected = format!(
        "Escalation in developer-experience / docs, asked by operator just now
  TODO overdue: Write it down. Status: pending since 2026-11-15. Please advise: extend deadline or
  cancel?
  answer with --extend DATE or --cancel
  punch inbox answer {}
",
        &id[22..]
    );
    assert_eq!(stable(&shown), stable(&expected));
    let status = desk.punch(&["mission", "status"]).said();
    assert!(status.contains(&format!("punch inbox answer {}", &id[22..])), "{status}");
    for said in ["tomorrow", "extend", "extend to next week"] {
        let wrong = desk.punch(&["inbox", "answer", "--resume", "--response", said, "--json"]);
        let wrong = wrong.refusal(2);
        assert_eq!(wrong["code"], "bad_response", "{wrong}");
        let words = wrong.to_string();
        assert!(words.contains("extend to YYYY-MM-DD") && words.contains("cancel"), "{wrong}");
    }
    let wrong = desk.punch(&["inbox", "answer", "--extend", "someday", "--json"]).refusal(2);
    assert_eq!(wrong["code"], "usage");
    assert_eq!(wrong["message"], "--extend cannot be `someday`");
    assert_eq!(todo(&desk, "Write it down")["deadline"], "2026-11-01", "nothing changed");
    let said = desk.punch(&["inbox", "answer", "--extend", "2026-12-01"]).said();
    assert!(said.starts_with("Extended to 2026-12-01. TODO"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(todo(&desk, "Write it down")["deadline"], "2026-12-01");
    assert_eq!(desk.punch(&["inbox"]).said(), "Nothing is waiting for you.\n");
}

/// The operator's name depends on the user who runs the tests, so it is replaced.
fn stable(text: &str) -> String {
    let start = text.find("asked by ").unwrap();
    let end = text.find("\n  TODO").unwrap();
    format!("{}{}", &text[..start], &text[end..])
}

/// At a terminal an invalid answer is asked for again, and an empty line leaves the gate open.
#[test]
fn an_escalation_is_answered_at_a_terminal() {
    let desk = late(Backend::SqliteFile, &["Write it down"]);
    let ran = typing(&desk, "\n");
    assert!(ran.stdout.ends_with("It stays open.\r\n"), "{ran:?}");
    let ran = typing(&desk, "later\n2026-12-01\n");
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    let again = "Answer with `extend to YYYY-MM-DD` or `cancel`.";
    assert!(ran.stdout.contains(again), "{ran:?}");
    assert!(ran.stdout.contains("Extended to 2026-12-01."), "{ran:?}");
    assert_eq!(todo(&desk, "Write it down")["deadline"], "2026-12-01");
    let desk = late(Backend::SqliteFile, &["Write it down"]);
    let ran = typing(&desk, "cancel\n");
    assert!(ran.stdout.contains("Cancelled."), "{ran:?}");
    assert_eq!(todo(&desk, "Write it down")["status"], "cancelled");
    let desk = late(Backend::SqliteFile, &["Write it down"]);
    let ran = typing(&desk, "-\nlet it be\n");
    assert!(ran.stdout.contains("The todo stays as it is."), "{ran:?}");
    assert_eq!(todo(&desk, "Write it down")["deadline"], "2026-11-01");
}

/// The short forms are only for escalations.
#[test]
fn another_question_takes_no_date() {
    let desk = Desk::new(Backend::SqliteFile);
    desk.place.punch(["session", "start", "s"]).said();
    let ask = json!({ "question": "Which port?" }).to_string();
    desk.place.punch(["call", "ask", &ask, "--json"]).answer();
    for flags in [&["--cancel"][..], &["--extend", "2026-12-01"]] {
        let words = [&["inbox", "answer"], flags, &["--json"]].concat();
        let error = desk.punch(&words).refusal(2);
        assert!(error["message"].as_str().unwrap().contains("overdue"), "{error}");
    }
}

on_every_lasting_store!(an_escalation_is_shown_and_answered_by_flags);
