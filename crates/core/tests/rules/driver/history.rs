//! The messages shown to a model: any history is cut without separating calls from results.

use proptest::prelude::*;
use punchlist_core::run::{Kept, trim};

const TEXT: Kept =
    Kept { begins_turn: false, earlier: false, calls: 0, result: false, summary: false };

/// Any history: texts, calls with all or some of their results, summaries, and the message that
/// began the turn somewhere.
fn any_history() -> impl Strategy<Value = Vec<Kept>> {
    let group = prop_oneof![
        5 => Just(vec![TEXT]),
        4 => (1..4_usize, 0..5_usize).prop_map(|(calls, results)| {
            let mut group = vec![Kept { calls, ..TEXT }];
            group.extend(vec![Kept { result: true, ..TEXT }; results.min(calls)]);
            group
        }),
        1 => Just(vec![Kept { summary: true, ..TEXT }]),
        1 => Just(vec![Kept { result: true, ..TEXT }]),
    ];
    (prop::collection::vec(group, 0..40), any::<prop::sample::Index>()).prop_map(|(groups, at)| {
        // The turn begins between two groups; messages before it belong to earlier turns.
        let begins = at.index(groups.len() + 1);
        let mut history = Vec::new();
        for (index, mut group) in groups.into_iter().enumerate() {
            if index == begins {
                history.push(Kept { begins_turn: true, ..TEXT });
            }
            group.iter_mut().for_each(|kept| kept.earlier = index < begins);
            history.extend(group);
        }
        if !history.iter().any(|kept| kept.begins_turn) {
            history.push(Kept { begins_turn: true, ..TEXT });
        }
        history
    })
}

proptest! {
    /// D-18, S-23, T-31: for any history and any limit, a call is shown with all its results or not
    /// at all, no result without its call, the user's message always, and not more than asked for.
    #[test]
    fn d_18_calls_and_results_are_not_separated(history in any_history(), limit in 0..60_usize) {
        let shown = trim(&history, limit);
        prop_assert!(shown.is_sorted_by(|a, b| a < b), "in order, each once: {shown:?}");
        let begins = history.iter().position(|kept| kept.begins_turn).unwrap();
        prop_assert!(shown.contains(&begins), "the user's message");
        for (index, kept) in history.iter().enumerate() {
            let results = history[index + 1..].iter().take_while(|next| next.result).count();
            if kept.calls > 0 {
                let whole = results == kept.calls;
                let is_shown = shown.contains(&index);
                prop_assert!(whole || !is_shown, "a call without all its results: {index}");
                for result in index + 1..=index + results {
                    prop_assert_eq!(shown.contains(&result), is_shown, "torn apart: {}", index);
                }
            }
        }
        for at in shown.iter().filter(|at| history[**at].result) {
            let head = history[..*at].iter().rfind(|kept| !kept.result);
            prop_assert!(head.is_some_and(|head| head.calls > 0), "a result of nothing: {at}");
        }
        let summary = history.iter().rposition(|kept| kept.summary);
        if let Some(summary) = summary {
            prop_assert!(shown.contains(&summary), "the newest summary");
            let old = shown.iter().filter(|at| **at < summary && **at != begins).count();
            prop_assert_eq!(old, 0, "what it stands for is not shown");
        }
        let last_calls = history.iter().rposition(|kept| kept.calls > 0);
        let last_calls = last_calls.map_or(0, |at| history[at].calls + 1);
        let pinned = 1 + usize::from(summary.is_some()) + last_calls;
        prop_assert!(shown.len() <= limit.max(1) + pinned, "{} of {limit}", shown.len());
        let earlier = shown.iter().filter(|at| history[**at].earlier).count();
        prop_assert!(earlier <= 10 + 1, "ten of earlier turns, and a summary: {earlier}");
    }

    /// S-23: omitted messages are older than the shown ones, except those that are always shown.
    #[test]
    fn the_newest_are_shown(history in any_history(), limit in 1..60_usize) {
        let shown = trim(&history, limit);
        let Some(last) = history.len().checked_sub(1) else { return Ok(()) };
        if history[last].calls == 0 && !history[last].result {
            prop_assert!(shown.contains(&last), "the newest message");
        }
    }
}
