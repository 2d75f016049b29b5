//! Text for a terminal contains no control characters, in text and in JSON.

use serde_json::{Value, json};

use crate::support::Place;

/// Clears the screen, reverses the text direction, deletes, and contains C1 controls.
const NASTY: &str =
    "a\u{1b}[2Jb\u{202e}c\u{2066}d\u{7f}e\u{9b}31mf\u{85}g\u{200f}h\u{61c}i\u{2028}j";

fn is_obeyed(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}'
        | '\u{200f}' | '\u{61c}' | '\u{2028}' | '\u{2029}');
    turns || (c.is_control() && !matches!(c, '\n' | '\r'))
}

#[test]
fn no_control_reaches_a_terminal_in_words_or_in_json() {
    let place = Place::sqlite();
    let title = json!({ "items": [{ "title": NASTY }] });
    place.call("create_todo", &title).answer();
    let turn = ["--conversation", "c1", "--turn", "t1"];
    let agent = ["--agent", "primary"];
    let commands: [&[&str]; 5] = [
        &["call", "list_todo", "{}"],
        &["call", "event_list", "{}"],
        &["log"],
        &["status"],
        &["call", "complete_todo", r#"{"todoId":"x"}"#],
    ];
    for words in commands {
        for form in [&["--no-color"][..], &["--json"]] {
            let punch = place.punch(words.to_vec()).words(turn).words(agent).words(form.to_vec());
            let ran = punch.on_terminal();
            let found: Vec<char> = ran.stdout.chars().filter(|c| is_obeyed(*c)).collect();
            assert_eq!(found, Vec::<char>::new(), "{} {:?}", punch.shown(), ran.stdout);
        }
    }
    // Escaped, and not left out: it parses back to the original.
    let list = place.punch(["call", "list_todo", "{}", "--json"]).words(turn).words(agent);
    let answer: Value = serde_json::from_str(
        list.on_terminal()
            .stdout
            .lines()
            .filter(|line| !line.starts_with("note"))
            .collect::<String>()
            .as_str(),
    )
    .unwrap();
    assert_eq!(answer["items"][0]["title"], list.answer()["items"][0]["title"]);
}

/// The person's name becomes a part of the principal in the log.
#[test]
fn a_user_name_that_is_none_is_left_out() {
    let place = Place::sqlite();
    let long = "x".repeat(65);
    let cases = [
        ("ada", "operator:ada"),
        ("ada.b-c_d", "operator:ada.b-c_d"),
        ("ada\u{202e}", "operator"),
        ("ada root:primary", "operator"),
        ("x\ny", "operator"),
        (&long, "operator"),
        ("", "operator"),
    ];
    for (n, (user, principal)) in cases.into_iter().enumerate() {
        let title = json!({ "title": format!("Number {n} {}", "x".repeat(n)), "forceNew": true });
        let create = place.punch(["call", "issue_create", &title.to_string(), "--json"]);
        assert_eq!(create.env("USER", user).on_terminal().exit, Some(0), "{user:?}");
        let log = place.punch(["call", "event_list", r#"{"after":0,"limit":1000}"#, "--json"]);
        let events = log.answer()["events"].clone();
        let actors: Vec<&str> = events
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["type"] == "issue_opened" || event["type"] == "issue_created")
            .filter_map(|event| event["actor"].as_str())
            .collect();
        assert_eq!(actors.last(), Some(&principal), "{user:?} {events}");
    }
}
