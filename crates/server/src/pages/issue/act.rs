//! The actions of an issue's forms: one operation each.

use punchlist_core::issue::checklist::{self, Mark};
use punchlist_core::{IssueStatus, Refusal};
use punchlist_ops::Error;
use punchlist_ops::operations::issue_show::{self, IssueShow};
use punchlist_ops::views::ItemView;
use punchlist_ops::views::session::OneSession;
use serde_json::{Value, json};

use super::{edit, number};
use crate::pages::forms::{Done, Form, missing, unknown};
use crate::pages::gates::{self, MISSING};
use crate::pages::marks;
use crate::pages::notice::Notice;
use crate::pages::visit::Visit;

pub(crate) fn act(visit: &Visit, form: &Form) -> Result<Done, Error> {
    let number = number(visit)?;
    let words: Vec<&str> = form.action().split(' ').collect();
    match words.as_slice() {
        ["edit"] => edit::save(visit, number, form),
        ["comment"] => {
            visit.post("issue_comment", json!({ "number": number, "text": form.text("text") }))?;
            Ok(Done::at("history-title", Notice::done("Commented.")))
        }
        ["send"] => send(visit, number, form),
        ["update"] => update(visit, number, form),
        ["transition"] | ["close"] => transition(visit, number, form),
        ["defer_issue"] => {
            let until = form.given("until").map(day);
            visit.post("issue_defer", json!({ "number": number, "until": until }))?;
            let notice = match until {
                None => Notice::done("It is no longer deferred."),
                Some(_) => Notice::done("Deferred.").undo("defer_issue", &[("until", "")]),
            };
            Ok(Done::at("top", notice))
        }
        ["duplicate"] => duplicate(visit, number, form),
        ["link"] | ["unlink"] => link(visit, number, form),
        ["add_step"] => add(visit, number, form, "step"),
        ["add_criterion"] => add(visit, number, form, "criterion"),
        [action, id, rest @ ..] => on_row(visit, number, action, id, rest),
        ["accept" | "return" | "hold" | "defer" | "note" | "drop"]
            if form.given("id").is_some() =>
        {
            on_item(visit, number, form)
        }
        _ if form.given("gate").is_some() => answer(visit, form),
        _ => Err(unknown(form)),
    }
}

/// Answers a gate of the issue. Afterwards the head of the page gets the focus.
fn answer(visit: &Visit, form: &Form) -> Result<Done, Error> {
    let notice = gates::answer(visit, form)?;
    Ok(Done::at("top", notice))
}

/// A date becomes the start of that day; the operation checks any other text.
fn day(text: &str) -> String {
    let is_date =
        text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_date { format!("{text}T00:00:00Z") } else { text.to_owned() }
}

fn send(visit: &Visit, number: i64, form: &Form) -> Result<Done, Error> {
    let mut input = json!({ "number": number, "message": form.given("message") });
    if form.text("take_over") == "true" {
        input["takeOver"] = true.into();
    }
    let made = visit.post("session_send_to_agent", input)?.into_output::<OneSession>()?;
    let to = visit.at(&format!("/sessions/{}", made.session.id));
    Ok(Done::at("top", Notice::done("Sent to an agent.").link("Look at the session", to)))
}

fn update(visit: &Visit, number: i64, form: &Form) -> Result<Done, Error> {
    let labels: Vec<&str> =
        form.text("labels").split(',').map(str::trim).filter(|label| !label.is_empty()).collect();
    let mut input = json!({
        "number": number,
        "title": form.text("title"),
        "body": form.text("body"),
        "labels": labels,
        "assignee": form.given("assignee"),
        "expectedRevision": form.number("revision"),
    });
    if let Some(priority) = form.given("priority") {
        input["priority"] = priority.into();
    }
    visit.post("issue_update", input)?;
    Ok(Done::at("top", Notice::done("Saved.")))
}

fn transition(visit: &Visit, number: i64, form: &Form) -> Result<Done, Error> {
    let status = form.text("status");
    let mut input = json!({ "number": number, "status": status, "reason": form.given("reason") });
    if form.action() == "close" {
        // The unmet criteria and open children were listed next to the button.
        input["confirm"] = true.into();
    }
    visit.post("issue_transition", input)?;
    let word = IssueStatus::parse(status).map(marks::issue_word);
    let notice =
        Notice::done(format!("#{number} is {} now.", word.unwrap_or_default().to_lowercase()));
    let before = form.text("before");
    let is_open = matches!(before, "open" | "triaged" | "in_progress");
    Ok(Done::at(
        "top",
        match is_open && form.action() == "transition" {
            true => notice.undo("transition", &[("status", before)]),
            false => notice,
        },
    ))
}

fn link(visit: &Visit, number: i64, form: &Form) -> Result<Done, Error> {
    let to = form.text("to").trim().trim_start_matches('#');
    let to: Value = to.parse::<i64>().map_or_else(|_| to.into(), Value::from);
    let kind = form.text("kind");
    let is_new = form.action() == "link";
    let operation = if is_new { "issue_link" } else { "issue_unlink" };
    visit.post(operation, json!({ "number": number, "kind": kind, "to": to }))?;
    let fields = [("kind", kind), ("to", form.text("to"))];
    let notice = match is_new {
        true => Notice::done("Linked.").undo("unlink", &fields),
        false => Notice::done("The link is removed.").undo("link", &fields),
    };
    Ok(Done::at("links-title", notice))
}

fn duplicate(visit: &Visit, number: i64, form: &Form) -> Result<Done, Error> {
    let of =
        form.given("of").ok_or_else(|| missing("Write the number of the issue that stays."))?;
    let of = of.trim_start_matches('#');
    let stays: Value = of.parse::<i64>().map_or_else(|_| of.into(), Value::from);
    let input = json!({ "number": number, "of": stays, "note": form.given("note") });
    visit.post("issue_close_as_duplicate", input)?;
    let to = visit.at(&format!("/issues/{of}"));
    let notice = Notice::done(format!("Closed as a duplicate of #{of}."));
    Ok(Done::at("top", notice.link("Look at it", to)))
}

fn add(visit: &Visit, number: i64, form: &Form, kind: &str) -> Result<Done, Error> {
    let content =
        form.given("content").ok_or_else(|| missing(&format!("Write the {kind} first.")))?;
    // A text that begins like a heading is not treated as one here.
    let input = json!({ "action": "add", "items": [content], "kind": kind });
    visit.post_on(number, "todo", input)?;
    let key = if kind == "step" { "add-step" } else { "add-criterion" };
    Ok(Done::at(key, Notice::done("Added.")))
}

/// Finds an item of the issue, and whether it is a criterion.
fn item(visit: &Visit, number: i64, id: &str) -> Result<(ItemView, bool), Error> {
    let shown = visit.run::<IssueShow>(issue_show::Input { number })?;
    let criterion = shown.criteria.into_iter().find(|item| item.id == id).map(|item| (item, true));
    let found = criterion
        .or_else(|| shown.steps.into_iter().find(|item| item.id == id).map(|item| (item, false)));
    found.ok_or_else(|| no_item(id))
}

fn no_item(id: &str) -> Error {
    Refusal::UnknownTodo { todo_id: id.to_owned(), list: None }.into()
}

/// An action of a row's button.
fn on_row(
    visit: &Visit,
    number: i64,
    action: &str,
    id: &str,
    rest: &[&str],
) -> Result<Done, Error> {
    let tool = |action: &str| {
        let (item, _) = item(visit, number, id)?;
        visit.post_on(number, "todo", json!({ "action": action, "content": item.content }))
    };
    let notice = match action {
        "done" => {
            tool("done")?;
            Notice::done("Completed.").undo(&format!("reopen {id}"), &[])
        }
        "reopen" => {
            reopen(visit, number, id)?;
            Notice::done("Reopened.")
        }
        "start" => {
            tool("start")?;
            Notice::done("Started.")
        }
        "accept" => {
            visit.post("todo_accept", json!({ "todoId": id }))?;
            Notice::done("Accepted.")
        }
        "ratify" => {
            let (item, _) = item(visit, number, id)?;
            visit.post("criterion_ratify", json!({ "number": number, "content": item.content }))?;
            Notice::done("Ratified.")
        }
        "drop" => drop_item(visit, number, id, None)?,
        "unhold" => {
            visit.post("todo_unhold", json!({ "todoId": id }))?;
            Notice::done("The hold is lifted.")
        }
        "undefer" => {
            visit.post("todo_defer", json!({ "todoId": id, "until": null }))?;
            Notice::done("It is no longer deferred.")
        }
        "move" => {
            let before = rest.first().copied().filter(|before| !matches!(*before, "-" | ""));
            visit.post("todo_move", json!({ "todoId": id, "before": before }))?;
            let back = rest.get(1).copied().filter(|after| !after.is_empty()).unwrap_or("-");
            Notice::done("Moved.").undo(&format!("move {id} {back}"), &[])
        }
        _ => {
            let form = Form(vec![("do".to_owned(), action.to_owned())]);
            return Err(unknown(&form));
        }
    };
    Ok(Done::at(&format!("item-{id}"), notice))
}

/// Reopens a settled item. That is an edit of the checklist by hand, of one line (K-29).
fn reopen(visit: &Visit, number: i64, id: &str) -> Result<(), Error> {
    let shown = visit.run::<IssueShow>(issue_show::Input { number })?;
    let mut lines = checklist::parse(&shown.checklist)
        .map_err(|faults| Error::from(Refusal::BadChecklist { faults }))?;
    // The lines of a checklist are its criteria, then its steps.
    let at = shown.criteria.iter().chain(&shown.steps).position(|item| item.id == id);
    let line = at.and_then(|at| lines.get_mut(at)).ok_or_else(|| no_item(id))?;
    line.mark = Mark::Pending;
    let input = json!({
        "number": number,
        "markdown": checklist::render(&lines),
        "expectedRevision": shown.issue.revision,
    });
    visit.post("issue_checklist_edit", input).map(drop)
}

/// Removes an item from the list; a criterion stays visible as abandoned.
fn drop_item(visit: &Visit, number: i64, id: &str, reason: Option<&str>) -> Result<Notice, Error> {
    let (item, is_criterion) = item(visit, number, id)?;
    let content = item.content;
    let again = if is_criterion { "add_criterion" } else { "add_step" };
    match is_criterion {
        true => {
            let input = json!({ "number": number, "content": content, "reason": reason });
            visit.post("criterion_drop", input)?;
        }
        false => {
            let input = json!({ "action": "drop", "content": content, "text": reason });
            visit.post_on(number, "todo", input)?;
        }
    }
    Ok(Notice::done("Dropped.").undo(again, &[("content", &content)]))
}

/// An action of a row's small form.
fn on_item(visit: &Visit, number: i64, form: &Form) -> Result<Done, Error> {
    let id = form.text("id");
    let notice = match form.action() {
        // A criterion that nobody has claimed.
        "accept" => {
            let (item, _) = item(visit, number, id)?;
            let input = json!({ "action": "done", "content": item.content });
            visit.post_on(number, "todo", input)?;
            Notice::done("Accepted.")
        }
        "return" => {
            let feedback = form.given("reason").ok_or_else(|| missing(MISSING))?;
            visit.post("todo_return", json!({ "todoId": id, "feedback": feedback }))?;
            Notice::done("Returned.")
        }
        "hold" => {
            let reason = form.given("reason").ok_or_else(|| missing("Write what it waits for."))?;
            let input = json!({ "todoId": id, "kind": form.text("kind"), "reason": reason });
            visit.post("todo_hold", input)?;
            Notice::done("Held.").undo(&format!("unhold {id}"), &[])
        }
        "defer" => {
            let until = form
                .given("until")
                .ok_or_else(|| missing("Write a date, for example 2026-12-14."))?;
            visit.post("todo_defer", json!({ "todoId": id, "until": day(until) }))?;
            Notice::done("Deferred.").undo(&format!("undefer {id}"), &[])
        }
        "note" => {
            let (item, _) = item(visit, number, id)?;
            let input =
                json!({ "action": "note", "content": item.content, "text": form.text("text") });
            visit.post_on(number, "todo", input)?;
            Notice::done("Noted.")
        }
        "drop" => drop_item(visit, number, id, form.given("reason"))?,
        _ => return Err(unknown(form)),
    };
    Ok(Done::at(&format!("item-{id}"), notice))
}
