//! Finds the string literals of a Rust file, as far as a search in their text needs it: escapes
//! other than white space are not decoded, and everything that is neither a string nor a comment is
//! skipped.

/// A literal's first line, counted from 1, and its text with each run of white space as one space.
#[derive(Debug, PartialEq)]
pub(super) struct Literal {
    pub(super) line: usize,
    pub(super) text: String,
}

pub(super) fn literals(content: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < content.len() {
        let rest = &content[at..];
        if let Some((text, length)) = string_at(rest) {
            let line = content[..at].matches('\n').count() + 1;
            found.push(Literal { line, text: normalised(text) });
            at += length;
        } else {
            at += skipped_length(rest);
        }
    }
    found
}

/// The text and full length of the string literal that starts here.
fn string_at(rest: &str) -> Option<(&str, usize)> {
    if let Some(body) = rest.strip_prefix('"') {
        let end = plain_end(body);
        return Some((&body[..end], (end + 2).min(rest.len())));
    }
    let hashes_on = rest.strip_prefix('r')?;
    let body_on = hashes_on.trim_start_matches('#');
    let hash_count = hashes_on.len() - body_on.len();
    let body = body_on.strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hash_count));
    let end = body.find(&close).unwrap_or(body.len());
    let length = 2 + hash_count + end + close.len();
    Some((&body[..end], length.min(rest.len())))
}

fn plain_end(body: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in body.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index,
            _ => {}
        }
    }
    body.len()
}

/// The length of something that is not a string: a comment, a character, a whole name, or one sign.
fn skipped_length(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return rest.find("*/").map_or(rest.len(), |end| end + 2);
    }
    // A quote belongs to a character only if another closes it; otherwise to a lifetime.
    if rest.starts_with("'\"'") {
        return 3;
    }
    if rest.starts_with("'\\") {
        return rest.get(3..).and_then(|tail| tail.find('\'')).map_or(2, |end| end + 4);
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name_length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
    match name_length {
        0 => rest.chars().next().map_or(1, char::len_utf8),
        // The prefix of a raw byte or C string is not part of a longer name.
        2 if rest.starts_with("br") || rest.starts_with("cr") => 1,
        length => length,
    }
}

fn normalised(text: &str) -> String {
    let text = text.replace("\\n", " ").replace("\\t", " ").replace("\\\n", " ");
    let mut words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // White space at the end shows that the last word is complete.
    if text.ends_with(char::is_whitespace) {
        words.push(' ');
    }
    if text.starts_with(char::is_whitespace) {
        words.insert(0, ' ');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(content: &str) -> Vec<String> {
        literals(content).into_iter().map(|literal| literal.text).collect()
    }

    #[test]
    fn plain_and_raw_literals_are_read() {
        assert_eq!(
            texts(r###"f("a \"b\" c", r"d\", r#"e "f" g"#, b"h", br"i")"###),
            [r#"a \"b\" c"#, r"d\", "e \"f\" g", "h", "i"]
        );
    }

    #[test]
    fn a_literal_is_found_on_its_first_line_and_its_lines_are_joined() {
        let found = literals("let a =\n    \"one\n     two \\\n  three \";\n\"four\"");
        let expected = [(2, "one two three "), (5, "four")];
        let expected = expected.map(|(line, text)| Literal { line, text: text.to_owned() });
        assert_eq!(found, expected);
    }

    #[test]
    fn quotes_in_comments_characters_and_lifetimes_open_nothing() {
        assert_eq!(texts("// it's \"no\"\n/* \"no\" */ 'a' '\"' '\\'' '\\\\' \"yes\""), ["yes"]);
        assert_eq!(texts("fn f<'a>(x: &'a str) -> &'static str { \"yes\" }"), ["yes"]);
        assert_eq!(texts("'\\u{22}' \"yes\""), ["yes"]);
    }

    #[test]
    fn an_unfinished_literal_reaches_to_the_end() {
        assert_eq!(texts("\"open é"), ["open é"]);
        assert_eq!(texts("r#\"open"), ["open"]);
        assert_eq!(texts("\"open\\"), ["open\\"]);
    }

    #[test]
    fn a_name_that_ends_in_r_is_not_a_raw_string() {
        assert_eq!(texts("for_r#\"a\"#"), ["a"]);
    }
}
