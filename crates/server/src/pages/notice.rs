//! A notice about what was just done, shown once at the place where the reader acted.
//!
//! A cookie carries it from the form to the next page, and is then deleted.

use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::marks;
use super::visit::Visit;

pub(crate) const COOKIE: &str = "punchlist_notice";

/// The longest text of a notice.
const TEXT_MAX: usize = 600;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tone {
    Done,
    Changed,
    Refused,
}

/// How to undo the action: the action of the form, and its fields.
pub(crate) type Undo = (String, Vec<(String, String)>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notice {
    pub(crate) tone: Tone,
    pub(crate) text: String,
    /// Text and address of one link.
    pub(crate) link: Option<(String, String)>,
    pub(crate) undo: Option<Undo>,
    /// The part of the page that shows it.
    pub(crate) at: String,
}

impl Notice {
    pub(crate) fn done(text: impl Into<String>) -> Self {
        let (link, undo, at) = (None, None, String::new());
        Self { tone: Tone::Done, text: text.into(), link, undo, at }
    }

    pub(crate) fn at(self, spot: &str) -> Self {
        Self { at: spot.to_owned(), ..self }
    }

    pub(crate) fn link(self, words: &str, to: String) -> Self {
        Self { link: Some((words.to_owned(), to)), ..self }
    }

    pub(crate) fn undo(self, action: &str, fields: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self { undo: Some((action.to_owned(), fields.iter().map(owned).collect())), ..self }
    }

    /// The notice as the value of a cookie.
    pub(crate) fn to_cookie(&self) -> String {
        let mut short = self.clone();
        if short.text.chars().count() > TEXT_MAX {
            short.text = short.text.chars().take(TEXT_MAX).chain("…".chars()).collect();
        }
        let json = serde_json::to_string(&short).unwrap_or_default();
        utf8_percent_encode(&json, NON_ALPHANUMERIC).to_string()
    }

    pub(crate) fn from_cookie(text: &str) -> Option<Self> {
        let json = percent_decode_str(text).decode_utf8().ok()?;
        serde_json::from_str(&json).ok()
    }

    pub(crate) fn show(&self, visit: &Visit) -> Markup {
        show(
            self.tone,
            &html! {
                (self.text)
                @if let Some((words, to)) = self.link.as_ref().filter(|(_, to)| to.starts_with('/')) {
                    " " a href=(to) { (words) }
                }
                @if let Some((action, fields)) = &self.undo {
                    " "
                    (super::forms::row(visit, "undo", action, &html! {
                        @for (name, value) in fields {
                            input type="hidden" name=(name) value=(value);
                        }
                        button type="submit" class="link" { "Undo" }
                    }))
                }
            },
        )
    }
}

/// Draws a notice.
pub(crate) fn show(tone: Tone, words: &Markup) -> Markup {
    let (class, role, mark) = match tone {
        Tone::Done => ("notice green", "status", marks::completed()),
        Tone::Changed => ("notice amber", "status", marks::warning()),
        Tone::Refused => ("notice red", "alert", marks::off_target()),
    };
    html! { div class=(class) role=(role) { (mark) div { (words) } } }
}
