//! Unusable stores: a stable code, exit 3, and not a byte of them changes.
//!
//! Tests may run as root, which permissions do not restrict. So unwritable places are a path in
//! `/sys`, a device that is always full, and a process with a limited file size.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use punchlist_testkit::Backend;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Place, Punch};

/// One command of each kind that opens a store.
fn users(place: &Place, db: &str) -> Vec<Punch> {
    let turn = ["--conversation", "c1", "--turn", "t1", "--db", db, "--project", "test"];
    [
        vec!["call", "create_todo", r#"{"items":[{"title":"a"}]}"#],
        vec!["call", "list_todo"],
        vec!["status"],
        vec!["log"],
        vec!["mcp"],
    ]
    .into_iter()
    .map(|words| place.bare(words).words(turn))
    .collect()
}

/// Every command refuses the store with this code. Returns the distinct messages.
fn all_refuse(place: &Place, db: &str, code: &str) -> Vec<String> {
    let mut said = Vec::new();
    for punch in users(place, db) {
        let error = punch.clone().words(["--json"]).refusal(3);
        assert_eq!(error["code"], code, "{}: {error}", punch.shown());
        let ran = punch.run();
        assert_eq!((ran.exit, ran.stdout.as_str()), (Some(3), ""), "{}", punch.shown());
        let (message, opening) = (error["message"].as_str().unwrap(), format!("error [{code}]: "));
        assert!(ran.remarks().starts_with(&format!("{opening}{message}\n")), "{ran:?}");
        said.push(message.to_owned());
    }
    said.dedup();
    said
}

/// Like [`all_refuse`], for a file that must not change.
fn all_leave_it(place: &Place, file: &Path, code: &str) -> Vec<String> {
    let before = fs::read(file).unwrap();
    let said = all_refuse(place, file.to_str().unwrap(), code);
    assert!(fs::read(file).unwrap() == before, "the file changed");
    said
}

#[test]
fn a_newer_store_is_left_alone() {
    let place = Place::sqlite();
    place.create("from the future");
    let store = Connection::open(place.file()).unwrap();
    store.pragma_update(None, "user_version", 999).unwrap();
    store.close().unwrap();
    let said = all_leave_it(&place, &place.file(), "store_newer");
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("version 999") && said[0].contains("update punch"), "{said:?}");
}

#[test]
fn a_newer_store_is_left_alone_on_postgres() {
    let place = Place::new(Backend::Postgres);
    place.create("from the future");
    let mut client = postgres::Client::connect(&place.db(), postgres::NoTls).unwrap();
    client.batch_execute("UPDATE schema_version SET version = 999").unwrap();
    let said = all_refuse(&place, &place.db(), "store_newer");
    assert!(said[0].contains("version 999"), "{said:?}");
    let count = client.query_one("SELECT count(*) FROM todos", &[]).unwrap();
    assert_eq!(count.get::<_, i64>(0), 1);
}

#[test]
fn a_text_file_is_no_store() {
    let place = Place::sqlite();
    fs::write(place.file(), "Dear diary,\n".repeat(1_000)).unwrap();
    let said = all_leave_it(&place, &place.file(), "store_corrupt");
    assert!(said[0].contains("not a database"), "{said:?}");
    assert!(said[0].contains(place.file().to_str().unwrap()), "{said:?}");
}

#[test]
fn the_database_of_another_program_is_left_alone() {
    let place = Place::sqlite();
    let other = Connection::open(place.file()).unwrap();
    other.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    other.close().unwrap();
    all_leave_it(&place, &place.file(), "store_not_ours");
    let marked = place.home().join("marked.db");
    let other = Connection::open(&marked).unwrap();
    other.pragma_update(None, "application_id", 0x1234).unwrap();
    other.close().unwrap();
    all_leave_it(&place, &marked, "store_not_ours");
}

#[test]
fn a_damaged_store_is_left_alone() {
    let place = Place::sqlite();
    for n in 0..20 {
        place.create(&format!("item {n}"));
    }
    let sound = fs::read(place.file()).unwrap();
    // Everything after the first page is random.
    let mut file = fs::OpenOptions::new().write(true).open(place.file()).unwrap();
    file.seek(SeekFrom::Start(4_096)).unwrap();
    let noise: Vec<u8> = (4_096..sound.len()).map(|n| (n * 31 % 251) as u8).collect();
    file.write_all(&noise).unwrap();
    drop(file);
    all_leave_it(&place, &place.file(), "store_corrupt");
    // The end is missing, at a page boundary and inside a page.
    for length in [4_096, 8_192, sound.len() / 2, 5_000] {
        fs::write(place.file(), &sound[..length]).unwrap();
        all_leave_it(&place, &place.file(), "store_corrupt");
    }
}

#[test]
fn a_place_that_cannot_hold_a_store_is_named() {
    let place = Place::sqlite();
    let folder = place.home().join("folder");
    fs::create_dir(&folder).unwrap();
    let missing = place.home().join("missing/store.db");
    for (db, code) in [
        (folder.to_str().unwrap(), "store_unreachable"),
        (missing.to_str().unwrap(), "store_unreachable"),
        ("/proc/punchlist.db", "store_unreachable"),
        ("/sys/kernel/punchlist.db", "store_read_only"),
        // A device cannot be a store, whatever it answers to a write.
        ("/dev/full", "store_unreachable"),
    ] {
        let said = all_refuse(&place, db, code);
        assert!(said.iter().all(|text| text.contains(db)), "{said:?}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert!(!place.home().join("missing").exists(), "a folder somebody named is not made");
}

#[test]
fn a_server_that_cannot_be_reached_is_an_answer_without_the_password() {
    let place = Place::sqlite();
    for db in [
        "postgres://ada:s3cret@127.0.0.1:1/work",
        "postgres://ada:s3cret@127.0.0.1:port/work",
        "postgres://ada:s3cret@[::1/work",
        "postgresql://ada@127.0.0.1:1/work?password=s3cret&sslmode=none",
        "postgresql://ada:s3cret@127.0.0.1:1/work?target_session_attrs=s3cret",
        "postgres://ada:s/3cret@127.0.0.1:1/work",
        "postgres://ada:s?3cret@127.0.0.1:1/work",
        "postgres://ada:s#3cret@127.0.0.1:1/work",
        "postgres://ada:s@3cret@127.0.0.1:1/work",
        "postgres://127.0.0.1:1/work?user=ada&password=s@3cret",
    ] {
        let said = all_refuse(&place, db, "store_unreachable");
        for punch in users(&place, db) {
            let ran = punch.run();
            assert!(!ran.stderr.contains("3cret"), "{ran:?}");
        }
        assert!(said.iter().all(|text| !text.contains("3cret")), "{said:?}");
        let doctor = place.bare(["doctor", "--json", "--db", db]).run();
        assert!(doctor.exit == Some(1) && !doctor.stdout.contains("3cret"), "{doctor:?}");
    }
}

#[test]
fn a_password_is_read_from_the_environment_unless_the_url_has_one() {
    let place = Place::new(Backend::Postgres);
    drop(place.open());
    let mut operator = postgres::Client::connect(&place.db(), postgres::NoTls).unwrap();
    let make = "DROP ROLE IF EXISTS punchlist_env; \
                CREATE ROLE punchlist_env LOGIN SUPERUSER PASSWORD 'in the air'";
    operator.batch_execute(make).unwrap();
    let tried = [
        ("punchlist_env", ""),
        ("punchlist_env", "in the air"),
        ("punchlist_env", "s3cret"),
        ("punchlist_env:in%20the%20air", "s3cret"),
    ]
    .map(|(login, password)| {
        let db = place.db().replacen("punchlist@", &format!("{login}@"), 1);
        let words = ["issue", "list", "--json", "--project", "test", "--db", &db];
        place.bare(words).env("PGPASSWORD", password).run()
    });
    operator.batch_execute("DROP ROLE punchlist_env").unwrap();
    assert_eq!(tried.each_ref().map(|ran| ran.exit), [Some(3), Some(0), Some(3), Some(0)]);
    let said = tried[0].json()["error"]["message"].to_string();
    assert!(said.contains("the URL, PGPASSWORD and ~/.pgpass have none for it"), "{said}");
    let said = format!("{:?}", tried[2]);
    assert!(said.contains("authentication failed") && !said.contains("s3cret"), "{said}");
}

#[test]
fn a_server_that_refuses_is_an_answer_with_its_name_and_the_reason() {
    let place = Place::sqlite();
    let said = all_refuse(&place, "postgres://ada:s3cret@127.0.0.1:1/work", "store_unreachable");
    let named = "the store cannot be opened (postgres://ada@127.0.0.1:1/work: ";
    let is_whole = |text: &String| text.starts_with(named) && text.contains("refused");
    assert!(said.iter().all(is_whole), "{said:?}");
    let url = punchlist_testkit::stores::postgres_url();
    let (server, _) = url.rsplit_once('/').unwrap();
    let missing = format!("{server}/no_such_database");
    let said = all_refuse(&place, &missing, "store_unreachable");
    let named = |text: &String| text.contains(&missing) && text.contains("does not exist");
    assert!(said.iter().all(named), "{said:?}");
}

#[test]
fn a_url_of_another_kind_is_not_taken_for_a_path() {
    let place = Place::sqlite();
    for db in [
        "mysql://ada:s3cret@host/work",
        "Postgres://ada:s3cret@host/work",
        "postgres:/ada:s3cret@host/work",
        "host=h user=ada password=s3cret dbname=work",
    ] {
        for punch in users(&place, db) {
            let error = punch.clone().words(["--json"]).refusal(2);
            let expected = json!({
                "code": "usage",
                "message": "--db names neither a file nor a server of a kind we know",
                "hint": "give a path, sqlite:PATH, postgres://USER@HOST/DATABASE or http(s)://HOST:PORT",
            });
            assert_eq!(error, expected);
            let ran = punch.run();
            assert!(!ran.stderr.contains("s3cret"), "{ran:?}");
        }
    }
}

/// Runs a process that cannot make a file longer than this many blocks of 512 bytes, and gets an
/// error for it instead of a signal: like a full disk, without filling one.
pub(crate) fn with_file_limit(punch: &Punch, blocks: u32) -> crate::support::Ran {
    let script = format!(r#"trap "" XFSZ; ulimit -f {blocks}; exec "$@""#);
    punch.under("sh", ["-c", &script, "sh"])
}

#[test]
fn a_store_without_room_keeps_what_it_has() {
    let place = Place::sqlite();
    let kept = place.create("kept");
    let before = place.log_length();
    let items: Vec<Value> = (0..60)
        .map(|n| json!({ "title": format!("{n}"), "context": "x".repeat(50_000) }))
        .collect();
    let large = json!({ "items": items }).to_string();
    let create = place.call_in("c1", "t1", "create_todo", "-").stdin(large);
    // From no space at all to almost enough: at the side files, in the middle, at the end.
    for blocks in [0, 1, 16, 63, 64, 65, 100, 200, 500, 1_000, 4_000] {
        let ran = with_file_limit(&create, blocks);
        assert_eq!(ran.exit, Some(3), "{blocks} blocks: {ran:?}");
        assert_eq!(ran.remarks(), "", "{blocks} blocks");
        let error = ran.json()["error"].take();
        assert_eq!(error["code"], "store_failed", "{blocks} blocks");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("disk I/O error"), "{blocks} blocks, no cause: {message}");
        assert_eq!(integrity(&place.file()), "ok", "{blocks} blocks");
        assert_eq!(place.log_length(), before, "{blocks} blocks");
    }
    let listed = place.call("list_todo", &json!({})).answer();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["items"][0]["id"], kept.as_str());
    // With space again, everything is as before.
    assert_eq!(create.answer()["totalPending"], 61);
}

#[test]
fn a_store_that_could_not_be_made_is_made_when_there_is_room() {
    for blocks in [0, 1, 8, 16, 32, 64, 100, 150] {
        let place = Place::sqlite();
        let create = place.call("create_todo", &json!({ "items": [{ "title": "a" }] }));
        let ran = with_file_limit(&create, blocks);
        assert_eq!(ran.exit, Some(3), "{blocks} blocks: {ran:?}");
        assert_eq!(create.answer()["totalPending"], 1, "{blocks} blocks");
    }
}

pub(crate) fn integrity(file: &Path) -> String {
    let store = Connection::open(file).unwrap();
    store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// Finding the project and running the command need the same store. A limit such as
/// `connect_timeout` must hold for the whole command.
#[test]
fn a_server_that_cannot_be_opened_is_tried_once_per_command() {
    let place = Place::sqlite();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(caller);
        }
    });
    let url = format!("postgres://ada@127.0.0.1:{port}/work?sslmode=disable");
    for words in [&["status"][..], &["issue", "new", "A"], &["call", "list_todo"]] {
        let turn = ["--conversation", "c1", "--turn", "t1", "--db", &url, "--json"];
        let error = place.bare(words.iter().copied()).words(turn).refusal(3);
        assert_eq!(error["code"], "store_unreachable", "{words:?}");
        assert_eq!(tries.swap(0, Ordering::SeqCst), 1, "{words:?}");
    }
}
