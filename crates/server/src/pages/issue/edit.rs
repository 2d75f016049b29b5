//! The checklist as markdown. A stale edit shows both versions and loses neither.

use maud::{Markup, html};
use punchlist_core::Refusal;
use punchlist_ops::Error;
use punchlist_ops::operations::issue_show::Output;
use serde_json::json;

use crate::pages::forms::{self, Done, Field, Form};
use crate::pages::notice::{self, Notice, Tone};
use crate::pages::visit::Visit;

pub(super) const KEY: &str = "edit";

/// The height of the field, in lines.
fn lines(text: &str) -> u8 {
    u8::try_from(text.lines().count().clamp(10, 60) + 2).unwrap_or(62)
}

pub(super) fn draw(visit: &Visit, shown: &Output) -> Markup {
    let refused = visit.refused_at(KEY);
    // Somebody else changed it meanwhile: shows the current version, which a second attempt builds
    // on.
    let stale = refused.and_then(|refused| match &refused.error {
        Error::Refused(refusal) => match refusal.as_ref() {
            Refusal::StaleRevision { checklist: Some(checklist), revision, .. } => {
                Some((checklist, *revision))
            }
            _ => None,
        },
        _ => None,
    });
    let revision = match (stale, refused) {
        (Some((_, revision)), _) => revision,
        (None, Some(refused)) => refused.form.number("revision").unwrap_or(shown.issue.revision),
        (None, None) => shown.issue.revision,
    };
    let label = if stale.is_some() { "Yours" } else { "Checklist" };
    html! {
        section id="checklist" data-keep=[stale.map(|_| "")] {
            h2 id="edit-title" tabindex="-1" { "Edit checklist" }
            @if stale.is_some() {
                (notice::show(Tone::Changed, &html! {
                    b { "This changed while you were editing." }
                    " Copy what you need into your version, and save it."
                }))
            } @else { (forms::refusal(visit, KEY)) }
            div class=(if stale.is_some() { "versions" } else { "version" }) {
                div.version {
                    (forms::form(visit, KEY, "edit", &html! {
                        input type="hidden" name="revision" value=(revision);
                        (forms::field(visit, KEY, &Field {
                            name: "markdown", label, value: &shown.checklist, lines: lines(&shown.checklist),
                            is_mono: true, is_fine: stale.is_some(), ..Field::default()
                        }))
                        (forms::save_or_cancel(KEY, "Save"))
                    }))
                    (forms::cancelling(visit, KEY, "criteria-title"))
                }
                @if let Some((now, _)) = stale {
                    div.version {
                        div.field {
                            label for="edit-now" { "Now" }
                            textarea.mono id="edit-now" rows=(lines(now)) readonly { "\n" (now) }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn save(visit: &Visit, number: i64, form: &Form) -> Result<Done, Error> {
    let input = json!({
        "number": number,
        "markdown": form.text("markdown"),
        "expectedRevision": form.number("revision"),
    });
    visit.post("issue_checklist_edit", input)?;
    Ok(Done::at("criteria-title", Notice::done("Saved the checklist.")))
}
