//! Reads a person's reply to an escalation: "extend to 2026-12-01", "cancel" (M-77).
//!
//! A reply in the mission chat may name its item by a part of the title; it must if several items
//! are asked about. Any other text is an ordinary message.

use serde_json::Value;

use crate::Actor;
use crate::conversation::{About, Channel, Conversation, instructs};
use crate::deadline::Deadline;
use crate::gate::{AnswerGate, GateDecision};

/// What to do with an overdue item.
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

/// Reads an answer, and the part of a title that it may name. A question is not an answer.
#[must_use]
pub fn parse(text: &str) -> Option<(Answer, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (first, rest) = words.split_first()?;
    let said = first_clause(first, rest)?;
    let first = bare(first);
    if CANCEL.contains(&first.as_str()) {
        return Some((Answer::Cancel, named(said)));
    }
    if !EXTEND.contains(&first.as_str()) {
        return None;
    }
    let deadline = rest.iter().find_map(|word| date(word))?;
    Some((Answer::Extend(deadline), named(said)))
}

fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

fn date(word: &str) -> Option<Deadline> {
    Deadline::parse(word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '+'))
}

/// The words after the first one, up to the end of the clause. A reason may follow, which names no
/// title. `None` if it is a question.
fn first_clause<'w>(first: &str, rest: &'w [&'w str]) -> Option<&'w [&'w str]> {
    const ENDS: [char; 6] = ['.', ',', ';', ':', '!', '?'];
    const JOINTS: [&str; 6] = ["because", "since", "as", "for", "and", "but"];
    if first.ends_with('?') {
        return None;
    }
    if first.ends_with(ENDS) {
        return Some(&[]);
    }
    for (n, word) in rest.iter().enumerate() {
        if JOINTS.contains(&word.to_lowercase().as_str()) {
            return Some(&rest[..n]);
        }
        if word.ends_with('?') {
            return None;
        }
        if word.ends_with(ENDS) {
            return Some(&rest[..=n]);
        }
    }
    Some(rest)
}

/// The words that may name a title: without the date and common small words.
fn named(words: &[&str]) -> String {
    const SMALL: [&str; 14] = [
        "to", "until", "till", "it", "the", "deadline", "please", "of", "this", "that", "one",
        "todo", "item", "task",
    ];
    let telling = words.iter().filter(|word| {
        let bare = bare(word);
        !bare.is_empty() && !SMALL.contains(&bare.as_str()) && date(word).is_none()
    });
    let text = telling.copied().collect::<Vec<_>>().join(" ");
    text.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

/// Finds the title: the only one that contains the given words, or the only one there is if no
/// words were given. Words that fit no title are never ignored, because a cancellation is final.
pub fn meant<'t>(said: &str, titles: &[&'t str]) -> Result<usize, Vec<&'t str>> {
    let said = said.to_lowercase();
    if said.is_empty() {
        return if titles.len() == 1 { Ok(0) } else { Err(titles.to_vec()) };
    }
    let holds = |title: &str| {
        let title = named(&title.split_whitespace().collect::<Vec<_>>()).to_lowercase();
        title.contains(&said)
    };
    let fitting: Vec<usize> =
        titles.iter().enumerate().filter(|(_, title)| holds(title)).map(|(n, _)| n).collect();
    match fitting[..] {
        [only] => Ok(only),
        [] => Err(titles.to_vec()),
        _ => Err(fitting.iter().map(|n| titles[*n]).collect()),
    }
}

/// The mission whose escalations this message may answer: a person wrote it in the mission's chat,
/// and it reads as an answer (M-77).
#[must_use]
pub fn asked_in<'c>(chat: &'c Conversation, actor: &Actor, text: &str) -> Option<&'c About> {
    let may_answer = chat.channel == Channel::Mission && instructs(actor);
    chat.about.as_ref().filter(|_| may_answer && parse(text).is_some())
}

/// What a person's message means for the items that are asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heeded {
    /// It is an ordinary message.
    Nothing,
    /// It fits several items, or none; holds the question to ask back.
    Unclear(String),
    /// It answers the question about one item; `reply` is what to say when that is done.
    Answer { at: usize, answer: AnswerGate, reply: String },
}

/// Reads words as the answer to one of the questions about these titles.
#[must_use]
pub fn heed(text: &str, titles: &[&str]) -> Heeded {
    let Some((answer, said)) = parse(text).filter(|_| !titles.is_empty()) else {
        return Heeded::Nothing;
    };
    let at = match meant(&said, titles) {
        Ok(at) => at,
        Err(candidates) => {
            return Heeded::Unclear(format!("Which one? Name it: {}.", candidates.join("; ")));
        }
    };
    let reply = match answer {
        Answer::Extend(deadline) => format!("Extended to {deadline}: {}", titles[at]),
        Answer::Cancel => format!("Cancelled: {}", titles[at]),
    };
    let response = Some(Value::String(text.trim().to_owned()));
    Heeded::Answer { at, answer: AnswerGate::plain(GateDecision::Resume, response), reply }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M-77: answers are read as people write them, and other messages are ignored.
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
            ("Cancel it, nobody needs it any more.", Answer::Cancel, ""),
            ("cancel this one because the plugin is gone", Answer::Cancel, ""),
            ("extend to 2026-12-01, the vendor is late", date("2026-12-01"), ""),
            ("cancel the offsite in May", Answer::Cancel, "offsite in May"),
        ] {
            assert_eq!(parse(text), Some((answer, said.to_owned())), "{text}");
        }
        for text in [
            "",
            "why is it late?",
            "extend",
            "extend to next week",
            "I would not cancel",
            "Cancel? What would we lose?",
            "cancel or extend?",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_item_is_the_only_one_or_the_one_that_is_named() {
        assert_eq!(meant("", &["Profile webpack"]), Ok(0));
        assert_eq!(meant("webpack", &["Profile webpack"]), Ok(0));
        assert_eq!(meant("offsite in May", &["Profile webpack"]), Err(vec!["Profile webpack"]));
        assert_eq!(meant("audit CI", &["Audit the CI", "Audit CD"]), Ok(0), "small words go");
        let two = ["Profile webpack", "Audit CI"];
        assert_eq!(meant("audit", &two), Ok(1));
        assert_eq!(meant("", &two), Err(two.to_vec()));
        assert_eq!(meant("nothing like it", &two), Err(two.to_vec()));
        assert_eq!(meant("a", &["aa", "ab", "c"]), Err(vec!["aa", "ab"]));
    }
}
