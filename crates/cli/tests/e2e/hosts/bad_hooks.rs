//! P-11: whatever goes wrong, the stop is allowed, with exit 0 and one line on standard error.

use punchlist_testkit::Backend;
use serde_json::json;

use super::{bound, hook, stop};
use crate::support::{Place, Punch, Ran};

/// The reason in the one line, after the fixed beginning.
fn why(ran: &Ran) -> String {
    assert_eq!((ran.exit, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    let remarks = ran.remarks();
    assert_eq!(remarks.matches('\n').count(), 1, "{remarks}");
    let line = remarks.trim_end().strip_prefix("punch hook: the stop is allowed: ");
    line.unwrap_or_else(|| panic!("{remarks}")).to_owned()
}

fn given(place: &Place, stdin: &str) -> Punch {
    place.punch(["hook", "claude", "stop"]).stdin(stdin)
}

#[test]
fn a_malformed_payload_allows_the_stop() {
    let place = Place::sqlite();
    bound(&place, "claude", "s1", &["One"]);
    let before = place.log_length();
    let cases = [
        ("", "standard input is empty"),
        (" \n", "standard input is empty"),
        (r#"{"session_id":"s1","#, "the payload is no JSON"),
        ("[1]", "the payload is no JSON object"),
        ("\u{0}\u{1}", "the payload is no JSON"),
    ];
    for (stdin, expected) in cases {
        let said = why(&given(&place, stdin).run());
        assert!(said.starts_with(expected), "{said}");
    }
    assert_eq!(place.log_length(), before);
}

#[test]
fn unknown_words_allow_the_stop() {
    let place = Place::sqlite();
    let stdin = stop("s1", "p", "x", false).to_string();
    let cases: [(&[&str], &str); 5] = [
        (&["hook"], "there is no host ``"),
        (&["hook", "emacs", "stop"], "there is no host `emacs`"),
        (&["hook", "claude", "lunch"], "there is no event `lunch`"),
        (&["hook", "claude"], "there is no event ``"),
        (&["hook", "claude", "stop", "--no-such-flag"], "unexpected argument"),
    ];
    for (words, expected) in cases {
        let said = why(&place.punch(words.iter().copied()).stdin(stdin.clone()).run());
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn an_unknown_session_may_stop_and_that_is_logged() {
    for backend in [Backend::SqliteFile, Backend::Postgres] {
        let place = Place::new(backend);
        bound(&place, "claude", "s1", &["One"]);
        let before = place.log_length();
        for payload in [stop("nobody", "p", "x", false), json!({}), json!({ "session_id": "" })] {
            let said = why(&hook(&place, "claude", "stop", &payload).run());
            assert!(said.starts_with("no such session is known"), "{said}");
        }
        assert_eq!(place.log_length(), before + 3);
        let sessions = place.punch(["session", "list", "--json"]).answer();
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_missing_store_is_not_created() {
    let place = Place::sqlite();
    let file = place.home().join("none/punchlist.db");
    let hook = place.bare(["hook", "claude", "stop", "--db", file.to_str().unwrap()]);
    let said = why(&hook.stdin(stop("s1", "p", "x", false).to_string()).run());
    assert!(said.starts_with("there is no store at "), "{said}");
    assert!(!file.exists());
}

#[test]
fn a_store_that_is_newer_or_damaged_allows_the_stop() {
    let place = Place::sqlite();
    bound(&place, "claude", "s1", &["One"]);
    let stdin = stop("s1", "p", "x", false).to_string();
    let connection = rusqlite::Connection::open(place.file()).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    drop(connection);
    let said = why(&given(&place, &stdin).run());
    assert!(said.contains("newer"), "{said}");
    std::fs::write(place.file(), "not a database").unwrap();
    why(&given(&place, &stdin).run());
}

/// Another process holds the write lock for longer than a hook may take.
#[test]
fn a_store_that_is_locked_allows_the_stop() {
    let place = Place::sqlite();
    bound(&place, "claude", "s1", &["One"]);
    let connection = rusqlite::Connection::open(place.file()).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let hook = given(&place, &stop("s1", "p", "x", false).to_string())
        .env("PUNCHLIST_HOOK_TIMEOUT_MS", "700");
    let said = why(&hook.run());
    assert!(said.starts_with("no answer within 700 ms") || said.contains("busy"), "{said}");
}

/// A server that accepts the connection and does not answer: a database, and `punch serve`.
#[test]
fn a_server_that_does_not_answer_within_a_second_allows_the_stop() {
    let place = Place::sqlite();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    for url in
        [format!("postgres://ada@127.0.0.1:{port}/ledger"), format!("http://127.0.0.1:{port}")]
    {
        let begun = std::time::Instant::now();
        let hook = place.bare(["hook", "claude", "stop", "--db", &url]);
        let said = why(&hook.stdin(stop("s1", "p", "x", false).to_string()).run());
        assert_eq!(said, "no answer within 1000 ms", "{url}");
        let taken = begun.elapsed();
        assert!(taken >= std::time::Duration::from_secs(1), "{url}: it was asked: {taken:?}");
        assert!(taken < std::time::Duration::from_secs(20), "{url}: {taken:?}");
    }
}

#[test]
fn a_token_that_is_needed_or_wrong_allows_the_stop() {
    let place = Place::sqlite();
    bound(&place, "claude", "s1", &["One"]);
    let secret = place.operator();
    place.punch(["store", "identity", "tokens", "--json"]).with(&secret).answer();
    let stdin = stop("s1", "p", "x", false).to_string();
    assert!(why(&given(&place, &stdin).run()).starts_with("token_required"));
    assert!(why(&given(&place, &stdin).with("punch_no").run()).starts_with("token_invalid"));
}

/// The decision does not depend on a transcript's line of 10 MB: its end is read for signs of
/// progress, and finds none (ADR 0026).
#[test]
fn a_long_line_in_the_transcript_does_not_matter() {
    let place = Place::sqlite();
    bound(&place, "claude", "s1", &["One"]);
    let transcript = place.home().join("t.jsonl");
    std::fs::write(&transcript, "x".repeat(10 << 20)).unwrap();
    let mut payload = stop("s1", "p", &"y".repeat(1 << 20), false);
    payload["transcript_path"] = json!(transcript);
    let ran = hook(&place, "claude", "stop", &payload).run();
    assert_eq!((ran.exit, ran.remarks()), (Some(0), String::new()));
    assert!(ran.stdout.contains("block"), "{ran:?}");
}

/// Gemini CLI accepts only JSON on standard output.
#[test]
fn a_host_that_wants_json_gets_an_empty_object() {
    let place = Place::sqlite();
    let ran = place.punch(["hook", "gemini", "stop"]).stdin("nonsense").run();
    assert_eq!((ran.exit, ran.stdout.as_str()), (Some(0), "{}"));
}

/// A file stands where the data folder should be.
#[test]
fn a_file_in_place_of_the_data_folder_allows_the_stop() {
    let place = Place::sqlite();
    std::fs::write(place.home().join("data"), "a file").unwrap();
    let hook = place.bare(["hook", "claude", "stop"]);
    why(&hook.stdin(stop("s1", "p", "x", false).to_string()).run());
}

/// A home that cannot be written to, with a store in it. Root may write into every folder, so for
/// root the folder is mounted read-only, in a mount namespace of the hook's own.
#[cfg(target_os = "linux")]
#[test]
fn a_read_only_home_allows_the_stop() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let place = Place::sqlite();
    place.bare(["issue", "new", "First", "--json"]).answer();
    let start = serde_json::json!({ "session_id": "s1", "source": "startup" });
    let hook = |event: &str, payload: &serde_json::Value| {
        place.bare(["hook", "claude", event]).stdin(payload.to_string())
    };
    assert_eq!(hook("session-start", &start).run().exit, Some(0));
    let folder = place.home().join("data/punchlist");
    assert!(folder.join("punchlist.db").exists());
    let before = std::fs::read(folder.join("punchlist.db")).unwrap();
    let stopped = hook("stop", &stop("s1", "p", "x", false));
    let ran = if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && \
                      exec \"$@\"";
        let home = place.home().to_str().unwrap();
        stopped.under("unshare", ["--mount", "sh", "-c", script, "sh", home])
    } else {
        let set = |mode: u32| {
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
            let file = std::fs::Permissions::from_mode(mode & 0o666);
            std::fs::set_permissions(folder.join("punchlist.db"), file).unwrap();
        };
        set(0o555);
        let ran = stopped.run();
        set(0o755);
        ran
    };
    why(&ran);
    assert_eq!(std::fs::read(folder.join("punchlist.db")).unwrap(), before);
}
