//! Compares two issues to find duplicates (P-26).
//!
//! Duplicates have the same title except for case and punctuation, or nearly the same words. Issues
//! that differ in a word with a digit (a version, a week, a line) are never duplicates.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::search::words;

/// Texts with fewer words must be the same as a whole.
const WORDS_MIN: usize = 3;

/// Only this many words are compared.
const WORDS_MAX: usize = 200;

/// Title and body of an issue.
type Text<'a> = (&'a str, &'a str);

/// The words of an issue, split once and compared with many others.
#[derive(Clone, Debug)]
pub struct Likeness {
    /// The words of the title, in order.
    title: Vec<String>,
    title_words: Vec<String>,
    all_words: Vec<String>,
}

impl Likeness {
    #[must_use]
    pub fn of(text: Text<'_>) -> Self {
        let title: Vec<String> = words(text.0).collect();
        let title_words = distinct(words(text.0));
        let all_words = distinct(words(text.0).chain(words(text.1)));
        Self { title, title_words, all_words }
    }

    /// Is it a duplicate? Yes with the same title, or if four fifths of all words are in both.
    #[must_use]
    pub fn is_like(&self, other: Text<'_>) -> bool {
        let title: Vec<String> = words(other.0).collect();
        if !title.is_empty() && title == self.title {
            return true;
        }
        // If neither has a body, the titles hold all the words.
        let is_all = other.1.is_empty() && self.title_words.len() == self.all_words.len();
        close(&self.title_words, &distinct(title.into_iter()))
            || !is_all && close(&self.all_words, &distinct(words(other.0).chain(words(other.1))))
    }

    /// Words of which every duplicate has at least one, so that the store can search for
    /// candidates.
    ///
    /// A number in the title is in the title of every duplicate. Otherwise, two sets that share
    /// four fifths of their words share at least one word of any fifth, plus one, of either set.
    /// The longest words are taken, because they are the rarest.
    #[must_use]
    pub fn telling_words(&self) -> Vec<String> {
        let long = |word: &&String| word.chars().count();
        if let Some(number) = self.title_words.iter().filter(|word| tells(word)).max_by_key(long) {
            return vec![number.clone()];
        }
        let mut telling = BTreeSet::new();
        for all in [&self.title_words, &self.all_words] {
            let needed = all.len() - (4 * all.len()).div_ceil(5) + 1;
            let mut longest: Vec<&String> = all.iter().collect();
            longest.sort_by_key(|word| Reverse(long(word)));
            telling.extend(longest.into_iter().take(needed).cloned());
        }
        telling.into_iter().collect()
    }
}

/// Each word once, sorted, at most [`WORDS_MAX`].
fn distinct(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct = BTreeSet::new();
    for word in words {
        if distinct.len() == WORDS_MAX {
            break;
        }
        distinct.insert(word);
    }
    distinct.into_iter().collect()
}

fn tells(word: &str) -> bool {
    word.contains(char::is_numeric)
}

fn close(a: &[String], b: &[String]) -> bool {
    let telling = |word: &&String| tells(word);
    if a.len().min(b.len()) < WORDS_MIN || !a.iter().filter(telling).eq(b.iter().filter(telling)) {
        return false;
    }
    let common = b.iter().filter(|word| a.binary_search(word).is_ok()).count();
    5 * common >= 4 * (a.len() + b.len() - common)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: Text<'_>, b: Text<'_>) -> bool {
        let found = Likeness::of(a).is_like(b);
        assert_eq!(found, Likeness::of(b).is_like(a), "likeness has no direction");
        found
    }

    fn telling_words(title: &str, body: &str) -> Vec<String> {
        Likeness::of((title, body)).telling_words()
    }

    const LOGIN: &str = "The login page crashes on Safari";

    #[test]
    fn titles_are_the_same_up_to_case_and_punctuation() {
        assert!(alike(("Fix it!", ""), (" fix—IT ", "with a body")));
        assert!(alike(("Über uns", ""), ("über UNS?", "")));
        assert!(!alike(("Fix it", ""), ("Fix that", "")));
        assert!(!alike(("???", ""), ("!!!", "")), "no words, no likeness");
    }

    #[test]
    fn close_text_is_four_fifths_of_the_words() {
        assert!(alike((LOGIN, ""), ("Login page crashes on Safari", "")), "5 of 6");
        assert!(!alike((LOGIN, ""), ("Login page crashes in Chrome", "")));
        assert!(!alike(("a b", ""), ("b a", "")), "two words are too few");
        let body = "It shows a white page after the password was given and nothing helps";
        assert!(alike(("White page", body), ("Broken", body)), "other title, same body");
        assert!(!alike(("White page", body), ("White room", "Paint it again, please")));
    }

    #[test]
    fn issues_with_different_numbers_are_not_duplicates() {
        let report = |week: u8| format!("Write the weekly report of build times for week {week}");
        assert!(!alike((&report(7), ""), (&report(8), "")));
        assert!(alike((&report(7), ""), (&report(7).to_uppercase(), "")));
    }

    #[test]
    fn a_duplicate_has_a_telling_word() {
        let body = "It shows a white page after the password was given and nothing helps";
        for (a, b) in [
            (("Fix it!", ""), ("fix it", "whatever else stands here")),
            ((LOGIN, ""), ("Login page crashes on Safari", "")),
            (("White page", body), ("Broken", body)),
            (("x", ""), ("X.", "")),
            (("Report of week 7, again", body), ("Report of week 7", body)),
            (("Report of week 7, again", ""), ("again: report of WEEK 7", "")),
        ] {
            assert!(alike(a, b));
            let theirs: BTreeSet<String> = words(b.0).chain(words(b.1)).collect();
            let telling = telling_words(a.0, a.1);
            assert!(telling.iter().any(|word| theirs.contains(word)), "{telling:?} of {b:?}");
        }
        assert_eq!(telling_words("Report of week 7, for v12", "and 12345"), ["v12"]);
        assert_eq!(telling_words("a bb ccc dddd eeeee", ""), ["dddd", "eeeee"]);
        let long: String = (0..9_000).map(|n| format!("word{n} ")).collect();
        assert!(telling_words("", &long).len() <= WORDS_MAX / 5 + 2);
    }
}
