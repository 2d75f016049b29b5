//! Escapes texts for the markdown, so that they cannot be read as markup.
//!
//! A backslash before ASCII punctuation is markdown's own escape: `\<` is a `<` that opens nothing.
//! A text gets a backslash before `<!--` and before the end of `-->` and `--!>`, and every
//! backslash is doubled. So an unescaped comment never comes from a text.

/// Makes the signs that open and close a comment harmless inside a text.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let opens = c == '<' && text[at..].starts_with("<!--");
        let closes = c == '>' && (text[..at].ends_with("--") || text[..at].ends_with("--!"));
        if c == '\\' || opens || closes {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// The inverse of [`escape`]. A backslash before anything but punctuation stays a backslash, so
/// that nobody has to double those of `C:\new` by hand.
pub(super) fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.next_if(|next| c == '\\' && next.is_ascii_punctuation()) {
            Some(escaped) => text.push(escaped),
            None => text.push(c),
        }
    }
    text
}

/// The first position of `sign` that is not escaped.
pub(super) fn find(raw: &str, sign: &str) -> Option<usize> {
    let (bytes, mut at) = (raw.as_bytes(), 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(sign.as_bytes()) {
            return Some(at);
        }
        let escapes = bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation);
        at += if escapes { 2 } else { 1 };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-16: no comment opens or closes in an escaped text, and unescaping gives the text again.
    #[test]
    fn an_escaped_text_holds_no_comment_and_is_restored() {
        for (text, escaped) in [
            ("plain -> <b> C# [x]", "plain -> <b> C# [x]"),
            ("<!-- a -->", "\\<!-- a --\\>"),
            ("--!>", "--!\\>"),
            ("\\<!--\\-->", "\\\\\\<!--\\\\--\\>"),
            ("C:\\new\\", "C:\\\\new\\\\"),
            ("é<!--é", "é\\<!--é"),
        ] {
            assert_eq!(escape(text), escaped);
            assert_eq!(unescape(escaped), text);
            assert_eq!((find(escaped, "<!--"), find(escaped, "-->")), (None, None), "{text}");
        }
    }

    #[test]
    fn a_backslash_typed_by_hand_escapes_punctuation_only() {
        assert_eq!(unescape("C:\\new \\[a\\] \\"), "C:\\new [a] \\");
        assert_eq!(find("\\<!-- \\\\<!--", "<!--"), Some(8));
    }
}
