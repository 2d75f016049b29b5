//! Reads a person's reply to an escalation: "extend to 2026-12-01", "cancel" (M-77).
//!
//! A reply in the mission chat may name its item by its title or a part of it; it must if several
//! items are asked about. A whole title wins over a part, even if the title contains a date or a word
//! that would end the clause. Any other text is an ordinary message.

use std::fmt;

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

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extend(deadline) => write!(f, "extend to {deadline}"),
            Self::Cancel => f.write_str("cancel"),
        }
    }
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

/// Words that name no title.
const SMALL: [&str; 14] = [
    "to", "until", "till", "it", "the", "deadline", "please", "of", "this", "that", "one", "todo",
    "item", "task",
];

/// The words that may name a title: without the date and common small words.
fn named(words: &[&str]) -> String {
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
    let is_it = |title: &&str| title.trim().to_lowercase() == said;
    if titles.iter().filter(|title| is_it(title)).count() == 1
        && let Some(at) = titles.iter().position(is_it)
    {
        return Ok(at);
    }
    let fitting: Vec<usize> =
        titles.iter().enumerate().filter(|(_, title)| holds(title)).map(|(n, _)| n).collect();
    match fitting[..] {
        [only] => Ok(only),
        [] => Err(titles.to_vec()),
        _ => Err(fitting.iter().map(|n| titles[*n]).collect()),
    }
}

/// Finds a whole title in an answer: after the first word ("cancel Audit CI"), or before it with a
/// colon or a dash ("Audit CI: cancel"). Returns the longest one, and the answer without it.
fn with_title(text: &str, titles: &[&str]) -> Option<(usize, Answer)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found: Option<(usize, usize, Answer)> = None;
    for (at, title) in titles.iter().enumerate() {
        let title: Vec<&str> = title.split_whitespace().collect();
        let Some(answer) = around(&words, &title) else { continue };
        match &found {
            Some((_, length, _)) if *length > title.len() => {}
            // Two items with the same title: which one is meant is not clear.
            Some((other, length, _)) if *length == title.len() && *other != at => return None,
            _ => found = Some((at, title.len(), answer)),
        }
    }
    found.map(|(at, _, answer)| (at, answer))
}

/// The answer in these words, if they are a whole answer around this title.
fn around(words: &[&str], title: &[&str]) -> Option<Answer> {
    let whole = |words: Vec<&str>| {
        parse(&words.join(" ")).filter(|(_, said)| said.is_empty()).map(|(answer, _)| answer)
    };
    if let Some(end) = title_at(words, title) {
        let rest = &words[title.len()..];
        let is_parted =
            end.ends_with([':', ',']) || rest.first().is_some_and(|word| bare(word).is_empty());
        let rest = rest.iter().skip_while(|word| bare(word).is_empty());
        return is_parted.then(|| whole(rest.copied().collect())).flatten();
    }
    let is_skipped = |word: &&&str| {
        let word = bare(word);
        word.is_empty() || SMALL.contains(&word.as_str()) || date(&word).is_some()
    };
    let skipped = words.iter().skip(1).take_while(is_skipped).count();
    (1..=skipped + 1).find_map(|start| {
        let end = title_at(words.get(start..)?, title)?;
        let mut rest = words[..start].to_vec();
        // The mark after the title ends the clause, or makes it a question.
        rest.push(end);
        rest.extend(&words[start + title.len()..]);
        whole(rest)
    })
}

/// Do the words begin with this title, perhaps in quotes? Returns the marks after it.
fn title_at<'w>(words: &[&'w str], title: &[&str]) -> Option<&'w str> {
    let (last, first) = title.split_last()?;
    let said = words.get(..title.len())?;
    let (end, begin) = said.split_last()?;
    let quotes = |c: char| matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '«' | '»');
    let unquoted = |(n, word): (usize, &&str)| match n {
        0 => word.trim_start_matches(quotes).to_lowercase(),
        _ => word.to_lowercase(),
    };
    let is_same = begin.iter().enumerate().map(unquoted).eq(first.iter().map(|w| w.to_lowercase()));
    let end = if begin.is_empty() { end.trim_start_matches(quotes) } else { end };
    let split = end.char_indices().map(|(n, _)| n).chain([end.len()]);
    let mut ends = split.filter(|n| {
        let marks =
            end[*n..].chars().all(|c| quotes(c) || matches!(c, '.' | ',' | ';' | ':' | '!' | '?'));
        marks && end[..*n].to_lowercase() == last.to_lowercase()
    });
    let n = ends.next().filter(|_| is_same)?;
    Some(end[n..].trim_matches(quotes))
}

/// The mission whose escalations this message may answer: a person wrote it in the mission's chat,
/// and a word in it begins an answer (M-77).
#[must_use]
pub fn asked_in<'c>(chat: &'c Conversation, actor: &Actor, text: &str) -> Option<&'c About> {
    let may_answer = chat.channel == Channel::Mission && instructs(actor);
    let begins = |word: &str| EXTEND.contains(&word) || CANCEL.contains(&word);
    let mut words = text.split_whitespace().map(bare);
    chat.about.as_ref().filter(|_| may_answer && words.any(|word| begins(&word)))
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
    let read = parse(text).filter(|_| !titles.is_empty());
    let (at, answer) = match (with_title(text, titles), &read) {
        (Some(found), _) => found,
        (None, None) => return Heeded::Nothing,
        (None, Some((answer, said))) => match meant(said, titles) {
            Ok(at) => (at, *answer),
            Err(candidates) => {
                return Heeded::Unclear(format!("Which one? Name it: {}.", candidates.join("; ")));
            }
        },
    };
    let reply = match answer {
        Answer::Extend(deadline) => format!("Extended to {deadline}: {}", titles[at]),
        Answer::Cancel => format!("Cancelled: {}", titles[at]),
    };
    // The person's own words, if they read as this answer without the titles.
    let response = match read {
        Some((read, _)) if read == answer => text.trim().to_owned(),
        _ => answer.to_string(),
    };
    let response = Some(Value::String(response));
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

    /// M-77: a whole title wins, also if it is part of another, contains a date, or a word that would
    /// end the clause.
    #[test]
    fn a_whole_title_names_its_item() {
        let titles = [
            "Audit",
            "Audit CI",
            "Write docs for API",
            "Write docs for CLI",
            "Ship, then rest",
            "Report of 2026-01-01",
        ];
        for (text, at, answer) in [
            ("cancel Audit", 0, "cancel"),
            ("Cancel the audit.", 0, "cancel"),
            ("cancel “Audit CI”, nobody needs it", 1, "cancel"),
            ("cancel Audit because Audit CI does it too", 0, "cancel"),
            ("cancel Write docs for API", 2, "cancel"),
            ("cancel \"Write docs for CLI\"", 3, "cancel"),
            ("extend Write docs for CLI to 2026-12-01", 3, "extend to 2026-12-01"),
            ("drop Ship, then rest", 4, "cancel"),
            ("extend Report of 2026-01-01 to 2026-12-01", 5, "extend to 2026-12-01"),
            ("Audit: cancel", 0, "cancel"),
            ("Audit CI: extend to 2026-12-01", 1, "extend to 2026-12-01"),
            ("Audit CI - extend to 2026-12-01", 1, "extend to 2026-12-01"),
        ] {
            let found = with_title(text, &titles).map(|(at, answer)| (at, answer.to_string()));
            assert_eq!(found, Some((at, answer.to_owned())), "{text}");
            let heeded = heed(text, &titles);
            assert!(matches!(heeded, Heeded::Answer { at: of, .. } if of == at), "{heeded:?}");
        }
        for text in ["cancel Audit?", "Audit CI: why cancel?", "cancel audit logs", "Audit is late"]
        {
            assert_eq!(with_title(text, &titles), None, "{text}");
        }
        assert_eq!(heed("Audit: looks fine", &titles), Heeded::Nothing);
        assert_eq!(with_title("cancel a", &["a", "a"]), None, "which of the two is not clear");
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
