//! `punch digest` and `punch audit closes` as people see them.

use serde_json::json;

use crate::support::Place;

/// A report without its start, which counts back from the real clock.
fn after_since(report: &str) -> &str {
    let rest = report.strip_prefix("test  since 20").unwrap();
    &rest["26-11-15T07:00:00Z".len()..]
}

#[test]
fn reports_say_who_did_what() {
    let place = Place::sqlite();
    let (done, dropped) = (place.create("Measure"), place.create("Guess"));
    place.call("complete_todo", &json!({ "todoId": done, "outcome": "61 %" })).answer();
    let cancel = json!({ "todoId": dropped, "outcome": "No need", "status": "cancelled" });
    place.call("complete_todo", &cancel).answer();
    let shown = place.punch(["digest", "--since", "1h"]).run();
    assert_eq!((shown.exit, shown.remarks().as_str()), (Some(0), ""));
    let expected = ": 1 completed, 1 cancelled\n\n\
                    root:primary  1 completed, 1 cancelled\n  \
                    completed  now  Measure → 61 % (clock set)\n  \
                    cancelled  now  Guess → No need (clock set)\n";
    assert_eq!(after_since(&shown.stdout), expected);
    let shown = place.punch(["audit", "closes"]).run();
    let expected = ": 1 completed\n\
                    1 without evidence, 1 by the agent that created the item, 0 self-accepted, \
                    0 after a return, 0 in a burst\n\
                    now  root:primary  no evidence, own work, clock set  Measure\n";
    assert_eq!((shown.exit, after_since(&shown.stdout)), (Some(0), expected));
    let other = |words: &[&str]| {
        place.bare(words.iter().copied()).words(["--db", &place.db(), "--project", "other"]).run()
    };
    let none = other(&["audit", "closes"]);
    assert!(none.stdout.ends_with("None of them needs a second look.\n"), "{none:?}");
    let none = other(&["digest"]);
    assert!(none.stdout.ends_with(": nothing\n"), "{none:?}");
}
