//! An issue's checklist by hand: `punch todo …` and `punch issue edit`, at a terminal and in
//! scripts, with concurrent changes.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use punchlist_testkit::Backend;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::support::{PUNCH, Place, Punch, Ran};

/// The host's id of the session.
const SESSION: &str = "fix-it";

/// An issue with a criterion and two steps, worked on in a session.
struct Desk {
    place: Place,
    secret: String,
}

impl Desk {
    fn new(backend: Backend) -> Self {
        let place = Place::new(backend);
        let secret = place.operator();
        let desk = Self { place, secret };
        desk.place
            .punch(["issue", "new", "Log in fails", "--criteria", "It works"])
            .with(&desk.secret)
            .said();
        let start = ["session", "start", "Fix it", "--external-id", SESSION];
        desk.place.punch(start).said();
        desk.agent(&["session", "bind", "1"]).said();
        desk.todo(&json!({ "action": "set", "items": ["Read the code", "Write tests"] }));
        desk
    }

    fn operator(&self, words: &[&str]) -> Punch {
        self.agent(words).with(&self.secret)
    }

    fn agent(&self, words: &[&str]) -> Punch {
        self.place.punch(words.iter().copied()).env("PUNCHLIST_SESSION", SESSION)
    }

    fn todo(&self, input: &Value) -> Value {
        self.agent(&["call", "todo", &input.to_string(), "--json"]).answer()
    }

    fn issue(&self) -> Value {
        self.operator(&["issue", "show", "1", "--json"]).answer()
    }

    /// A program for EDITOR: a shell script that gets the file as its last argument, `$file`.
    fn editor(&self, name: &str, script: &str) -> String {
        let path = self.place.home().join(name);
        let text = format!("#!/bin/sh\nfor file; do :; done\n{script}\n");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// `punch issue edit 1` by a person at a terminal.
    fn edit(&self, editor: &str, typed: &str) -> Ran {
        let edit = self.agent(&["issue", "edit", "1", "--no-color"]);
        let edit = edit.env("EDITOR", editor).env("TMPDIR", self.place.home());
        edit.stdin(typed).on_terminal()
    }
}

/// The file in which a message says a text is kept, and the text.
fn kept(ran: &Ran) -> (PathBuf, String) {
    let (_, rest) = ran.stdout.split_once("kept in ").unwrap_or_else(|| panic!("{ran:?}"));
    let path = rest.split(".md").next().unwrap();
    let path = PathBuf::from(format!("{path}.md"));
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

fn the_checklist_is_kept_by_short_commands(backend: Backend) {
    let desk = Desk::new(backend);
    let said = |words: &[&str]| match words {
        ["todo", "view"] => desk.operator(words).said_without_ids(),
        _ => desk.operator(words).said(),
    };
    let two = "Criteria\n  [ ] It works\nSteps\n  [/] Read the code\n  [ ] Write tests\n";
    assert_eq!(said(&["todo", "view"]), format!("{two}#1: 0 of 3 closed, 0 of 1 criteria met\n"));
    // A change prints one line; the list is shown only on request.
    let changed = |words: &[&str]| {
        let line = said(words);
        assert_eq!(line.lines().count(), 1, "{line}");
        (line, said(&["todo", "view"]))
    };
    let (line, added) = changed(&["todo", "add", "Ship it", "Tell people", "--phase", "Later"]);
    assert!(line.starts_with("Added: 2 items (#1: 0 of 5 closed, "), "{line}");
    assert!(added.contains("Later\n  [ ] Ship it\n  [ ] Tell people\n#1: 0 of 5"), "{added}");
    let (_, added) = changed(&["todo", "add", "A test covers it", "--criterion"]);
    assert!(added.starts_with("Criteria\n  [ ] It works\n  [ ] A test covers it\n"), "{added}");
    let (_, noted) = changed(&["todo", "note", "read", "begin with\nthe parser"]);
    let note = "  [/] Read the code\n      note: begin with\n            the parser\n";
    assert!(noted.contains(note), "{noted}");
    let (line, done) = changed(&["todo", "done", "read"]);
    assert!(done.contains("  [x] Read the code\n"), "{done}");
    assert!(line.ends_with("In progress: Write tests\n"), "{line}");
    let (_, started) = changed(&["todo", "start", "ship"]);
    assert!(started.contains("  [ ] Write tests\nLater\n  [/] Ship it\n"), "{started}");
    let (_, blocked) = changed(&["todo", "block", "tests", "no browser"]);
    assert!(blocked.contains("  [!] Write tests\n      blocked: no browser\n"), "{blocked}");
    let (_, unblocked) = changed(&["todo", "unblock", "tests"]);
    assert!(unblocked.contains("  [ ] Write tests\n"), "{unblocked}");
    let (_, dropped) = changed(&["todo", "drop", "tell", "--reason", "nobody asked"]);
    assert!(dropped.contains("  [-] Tell people\n"), "{dropped}");
    let evidence =
        ["todo", "done", "A test covers it", "--evidence", "test:login", "--evidence", "pr:12"];
    desk.agent(&evidence).said();
    let claimed = said(&["todo", "view"]);
    assert!(claimed.contains("  [?] A test covers it\n      claimed by "), "{claimed}");
    assert!(claimed.contains("0 of 2 criteria met, 1 claimed"), "{claimed}");
    let criterion = &desk.issue()["criteria"][1];
    assert_eq!(criterion["status"], "completed", "{criterion}");
    let (_, set) = changed(&["todo", "set", "Write tests", "# Later", "Ship it", "Rest"]);
    assert!(set.contains("Later\n  [/] Ship it\n"), "{set}");
    let compact = said(&["todo", "view", "--compact"]);
    assert!(compact.starts_with("punchlist/1\n[ ] It works (criterion)\n"), "{compact}");
}

#[test]
fn the_checklist_is_kept_by_short_commands_on_sqlite() {
    the_checklist_is_kept_by_short_commands(Backend::SqliteFile);
}

#[test]
fn the_checklist_is_kept_by_short_commands_on_postgres() {
    the_checklist_is_kept_by_short_commands(Backend::Postgres);
}

/// P-19: `done` without a text is an error, never the whole list. K-24: nothing is guessed.
#[test]
fn a_text_that_does_not_name_one_item_changes_nothing() {
    let desk = Desk::new(Backend::SqliteFile);
    let before = desk.issue();
    let code = |words: &[&str], exit: i32| {
        let error = desk.operator(words).words(["--json"]).refusal(exit);
        error["code"].as_str().unwrap().to_owned()
    };
    for action in ["done", "drop", "start", "note", "block", "unblock", "add", "set"] {
        assert_eq!(code(&["todo", action], 2), "usage", "{action}");
        let blank = match action {
            "note" | "block" => vec!["todo", action, " ", "why"],
            _ => vec!["todo", action, " "],
        };
        assert!(["missing_field", "too_short", "bad_value"].contains(&code(&blank, 2).as_str()));
    }
    assert_eq!(code(&["todo", "note", "read", ""], 2), "missing_field");
    assert_eq!(code(&["todo", "done", "e"], 1), "ambiguous_text");
    assert_eq!(code(&["todo", "done", "Write the docs"], 1), "no_such_text");
    assert_eq!(code(&["todo", "done", "read", "--evidence", "vibes:good"], 2), "bad_value");
    assert_eq!(code(&["todo", "view", "--issue", "9"], 1), "unknown_issue");
    assert_eq!(code(&["todo", "view", "--issue", "x"], 1), "unknown_issue");
    assert_eq!(code(&["todo", "view", "--session", "nope"], 1), "unknown_session");
    assert_eq!(code(&["todo", "finish", "read"], 2), "usage");
    assert_eq!(desk.issue(), before);
}

#[test]
fn a_named_issue_takes_precedence_over_the_sessions() {
    let desk = Desk::new(Backend::SqliteFile);
    desk.operator(&["issue", "new", "Another"]).said();
    desk.operator(&["todo", "add", "Over there", "--issue", "2"]).said();
    assert_eq!(
        desk.operator(&["todo", "view", "--issue", "2"]).said_without_ids(),
        "Steps\n  [/] Over there\n#2: 0 of 1 closed\n"
    );
    // K-11: the session's issue, if none is named.
    let own = desk.agent(&["todo", "view"]).said();
    assert!(own.contains("Read the code"), "{own}");
    let named = desk.agent(&["todo", "view", "--issue", "#2"]).said();
    assert_eq!(named, "Steps\n  [/] Over there\n#2: 0 of 1 closed\n");
    let both = ["todo", "add", "x", "--issue", "2", "--session", SESSION, "--json"];
    let both = desk.agent(&both).refusal(1);
    assert_eq!(
        (&both["code"], &both["message"]),
        (&json!("other_issue"), &json!("issue #2 was named, but the session is bound to #1"))
    );
    // An agent must be exact; a person may use a short form.
    let brief = desk.agent(&["todo", "done", "read", "--json"]).refusal(1);
    assert_eq!(brief["code"], "no_such_text");
    desk.operator(&["session", "end"]).said();
    let hint = |punch: Punch| {
        let error = punch.refusal(1);
        assert_eq!(error["code"], "unbound");
        error["hint"].as_str().unwrap().to_owned()
    };
    let view = ["todo", "view", "--json"];
    assert_eq!(
        hint(desk.agent(&view)),
        "call session_bind with the number of an issue, or ask the operator to bind an issue to this session"
    );
    assert!(hint(desk.operator(&view)).contains("--issue N"));
}

/// K-29: the edit and the agent's calls change the same rows; lines that were not edited stay.
#[test]
fn a_person_edits_the_checklist_in_an_editor() {
    let desk = Desk::new(Backend::SqliteFile);
    desk.todo(&json!({ "action": "note", "content": "Read the code", "text": "slowly" }));
    let before = desk.issue();
    let seen = desk.place.home().join("seen.md");
    let script = format!(
        "cp \"$file\" {}\nsed -i 's/- \\[ \\] Write tests/- [x] Write tests/' \"$file\"\n\
         printf -- '- [ ] Ship it\\n' >> \"$file\"",
        seen.display()
    );
    let editor = desk.editor("my editor", &script);
    // EDITOR is parsed like a shell command: a path with a space, and an argument.
    let ran = desk.edit(&format!("'{editor}' --wait"), "");
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Saved; issue #1 Log in fails: 1 of 4 closed"), "{ran:?}");
    let checklist = before["checklist"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), checklist, "the file is the checklist");
    let after = desk.issue();
    assert_eq!(after["steps"][0], before["steps"][0], "a line left alone keeps its row");
    assert_eq!(after["steps"][1]["id"], before["steps"][1]["id"]);
    assert_eq!(after["steps"][1]["status"], "completed");
    assert_eq!(after["steps"][2]["content"], "Ship it");
}

#[test]
fn an_edit_that_changes_nothing_says_so() {
    let desk = Desk::new(Backend::SqliteFile);
    let before = desk.issue();
    let ran = desk.edit("true", "");
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert!(ran.stdout.ends_with("Nothing was changed.\r\n"), "{ran:?}");
    assert_eq!(desk.issue(), before);
    // VISUAL takes precedence; blank variables are ignored.
    let edit = || desk.agent(&["issue", "edit", "1"]).env("EDITOR", "false");
    assert_eq!(edit().env("VISUAL", "true").on_terminal().exit, Some(0));
    assert_eq!(edit().env("VISUAL", " ").on_terminal().exit, Some(1));
}

#[test]
fn faults_are_reported_by_line_and_the_text_is_not_lost() {
    let desk = Desk::new(Backend::SqliteFile);
    let before = desk.issue();
    // Faulty the first time, corrected the second.
    let script = "if grep -q oops \"$file\"; then sed -i '/oops/d;/note/d;/^# $/d' \"$file\"; \
                  printf -- '- [ ] Ship it\\n' >> \"$file\"; \
                  else printf 'oops\\n# \\n  - note: of nothing\\n' >> \"$file\"; fi";
    let editor = desk.editor("ed", script);
    let given_up = desk.edit(&editor, "n\n");
    assert_eq!(given_up.exit, Some(2), "{given_up:?}");
    for line in ["[bad_checklist]", "  line 7: ", "  line 8: "] {
        assert!(given_up.stdout.contains(line), "{line}: {given_up:?}");
    }
    let (path, text) = kept(&given_up);
    assert!(text.contains("oops\n"), "{text}");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(path.parent().unwrap()) & 0o077, 0, "nobody else reads it");
    assert_eq!(desk.issue(), before);
    let mended = desk.edit(&editor, "\n");
    assert!(mended.stdout.contains("Saved; issue #1 Log in fails: 0 of 4 closed"), "{mended:?}");
    assert_eq!(mended.exit, Some(0), "{mended:?}");
    assert_eq!(desk.issue()["steps"][2]["content"], "Ship it");
}

#[test]
fn an_editor_that_fails_changes_nothing() {
    let desk = Desk::new(Backend::SqliteFile);
    let before = desk.issue();
    let ran = desk.edit("false", "");
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("[editor_failed]"), "{ran:?}");
    assert!(!ran.stdout.contains("kept"), "there is nothing to keep: {ran:?}");
    let editor = desk.editor("ed", "echo '- [ ] Mine' >> \"$file\"; exit 3");
    let ran = desk.edit(&editor, "");
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert!(kept(&ran).1.ends_with("- [ ] Mine\n"), "{ran:?}");
    for (editor, said) in
        [("no-such-program", "does not start"), ("ed 'x", "which is not a command")]
    {
        let ran = desk.edit(editor, "");
        assert_eq!(ran.exit, Some(2), "{ran:?}");
        assert!(ran.stdout.contains(said), "{ran:?}");
    }
    // An empty file is probably an accident.
    let emptied = desk.editor("empty", ": > \"$file\"");
    let ran = desk.edit(&emptied, "\n");
    assert!(ran.stdout.ends_with("Nothing was changed.\r\n"), "{ran:?}");
    assert_eq!(desk.issue(), before);
    let ran = desk.edit(&emptied, "y\n");
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert_eq!(desk.issue()["steps"], json!([]));
}

/// An agent changes the list while a person has it open: the second writer gets an error and loses
/// nothing.
#[test]
fn an_edit_that_an_agent_overtook_is_kept_and_the_newer_text_is_shown() {
    let desk = Desk::new(Backend::SqliteFile);
    let input = r#"{"action":"done","content":"Read the code"}"#;
    let script = format!(
        "{PUNCH} call todo '{input}' --agent primary --db {} --project test --quiet < /dev/null \
         > /dev/null 2>&1\n\
         echo '- [ ] Mine' >> \"$file\"",
        desk.place.db()
    );
    let ran = desk.edit(&desk.editor("ed", &script), "");
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("[stale_revision]"), "{ran:?}");
    assert!(ran.stdout.contains("│ - [x] Read the code\r\n│ - [/] Write tests\r\n"), "{ran:?}");
    let (_, text) = kept(&ran);
    assert!(text.contains("- [/] Read the code\n") && text.ends_with("- [ ] Mine\n"), "{text}");
    let steps = desk.issue()["steps"].clone();
    assert_eq!((&steps[0]["status"], steps.as_array().unwrap().len()), (&json!("completed"), 2));
}

#[test]
fn scripts_give_the_checklist_as_a_file() {
    let desk = Desk::new(Backend::SqliteFile);
    let revision = desk.issue()["issue"]["revision"].as_i64().unwrap();
    let markdown =
        "# Criteria\n- [ ] It works\n\n# Steps\n- [x] Read the code\n- [/] Write tests\n";
    let from_stdin = |expected: i64| {
        let expected = expected.to_string();
        let edit =
            ["issue", "edit", "1", "--file", "-", "--json", "--expected-revision", &expected];
        desk.operator(&edit).stdin(markdown)
    };
    let edited = from_stdin(revision).answer();
    assert_eq!(edited["checklist"], markdown);
    let stale = from_stdin(revision).refusal(1);
    assert_eq!((&stale["code"], &stale["checklist"]), (&json!("stale_revision"), &json!(markdown)));
    let file = desk.place.home().join("list.md");
    std::fs::write(&file, "- [ ] One\nnonsense\n- [%] Two\n").unwrap();
    let edit = |words: &[&str]| {
        desk.operator(&["issue", "edit", "1", "--json"]).words(words.iter().copied())
    };
    let faulty = edit(&["--file", file.to_str().unwrap()]).refusal(2);
    let lines: Vec<&Value> =
        faulty["faults"].as_array().unwrap().iter().map(|fault| &fault["line"]).collect();
    assert_eq!((&faulty["code"], lines), (&json!("bad_checklist"), vec![&json!(2), &json!(3)]));
    std::fs::write(&file, [0xff, 0xfe]).unwrap();
    assert_eq!(edit(&["--file", file.to_str().unwrap()]).refusal(2)["code"], "invalid_utf8");
    assert_eq!(edit(&["--file", "no/such/file"]).refusal(3)["code"], "io");
    assert_eq!(edit(&["--file", "-"]).refusal(2)["code"], "usage", "nothing is no checklist");
    assert_eq!(edit(&["--expected-revision", "3"]).refusal(2)["code"], "usage");
    let nowhere = edit(&[]).refusal(2);
    assert_eq!(nowhere["message"], "there is no terminal for an editor");
    let other = ["issue", "edit", "9", "--file", "-", "--json"];
    assert_eq!(desk.operator(&other).stdin(markdown).refusal(1)["code"], "unknown_issue");
    assert_eq!(desk.issue()["checklist"], markdown);
}

#[test]
fn an_agent_may_not_edit_by_hand_and_learns_it_before_the_editor_opens() {
    let desk = Desk::new(Backend::SqliteFile);
    let edit = desk.agent(&["issue", "edit", "1", "--file", "-", "--json"]).stdin("- [x] All\n");
    assert_eq!(edit.refusal(4)["code"], "not_permitted");
    let editor = desk.editor("ed", "touch opened");
    let edit = desk.agent(&["issue", "edit", "1"]).env("EDITOR", editor).env("CLAUDECODE", "1");
    assert_eq!(edit.on_terminal().exit, Some(4));
    assert!(!desk.place.home().join("opened").exists());
}

#[test]
fn a_narrow_terminal_gets_narrow_lines_and_every_word() {
    let desk = Desk::new(Backend::SqliteFile);
    let note = "begin with the parser, which is the oldest part of all of this code";
    desk.todo(&json!({ "action": "note", "content": "Read the code", "text": note }));
    desk.todo(&json!({ "action": "block", "content": "Write tests", "text": note }));
    desk.operator(&["issue", "comment", "1", note]).said();
    let page = desk.operator(&["issue", "show", "1"]).env("COLUMNS", "44").said();
    for line in page.lines() {
        assert!(line.width() <= 44, "{line}\n{page}");
    }
    let words: Vec<&str> = page.split_whitespace().collect();
    assert_eq!(words.join(" ").matches(note).count(), 3, "{page}");
    let wide = desk.operator(&["issue", "show", "1"]).said();
    assert!(wide.contains(&format!("      note: {note}\n")), "{wide}");
}
