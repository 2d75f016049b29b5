//! Stored answers: found by their principal and key, for seven days.

use punchlist_store::rows::answers::Answer;
use punchlist_testkit::{Backend, on_every_store};

use crate::fixture::Fixture;

fn an_answer_is_kept_for_its_principal_and_seven_days(backend: Backend) {
    let fixture = Fixture::new(backend);
    let now = fixture.now;
    let answer = Answer { request: "digest".into(), answer: "{}".into() };
    let kept = answer.clone();
    fixture.store.write(move |tx| tx.keep_answer("root:a", "k", &kept, now)).unwrap();
    let find = |principal: &'static str, later: i64| {
        fixture.read(move |tx| tx.answer(principal, "k", now.plus_seconds(later)))
    };
    const DAY: i64 = 24 * 3600;
    assert_eq!(find("root:a", 0), Some(answer.clone()));
    assert_eq!(find("root:a", 7 * DAY - 1), Some(answer.clone()));
    assert_eq!(find("root:a", 7 * DAY), None);
    assert_eq!(find("root:b", 0), None);
    // An expired key may be used again.
    let later = now.plus_seconds(8 * DAY);
    fixture.store.write(move |tx| tx.keep_answer("root:a", "k", &answer, later)).unwrap();
}

on_every_store!(an_answer_is_kept_for_its_principal_and_seven_days);
