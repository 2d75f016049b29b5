//! The output for people: the whole help as one golden, versions, and which output goes to which
//! stream.

use punchlist_testkit::Backend;
use serde_json::json;

use crate::support::{Place, Punch};

/// Runs it and returns its text: exit 0, only notes on stderr.
fn words(punch: &Punch) -> String {
    let ran = punch.run();
    assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""), "{}", punch.shown());
    ran.stdout
}

/// The commands a help text lists.
fn listed(help: &str) -> Vec<String> {
    let groups = ["Commands:", "Everyday", "Missions", "Agents", "Store", "More"];
    let mut commands = Vec::new();
    let mut is_list = false;
    for line in help.lines() {
        match line.split_whitespace().next() {
            _ if groups.contains(&line) => is_list = true,
            Some(word) if is_list && line.starts_with("  ") => {
                // The rest of a long line is indented further.
                if !line.starts_with("   ") {
                    commands.push(word.to_owned());
                }
            }
            _ => is_list = false,
        }
    }
    commands.retain(|word| word != "help");
    commands
}

/// The help of a command and of all below it.
fn walk(place: &Place, path: &[String], help: &mut String) {
    let words_of_it = [path, &["--help".to_owned()]].concat();
    let text = words(&place.bare(words_of_it.iter().map(String::as_str)));
    // The flags that every command has are only in the first help.
    let own = text.split("\nIdentity and context:").next().unwrap();
    let shown = if path.is_empty() { &text } else { own };
    help.push_str(&format!("$ punch {}\n{shown}\n", words_of_it.join(" ")));
    for command in listed(&text) {
        walk(place, &[path, &[command]].concat(), help);
    }
}

#[test]
fn the_whole_help_matches_its_golden() {
    let place = Place::sqlite();
    assert_eq!(words(&place.bare(["-h"])), words(&place.bare(["--help"])));
    let mut help = String::new();
    walk(&place, &[], &mut help);
    assert!(!help.contains('\u{1b}'), "no colour goes into a pipe");
    insta::assert_snapshot!("help", help);
}

/// Every command that takes arguments or options of its own shows how it is typed.
#[test]
fn every_command_with_arguments_has_an_example() {
    let place = Place::sqlite();
    let mut help = String::new();
    walk(&place, &[], &mut help);
    let pages = help.split("$ punch ").skip(1).filter(|page| !page.contains("Commands:"));
    let takes = |page: &&str| {
        let flags = page.lines().filter(|line| line.trim_start().starts_with('-'));
        let own = flags.filter(|line| !line.contains("--help"));
        page.contains("Arguments:") || own.count() > 0
    };
    let mut with_arguments = 0;
    for page in pages.filter(takes).skip_while(|page| page.starts_with("--help")) {
        with_arguments += 1;
        assert!(page.contains("Example"), "no example: {page}");
    }
    assert!(with_arguments > 60, "{with_arguments}");
}

#[test]
fn the_version_is_one_line() {
    let place = Place::sqlite();
    let expected = format!("punch {}\n", env!("CARGO_PKG_VERSION"));
    for flag in ["--version", "-V"] {
        assert_eq!(words(&place.bare([flag])), expected);
    }
}

#[test]
fn no_command_shows_what_matters_now() {
    let place = Place::sqlite();
    let bare = words(&place.punch([""; 0]));
    assert_eq!(bare, words(&place.punch(["status"])));
    assert!(bare.contains("Nothing is open here.") && bare.contains("punch issue new"), "{bare}");
}

#[test]
fn help_and_lists_create_no_store() {
    let place = Place::sqlite();
    for line in [
        "--help",
        "status --help",
        "call --list",
        "call --list --json",
        "call create_todo --schema",
        "authority",
        "demo",
    ] {
        let text = words(&place.bare(line.split(' ')));
        assert!(!text.is_empty() && !text.contains('\u{1b}'), "{line}: {text}");
    }
    assert!(!place.home().join("data").exists());
}

#[test]
fn answers_for_people_are_words_without_colour_in_a_pipe() {
    let place = Place::sqlite();
    let turn = ["--conversation", "c1", "--turn", "t1"];
    let create =
        r#"{"items":[{"title":"Measure","agentType":"researcher"},{"title":"Write\u001b[31m"}]}"#;
    let show = |words_: &[&str], color: (&str, &str)| {
        words(&place.punch(words_.iter().copied()).words(turn).env(color.0, color.1))
    };
    let none = ("NO_COLOR", "1");
    let created = show(&["call", "create_todo", create], none);
    assert!(created.starts_with("Created 2 items; 2 pending in this turn.\n  1. "), "{created}");
    let listed = show(&["call", "list_todo"], none);
    assert_eq!(listed, show(&["call", "list_todo"], ("TERM", "xterm-256color")));
    assert_eq!(listed, show(&["call", "list_todo", "--no-color"], ("TERM", "xterm-256color")));
    assert!(listed.starts_with("[ ] Measure\n"), "{listed}");
    assert!(listed.ends_with("2 in this turn: 2 open, 0 completed, 0 cancelled\n"), "{listed}");
    for shown in [created, listed, show(&["log"], none), show(&["status"], none)] {
        assert!(!shown.contains('\u{1b}'), "what a model wrote must not reach a terminal: {shown}");
    }
}

#[test]
fn quiet_prints_nothing_on_success_and_json_prints_everything() {
    let place = Place::sqlite();
    let create = ["call", "create_todo", r#"{"items":[{"title":"a"}]}"#];
    let turn = ["--conversation", "c1", "--turn", "t1"];
    let quiet = place.punch(create).words(turn).words(["--quiet"]);
    let ran = quiet.clone().without_env("PUNCHLIST_NOW").run();
    assert_eq!((ran.exit, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    // A failure is still printed.
    let ran = place.punch(["call", "list_todo", "-q"]).run();
    assert_eq!((ran.exit, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.remarks().starts_with("error [missing_context]: "), "{ran:?}");
    assert_eq!(quiet.words(["--json"]).answer()["totalPending"], 2);
    // The overridden clock is a note, not part of the answer.
    let ran = place.call("list_todo", &json!({})).run();
    let note =
        "note: the clock of this process is set to 2026-11-15T08:00:00.000000Z (PUNCHLIST_NOW)\n";
    assert_eq!(ran.stderr, note);
}

#[test]
fn flags_take_precedence_over_the_environment() {
    let (place, other) = (Place::sqlite(), Place::new(Backend::SqliteFile));
    let status = |punch: Punch| punch.answer()["project"].clone();
    let named = place.bare(["status", "--json"]).env("PUNCHLIST_DB", place.db());
    let named = named.env("PUNCHLIST_PROJECT", "environment");
    assert_eq!(status(named.clone()), "environment");
    assert!(place.file().is_file());
    let flags = named.words(["--db", &other.db(), "--project", "flag"]);
    assert_eq!(status(flags), "flag");
    assert!(other.file().is_file());
}

#[test]
fn a_reader_that_goes_away_is_not_a_failure() {
    let place = Place::sqlite();
    let mut child = place.bare(["authority"]).spawn();
    drop(child.stdin.take());
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap().matches("error").count(), 0);
}

/// P-33: compact text for agents, besides `--json` for programs and text for people.
#[test]
fn compact_text_is_a_format_of_its_own() {
    let place = Place::sqlite();
    let id = place.create("Measure the build");
    let call =
        place.punch(["call", "list_todo", "--compact", "--conversation", "c1", "--turn", "t1"]);
    let expected = format!(
        "punchlist/1\n[ ] {id} Measure the build\nsummary.total=1\nsummary.pending=1\n\
         summary.inProgress=0\nsummary.completed=0\nsummary.cancelled=0\n"
    );
    assert_eq!(words(&call), expected);
}
