//! Do two issues say the same? (P-26)
//!
//! The same title up to case and punctuation, or nearly the same words. A word with a digit in it
//! (a version, a week, a line) tells apart whatever else is the same.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::search::words;

/// Fewer words than this are compared only as a whole.
const WORDS_MIN: usize = 3;

/// Nobody reads further to tell two issues apart.
const WORDS_MAX: usize = 200;

/// Title and body of an issue.
type Text<'a> = (&'a str, &'a str);

/// The same title, or close text: four fifths of all their words are in both.
#[must_use]
pub fn alike(a: Text<'_>, b: Text<'_>) -> bool {
    let title = |text: Text<'_>| words(text.0).collect::<Vec<_>>();
    let (ours, theirs) = (title(a), title(b));
    if !ours.is_empty() && ours == theirs {
        return true;
    }
    close(&ours.into_iter().collect(), &theirs.into_iter().collect()) || close(&all(a), &all(b))
}

fn all((title, body): Text<'_>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for word in words(title).chain(words(body)) {
        if all.len() == WORDS_MAX {
            break;
        }
        all.insert(word);
    }
    all
}

fn close(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let common = a.intersection(b).count();
    let either = a.len() + b.len() - common;
    let telling = |word: &&String| word.contains(char::is_numeric);
    a.len().min(b.len()) >= WORDS_MIN
        && 5 * common >= 4 * either
        && a.iter().filter(telling).eq(b.iter().filter(telling))
}

/// Words of which a look-alike has at least one: what a store has to look for.
///
/// Two sets that share four fifths of their words share one of any fifth (and one more) of
/// either. The longest are taken, as the rarest.
#[must_use]
pub fn telling_words(title: &str, body: &str) -> Vec<String> {
    let mut telling = BTreeSet::new();
    for all in [all((title, "")), all((title, body))] {
        let needed = all.len() - (4 * all.len()).div_ceil(5) + 1;
        let mut longest: Vec<String> = all.into_iter().collect();
        longest.sort_by_key(|word| Reverse(word.chars().count()));
        telling.extend(longest.into_iter().take(needed));
    }
    telling.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_number_tells_apart() {
        let report = |week: u8| format!("Write the weekly report of build times for week {week}");
        assert!(!alike((&report(7), ""), (&report(8), "")));
        assert!(alike((&report(7), ""), (&report(7).to_uppercase(), "")));
    }

    #[test]
    fn a_look_alike_has_a_telling_word() {
        let body = "It shows a white page after the password was given and nothing helps";
        for (a, b) in [
            (("Fix it!", ""), ("fix it", "whatever else stands here")),
            ((LOGIN, ""), ("Login page crashes on Safari", "")),
            (("White page", body), ("Broken", body)),
            (("x", ""), ("X.", "")),
        ] {
            assert!(alike(a, b));
            let theirs: BTreeSet<String> = words(b.0).chain(words(b.1)).collect();
            let telling = telling_words(a.0, a.1);
            assert!(telling.iter().any(|word| theirs.contains(word)), "{telling:?} of {b:?}");
        }
        assert_eq!(telling_words("a bb ccc dddd eeeee", ""), ["dddd", "eeeee"]);
        let long: String = (0..9_000).map(|n| format!("word{n} ")).collect();
        assert!(telling_words("", &long).len() <= WORDS_MAX / 5 + 2);
    }
}
