//! The title of a host's session: a person recognises it in every list.

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use super::{answer, hook};
use crate::support::Place;

fn prompt(place: &Place, session: &str, text: &str) {
    let payload = json!({ "session_id": session, "prompt_id": text, "prompt": text });
    answer(&hook(place, "claude", "prompt", &payload).run());
}

fn titles(place: &Place) -> Vec<String> {
    let sessions = place.punch(["session", "list", "--json"]).answer()["sessions"].clone();
    let title = |session: &Value| session["title"].as_str().unwrap().to_owned();
    sessions.as_array().unwrap().iter().map(title).collect()
}

#[test]
fn a_session_is_named_after_its_first_prompt_and_shown_so_everywhere() {
    for backend in [Backend::SqliteFile, Backend::Postgres] {
        let place = Place::new(backend);
        place.punch(["issue", "new", "First", "--json"]).answer();
        let folder = place.home().join("shop");
        std::fs::create_dir(&folder).unwrap();
        for session in ["s1", "s2"] {
            let start = json!({ "session_id": session, "source": "startup", "cwd": folder });
            answer(&hook(&place, "claude", "session-start", &start).run());
        }
        assert_eq!(titles(&place), ["Claude Code in shop", "Claude Code in shop"]);
        prompt(&place, "s1", "/clear");
        prompt(&place, "s1", &format!("Fix the refunds,\n \u{1b}[31mplease. {}", "ü🙂".repeat(99)));
        prompt(&place, "s1", "And the tests");
        prompt(&place, "s2", "Write the page");
        let listed = titles(&place);
        let named = listed.iter().find(|title| title.starts_with("Fix the refunds, ")).unwrap();
        assert!(named.ends_with("ü…") || named.ends_with("🙂…"), "{named}");
        assert!(named.chars().count() <= 73, "{named}");
        assert!(listed.contains(&"Write the page".to_owned()), "{listed:?}");
        let status = place.punch(["status", "--json"]).answer();
        let running = status["running"].as_array().unwrap();
        assert!(running.iter().any(|run| run["title"] == named.as_str()), "{status}");
        let runs = place.punch(["runs", "--json"]).answer();
        let runs = runs["runs"].as_array().unwrap();
        assert!(runs.iter().any(|run| run["title"] == named.as_str()), "{runs:?}");
        let chats = place.punch(["call", "conversation_list", "{}", "--json"]);
        let chats = chats.with(&place.operator()).answer()["conversations"].clone();
        let has_title = |chat: &Value| chat["title"] == named.as_str();
        assert!(chats.as_array().unwrap().iter().any(has_title), "{chats}");
        // What a person wrote is shown as text: no escape sequence reaches the terminal.
        for words in [&["status"][..], &["session", "list"], &["runs"], &["log"]] {
            let said = place.punch(words.iter().copied()).said();
            assert!(said.contains("Fix the refunds"), "{words:?}: {said}");
            assert!(!said.contains('\u{1b}'), "{words:?}: {said:?}");
        }
        let doctor = place.punch(["doctor", "--json"]).run();
        assert_eq!(doctor.exit, Some(0), "{doctor:?}");
    }
}

/// A title that somebody has given stays: that of an issue that was sent, or of `session_start`.
#[test]
fn a_given_title_stays() {
    let place = Place::sqlite();
    let secret = place.operator();
    place.punch(["issue", "new", "Refunds fail", "--json"]).answer();
    let send = place.punch(["issue", "send", "1", "--to", "claude", "--json"]);
    send.with(&secret).answer();
    let start = json!({ "session_id": "s1", "source": "startup" });
    answer(&hook(&place, "claude", "session-start", &start).run());
    let named = r#"{"title":"Mine","host":"claude","externalId":"s2"}"#;
    place.punch(["call", "session_start", named, "--json"]).answer();
    for session in ["s1", "s2"] {
        prompt(&place, session, "Go on");
    }
    let mut listed = titles(&place);
    listed.sort();
    assert_eq!(listed, ["Mine", "Refunds fail"]);
}
