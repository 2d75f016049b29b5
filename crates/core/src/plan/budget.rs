//! Fits lines into a budget of characters: the least important are left out first, and counted.

use std::cmp::Reverse;

use super::render::Rendered;
use crate::text::counted;

/// A line that may be left out.
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) is_settled: bool,
    /// It and all tasks below it are settled.
    pub(super) is_settled_below: bool,
    /// It is the current task or above it.
    pub(super) leads_there: bool,
    /// How far it is from the current task.
    pub(super) distance: usize,
}

/// The lines that fit, in their order, below a heading. The one at `current` always stays; those
/// above it are left out last.
pub(super) fn fit(
    heading: Option<&str>,
    entries: &[Entry],
    current: usize,
    budget: Option<usize>,
) -> Rendered {
    let everything = || Rendered { text: joined(heading, entries, |_| true, None), left_out: 0 };
    let Some(limit) = budget else { return everything() };
    let lengths: Vec<usize> = entries.iter().map(|entry| entry.text.chars().count()).collect();
    let head = heading.map_or(0, |heading| heading.chars().count() + 1);
    let whole = head + lengths.iter().sum::<usize>() + lengths.len().saturating_sub(1);
    if limit >= whole {
        return everything();
    }
    let settled = entries.iter().filter(|entry| entry.is_settled).count();
    // Reserves room for the longest possible "left out" line.
    let mut length = whole + 1 + left_out_words(entries.len(), settled).chars().count();
    let mut order: Vec<usize> = (0..entries.len()).filter(|index| *index != current).collect();
    // A child is farther away than its parent, so a parent is never left out before its children.
    order.sort_unstable_by_key(|index| {
        let entry = &entries[*index];
        let (far, apart) = (Reverse(entry.distance), Reverse(index.abs_diff(current)));
        (entry.leads_there, !entry.is_settled_below, far, apart)
    });
    let mut kept = vec![true; entries.len()];
    let (mut left_out, mut settled_out) = (0, 0);
    for index in order {
        if length <= limit {
            break;
        }
        kept[index] = false;
        length -= lengths[index] + 1;
        left_out += 1;
        settled_out += usize::from(entries[index].is_settled);
    }
    let words = (left_out > 0).then(|| left_out_words(left_out, settled_out));
    let text = joined(heading, entries, |index| kept[index], words.as_deref());
    Rendered { text: cut(text, Some(limit)), left_out }
}

fn left_out_words(left_out: usize, settled: usize) -> String {
    let tasks = counted(left_out, "task", "tasks");
    match settled {
        0 => format!("({tasks} left out)"),
        _ => format!("({tasks} left out, {settled} of them settled)"),
    }
}

fn joined(
    heading: Option<&str>,
    entries: &[Entry],
    is_kept: impl Fn(usize) -> bool,
    words: Option<&str>,
) -> String {
    let kept = entries.iter().enumerate().filter(|(index, _)| is_kept(*index));
    let lines = kept.map(|(_, entry)| entry.text.as_str());
    heading.into_iter().chain(lines).chain(words).collect::<Vec<_>>().join("\n")
}

/// The text, cut to at most `budget` characters.
pub(super) fn cut(mut text: String, budget: Option<usize>) -> String {
    let Some(limit) = budget else {
        return text;
    };
    if text.chars().count() <= limit {
        return text;
    }
    let last = text.char_indices().nth(limit.saturating_sub(1)).map_or(0, |(at, _)| at);
    text.truncate(last);
    if limit > 0 {
        text.push('…');
    }
    text
}
