//! Texts of agents that a person decides on, exactly as they are.

use maud::{Markup, html};

/// Characters that would hide or reorder others are shown by their codes.
pub(crate) fn plain(text: &str) -> Markup {
    let is_odd = |c: char| {
        (c.is_control() && c != '\t' && c != '\n')
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
    };
    if !text.contains(is_odd) {
        return html! { (text) };
    }
    html! {
        @for piece in text.split_inclusive(is_odd) {
            @let odd = piece.chars().next_back().filter(|c| is_odd(*c));
            (piece.trim_end_matches(is_odd))
            @if let Some(odd) = odd { span.odd { "U+" (format!("{:04X}", u32::from(odd))) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_hide_or_reorder_others_are_shown_by_their_codes() {
        assert_eq!(plain("a <b>\t&\n").into_string(), "a &lt;b&gt;\t&amp;\n");
        let shown = plain("if \u{202E}x\u{2066}{").into_string();
        let code = |code: &str| format!("<span class=\"odd\">U+{code}</span>");
        assert_eq!(shown, format!("if {}x{}{{", code("202E"), code("2066")));
    }
}
