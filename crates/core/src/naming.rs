//! How people name things: by id, number, short id, exact text, or a part of a text that only one
//! thing contains.
//!
//! They are tried in this order, because an id always means the same thing, and a part of a text
//! may match something else later. Several hits are refused, with the candidates. Agents give ids
//! and exact texts (K-24).

use crate::Refusal;
use crate::text::normalised;

/// How many characters of an id are shown.
pub const SHORT: usize = 4;

/// The length of a whole id.
const WHOLE: usize = 26;

/// How many candidates a refusal names.
const CANDIDATES_MAX: usize = 8;

/// The short form of an id: its last characters, which differ even for ids made together.
#[must_use]
pub fn short(id: &str) -> &str {
    tail(id, SHORT)
}

/// The end of an id.
fn tail(id: &str, length: usize) -> &str {
    id.len().checked_sub(length).and_then(|at| id.get(at..)).unwrap_or(id)
}

/// The short form of an id among others: with as many characters as it needs to be unique.
#[must_use]
pub fn short_among<'i>(id: &'i str, others: &[&str]) -> &'i str {
    let is_alone = |length: &usize| {
        let end = tail(id, *length);
        others.iter().all(|other| *other == id || !other.ends_with(end))
    };
    tail(id, (SHORT..WHOLE).find(is_alone).unwrap_or(WHOLE))
}

/// Reads a text as the end of an id, in capitals: at least [`SHORT`] characters that ids consist
/// of.
#[must_use]
pub fn as_short(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = |c: char| c.is_ascii_alphanumeric() && !"ILOU".contains(c.to_ascii_uppercase());
    let is_short = (SHORT..WHOLE).contains(&text.len()) && text.chars().all(fits);
    is_short.then(|| text.to_ascii_uppercase())
}

/// A thing that a name may refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: String,
    /// Its title or text.
    pub text: String,
    /// Its number, if it has one: it is shown as `t12`.
    pub seq: Option<i64>,
}

impl Candidate {
    /// A thing without a number.
    #[must_use]
    pub const fn new(id: String, text: String) -> Self {
        Self { id, text, seq: None }
    }
}

/// Finds the candidate that a short id or a text refers to; `None` if there is no match.
pub fn find<'c>(
    named: &str,
    candidates: &'c [Candidate],
) -> Result<Option<&'c Candidate>, Refusal> {
    let wanted = normalised(named);
    let low = wanted.to_lowercase();
    let end = as_short(named);
    let tests: [&dyn Fn(&Candidate) -> bool; 4] = [
        &|one| end.as_deref().is_some_and(|end| one.id.ends_with(end)),
        &|one| normalised(&one.text) == wanted,
        &|one| normalised(&one.text).to_lowercase() == low,
        &|one| !low.is_empty() && normalised(&one.text).to_lowercase().contains(&low),
    ];
    for test in tests {
        let hits: Vec<&Candidate> = candidates.iter().filter(|one| test(one)).collect();
        match hits.as_slice() {
            [] => {}
            [only] => return Ok(Some(only)),
            several => return Err(ambiguous(wanted.clone(), several)),
        }
    }
    Ok(None)
}

/// The only candidate whose id has this end; `None` if there is none or more than one.
#[must_use]
pub fn find_id<'c>(named: &str, candidates: &'c [Candidate]) -> Option<&'c Candidate> {
    let end = as_short(named)?;
    let mut hits = candidates.iter().filter(|one| one.id.ends_with(&end));
    let first = hits.next()?;
    hits.next().is_none().then_some(first)
}

fn ambiguous(text: String, several: &[&Candidate]) -> Refusal {
    let ids: Vec<&str> = several.iter().map(|one| one.id.as_str()).collect();
    let said = |one: &&Candidate| {
        let words: String = normalised(&one.text).chars().take(60).collect();
        match one.seq {
            Some(seq) => format!("t{seq} {words}"),
            None => format!("{} {words}", short_among(&one.id, &ids)),
        }
    };
    let texts = several.iter().take(CANDIDATES_MAX).map(said).collect();
    Refusal::AmbiguousText { text, texts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates() -> Vec<Candidate> {
        let one = |id: &str, text: &str| Candidate::new(id.into(), text.into());
        vec![
            one("01JCQ0000000000000000A4F7Q", "Which port?"),
            one("01JCQ0000000000000000B4F7Q", "Which host?"),
            one("01JCQ0000000000000000CBEEF", "Rust"),
            one("01JCQ0000000000000000DZZZZ", "Learn Rust, not beef"),
        ]
    }

    fn meant(named: &str) -> Result<Option<String>, Vec<String>> {
        match find(named, &candidates()) {
            Ok(found) => Ok(found.map(|one| one.text.clone())),
            Err(Refusal::AmbiguousText { texts, .. }) => Err(texts),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn things_are_named_by_short_id_then_text_then_a_part_that_only_one_has() {
        assert_eq!(meant("zzzz"), Ok(Some("Learn Rust, not beef".into())));
        assert_eq!(meant("a4f7q"), Ok(Some("Which port?".into())));
        assert_eq!(meant("beef"), Ok(Some("Rust".into())), "a short id comes before a part");
        assert_eq!(meant("rust"), Ok(Some("Rust".into())), "a whole text comes before a part");
        assert_eq!(meant("which  PORT?"), Ok(Some("Which port?".into())));
        assert_eq!(meant("learn"), Ok(Some("Learn Rust, not beef".into())));
        assert_eq!(meant("nothing like it"), Ok(None));
        assert_eq!(meant(""), Ok(None));
    }

    #[test]
    fn several_hits_are_refused_with_their_unique_ids() {
        let both = vec!["A4F7Q Which port?".to_owned(), "B4F7Q Which host?".to_owned()];
        assert_eq!(meant("4F7Q"), Err(both.clone()));
        assert_eq!(meant("which"), Err(both));
    }

    #[test]
    fn short_ids_are_four_characters_and_longer_where_two_are_alike() {
        let ids: Vec<String> = candidates().into_iter().map(|one| one.id).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        assert_eq!(short(ids[3]), "ZZZZ");
        assert_eq!(short_among(ids[3], &ids), "ZZZZ");
        assert_eq!(short_among(ids[0], &ids), "A4F7Q");
        assert_eq!(as_short("4f7"), None, "too short");
        assert_eq!(as_short("4f7-"), None);
        assert_eq!(as_short("loud"), None, "letters that no id has");
    }
}
