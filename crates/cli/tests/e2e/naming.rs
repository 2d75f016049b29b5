//! How people name things on the command line, and which names they read.

use serde_json::json;

use crate::running::Running;
use crate::support::{Place, Punch};

/// A place, and the operator's token for it.
struct Desk {
    place: Place,
    operator: String,
}

impl Desk {
    fn new() -> Self {
        let place = Place::sqlite();
        let operator = place.operator();
        Self { place, operator }
    }

    fn punch<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Punch {
        self.place.punch(words).with(&self.operator)
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.place.home().join(file), text).unwrap();
        self.punch(["plan", "import", file]).said();
    }
}

/// What a command says when it is refused, and its hint.
fn refused(punch: &Punch, exit: i32) -> String {
    let ran = punch.run();
    assert_eq!(ran.exit, Some(exit), "{}\n{ran:?}", punch.shown());
    ran.remarks()
}

/// An issue with two criteria and two steps, and the short ids of criteria and steps.
fn filed(place: &Desk) -> (Vec<String>, Vec<String>) {
    let criteria = ["--criteria", "A test covers it", "--criteria", "It works on Safari"];
    place.punch(["issue", "new", "Log in fails on Safari"]).words(criteria).said();
    place.punch(["todo", "add", "Read the log", "Read the header", "--issue", "1"]).said();
    let shown = place.punch(["issue", "show", "1", "--json"]).answer();
    let ids = |list: &str| -> Vec<String> {
        let items = shown[list].as_array().unwrap().iter();
        items.map(|item| item["id"].as_str().unwrap()[22..].to_owned()).collect()
    };
    (ids("criteria"), ids("steps"))
}

#[test]
fn the_log_shows_names_that_are_not_on_its_page() {
    let place = Desk::new();
    let (criteria, steps) = filed(&place);
    place.punch(["todo", "done", "Read the log", "--issue", "1"]).said();
    let page = place.punch(["log", "--limit", "3"]).said();
    assert!(page.contains("todo completed") && page.contains("Read the log"), "{page}");
    assert!(page.contains("#1 revision"), "{page}");
    for id in criteria.iter().chain(&steps) {
        assert!(!page.contains(id.as_str()), "{id} is no name: {page}");
    }
}

#[test]
fn a_followed_log_has_names_and_times_to_the_second() {
    let place = Desk::new();
    filed(&place);
    let seq = place.place.log_length();
    place.punch(["todo", "done", "Read the log", "--issue", "1"]).said();
    let wait = place.punch(["wait", "--types", "todo_completed", "--after", &seq.to_string()]);
    assert!(wait.said().contains("Read the log"), "{}", wait.said());
    let after = seq.to_string();
    let log = Running::start(&place.punch(["log", "-f", "--after", &after]));
    let line = loop {
        let (_, line) = log.line().expect("the log goes on");
        if line.contains("todo completed") {
            break line;
        }
    };
    assert!(line.contains("2026-11-15T08:00:00Z") && line.contains("Read the log"), "{line}");
    assert_eq!(log.interrupt(), Some(0));
}

#[test]
fn an_item_is_named_by_the_short_id_that_is_shown_with_it() {
    let place = Desk::new();
    let (criteria, steps) = filed(&place);
    let shown = place.punch(["issue", "show", "1"]).said();
    assert!(shown.contains(&format!("[ ] {} A test covers it\n", criteria[0])), "{shown}");
    let list = place.punch(["todo", "show", "--issue", "1"]).said();
    assert!(list.contains(&format!("[ ] {} Read the header\n", steps[1])), "{list}");
    let done = place.punch(["todo", "done", &steps[0].to_lowercase(), "--issue", "1"]).said();
    let line = "Done: Read the log (#1: 1 of 4 closed, 0 of 2 criteria met) In progress: Read";
    assert!(done.starts_with(line), "{done}");
    let dropped = place.punch(["criterion", "drop", "1", &criteria[1]]).said();
    assert!(dropped.starts_with("Dropped; issue #1"), "{dropped}");
    let shown = place.punch(["issue", "show", "1"]).said();
    assert!(shown.contains(&format!("[-] {} It works on Safari", criteria[1])), "{shown}");
}

#[test]
fn a_part_of_a_text_stands_for_the_whole_and_several_hits_are_listed_with_their_ids() {
    let place = Desk::new();
    let (_, steps) = filed(&place);
    let done = place.punch(["todo", "start", "HEADER", "--issue", "1"]).said();
    assert!(done.starts_with("Started: Read the header (#1: "), "{done}");
    let several = refused(&place.punch(["todo", "done", "read", "--issue", "1"]), 1);
    for (id, text) in steps.iter().zip(["Read the log", "Read the header"]) {
        assert!(several.contains(&format!("`{id} {text}`")), "{several}");
    }
}

#[test]
fn a_claim_of_a_criterion_is_neither_done_nor_closed() {
    let place = Desk::new();
    filed(&place);
    let start = json!({ "title": "Fix it", "externalId": "first" }).to_string();
    place.place.punch(["call", "session_start", &start]).said();
    let agent =
        |words: &[&str]| place.place.punch(words.iter().copied()).env("PUNCHLIST_SESSION", "first");
    agent(&["call", "session_bind", r#"{"number":1}"#]).said();
    let claimed = agent(&["todo", "done", "A test covers it", "--evidence", "test:login"]).said();
    let counts = "(#1: 0 of 4 closed, 0 of 2 criteria met, 1 claimed)";
    assert_eq!(claimed, format!("Claimed: A test covers it {counts}\n"));
}

#[test]
fn an_issue_is_named_by_a_part_of_its_title_that_only_it_has() {
    let place = Desk::new();
    filed(&place);
    place.punch(["issue", "new", "Log out is slow"]).said();
    assert!(place.punch(["issue", "show", "safari"]).said().starts_with("#1 Log in fails"));
    let added = place.punch(["todo", "add", "Measure", "--issue", "slow"]).said();
    assert!(added.starts_with("Added: Measure (#2: 0 of 1 closed)"), "{added}");
    let several = refused(&place.punch(["issue", "close", "log"]), 1);
    assert!(several.contains("`#2 Log out is slow`"), "{several}");
    let unknown = refused(&place.punch(["issue", "show", "Chrome"]), 1);
    assert!(unknown.contains("there is no open issue `Chrome`"), "{unknown}");
    assert!(unknown.contains("`punch issue list` shows the issues; open are #2 Log"), "{unknown}");
    let missing = refused(&place.punch(["issue", "show", "9"]), 1);
    assert!(missing.contains("next: `punch issue list` shows the issues"), "{missing}");
}

#[test]
fn tasks_that_could_be_meant_are_listed_by_their_numbers() {
    let place = Desk::new();
    place.write("plan.md", "# P\n- [ ] build a\n- [ ] build b\n");
    let several = refused(&place.punch(["plan", "complete", "build", "Built"]), 1);
    assert!(several.contains("`t2 build a`") && several.contains("`t3 build b`"), "{several}");
}

#[test]
fn the_lease_that_was_shown_is_renewed_as_the_hint_says() {
    let place = Desk::new();
    place.write("plan.md", "# P\n- [ ] build\n");
    let taken = place.punch(["todo", "next", "--plan", "plan.md"]).env("COLUMNS", "200").said();
    let (_, hint) = taken.split_once("renew it: punch ").expect(&taken);
    let (words, _) = hint.split_once(')').unwrap();
    let renewed = place.punch(words.split(' ')).said();
    assert!(renewed.starts_with("Yours: build"), "{renewed}");
}

#[test]
fn an_issue_is_deferred_to_a_date_and_says_so_where_it_is_listed() {
    let place = Desk::new();
    filed(&place);
    place.punch(["issue", "set", "1", "--label", "login", "--assign", "ann"]).said();
    place.punch(["issue", "defer", "1", "2030-01-31"]).said();
    for line in [&["issue", "list"][..], &[]] {
        let narrow = place.punch(line.iter().copied()).env("COLUMNS", "60").said();
        assert!(narrow.contains("deferred until 2030-01-31"), "{narrow}");
        assert!(!narrow.contains("punch issue show 1"), "{narrow}");
    }
    let listed = place.punch(["issue", "list"]).env("COLUMNS", "60").said();
    assert!(listed.contains("@ann") && listed.contains("[login]"), "{listed}");
    let wrong = refused(&place.punch(["issue", "defer", "1", "soon"]), 2);
    assert!(wrong.contains("UNTIL cannot be `soon`") && wrong.contains("2030-01-31"), "{wrong}");
    let empty = refused(&place.punch(["todo", "add", "", "--issue", "1"]), 2);
    assert!(empty.contains("ITEM") && !empty.contains("items[0]"), "{empty}");
}

#[test]
fn what_home_offers_can_be_done() {
    let place = Desk::new();
    for name in ["a.md", "b.md"] {
        place.write(name, "# P\n- [ ] build\n");
    }
    filed(&place);
    let home = place.punch([""; 0]).said();
    let (_, offered) = home.split_once("Try next\n").unwrap();
    assert!(!offered.contains("punch run"), "no model is configured: {offered}");
    for line in offered.lines() {
        let words = line.trim().strip_prefix("punch ").unwrap();
        assert_eq!(place.punch(words.split(' ')).run().exit, Some(0), "{line}");
    }
}

#[test]
fn words_of_the_program_do_not_reach_people() {
    let place = Desk::new();
    let unknown = refused(&place.punch(["inbox", "answer", "zzzz", "--resume"]), 1);
    assert!(unknown.contains("there is no question `zzzz`"), "{unknown}");
    assert!(unknown.contains("next: `punch inbox` shows the questions that wait"), "{unknown}");
    let run = refused(&place.punch(["runs", "show", "ZZZZ"]), 1);
    assert!(run.contains("next: `punch runs list` shows the runs"), "{run}");
    let bare = refused(&place.place.bare(["plan"]), 2);
    assert!(bare.contains("`punch plan` needs a command"), "{bare}");
    assert!(bare.lines().all(|line| line.len() < 80), "{bare}");
}
