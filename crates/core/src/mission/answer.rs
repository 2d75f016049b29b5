//! What a person answers to an escalation, in words: "extend to 2026-12-01", "cancel" (M-77).
//!
//! A reply in the mission chat may name the item it means, by a part of its title; it must where
//! several are asked about. What reads as neither word is just something somebody said.

use crate::deadline::Deadline;

/// What is to become of an overdue item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Extend(Deadline),
    Cancel,
}

/// The words that begin an answer.
const EXTEND: [&str; 4] = ["extend", "postpone", "prolong", "move"];
const CANCEL: [&str; 3] = ["cancel", "drop", "abandon"];

/// How to write one, for refusals.
pub const SPELLING: &str = "`extend to YYYY-MM-DD` or `cancel`";

/// Reads an answer, and what else was said: the title it may name.
#[must_use]
pub fn parse(text: &str) -> Option<(Answer, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let first = words.first().map(|word| bare(word))?;
    let rest = &words[1..];
    if CANCEL.contains(&first.as_str()) {
        return Some((Answer::Cancel, named(rest)));
    }
    if !EXTEND.contains(&first.as_str()) {
        return None;
    }
    let date = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '+');
        Deadline::parse(word)
    };
    let at = rest.iter().position(|word| date(word).is_some())?;
    let deadline = date(rest[at])?;
    let others: Vec<&str> =
        rest.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, word)| *word).collect();
    Some((Answer::Extend(deadline), named(&others)))
}

/// What is left without the words that only hold a sentence together.
fn named(words: &[&str]) -> String {
    const SMALL: [&str; 8] = ["to", "until", "till", "it", "the", "deadline", "please", "of"];
    let telling = words.iter().filter(|word| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        !bare.is_empty() && !SMALL.contains(&bare.as_str())
    });
    let text = telling.copied().collect::<Vec<_>>().join(" ");
    text.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

/// Which of these titles is meant: the only one, or the one that holds what was said.
pub fn meant<'t>(said: &str, titles: &[&'t str]) -> Result<usize, Vec<&'t str>> {
    if titles.len() == 1 {
        return Ok(0);
    }
    let said = said.to_lowercase();
    let holds = |title: &&str| !said.is_empty() && title.to_lowercase().contains(&said);
    let fitting: Vec<usize> =
        titles.iter().enumerate().filter(|(_, title)| holds(title)).map(|(n, _)| n).collect();
    match fitting[..] {
        [only] => Ok(only),
        [] => Err(titles.to_vec()),
        _ => Err(fitting.iter().map(|n| titles[*n]).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M-77: what people write is read, and what is no answer is left alone.
    #[test]
    fn answers_read_as_people_write_them() {
        let date = |text| Answer::Extend(Deadline::parse(text).unwrap());
        for (text, answer, said) in [
            ("extend to 2026-12-01", date("2026-12-01"), ""),
            ("Extend it until 2026-12-01, please.", date("2026-12-01"), ""),
            ("extend Profile webpack to 2026-12-01", date("2026-12-01"), "Profile webpack"),
            ("postpone to 2026-12-01T10:00:00Z", date("2026-12-01T10:00:00Z"), ""),
            ("Cancel!", Answer::Cancel, ""),
            ("cancel \"Profile webpack\"", Answer::Cancel, "Profile webpack"),
        ] {
            assert_eq!(parse(text), Some((answer, said.to_owned())), "{text}");
        }
        for text in ["", "why is it late?", "extend", "extend to next week", "I would not cancel"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_item_is_the_only_one_or_the_one_that_is_named() {
        assert_eq!(meant("", &["Profile webpack"]), Ok(0));
        let two = ["Profile webpack", "Audit CI"];
        assert_eq!(meant("audit", &two), Ok(1));
        assert_eq!(meant("", &two), Err(two.to_vec()));
        assert_eq!(meant("nothing like it", &two), Err(two.to_vec()));
        assert_eq!(meant("a", &["aa", "ab", "c"]), Err(vec!["aa", "ab"]));
    }
}
