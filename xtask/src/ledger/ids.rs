//! Requirement ids: how they are written, where they are defined, and where a text names them.
//!
//! Which texts count as tests is decided in the parent module.

use std::fmt;

/// Letters of the ids that a list item defines (`- T-12 …`), and of those a table row defines.
const LISTED: &str = "MTOSKDFP";
const TABLED: &str = "QX";

/// Longer than any family of requirements, so a longer range is a typing error.
const RANGE_LENGTH_MAX: u32 = 1000;

/// `T-12` is the number 12 of family `T-`, `Q-M1` the number 1 of family `Q-M`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) family: String,
    pub(super) number: u32,
}

impl Id {
    pub(super) fn letter(&self) -> &str {
        &self.family[..1]
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.family, self.number)
    }
}

/// The ids a requirements document defines, in its order, each once. An id elsewhere than at the
/// start of a list item or in the first cell of a row is a reference, not a definition.
pub(super) fn defined(document: &str) -> Vec<Id> {
    let mut ids = Vec::new();
    for line in document.lines() {
        let (start, letters) = match (line.strip_prefix("- "), line.strip_prefix("| ")) {
            (Some(start), _) => (start, LISTED),
            (_, Some(start)) => (start, TABLED),
            _ => continue,
        };
        let Some((id, length)) = id_at(start) else {
            continue;
        };
        let ends = start[length..].is_empty() || start[length..].starts_with(' ');
        if ends && letters.contains(id.letter()) && !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

/// The ids a text names: whole words, ranges such as `T-9..T-12` or `T-9…T-12`, and function names
/// such as `t_12_refuses_a_bad_item`.
pub(super) fn named(text: &str) -> Vec<Id> {
    let mut ids = Vec::new();
    for (start, c) in text.char_indices() {
        let begins = !text[..start].ends_with(is_word);
        if begins
            && c.is_ascii_uppercase()
            && let Some((named, _)) = ids_at(&text[start..])
        {
            ids.extend(named);
        }
    }
    for keyword in ["fn ", "def "] {
        for (start, _) in text.match_indices(keyword) {
            let name = &text[start + keyword.len()..];
            ids.extend(in_function_name(&name[..name.find(|c| !is_word(c)).unwrap_or(name.len())]));
        }
    }
    ids
}

/// The whole of `text` as one id or one range.
pub(super) fn parse(text: &str) -> Option<Vec<Id>> {
    ids_at(text).filter(|(_, length)| *length == text.len()).map(|(ids, _)| ids)
}

/// One id or one range at the start of `text`, with its length.
fn ids_at(text: &str) -> Option<(Vec<Id>, usize)> {
    let (first, length) = id_at(text)?;
    let tail = &text[length..];
    let dots = ["..=", "..", "…"].into_iter().find(|dots| tail.starts_with(dots));
    if let Some(dots) = dots
        && let Some((last, last_length)) = id_at(&tail[dots.len()..])
        && last.family == first.family
        && (first.number..first.number + RANGE_LENGTH_MAX).contains(&last.number)
    {
        let numbers = first.number..=last.number;
        let ids = numbers.map(|number| Id { family: first.family.clone(), number }).collect();
        return Some((ids, length + dots.len() + last_length));
    }
    Some((vec![first], length))
}

/// One id at the start of `text`, with its length; `None` if it is the start of a longer word.
fn id_at(text: &str) -> Option<(Id, usize)> {
    let letter = text.chars().next().filter(|&c| LISTED.contains(c) || TABLED.contains(c))?;
    let rest = text[1..].strip_prefix('-')?;
    // Open questions are counted within the document they come from: `Q-M1`.
    let source_length = usize::from(letter == 'Q');
    let source = rest.get(..source_length)?;
    if !source.chars().all(|c| c.is_ascii_uppercase()) {
        return None;
    }
    let digits = &rest[source_length..];
    let digit_count = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if digits[digit_count..].starts_with(is_word) {
        return None;
    }
    let number = digits[..digit_count].parse().ok()?;
    let family = format!("{letter}-{source}");
    Some((Id { family, number }, 2 + source_length + digit_count))
}

/// `t_12_…`, also in the middle (`a_batch_t_12_…`) and repeated (`t_12_t_13_…`).
fn in_function_name(name: &str) -> Vec<Id> {
    let words: Vec<String> = name.split('_').map(str::to_ascii_uppercase).collect();
    words
        .windows(2)
        .filter_map(|pair| {
            let text = format!("{}-{}", pair[0], pair[1]);
            id_at(&text).filter(|(_, length)| *length == text.len()).map(|(id, _)| id)
        })
        .collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ids: &[Id]) -> String {
        ids.iter().map(Id::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_line_starts_and_first_cells_define() {
        let document = "\
# M-9 heading
- M-1 Two tiers, see F-1 and T-3.
- D-8 (M) A date.
  - M-2 indented
- M-3: with a colon
- Q-M9 not in a table
- M-1 again
text T-1
| id | question |
|---|---|
| Q-M1 | hard or soft, see M-4? |
| X-12 | conflict |
| T-5 | not a list item |
";
        assert_eq!(shown(&defined(document)), "M-1 D-8 Q-M1 X-12");
    }

    #[test]
    fn an_id_is_named_as_a_whole_word() {
        assert_eq!(shown(&named("// T-12, (K-3) and `Q-M1`; X-2.")), "T-12 K-3 Q-M1 X-2");
        assert_eq!(shown(&named("T-12a AT-12 T-x T- Q-1 Q-m1 Z-1 T_12 _T-1 é")), "");
    }

    #[test]
    fn a_range_names_each_of_its_ids() {
        assert_eq!(shown(&named("T-9..T-11")), "T-9 T-10 T-11 T-11");
        assert_eq!(shown(&named("M-1…M-2, Q-K1..=Q-K2")), "M-1 M-2 M-2 Q-K1 Q-K2 Q-K2");
        assert_eq!(shown(&named("T-9..M-11")), "T-9 M-11");
        assert_eq!(shown(&named("T-9..T-3 ends. T-1. T-2...")), "T-9 T-3 T-1 T-2");
    }

    #[test]
    fn a_function_name_names_its_ids() {
        assert_eq!(shown(&named("fn t_12_is_all_or_nothing() {")), "T-12");
        assert_eq!(shown(&named("async fn keeps_m_1_m_2() { t_9_call() }")), "M-1 M-2");
        assert_eq!(shown(&named("fn q_m1_is_hard() {}\nfn x_2() {}")), "Q-M1 X-2");
        assert_eq!(shown(&named("def test_k_7_binds(self):")), "K-7");
        assert_eq!(shown(&named("fn at_12_noon() {} fn t_12th() {}")), "");
    }

    #[test]
    fn an_argument_is_one_id_or_one_range() {
        assert_eq!(shown(&parse("T-1..T-3").unwrap()), "T-1 T-2 T-3");
        assert_eq!(shown(&parse("X-2").unwrap()), "X-2");
        assert_eq!(parse("T-1,T-2"), None);
        assert_eq!(parse("T"), None);
        assert_eq!(parse("T-99999999999"), None);
    }
}
