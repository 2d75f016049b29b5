//! `punch store copy` on the command line: the copy answers every read like the store, the same
//! tokens work, and a copy whose process was killed continues.

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
        let itself = with(copy(&place, &place), &secret).refusal(2);
        assert_eq!(itself["code"], "bad_value", "{itself}");
    }
}

/// Only a caller who may export a store may copy it.
#[test]
fn only_the_operator_may_copy_a_store() {
    let (place, other) = (Place::new(Backend::SqliteFile), Place::new(Backend::SqliteFile));
    lived_in(&place);
    let refused: Value = copy(&place, &other).refusal(4);
    assert_eq!(refused["code"], json!("not_permitted"), "{refused}");
    assert!(!other.file().exists());
}
