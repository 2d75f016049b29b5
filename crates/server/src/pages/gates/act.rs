//! Answering: converts the form of a card to an operation, and moves the focus to the next
//! decision.

use maud::{Markup, html};
use punchlist_core::gate::GateState;
use punchlist_core::{Refusal, Time};
use punchlist_ops::Error;
use serde_json::{Value, json};

use super::{Item, form as form_gate, proposal, waiting};
use crate::pages::forms::{Done, Form, Refused, missing, unknown};
use crate::pages::notice::{self, Notice, Tone};
use crate::pages::visit::Visit;
use crate::pages::words;

/// The error if work is refused without a reason, and if a question is.
pub(crate) const MISSING: &str = "Write what is missing, so that the agent knows what to do.";

const WHY: &str = "Write why, so that the agent knows what to do.";

/// Answers a gate on Home or in an inbox.
pub(crate) fn act(visit: &Visit, form: &Form) -> Result<Done, Error> {
    let notice = answer(visit, form)?;
    let anchor = next(visit, form)?;
    Ok(Done::at(&anchor, notice))
}

/// The id that gets the focus: the next gate on the page, or the text that nothing is left.
fn next(visit: &Visit, form: &Form) -> Result<String, Error> {
    let projects: Vec<&str> = match visit.is_of_project() {
        true => vec![visit.project()],
        false => visit.overview.projects.iter().map(|one| one.name.as_str()).collect(),
    };
    let waiting = waiting(visit, &projects)?;
    let answered = form.text("gate");
    let since = Time::from_micros(form.number("since").unwrap_or(0));
    let left: Vec<&Item> = waiting.items.iter().filter(|item| item.id() != answered).collect();
    let later = left.iter().find(|item| item.since() >= since).or(left.first());
    Ok(later.map_or_else(|| "nothing".to_owned(), |item| item.anchor()))
}

/// Posts the answer of a card.
pub(crate) fn answer(visit: &Visit, form: &Form) -> Result<Notice, Error> {
    let (gate, project) = (form.text("gate"), form.text("project"));
    let give = |operation: &str, input: Value| visit.post_in(project, operation, input);
    let gate_answer = |decision: &str, response: Option<Value>| {
        let mut input = json!({ "gateId": gate, "decision": decision });
        if let Some(response) = response {
            input["response"] = response;
        }
        give("gate_answer", input)
    };
    let done = match form.action() {
        "sign_off" => {
            let mut input = json!({ "gateId": gate, "decision": "resume" });
            input["expectedRevision"] = form.number("revision").into();
            let (wanted, given) = (form.number("unclaimed_count"), form.all("unclaimed").len());
            let all = wanted.is_some_and(|wanted| i64::try_from(given) == Ok(wanted));
            input["acceptUnclaimed"] = all.into();
            give("gate_answer", input)?;
            return Ok(signed_off(form));
        }
        "resume" => {
            gate_answer("resume", None)?;
            "Resumed."
        }
        "answer" => {
            let option = serde_json::from_str(form.text("option")).ok();
            let typed = form.given("text").map(Value::from);
            let said =
                typed.or(option).ok_or_else(|| missing("Choose an answer, or write one."))?;
            gate_answer("resume", Some(said))?;
            "Answered."
        }
        "form" => {
            gate_answer("resume", Some(form_gate::response(form)))?;
            "Answered."
        }
        "allow_once" => {
            gate_answer("resume", Some(json!({ "allow": "once" })))?;
            "Allowed once."
        }
        "allow_always" => {
            gate_answer("resume", Some(json!({ "allow": "always" })))?;
            "Allowed always."
        }
        "escalation" => {
            let said = match form.text("how") {
                "cancel" => "cancel".to_owned(),
                _ => {
                    let date = form
                        .given("date")
                        .ok_or_else(|| missing("Write a date, for example 2026-12-14."))?;
                    format!("extend to {date}")
                }
            };
            gate_answer("resume", Some(said.into()))?;
            "Answered."
        }
        "accept" => {
            give("todo_accept", json!({ "todoId": gate }))?;
            "Accepted."
        }
        "accept_proposal" => {
            give("proposal_decide", proposal::accepted(form))?;
            "Accepted. The items are on the list."
        }
        "return" => {
            let feedback = form.given("reason").ok_or_else(|| missing(MISSING))?;
            give("todo_return", json!({ "todoId": gate, "feedback": feedback }))?;
            "Returned."
        }
        "refuse" => {
            refuse(visit, form)?;
            "Refused."
        }
        _ => return Err(unknown(form)),
    };
    Ok(Notice::done(done))
}

/// "Signed off. #41 can be resolved now."
fn signed_off(form: &Form) -> Notice {
    let done = Notice::done("Signed off.");
    let Some(number) = form.number("number") else { return done };
    let end = if form.text("end") == "rejected" { "rejected" } else { "resolved" };
    let to = words::address(form.text("project"), &format!("/issues/{number}"));
    done.link(&format!("#{number} can be {end} now."), to)
}

fn refuse(visit: &Visit, form: &Form) -> Result<(), Error> {
    let asked = if form.text("asked") == super::card::WHY { WHY } else { MISSING };
    let reason = form.given("reason").ok_or_else(|| missing(asked))?;
    let (gate, project) = (form.text("gate"), form.text("project"));
    let is_proposal =
        visit.post_in(project, "delegation_show", json!({ "delegationId": gate })).is_ok();
    if is_proposal {
        let input = json!({ "delegationId": gate, "decision": "reject", "reason": reason });
        visit.post_in(project, "proposal_decide", input)?;
        return Ok(());
    }
    let mut input = json!({ "gateId": gate, "decision": "refuse", "response": reason });
    let (reopen, count) = (form.all("reopen"), form.number("reopen_count"));
    if count.is_some_and(|count| i64::try_from(reopen.len()) != Ok(count)) {
        input["reopen"] = json!(reopen);
    }
    visit.post_in(project, "gate_answer", input).map(drop)
}

/// The message if somebody else answered first: who, their decision, and the text that the reader
/// had typed.
pub(super) fn overtaken(visit: &Visit, refused: &Refused) -> Markup {
    let Refused { form, error } = refused;
    let first = match error {
        Error::Refused(refusal) => match refusal.as_ref() {
            Refusal::AlreadyAnswered { state, by, at, response, .. } => {
                Some((*state, by.as_deref(), *at, response.as_deref()))
            }
            _ => None,
        },
        _ => None,
    };
    let typed = form.given("reason").or(form.given("text"));
    let said = |response: Option<&Value>| {
        response.filter(|said| !said.is_null()).map(super::plain).unwrap_or_default()
    };
    notice::show(
        Tone::Refused,
        &html! {
            @match first {
                Some((state, by, at, response)) => {
                    @let who = by.map_or_else(|| "Somebody else".to_owned(), |by| visit.name(by));
                    @let what = match state {
                        GateState::Refused => "refused it",
                        GateState::Superseded => "replaced the question",
                        _ => "said yes",
                    };
                    @let said = said(response);
                    b { (who) " decided this first" } ", and " (what)
                    @if let Some(at) = at { " " (words::ago(at, visit.now())) }
                    @if said.is_empty() { "." } @else { ": “" (said) "”." }
                }
                None => { (words::said(error)) }
            }
            @if let Some(typed) = typed { " You had typed: “" (typed) "”." }
        },
    )
}
