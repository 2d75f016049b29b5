//! Fingerprints that are stored with a run: of its lists, and of a reply's tool calls.
//!
//! Later processes compare them, so they must not depend on the compiler: the hash is FNV-1a over
//! bytes defined here. A fingerprint of an older version may differ once, which counts as progress,
//! and is replaced.

use crate::conversation::ToolCall;

/// The start and the factor of FNV-1a with 64 bits.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Computes a fingerprint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    pub(super) const fn new() -> Self {
        Self(OFFSET)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }

    pub(super) fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// Hashes the length first, so that the boundaries between texts count.
    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    pub(super) const fn finish(self) -> u64 {
        self.0
    }
}

/// The fingerprint of a reply's tool calls, without their ids, which are always new. `None` if it
/// calls nothing.
#[must_use]
pub fn of_calls(calls: &[ToolCall]) -> Option<u64> {
    if calls.is_empty() {
        return None;
    }
    let mut print = Fingerprint::new();
    for call in calls {
        print.text(&call.name);
        print.text(&call.input);
    }
    Some(print.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, name: &str, input: &str) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), input: input.into() }
    }

    /// Compares with the published test values of FNV-1a.
    #[test]
    fn the_hash_is_fnv_1a() {
        for (text, hash) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            let mut print = Fingerprint::new();
            print.bytes(text.as_bytes());
            assert_eq!(print.finish(), hash, "{text}");
        }
    }

    #[test]
    fn calls_are_compared_by_name_and_input_and_not_by_id() {
        let print = of_calls(&[call("1", "ls", "{}")]);
        assert_eq!(print, of_calls(&[call("2", "ls", "{}")]));
        assert_eq!(of_calls(&[]), None);
        for other in [[call("1", "l", "s{}")], [call("1", "ls", "{ }")]] {
            assert_ne!(print, of_calls(&other), "{other:?}");
        }
    }
}
