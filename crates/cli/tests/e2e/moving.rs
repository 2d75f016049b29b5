//! `punch store copy` on the command line: the copy answers every read like the store, the same
//! tokens work, and a copy whose process was killed continues.

use std::time::{Duration, Instant};

use punchlist_store::{Options, Store, Target};
use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::doctor::clean;
use crate::identity::with;
use crate::portable::{lived_in, seen};
use crate::support::{Place, Punch};

fn copy(from: &Place, to: &Place) -> Punch {
    from.bare(["store", "copy", &from.db(), &to.db(), "--json"])
}

#[test]
fn a_copied_store_answers_every_read_the_same_on_both_sides() {
    for (from, to) in
        [(Backend::SqliteFile, Backend::Postgres), (Backend::Postgres, Backend::SqliteFile)]
    {
        let (place, other) = (Place::new(from), Place::new(to));
        let secret = lived_in(&place);
        place.log_length();
        let before = seen(&place);
        let copied = with(copy(&place, &other), &secret).answer();
        assert_eq!(copied["digest"].as_str().map(str::len), Some(64), "{copied}");
        assert_eq!(copied["resumedAfter"], 0);
        assert_eq!(seen(&other), before, "{from:?} to {to:?}");
        clean(&other);
        // The operator's token works there, too, and so does a used idempotency key.
        let tokens = |place: &Place| {
            let list = place.punch(["call", "token_list", "{}", "--json"]);
            with(list, &secret).answer()
        };
        assert_eq!(tokens(&other), tokens(&place));

        // A store that is not empty is not overwritten.
        let refused = with(copy(&place, &other), &secret).refusal(1);
        assert_eq!(refused["code"], "store_not_empty", "{refused}");
        assert_eq!(refused["hint"], "name an empty or new store as TO");
        let itself = with(copy(&place, &place), &secret).refusal(2);
        assert_eq!(itself["code"], "bad_value", "{itself}");
        // A copy that ends with the process is refused.
        let nowhere = place.bare(["store", "copy", &place.db(), ":memory:", "--json"]);
        let nowhere = with(nowhere, &secret).refusal(2);
        assert_eq!(nowhere["code"], "bad_value", "{nowhere}");
        assert_eq!(nowhere["expected"], "a path or a postgres:// URL", "{nowhere}");
    }
}

/// Enough rows for many parts of a copy, beside those of [`lived_in`].
fn fill(place: &Place) {
    for turn in 0..25 {
        let items: Vec<Value> = (0..40)
            .map(|n| json!({ "title": format!("{turn}/{n}"), "context": "é".repeat(2_000) }))
            .collect();
        let input = json!({ "items": items }).to_string();
        place.call_in("many", &format!("t{turn}"), "create_todo", "-").stdin(input).answer();
    }
}

/// The number of rows that an unfinished copy has brought into this store; none if it is finished or
/// has not begun.
fn rows_copied_into(place: &Place) -> Option<u64> {
    let options = Options { is_copied_into: true, ..Options::default() };
    let is_there = place.db().starts_with("postgres") || place.file().exists();
    let store = is_there.then(|| Store::open(&place.target(), options).ok()).flatten()?;
    let progress = store.read(|tx| tx.fact("copy")).ok()??;
    serde_json::from_str::<Value>(&progress).ok()?["lines"].as_u64()
}

/// A process that is killed has no time to clean up. What it has committed stays, nobody can use it,
/// and the same command goes on from there.
#[test]
fn a_copy_whose_process_was_killed_continues() {
    for (from, to) in
        [(Backend::SqliteFile, Backend::Postgres), (Backend::Postgres, Backend::SqliteFile)]
    {
        let place = Place::new(from);
        let secret = lived_in(&place);
        fill(&place);
        place.log_length();
        let before = seen(&place);

        // On a busy machine it may be finished before it is killed; then another is begun.
        let killed = || {
            let other = Place::new(to);
            let mut child = with(copy(&place, &other), &secret).spawn();
            let deadline = Instant::now() + Duration::from_secs(60);
            while rows_copied_into(&other).is_none() && child.try_wait().unwrap().is_none() {
                assert!(Instant::now() < deadline, "the copy does not begin");
            }
            child.kill().unwrap();
            let end = child.wait().unwrap().code();
            assert!(matches!(end, None | Some(0)), "the copy failed: {end:?}");
            rows_copied_into(&other).map(|kept| (other, kept))
        };
        let (other, kept) = (0..10).find_map(|_| killed()).expect("a copy that was killed");
        let refused = other.punch(["issue", "list", "--json"]).refusal(3);
        // Trying again would not help.
        assert_eq!(
            (&refused["code"], &refused["hint"]),
            (
                &json!("store_unfinished"),
                &json!(
                    "repeat `punch store copy FROM TO` with the same version of punch, which continues it"
                )
            ),
            "{refused}"
        );
        let found = other.punch(["doctor", "--json"]).run().json();
        assert!(found["store"]["schemaVersion"].as_i64().unwrap() > 0, "{found}");

        let copied = with(copy(&place, &other), &secret).answer();
        let (resumed, rows) =
            (copied["resumedAfter"].as_u64().unwrap(), copied["rows"].as_u64().unwrap());
        assert!(kept <= resumed && resumed < rows, "{kept} {copied}");
        assert_eq!(seen(&other), before, "{from:?} to {to:?}");
        assert_eq!(rows_copied_into(&other), None);
        clean(&other);
    }
}

/// Only a caller who may export a store may copy it.
#[test]
fn only_the_operator_may_copy_a_store() {
    let (place, other) = (Place::new(Backend::SqliteFile), Place::new(Backend::SqliteFile));
    lived_in(&place);
    let refused: Value = copy(&place, &other).refusal(4);
    assert_eq!(refused["code"], json!("not_permitted"), "{refused}");
    assert_eq!(refused["message"], "the role root may not call `store copy`");
    assert!(!other.file().exists());
}

/// A mistyped FROM is refused, and nothing is made there; a blank one is not the default store.
#[test]
fn a_store_is_copied_only_from_where_one_is() {
    let other = Place::new(Backend::SqliteFile);
    for backend in [Backend::SqliteFile, Backend::Postgres] {
        let place = Place::new(backend);
        if backend == Backend::SqliteFile {
            std::fs::write(place.file(), "").unwrap();
        }
        let refused = copy(&place, &other).refusal(3);
        assert_eq!(refused["code"], "store_unreachable", "{refused}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("(FROM: ") && message.contains("there is no store"), "{refused}");
        assert_eq!(refused["hint"], "check FROM and TO");
        assert!(!is_on_server(&place), "nothing is made");
        for blank in [["store", "copy", "", "a.db"], ["store", "copy", "a.db", " "]] {
            let refused = place.punch(blank).words(["--json"]).refusal(2);
            assert_eq!(refused["code"], "usage", "{refused}");
        }
    }
}

fn is_on_server(place: &Place) -> bool {
    match place.target() {
        Target::Postgres(url) => punchlist_store::care::doctor::is_on_server(&url).unwrap(),
        _ => false,
    }
}
