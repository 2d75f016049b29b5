//! The form for a new issue.

use maud::{Markup, html};
use punchlist_core::Refusal;
use punchlist_ops::Error;
use punchlist_ops::views::issue::OneIssue;
use serde_json::json;

use crate::pages::forms::{self, Done, Field, Form};
use crate::pages::notice::Notice;
use crate::pages::visit::Visit;

/// The key of its form.
pub(super) const KEY: &str = "new-issue";

pub(super) fn draw(visit: &Visit) -> Markup {
    let twins = twins(visit);
    html! {
        section.card.padded aria-labelledby="new-title" {
            h2 id="new-title" tabindex="-1" { "New issue" }
            (forms::form(visit, KEY, "create", &html! {
                (forms::refusal(visit, KEY))
                (forms::field(visit, KEY, &Field { name: "title", label: "Title", ..Field::default() }))
                (forms::field(visit, KEY, &Field { name: "body", label: "Description", lines: 4, ..Field::default() }))
                (forms::field(visit, KEY, &Field {
                    name: "criteria", label: "Criteria", lines: 4,
                    hint: "One a line: what must be true when it is done.", ..Field::default()
                }))
                @if twins {
                    label.check {
                        input type="checkbox" name="force" value="true";
                        span { "Create it even if it looks like a duplicate" }
                    }
                }
                (forms::save_or_cancel(KEY, "Save"))
            }))
            (forms::cancelling(visit, KEY, "top"))
        }
    }
}

/// Was it refused because it looks like an open issue?
fn twins(visit: &Visit) -> bool {
    let refused = visit.refused_at(KEY).map(|refused| &refused.error);
    matches!(refused, Some(Error::Refused(refusal)) if matches!(**refusal, Refusal::LookAlike { .. }))
}

pub(super) fn create(visit: &Visit, form: &Form) -> Result<Done, Error> {
    let criteria: Vec<&str> =
        form.text("criteria").lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let input = json!({
        "title": form.text("title"),
        "body": form.given("body"),
        "criteria": criteria,
        "forceNew": form.text("force") == "true",
    });
    let made = visit.post("issue_create", input)?.into_output::<OneIssue>()?;
    let number = made.issue.number;
    let to = visit.at(&format!("/issues/{number}"));
    Ok(Done::at("top", Notice::done(format!("Created #{number}."))).on(to))
}
