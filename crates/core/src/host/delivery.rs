//! Detects a stop that was delivered twice: a host may read another host's hook file, so one stop
//! fires several hooks (P-12).
//!
//! Two deliveries of one stop have the same content. So do two stops of a model that repeats
//! itself. Therefore each stop has at most one duplicate, and a stop after a change of the lists is
//! never a duplicate.

use crate::Time;

/// How far apart two deliveries of a stop without a turn may be, in microseconds.
pub const DUPLICATE_MAX_US: i64 = 2_000_000;

/// The last stop of a session that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its content: the turn, whether it followed a continuation, and a digest of the last message.
    pub key: String,
    pub at: Time,
    /// Was it delivered again already?
    pub doubled: bool,
}

impl Delivery {
    /// The key of a stop.
    #[must_use]
    pub fn key(turn: Option<&str>, continued: bool, content: Option<&str>) -> String {
        let (turn, content) = (turn.unwrap_or_default(), content.unwrap_or_default());
        format!("{turn}\n{continued}\n{content}")
    }

    /// Could a stop with this key be the same one again?
    #[must_use]
    pub fn is_repeated_by(&self, key: &str, now: Time) -> bool {
        // A turn has one first stop. Stops after a continuation name the same turn, so their
        // content and the time between them decide: a model needs time to repeat itself.
        let is_first_of_turn = !key.starts_with('\n') && key.contains("\nfalse\n");
        let apart = now.micros().saturating_sub(self.at.micros());
        !self.doubled && self.key == key && (is_first_of_turn || apart <= DUPLICATE_MAX_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Time {
        Time::from_micros(micros)
    }

    /// P-12: once by turn, else by content within two seconds, and one duplicate per stop.
    #[test]
    fn a_stop_has_at_most_one_duplicate() {
        let key = Delivery::key(Some("t1"), false, Some("abc"));
        let first = Delivery { key: key.clone(), at: at(0), doubled: false };
        assert!(first.is_repeated_by(&key, at(60_000_000)), "the turn says it");
        assert!(!first.is_repeated_by(&Delivery::key(Some("t1"), true, Some("abc")), at(1)));
        assert!(!first.is_repeated_by(&Delivery::key(Some("t2"), false, Some("abc")), at(1)));
        assert!(!Delivery { doubled: true, ..first }.is_repeated_by(&key, at(1)));
        let key = Delivery::key(Some("t1"), true, Some("abc"));
        let later = Delivery { key: key.clone(), at: at(0), doubled: false };
        assert!(later.is_repeated_by(&key, at(DUPLICATE_MAX_US)));
        assert!(!later.is_repeated_by(&key, at(DUPLICATE_MAX_US + 1)), "the model said it again");

        let key = Delivery::key(None, false, Some("abc"));
        let first = Delivery { key: key.clone(), at: at(0), doubled: false };
        assert!(first.is_repeated_by(&key, at(DUPLICATE_MAX_US)));
        assert!(!first.is_repeated_by(&key, at(DUPLICATE_MAX_US + 1)));
    }
}
