//! The history of an issue: comments, system notes, sign-offs; and the field for a comment.

use maud::{Markup, html};
use punchlist_core::Time;
use punchlist_core::issue::UpdateKind;
use punchlist_ops::operations::issue_show::{Output, SignOffView, UpdateView};

use crate::pages::forms::{self, Field};
use crate::pages::gates;
use crate::pages::icons::Icon;
use crate::pages::visit::Visit;
use crate::pages::{markdown, marks, words};

/// The key of the comment form.
pub(super) const COMMENT: &str = "comment";

/// How many entries are shown by default.
const SHOWN: usize = 50;

enum Entry<'a> {
    Update(&'a UpdateView),
    SignOff(&'a SignOffView),
}

impl Entry<'_> {
    fn at(&self) -> Option<Time> {
        match self {
            Self::Update(update) => Some(update.created_at),
            Self::SignOff(sign_off) => sign_off.at,
        }
    }
}

pub(super) fn draw(visit: &Visit, shown: &Output) -> Markup {
    let updates = shown.updates.iter().map(Entry::Update);
    let mut entries: Vec<Entry<'_>> =
        updates.chain(shown.sign_offs.iter().map(Entry::SignOff)).collect();
    entries.sort_by_key(Entry::at);
    let hidden = match visit.query("history") {
        Some(_) => 0,
        None => entries.len().saturating_sub(SHOWN),
    };
    html! {
        section aria-labelledby="history-title" {
            h2 id="history-title" { "History" }
            @if hidden > 0 {
                p.hint { (hidden) " older entries. " a href=(visit.here(&[("history", Some("all"))])) { "Show all" } }
            }
            ol.history id="history" {
                li id="filed" {
                    (Icon::Issues.draw())
                    div.entry-text { p { b { (visit.name(&shown.issue.created_by)) } " filed it" } }
                    span.when { (words::ago(shown.issue.created_at, visit.now())) }
                }
                @for entry in entries.iter().skip(hidden) { (line(visit, entry)) }
            }
            div id=(format!("{COMMENT}-box")) {
                (visit.notice_at("history-title"))
                (forms::form(visit, COMMENT, "comment", &html! {
                    (forms::field(
                        visit,
                        COMMENT,
                        &Field { name: "text", label: "Comment", lines: 3, ..Field::default() },
                    ))
                    (forms::refusal(visit, COMMENT))
                    (forms::submit("Comment", ""))
                }))
            }
        }
    }
}

fn line(visit: &Visit, entry: &Entry<'_>) -> Markup {
    let when = |at: Time| html! { span.when { (words::ago(at, visit.now())) } };
    match entry {
        Entry::Update(update) => html! {
            li id={"update-" (update.id)} {
                @if update.kind == UpdateKind::Comment {
                    (Icon::Comment.draw())
                    div.entry-text {
                        p { b { (visit.name(&update.author)) } " commented" }
                        div.comment.md { (markdown::render(&update.text)) }
                    }
                } @else {
                    (Icon::Note.draw())
                    div.entry-text { p { (update.text) } }
                }
                (when(update.created_at))
            }
        },
        Entry::SignOff(sign_off) => html! {
            @let by = sign_off.by.as_deref().map_or_else(|| "Somebody".to_owned(), |by| visit.name(by));
            li id={"gate-" (sign_off.gate_id)} {
                (marks::completed())
                div.entry-text {
                    p {
                        b { (by) }
                        " signed it off"
                    }
                    @if let Some(said) = sign_off.response.as_ref().filter(|said| !said.is_null()) {
                        div.comment { (gates::plain(said)) }
                    }
                }
                @if let Some(at) = sign_off.at { (when(at)) }
            }
        },
    }
}
