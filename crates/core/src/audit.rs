//! Marks completions that a reviewer should look at again. It forbids nothing.
//!
//! A marked completion may be fine; the reviewer decides. Refused completions are in the log
//! already.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::named;
use crate::{Span, Time};

/// This many completions by one actor…
pub const BURST_COUNT: usize = 5;
/// …within this time are a burst.
pub const BURST_WITHIN: Span = Span::seconds(60);

named! {
    /// Why a completion deserves a look.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
    )]
    pub enum Suspicion {
        /// It was completed without evidence.
        NoEvidence = "no_evidence",
        /// The actor that completed it also created or claimed it.
        OwnWork = "own_work",
        /// An agent accepted what it had claimed itself.
        SelfAccepted = "self_accepted",
        /// A reviewer had returned it, and the actor that created or claimed it completed it.
        Returned = "returned",
        /// One of many by the same actor within a minute.
        Burst = "burst",
    }
}

/// The facts about a completion that are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close<'a> {
    pub actor: &'a str,
    pub at: Time,
    pub has_evidence: bool,
    /// The actor created or claimed the item.
    pub is_maker: bool,
    /// The actor accepted its own claim.
    pub is_self_accepted: bool,
    /// Somebody returned a claim on it before.
    pub was_returned: bool,
}

/// The suspicions about each completion, in the same order.
#[must_use]
pub fn judge(closes: &[Close<'_>]) -> Vec<Vec<Suspicion>> {
    let mut said: Vec<Vec<Suspicion>> = closes
        .iter()
        .map(|close| {
            let no_evidence = (!close.has_evidence).then_some(Suspicion::NoEvidence);
            let own_work = close.is_maker.then_some(Suspicion::OwnWork);
            let accepted = close.is_self_accepted.then_some(Suspicion::SelfAccepted);
            let returned = (close.was_returned && (close.is_maker || close.is_self_accepted))
                .then_some(Suspicion::Returned);
            no_evidence.into_iter().chain(own_work).chain(accepted).chain(returned).collect()
        })
        .collect();
    // Sorted by actor and time, a burst is a run of neighbours.
    let mut order: Vec<usize> = (0..closes.len()).collect();
    order.sort_by_key(|at| (closes[*at].actor, closes[*at].at));
    for window in order.windows(BURST_COUNT) {
        let (first, last) = (&closes[window[0]], &closes[window[BURST_COUNT - 1]]);
        let within = i64::try_from(BURST_WITHIN.as_seconds()).unwrap_or(i64::MAX);
        if first.actor == last.actor && last.at <= first.at.plus_seconds(within) {
            for at in window {
                if !said[*at].contains(&Suspicion::Burst) {
                    said[*at].push(Suspicion::Burst);
                }
            }
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use Suspicion::{Burst, NoEvidence, OwnWork, Returned};

    fn close(actor: &str, second: i64) -> Close<'_> {
        let at = Time::from_micros(0).plus_seconds(second);
        let (has_evidence, was_returned) = (true, false);
        Close { actor, at, has_evidence, is_maker: false, is_self_accepted: false, was_returned }
    }

    #[test]
    fn completions_without_evidence_or_by_their_maker_are_marked() {
        let sound = close("lead:a", 0);
        let bare = Close { has_evidence: false, ..close("lead:a", 100) };
        let own = Close { is_maker: true, ..close("lead:a", 200) };
        let both = Close { has_evidence: false, is_maker: true, ..close("lead:a", 300) };
        assert_eq!(
            judge(&[sound, bare, own, both]),
            [vec![], vec![NoEvidence], vec![OwnWork], vec![NoEvidence, OwnWork]]
        );
    }

    /// A reviewer's completion after a return is the usual end of a review.
    #[test]
    fn only_the_maker_is_marked_for_completing_returned_work() {
        let reviewer = Close { was_returned: true, ..close("lead:a", 0) };
        let maker = Close { is_maker: true, ..reviewer };
        assert_eq!(judge(&[reviewer, maker]), [vec![], vec![OwnWork, Returned]]);
    }

    #[test]
    fn five_within_a_minute_by_one_actor_are_a_burst() {
        // Not in order of time, and another actor in between.
        let mut closes: Vec<Close<'_>> =
            [60, 0, 15, 45, 30].into_iter().map(|second| close("root:a", second)).collect();
        closes.insert(2, close("root:b", 20));
        let said = judge(&closes);
        assert_eq!(said[2], []);
        assert_eq!(said.iter().filter(|said| **said == [Burst]).count(), 5);
        // The sixth came too late to be part of a burst.
        closes.push(close("root:a", 76));
        assert_eq!(judge(&closes)[6], []);
        closes.push(close("root:a", 75));
        assert_eq!(judge(&closes)[7], [Burst]);
    }

    #[test]
    fn four_completions_or_slower_ones_are_not_a_burst() {
        let four: Vec<Close<'_>> = (0..4).map(|n| close("root:a", n)).collect();
        assert!(judge(&four).iter().all(Vec::is_empty));
        let slow: Vec<Close<'_>> = (0..9).map(|n| close("root:a", n * 16)).collect();
        assert!(judge(&slow).iter().all(Vec::is_empty));
        assert_eq!(judge(&[]), Vec::<Vec<Suspicion>>::new());
    }
}
