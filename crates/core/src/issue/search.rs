//! The words of a text, as used by search and by `likeness`.
//!
//! Both databases index these words and nothing else, so that they find the same: no tokenizer or
//! dictionary of a database is used.

use std::collections::BTreeSet;

/// Longer words are cut, in the index and in queries: PostgreSQL does not accept words of 2 KiB.
const WORD_CHARS_MAX: usize = 64;

/// The words of a text in order: runs of letters and digits of any script, in lower case.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().flat_map(char::to_lowercase).take(WORD_CHARS_MAX).collect())
}

/// The words of an issue that a store indexes: each once, sorted, separated by spaces.
#[must_use]
pub fn terms(title: &str, body: &str) -> String {
    let all: BTreeSet<String> = words(title).chain(words(body)).collect();
    all.into_iter().collect::<Vec<_>>().join(" ")
}

/// The words to search for: each must begin a word of the issue. Empty if the text has no words.
#[must_use]
pub fn query(text: &str) -> Vec<String> {
    let all: BTreeSet<String> = words(text).collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_and_digits_of_any_script_in_lower_case() {
        let found = |text| words(text).collect::<Vec<_>>();
        assert_eq!(found("Fix `store::open`, v2.0!"), ["fix", "store", "open", "v2", "0"]);
        assert_eq!(found("ÜBER Größe 漢字 Привет"), ["über", "größe", "漢字", "привет"]);
        assert_eq!(found(" \n-- '\" "), [""; 0]);
        assert_eq!(found(&"é".repeat(100)), ["é".repeat(64)]);
    }

    #[test]
    fn terms_and_queries_hold_each_word_once() {
        assert_eq!(terms("b a", "A c\nb"), "a b c");
        assert_eq!(query("log LOG in"), ["in", "log"]);
        assert_eq!(query("?!"), [""; 0]);
    }
}
