//! `punch import mission-todos`: a file of the mission design's first program, with its old table
//! and with the newer one (M-20, F-19).

use std::fs;

use punchlist_testkit::{Backend, on_every_lasting_store};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::doctor::clean;
use crate::mission_file::Desk;

/// The schema before `backlog`, with the old check and the old columns.
const OLD: &str = "
CREATE TABLE missions (id TEXT PRIMARY KEY, slug TEXT, name TEXT, jsonConfig TEXT);
CREATE TABLE pillars (id TEXT PRIMARY KEY, missionId TEXT, slug TEXT, name TEXT, description TEXT);
CREATE TABLE mission_todos (
  id TEXT PRIMARY KEY,
  pillarId TEXT NOT NULL REFERENCES pillars(id) ON DELETE CASCADE,
  missionId TEXT NOT NULL REFERENCES missions(id) ON DELETE CASCADE,
  title TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'pending'
    CHECK (status IN ('pending', 'in_progress', 'completed', 'blocked')),
  priority TEXT NOT NULL DEFAULT 'medium',
  assignedAgent TEXT, conversationId TEXT, outcome TEXT,
  createdAt TEXT NOT NULL, startedAt TEXT, completedAt TEXT);
INSERT INTO missions VALUES ('m1', 'dx', 'Developer Experience',
  '{\"description\":\"Make it a joy\",\"todo\":{\"activeTodoLimit\":3,\"other\":1}}');
INSERT INTO pillars VALUES ('p1', 'm1', 'build', 'Build Performance', 'Fast builds');
INSERT INTO pillars VALUES ('p2', 'm1', NULL, 'Docs', NULL);
INSERT INTO mission_todos VALUES
  ('t1', 'p1', 'm1', 'Profile webpack', 'All of it', 'blocked', 'high', 'coder', 'c9', NULL,
   '2025-01-01T10:00:00.000Z', NULL, NULL),
  ('t2', 'p1', 'm1', 'Split the bundle', '', 'in_progress', 'medium', NULL, 'c9', NULL,
   '2025-01-02 10:00:00', '2025-01-03 10:00:00', NULL),
  ('t3', 'p1', 'm1', 'Drop the old loader', '', 'completed', 'low', NULL, NULL, 'Gone, 4 s won',
   '2025-01-04T10:00:00Z', '2025-01-05T10:00:00Z', '2025-01-06T10:00:00Z'),
  ('t4', 'p2', 'm1', 'Write it down', '', 'pending', 'critical', NULL, NULL, NULL,
   '2025-01-07T10:00:00Z', NULL, NULL);
";

/// The table of the design's §7.1, without tables for missions and pillars.
const NEWER: &str = "
CREATE TABLE mission_todos (
  id TEXT PRIMARY KEY, pillarId TEXT NOT NULL, missionId TEXT NOT NULL, title TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '', justification TEXT NOT NULL DEFAULT '',
  completionCriteria TEXT NOT NULL DEFAULT '', deadline TEXT,
  status TEXT NOT NULL DEFAULT 'pending'
    CHECK (status IN ('backlog', 'pending', 'in_progress', 'completed', 'cancelled')),
  priority TEXT NOT NULL DEFAULT 'medium', assignedAgent TEXT, outcome TEXT,
  createdAt TEXT NOT NULL, startedAt TEXT, completedAt TEXT);
INSERT INTO mission_todos VALUES
  ('n1', 'Quality', 'Release', 'Audit CI', '', 'Flaky', 'Ten green runs', '2027-01-31', 'backlog',
   'medium', NULL, NULL, '2026-01-01T10:00:00Z', NULL, NULL),
  ('n2', 'Quality', 'Release', 'Rewrite it', '', '', '', NULL, 'cancelled',
   'medium', NULL, 'No time', '2026-01-02T10:00:00Z', NULL, NULL);
";

fn old_file(desk: &Desk, name: &str, sql: &str) {
    let file = Connection::open(desk.place.home().join(name)).unwrap();
    file.execute_batch(sql).unwrap();
}

fn todos(desk: &Desk, mission: &str) -> Vec<Value> {
    let list = desk.punch(&["mission", "todos", mission, "--json"]).answer();
    list["todos"].as_array().unwrap().clone()
}

/// M-20, F-19, P-22: an old file with `blocked` rows is imported, and `backlog` works afterwards.
/// Completed rows become claims, a second import changes nothing, and the file does not change.
fn an_old_file_is_imported_once(backend: Backend) {
    let desk = Desk::new(backend);
    old_file(&desk, "old.db", OLD);
    let before = fs::read(desk.place.home().join("old.db")).unwrap();
    let said = desk.punch(&["import", "mission-todos", "old.db"]).said();
    let expected = "Imported 4 todos (1 to be reviewed) into dx.\n  created mission `dx`\n  \
                    added pillar `build`\n  added pillar `docs`\n  \
                    ! Active TODO limit (3) exceeded: 4 are there and stay. Nothing new goes in \
                    until there is room.\n";
    assert_eq!(said, expected);
    let all = todos(&desk, "dx");
    let shown: Vec<Value> = all
        .iter()
        .map(|t| json!([t["title"], t["status"], t["pillarSlug"], t["createdAt"], t["startedAt"]]))
        .collect();
    let expected = [
        json!(["Profile webpack", "pending", "build", "2025-01-01T10:00:00.000000Z", null]),
        json!([
            "Split the bundle",
            "in_progress",
            "build",
            "2025-01-02T10:00:00.000000Z",
            "2025-01-03T10:00:00.000000Z"
        ]),
        json!([
            "Drop the old loader",
            "in_progress",
            "build",
            "2025-01-04T10:00:00.000000Z",
            "2025-01-05T10:00:00.000000Z"
        ]),
        json!(["Write it down", "pending", "docs", "2025-01-07T10:00:00.000000Z", null]),
    ];
    assert_eq!(shown, expected);
    assert_eq!(all[0].get("hold"), None, "blocked is pending, and nothing else");
    assert_eq!((&all[0]["assignedAgent"], &all[0]["priority"]), (&json!("coder"), &json!("high")));
    assert_eq!(all[2]["claim"]["outcome"], "Gone, 4 s won");
    assert_eq!(all[2]["completedAt"], Value::Null);
    let status = desk.punch(&["mission", "status", "dx", "--json"]).answer();
    assert_eq!(status["reviewQueue"][0]["title"], "Drop the old loader");
    assert_eq!(status["mission"]["description"], "Make it a joy");
    // M-13: existing items stay, and the next one goes to the backlog.
    let next = desk.punch(&["mission", "add", "dx", "docs", "Draw it", "--json"]).answer();
    assert_eq!(next["todo"]["status"], "backlog");
    let length = desk.place.log_length();
    let again = desk.punch(&["import", "mission-todos", "old.db", "--json"]).answer();
    let again = &again["missions"][0];
    assert_eq!((&again["created"], &again["skipped"]), (&json!(0), &json!(4)));
    assert_eq!(again["changes"], json!([]));
    assert_eq!(desk.place.log_length(), length, "nothing happened");
    assert_eq!(todos(&desk, "dx").len(), 5);
    assert_eq!(fs::read(desk.place.home().join("old.db")).unwrap(), before);
    let beside = ["old.db-wal", "old.db-shm", "old.db-journal"];
    assert!(beside.iter().all(|name| !desk.place.home().join(name).exists()));
    clean(&desk.place);
}

/// The newer format, with only the todos: missions and pillars are named by their ids.
fn a_newer_file_is_imported_and_the_operator_may_accept(backend: Backend) {
    let desk = Desk::new(backend);
    old_file(&desk, "newer.db", NEWER);
    let import = ["import", "mission-todos", "newer.db", "--mission", "rel", "--json"];
    let came = desk.punch(&import).answer();
    let came = &came["missions"][0];
    assert_eq!(came["slug"], "rel");
    assert_eq!((&came["created"], &came["cancelled"]), (&json!(2), &json!(1)));
    let all = todos(&desk, "rel");
    assert_eq!(all[0]["status"], "backlog");
    assert_eq!(all[0]["deadline"], "2027-01-31");
    assert_eq!(all[0]["justification"], "Flaky");
    assert_eq!(all[1]["cancelReason"], "No time");
    // P-22: only the operator turns the claims of an import into completions.
    old_file(&desk, "old.db", OLD);
    let accept = ["import", "mission-todos", "old.db", "--accept-completed", "--json"];
    let came = desk.punch(&accept).answer();
    let came = &came["missions"][0];
    assert_eq!((&came["claimed"], &came["completed"]), (&json!(0), &json!(1)));
    let done = todos(&desk, "dx").into_iter().find(|todo| todo["status"] == "completed").unwrap();
    assert_eq!(done["outcome"], "Gone, 4 s won");
    let agent = desk.place.punch(accept).refusal(4);
    assert_eq!(agent["code"], "not_permitted");
    clean(&desk.place);
}

/// Columns are found in any spelling, so the tables and views of our own stores can be imported,
/// too.
#[test]
fn our_own_store_can_be_imported_like_an_old_file() {
    let from = Desk::with_mission(Backend::SqliteFile);
    from.punch(&["mission", "add", "docs", "Write it down"]).said();
    let desk = Desk::new(Backend::SqliteFile);
    let file = from.place.file();
    let came = desk.punch(&["import", "mission-todos", file.to_str().unwrap()]).said();
    let expected = "Imported 1 todo into developer-experience.\n  created mission \
                    `developer-experience`\n  added pillar `build-performance`\n  \
                    added pillar `docs`\n";
    assert_eq!(came, expected);
    assert_eq!(todos(&desk, "developer-experience")[0]["pillarSlug"], "docs");
}

/// A program that has the file open may not have written everything to it yet.
#[test]
fn changes_in_the_wal_are_imported_too() {
    let desk = Desk::new(Backend::SqliteFile);
    let running = Connection::open(desk.place.home().join("old.db")).unwrap();
    running.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;").unwrap();
    running.execute_batch(OLD).unwrap();
    let came = desk.punch(&["import", "mission-todos", "old.db", "--json"]).answer();
    assert_eq!(came["missions"][0]["created"], 4);
    drop(running);
    let again = desk.punch(&["import", "mission-todos", "old.db", "--json"]).answer();
    assert_eq!(again["missions"][0]["skipped"], 4);
}

/// Existing settings are kept: an import only adds.
#[test]
fn an_existing_mission_does_not_change() {
    let desk = Desk::with_mission(Backend::SqliteFile);
    old_file(&desk, "old.db", OLD);
    let slug = "developer-experience";
    let came = desk.punch(&["import", "mission-todos", "old.db", "--mission", slug, "--json"]);
    let came = came.answer();
    assert_eq!(came["missions"][0]["changes"], json!(["added pillar `build`"]));
    let status = desk.punch(&["mission", "status", "--json"]).answer();
    assert_eq!(status["counts"]["activeLimit"], 2, "not the old file's 3");
    let pillars: Vec<&Value> =
        status["pillars"].as_array().unwrap().iter().map(|pillar| &pillar["slug"]).collect();
    assert_eq!(pillars, ["build-performance", "docs", "build"]);
    assert_eq!(status["pillars"][0]["metrics"][0]["slug"], "local-build-time");
}

/// Nothing of a bad file is imported, and each kind of fault has its own error.
#[test]
fn a_bad_file_is_refused_completely() {
    let desk = Desk::new(Backend::SqliteFile);
    let status = OLD
        .replace("'blocked')", "'blocked', 'done')")
        .replace("'pending', 'critical'", "'done', 'critical'");
    old_file(&desk, "status.db", &status);
    old_file(&desk, "priority.db", &OLD.replace("'critical'", "'urgent'"));
    old_file(&desk, "title.db", &OLD.replace("'Write it down'", "' '"));
    old_file(&desk, "time.db", &OLD.replace("'2025-01-07T10:00:00Z'", "'yesterday'"));
    old_file(&desk, "other.db", "CREATE TABLE notes (id TEXT)");
    desk.write(
        "text.db",
        "This is not a database, however long it may go on about it. ".repeat(20),
    );
    desk.write("empty.db", "");
    old_file(&desk, "damaged.db", OLD);
    let damaged = desk.place.home().join("damaged.db");
    let mut bytes = fs::read(&damaged).unwrap();
    let length = bytes.len();
    bytes[4096..length.min(12_288)].fill(0xa5);
    fs::write(&damaged, bytes).unwrap();
    let before = desk.place.log_length();
    for (name, exit, code, said) in [
        ("status.db", 2, "bad_value", "`mission_todos[t4].status` cannot be `done`"),
        ("priority.db", 2, "bad_value", "`mission_todos[t4].priority` cannot be `urgent`"),
        ("title.db", 2, "missing_field", "mission_todos[t4].title"),
        ("time.db", 2, "bad_value", "todos[0].createdAt` cannot be `yesterday`"),
        ("other.db", 2, "bad_value", "without a table mission_todos"),
        ("empty.db", 2, "bad_value", "without a table mission_todos"),
        ("text.db", 3, "io", "text.db: file is not a database"),
        ("damaged.db", 3, "io", "damaged"),
        ("nowhere.db", 3, "io", "no such file"),
        (".", 3, "io", "it is a directory, not a regular file"),
    ] {
        let error = desk.punch(&["import", "mission-todos", name, "--json"]).refusal(exit);
        assert_eq!(error["code"], code, "{name}: {error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{name}: {error}");
        assert_eq!(desk.place.log_length(), before, "{name}");
    }
    assert!(!desk.place.home().join("nowhere.db").exists());
    let two = format!("{OLD} INSERT INTO missions VALUES ('m2', 'other', 'Other', NULL);");
    old_file(&desk, "two.db", &two);
    let which = desk.punch(&["import", "mission-todos", "two.db", "--mission", "x", "--json"]);
    let which = which.refusal(2);
    assert!(which["hint"].as_str().unwrap().contains("dx, other"), "{which}");
}

on_every_lasting_store! {
    an_old_file_is_imported_once,
    a_newer_file_is_imported_and_the_operator_may_accept,
}
