//! The issue of a session: K-8, K-53. A session is bound to an issue, unbound, or becomes one.

use maud::{Markup, html};
use punchlist_ops::Error;
use punchlist_ops::views::SessionView;
use serde_json::{Value, json};

use super::{Named, head};
use crate::pages::forms::{self, Done, Field, Form, missing, unknown};
use crate::pages::marks;
use crate::pages::notice::Notice;
use crate::pages::parts;
use crate::pages::visit::Visit;

/// The keys of its forms.
const PROMOTE: &str = "promote";
const BIND: &str = "bind";
const UNBIND: &str = "unbind";

/// The heading that gets the focus afterwards.
const TITLE: &str = "issue-title";

/// The section of the sidebar.
pub(super) fn draw(visit: &Visit, session: &SessionView, issue: Option<&Named>) -> Markup {
    let is_in_use = [PROMOTE, BIND, UNBIND].iter().any(|key| visit.is_open(key));
    html! {
        details.rail-part id="issue" open[is_in_use || visit.focus() == Some(TITLE)] {
            (parts::rail_head(TITLE, "Issue", &html! {}))
            (visit.notice_at(TITLE))
            @match (session.bound_issue, issue) {
                (Some(number), Some((title, status))) => {
                    p.rail-title {
                        (marks::of_issue(*status).mark) " "
                        a href=(visit.at(&format!("/issues/{number}"))) { "#" (number) " " (title) }
                    }
                    (forms::row(visit, UNBIND, "unbind", &html! {
                        (forms::submit("Unbind", "quiet"))
                    }))
                    (forms::refusal(visit, UNBIND))
                }
                _ if head::is_ended(session) => p.hint { "It worked on no issue." },
                _ => (unbound(visit, session)),
            }
        }
    }
}

fn unbound(visit: &Visit, session: &SessionView) -> Markup {
    let field = |key: &str, field: Field<'_>| forms::field(visit, key, &field);
    html! {
        @if visit.is_open(PROMOTE) {
            (forms::form(visit, PROMOTE, "promote", &html! {
                (forms::refusal(visit, PROMOTE))
                (field(PROMOTE, Field { name: "title", label: "Title", value: &session.title, ..Field::default() }))
                (field(PROMOTE, Field { name: "body", label: "Description", lines: 3, ..Field::default() }))
                (field(PROMOTE, Field {
                    name: "criteria", label: "Criteria", hint: "One a line: what must be true when it is done.",
                    lines: 3, ..Field::default()
                }))
                (forms::save_or_cancel(PROMOTE, "Make an issue"))
            }))
            (forms::cancelling(visit, PROMOTE, TITLE))
        } @else if visit.is_open(BIND) {
            (forms::form(visit, BIND, "bind", &html! {
                (forms::refusal(visit, BIND))
                (field(BIND, Field {
                    name: "number", label: "Issue", hint: "Its number, for example 12.", ..Field::default()
                }))
                @if visit.refused_at(BIND).is_some() {
                    label.check {
                        input type="checkbox" name="take_over" value="true";
                        span { "Take the issue from the session that has it" }
                    }
                }
                (forms::save_or_cancel(BIND, "Bind"))
            }))
            (forms::cancelling(visit, BIND, TITLE))
        } @else {
            p.hint { "This session works on no issue." }
            div.rail-actions {
                (forms::opener(visit, PROMOTE, "Make an issue", None, "quiet"))
                (forms::opener(visit, BIND, "Bind to an issue", None, "quiet"))
            }
        }
    }
}

/// The actions of its forms.
pub(super) fn act(visit: &Visit, form: &Form, session: &str) -> Result<Done, Error> {
    let done = |words: String| Ok(Done::at(TITLE, Notice::done(words)));
    match form.action() {
        "promote" => {
            let lines = form.text("criteria").lines().map(str::trim);
            let criteria: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            let (title, body) = (form.text("title"), form.given("body"));
            let input =
                json!({ "session": session, "title": title, "body": body, "criteria": criteria });
            visit.post("session_promote", input)?;
            done("It is an issue now.".to_owned())
        }
        "bind" => {
            let wanted =
                form.given("number").ok_or_else(|| missing("Write the number of the issue."))?;
            let wanted = wanted.trim_start_matches('#');
            let number: Value = wanted.parse::<i64>().map_or_else(|_| wanted.into(), Value::from);
            let mut input = json!({ "session": session, "number": number });
            if form.text("take_over") == "true" {
                input["takeOver"] = true.into();
            }
            visit.post("session_bind", input)?;
            done(format!("Bound to #{wanted}."))
        }
        "unbind" => {
            visit.post("session_unbind", json!({ "session": session }))?;
            done("Unbound. The issue stays as it is.".to_owned())
        }
        _ => Err(unknown(form)),
    }
}
