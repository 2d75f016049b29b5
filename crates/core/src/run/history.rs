//! Chooses the messages that are shown to a model.

/// Most messages shown of earlier turns (T-31).
const EARLIER_MAX: usize = 10;

/// Most messages shown, unless configured otherwise (S-23).
pub const HISTORY_MAX: u32 = 50;

/// The facts about a message that trimming needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The message that began the turn: always shown (T-31).
    pub begins_turn: bool,
    /// Is it of an earlier turn?
    pub earlier: bool,
    /// How many tools it calls. Their results follow, and are kept or left out with it (D-18).
    pub calls: usize,
    /// It is the result of a call.
    pub result: bool,
    /// It replaces everything before it.
    pub summary: bool,
}

/// The indices of the messages to show, in order: from the last summary on, the newest `limit`, and
/// of earlier turns at most the newest ten. The message that began the turn and its last calls are
/// always shown: a model that does not see its calls repeats them. A call and its results are shown
/// together or not at all.
#[must_use]
pub fn trim(messages: &[Kept], limit: usize) -> Vec<usize> {
    let from = messages.iter().rposition(|message| message.summary).unwrap_or(0);
    let mut kept = Vec::new();
    let (mut room, mut earlier) = (limit.max(1), EARLIER_MAX);
    let mut end = messages.len();
    let mut is_newest_call = true;
    // From the newest to the oldest, in groups that are not split.
    while end > from {
        let mut start = end - 1;
        while start > from && messages[start].result {
            start -= 1;
        }
        // Results without their call are left out. A message before them without calls is a group
        // of its own.
        let orphaned = messages[start].result;
        let alone = messages[start].calls == 0;
        let group = start..if alone { start + 1 } else { end };
        end = start;
        let size = group.len();
        let whole = messages[group.start].calls == size - 1;
        let is_earlier = messages[group.start].earlier;
        let must = |message: &Kept| message.begins_turn || message.summary;
        let last_calls = !alone && !is_earlier && std::mem::take(&mut is_newest_call);
        let pinned = last_calls || messages[group.clone()].iter().any(must);
        let fits = size <= room && (!is_earlier || size <= earlier);
        if orphaned || !whole || !(pinned || fits) {
            if !pinned && !orphaned && whole {
                // Nothing older than a gap is shown, except what must be.
                room = 0;
            }
            continue;
        }
        room = room.saturating_sub(size);
        if is_earlier {
            earlier = earlier.saturating_sub(size);
        }
        kept.push(group);
    }
    let pinned = (0..from).find(|at| messages[*at].begins_turn);
    kept.extend(pinned.map(|at| at..at + 1));
    kept.reverse();
    kept.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: Kept =
        Kept { begins_turn: false, earlier: false, calls: 0, result: false, summary: false };
    const USER: Kept = Kept { begins_turn: true, ..TEXT };
    const RESULT: Kept = Kept { result: true, ..TEXT };
    const OLD: Kept = Kept { earlier: true, ..TEXT };

    const fn calls(calls: usize) -> Kept {
        Kept { calls, ..TEXT }
    }

    /// S-23, D-18: the newest are kept, pairs stay together, the user's message always stays.
    #[test]
    fn a_call_and_its_results_go_together() {
        let messages = [USER, TEXT, calls(2), RESULT, RESULT, TEXT, calls(1), RESULT, TEXT];
        assert_eq!(trim(&messages, 50), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(trim(&messages, 4), [0, 5, 6, 7, 8]);
        assert_eq!(trim(&messages, 6), [0, 5, 6, 7, 8], "three do not fit into two");
        let many = [USER, calls(3), RESULT, RESULT, RESULT, TEXT];
        assert_eq!(trim(&many, 2), [0, 1, 2, 3, 4, 5]);
        assert_eq!(trim(&messages, 1), [0, 6, 7, 8], "what it did last is always there");
    }

    /// T-31: ten messages of earlier turns, and the summary instead of what it replaces.
    #[test]
    fn earlier_turns_are_short() {
        let mut messages = vec![OLD; 15];
        messages.push(USER);
        assert_eq!(trim(&messages, 50), (5..16).collect::<Vec<_>>());
        messages[10] = Kept { summary: true, ..OLD };
        assert_eq!(trim(&messages, 50), (10..16).collect::<Vec<_>>());
    }

    #[test]
    fn a_call_or_a_result_without_its_partner_is_left_out() {
        assert_eq!(trim(&[RESULT, USER, calls(2), RESULT], 50), [1]);
        // Its call is too old to be among the loaded messages.
        assert_eq!(trim(&[USER, RESULT, RESULT, TEXT], 50), [0, 3]);
    }
}
