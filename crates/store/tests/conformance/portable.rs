//! Export and import of a store: complete, with the same bytes, on either database. Later events
//! are numbered above all imported ones (P-18, ADR 0012).

use std::io::{BufRead, Read};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use punchlist_core::command::{ClaimTodo, NoteTodo, TakeTodo};
use punchlist_core::event::ProjectOpened;
use punchlist_core::text::Body;
use punchlist_core::{IssueStatus, ListKind, ProjectId};
use punchlist_store::care;
use punchlist_store::care::portable::{BadImport, Exported, Imported, Source, write_out};
use punchlist_store::migrate::MIGRATIONS;
use punchlist_store::rows::lists::Lock;
use punchlist_store::{Error, ErrorKind, Options, Stamp, Store, Tx, sql};
use punchlist_testkit::{Backend, TestStore};

use crate::fixture::{Fixture, ids};
use crate::issues::{file, transition};

const BACKENDS: [Backend; 3] = [Backend::SqliteFile, Backend::SqliteMemory, Backend::Postgres];
const LASTING: [Backend; 2] = [Backend::SqliteFile, Backend::Postgres];

fn export(store: &Store) -> (String, Exported) {
    let mut out = Vec::new();
    let go_on = &mut |_| ControlFlow::Continue(());
    let exported = store.view(|tx| write_out(tx, &mut out, go_on)).unwrap();
    (String::from_utf8(out).unwrap(), exported)
}

fn import(store: &Store, text: &str) -> Result<Imported, BadImport> {
    read_from(store, &mut text.as_bytes())
}

fn read_from(store: &Store, from: &mut dyn BufRead) -> Result<Imported, BadImport> {
    let source = Source::open(from)?;
    store.write_once(|tx| source.read_in(tx))
}

/// A plan with notes, leases, claims, and special characters in its texts.
fn worked_on(backend: Backend) -> Fixture {
    let fixture = Fixture::of(backend, ListKind::Plan);
    let todos = fixture.create(&["a", "\"b\"\\\n\u{7}é🙂\u{2028}", "c"], 2);
    let (lease_s, clock) = (60, fixture.now);
    fixture.run(TakeTodo { todo_id: todos[0].id, lease_s, clock }, 3);
    let text = Body::new("two\nlines, and a \\ \u{1b}[2J").unwrap();
    fixture.run(NoteTodo { todo_id: todos[1].id, text }, 4);
    let (todo_id, evidence) = (todos[2].id, Vec::new());
    fixture.run(ClaimTodo { todo_id, outcome: Some("done".into()), evidence, clock: None }, 5);
    fixture
}

/// High event numbers, as after a restore of a deleted store or on an old cluster.
fn with_high_numbers(fixture: &Fixture, by: &'static str) {
    let raised = match by {
        "2^50" => sql!("UPDATE events SET seq = seq + 1125899906842624"),
        _ => sql!("UPDATE events SET seq = seq + 4611686018427387000"),
    };
    fixture.store.write(move |tx| tx.execute(raised, &[])).unwrap();
}

fn say(tx: &mut Tx<'_>, stamp: &Stamp, name: &str) -> Result<(), Error> {
    let (project_id, name, created_at) = (stamp.project, name.to_owned(), stamp.at);
    tx.append(stamp, "a", &ProjectOpened { project_id, name, created_at }.into())
}

fn seqs_after(store: &Store, project: ProjectId, after: i64, count: usize) -> Vec<i64> {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let events = store.read(move |tx| tx.events_after(project, None, after, 100)).unwrap();
        if events.len() >= count || std::time::Instant::now() > deadline {
            return events.iter().map(|event| event.seq).collect();
        }
        thread::yield_now();
    }
}

/// P-18: from every store into every store, with the same bytes again. Later events are numbered
/// above the imported ones, even on a cluster whose own numbers are lower, and are seen by a
/// subscriber that continues from the last imported event.
#[test]
fn an_export_imports_into_any_store_and_exports_to_the_same_bytes() {
    for from in BACKENDS {
        for high in [false, true] {
            let fixture = worked_on(from);
            if high {
                with_high_numbers(&fixture, "2^50");
            }
            let (text, exported) = export(&fixture.store);
            assert_eq!(export(&fixture.store).0, text, "no clock, no chance");
            let last = exported.last_seq.unwrap();
            assert_eq!(high, last > 1 << 50);
            for to in BACKENDS {
                let place = TestStore::new(to);
                let store = place.open();
                let Exported { rows, events, last_seq } = exported;
                assert_eq!(import(&store, &text), Ok(Imported { rows, events, last_seq }));
                assert_eq!(export(&store).0, text, "{from:?} to {to:?}");

                let stamp = fixture.stamp();
                let project = stamp.project;
                assert!(store.read(move |tx| tx.has_event(last)).unwrap(), "a cursor stays good");
                let seen = seqs_after(&store, project, 0, 1).len() as u64;
                assert_eq!(seen, events, "nothing waits for a horizon");
                store.write(move |tx| say(tx, &stamp, "next")).unwrap();
                let next = seqs_after(&store, project, last, 1);
                assert!(next.len() == 1 && next[0] > last, "{next:?} after {last}");
                if LASTING.contains(&to) {
                    let report = care::examine(place.target(), Options::default());
                    assert!(report.ok, "{:?}", report.checks);
                }
                // And back again.
                let (again, longer) = export(&store);
                assert_eq!(longer.last_seq, Some(next[0]));
                let place = TestStore::new(from);
                let third = place.open();
                import(&third, &again).unwrap();
                assert_eq!(export(&third).0, again, "{from:?} to {to:?} and back");
            }
        }
    }
}

/// The reasons for which issues moved came with a later column. An export from before it has them
/// in its log.
#[test]
fn an_older_export_gets_the_reasons_of_its_issues_from_its_log() {
    for backend in BACKENDS {
        let fixture = Fixture::new(backend);
        let stamp = fixture.stamp();
        for (number, to) in [(1, &[(IssueStatus::Triaged, None)][..]), (2, &[]), (3, &MOVED)] {
            file(&fixture.store, &stamp, "one", "", number as u128).unwrap();
            for &(status, reason) in to {
                let stamp = stamp.clone();
                let go = move |tx: &mut Tx<'_>| transition(tx, &stamp, number, status, reason);
                fixture.store.write(go).unwrap();
            }
        }
        let (text, _) = export(&fixture.store);
        let known = MIGRATIONS.last().unwrap().version;
        let older = text
            .replacen(&format!("\"schema\":{known}"), "\"schema\":35", 1)
            .replace(",\"status_reason\":null", "")
            .replace(",\"status_reason\":\"not ours\"", "");
        assert!(!older.contains("status_reason"), "{older}");
        let place = TestStore::new(backend);
        let new = place.open();
        import(&new, &older).unwrap();
        let read = |store: &Store| {
            let project = stamp.project;
            let issue = move |number| {
                let found = store.read(move |tx| tx.issue(project, number, Lock::No)).unwrap();
                found.unwrap()
            };
            [1, 2, 3].map(issue)
        };
        let issues = read(&new);
        assert_eq!(issues, read(&fixture.store));
        let reasons = issues.map(|issue| issue.status_reason);
        assert_eq!(reasons, [None, None, Some("not ours".to_owned())]);
    }
}

/// A process of an older version that still runs writes a new status without its reason.
#[test]
fn an_import_takes_the_reasons_of_issues_from_the_log() {
    for backend in BACKENDS {
        let fixture = Fixture::new(backend);
        let sound = moved_by_an_older_version(&fixture);
        let report = care::examine(fixture.place.target(), Options::default());
        assert!(!report.ok || backend == Backend::SqliteMemory, "{report:?}");
        let (text, _) = export(&fixture.store);
        let place = TestStore::new(backend);
        let new = place.open();
        import(&new, &text).unwrap();
        assert_eq!(export(&new).0, sound);
    }
}

/// Moves an issue twice, and leaves the reason of the first time, as an older version does. Returns the
/// export of the store as it should be.
pub(crate) fn moved_by_an_older_version(fixture: &Fixture) -> String {
    let stamp = fixture.stamp();
    fixture.create(&["a"], 2);
    file(&fixture.store, &stamp, "one", "", 8).unwrap();
    let go = move |tx: &mut Tx<'_>| {
        MOVED.iter().try_for_each(|&(to, why)| transition(tx, &stamp, 1, to, why).map(drop))
    };
    fixture.store.write(go).unwrap();
    let (sound, _) = export(&fixture.store);
    let older = sql!("UPDATE issues SET status_reason = 'seen twice'");
    fixture.store.write(move |tx| tx.execute(older, &[])).unwrap();
    sound
}

/// Only what was said last counts.
const MOVED: [(IssueStatus, Option<&str>); 2] =
    [(IssueStatus::Triaged, Some("seen twice")), (IssueStatus::Rejected, Some("not ours"))];

#[test]
fn a_store_that_is_not_empty_imports_nothing() {
    for backend in BACKENDS {
        let fixture = worked_on(backend);
        let (text, _) = export(&fixture.store);
        assert_eq!(import(&fixture.store, &text), Err(BadImport::NotEmpty));
        assert_eq!(export(&fixture.store).0, text);
    }
}

/// A broken export imports nothing, and the error names the line.
#[test]
fn a_broken_export_imports_nothing() {
    let fixture = worked_on(Backend::SqliteMemory);
    let (text, _) = export(&fixture.store);
    let lines: Vec<&str> = text.lines().collect();
    let at = |table: &str| {
        let begins = format!("{{\"table\":\"{table}\"");
        lines.iter().position(|line| line.starts_with(&begins)).unwrap()
    };
    let with = |line: usize, by: &str| {
        let mut lines = lines.clone();
        lines[line] = by;
        lines.join("\n") + "\n"
    };
    for backend in BACKENDS {
        let place = TestStore::new(backend);
        let store = place.open();
        let line = |text: &str| match import(&store, text) {
            Err(BadImport::Line { first, last, what }) => (first, last, what),
            other => panic!("{other:?}"),
        };
        for cut in 1..lines.len() {
            let (first, last, what) = line(&(lines[..cut].join("\n") + "\n"));
            let next = cut as u64 + 1;
            assert_eq!((first, last), (next, next), "{what}");
            assert!(what.contains("it was cut"), "{what}");
            // Also cut in the middle of a line.
            let half: String = lines[cut].chars().take(lines[cut].len() / 3).collect();
            let (first, last, what) = line(&with(cut, &half));
            assert_eq!((first, last), (next, next), "{what}");
        }
        let todo = at("todos");
        for (broken, said) in [
            (with(todo, "{\"table\":\"todo\",\"row\":{}}"), "there is no table `todo`"),
            (with(todo, "{\"table\":\"tokens\",\"row\":{}}"), "there is no table `tokens`"),
            (with(todo, "{\"table\":\"todos\",\"row\":{}}"), "`id` is missing"),
            (with(todo, "{\"table\":\"todos\"}"), "neither a row nor the end"),
            (with(todo, ""), "it cannot be decoded"),
            (with(todo, "\u{0}"), "it cannot be decoded"),
            (with(lines.len() - 1, "{\"end\":{\"rows\":1}}"), "1 row was expected, but "),
            (format!("{text}{}\n", lines[todo]), "it comes after the last line of the export"),
        ] {
            let (_, _, what) = line(&broken);
            assert!(what.contains(said), "{what}");
        }
        // Faults that only the tables' own constraints find; a server names the range of lines
        // since its last answer.
        for (broken, at) in [
            (lines[todo].replace("\"status\":\"in_progress\"", "\"status\":\"perfect\""), todo),
            (lines[todo].replace("\"list_id\":\"", "\"list_id\":\"x"), todo),
            (lines[todo + 1].to_owned(), todo + 1),
        ] {
            assert_ne!(broken, lines[todo]);
            let (first, last, what) = line(&with(todo, &broken));
            assert!(what.starts_with("it does not fit: "), "{what}");
            let at = at as u64 + 1;
            assert!(first <= at && at <= last && last - first < 10, "{first} to {last}: {what}");
            if backend != Backend::Postgres {
                assert_eq!((first, last), (at, at));
            }
        }
        let event = at("events");
        let seq = |by: &str| with(event, &lines[event].replace("\"seq\":1,", by));
        for number in ["0", "-1", "4611686018427387905"] {
            let (_, _, what) = line(&seq(&format!("\"seq\":{number},")));
            assert_eq!(what, format!("event {number} is out of order or too large"));
        }
        // Valid lines that contradict each other: the log says something else.
        let forged = with(todo, &lines[todo].replace("\"title\":\"a\"", "\"title\":\"forged\""));
        match import(&store, &forged) {
            Err(BadImport::Unsound { what }) => {
                assert!(what.contains("title is \"forged\", the log says \"a\""), "{what}");
            }
            other => panic!("{other:?}"),
        }
        import(&store, &text).unwrap();
        assert_eq!(export(&store).0, text, "after all that it was as empty as before");
    }
}

/// The highest possible numbers leave room above them.
#[test]
fn a_log_near_the_highest_number_continues() {
    let fixture = worked_on(Backend::SqliteMemory);
    with_high_numbers(&fixture, "2^62");
    let (text, exported) = export(&fixture.store);
    for backend in BACKENDS {
        let place = TestStore::new(backend);
        let store = place.open();
        import(&store, &text).unwrap();
        let stamp = fixture.stamp();
        let project = stamp.project;
        store.write(move |tx| say(tx, &stamp, "next")).unwrap();
        assert_eq!(seqs_after(&store, project, exported.last_seq.unwrap(), 1).len(), 1);
    }
}

/// A text that continues only on request, and reports when it is read.
struct Slow {
    text: std::io::Cursor<Vec<u8>>,
    entered: Option<Sender<()>>,
    go_on: Option<Receiver<()>>,
    lines: u32,
}

impl Read for Slow {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

impl BufRead for Slow {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.lines == 3
            && let Some((entered, go_on)) = self.entered.take().zip(self.go_on.take())
        {
            entered.send(()).unwrap();
            go_on.recv().unwrap();
        }
        let whole = self.text.fill_buf()?;
        let line = whole.iter().position(|byte| *byte == b'\n').map_or(whole.len(), |at| at + 1);
        Ok(&whole[..line])
    }

    fn consume(&mut self, amount: usize) {
        self.lines += 1;
        self.text.consume(amount);
    }
}

/// A writer that comes during an import waits for it, and its events are numbered above the
/// imported ones, even if its transaction is older or has a lower id.
#[test]
fn events_written_during_an_import_are_numbered_above_it() {
    for backend in LASTING {
        let fixture = worked_on(Backend::SqliteMemory);
        with_high_numbers(&fixture, "2^50");
        let (text, exported) = export(&fixture.store);
        let place = TestStore::new(backend);
        let store = Arc::new(place.open());
        let (entered, is_in) = channel();
        let (release, released) = channel();
        let importing = Arc::clone(&store);
        let import = thread::spawn(move || {
            let (entered, go_on) = (Some(entered), Some(released));
            let text = std::io::Cursor::new(text.into_bytes());
            read_from(&importing, &mut Slow { text, entered, go_on, lines: 0 })
        });
        is_in.recv().unwrap();
        let other = ProjectId::from(ids(77).ulid());
        let (writing, stamp) = (Arc::clone(&store), Stamp { project: other, ..fixture.stamp() });
        let (begun, has_begun) = channel();
        let writer = thread::spawn(move || {
            writing.write(move |tx| {
                begun.send(()).unwrap_or_default();
                tx.insert_project(other, "another", stamp.at)?;
                say(tx, &stamp, "beside")
            })
        });
        if backend == Backend::Postgres {
            has_begun.recv().unwrap();
        }
        // Nobody sees a part of it in the meantime.
        let project = fixture.list.project_id;
        let reader = place.open();
        assert_eq!(reader.read(move |tx| tx.events_after(project, None, 0, 10)).unwrap(), []);
        release.send(()).unwrap();
        import.join().unwrap().unwrap();
        writer.join().unwrap().unwrap();
        let beside = seqs_after(&store, other, 0, 1);
        assert!(beside[0] > exported.last_seq.unwrap(), "{beside:?}");
        let report = care::examine(place.target(), Options::default());
        assert!(report.ok, "{:?}", report.checks);
    }
}

#[test]
fn an_export_can_be_stopped() {
    for backend in BACKENDS {
        let fixture = Fixture::of(backend, ListKind::Plan);
        let titles: Vec<String> = (0..300).map(|n| format!("task {n}")).collect();
        fixture.create(&titles.iter().map(String::as_str).collect::<Vec<_>>(), 2);
        let mut told = Vec::new();
        let stopped = fixture.store.view(|tx| {
            write_out(tx, &mut Vec::new(), &mut |rows| {
                told.push(rows);
                ControlFlow::Break(())
            })
        });
        assert_eq!(stopped.unwrap_err().kind, ErrorKind::Stopped);
        assert_eq!(told, [256]);
        assert_eq!(export(&fixture.store).1.events, 300);
    }
}
