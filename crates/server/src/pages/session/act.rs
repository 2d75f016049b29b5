//! The actions of a session's and a run's forms: one operation each.

use punchlist_ops::Error;
use punchlist_ops::operations::run_show::{self, RunShow};
use punchlist_ops::operations::session_show::{self, SessionShow};
use serde_json::json;

use super::head::At;
use super::{issue, runs_of};
use crate::pages::asking::{maybe, title};
use crate::pages::forms::{Done, Form, missing, unknown};
use crate::pages::gates;
use crate::pages::notice::Notice;
use crate::pages::visit::Visit;
use crate::pages::words;

pub(crate) fn act(visit: &Visit, form: &Form) -> Result<Done, Error> {
    match form.action() {
        "stop" => stop(visit, visit.part("id")),
        _ => in_session(visit, form, visit.part("id")),
    }
}

/// What can be done on the page of a session and of each of its runs.
fn in_session(visit: &Visit, form: &Form, id: &str) -> Result<Done, Error> {
    match form.action() {
        "post" => {
            let text = form.given("text").ok_or_else(|| missing("Write a message first."))?;
            let input = session_show::Input { session: maybe(Some(id)) };
            let session = visit.run::<SessionShow>(input)?.session;
            let chat = session.conversation_id;
            visit.post("conversation_post", json!({ "conversationId": chat, "text": text }))?;
            Ok(Done::at("post-box", Notice::done("Posted.")))
        }
        "pause" => {
            visit.post("drive_pause", json!({ "session": id }))?;
            Ok(Done::at("top", Notice::done("Paused. It does not continue until you resume it.")))
        }
        "resume" if form.given("gate").is_none() => {
            visit.post("drive_resume", json!({ "session": id }))?;
            Ok(Done::at("top", Notice::done("Resumed.")))
        }
        "promote" | "bind" | "unbind" => issue::act(visit, form, id),
        _ if form.given("gate").is_some() => {
            let notice = gates::answer(visit, form)?;
            Ok(Done::at("top", notice))
        }
        _ => Err(unknown(form)),
    }
}

/// S-27: ends the open run; if there is none, the session.
fn stop(visit: &Visit, id: &str) -> Result<Done, Error> {
    let input = session_show::Input { session: maybe(Some(id)) };
    let session = visit.run::<SessionShow>(input)?.session;
    let runs = runs_of(visit, &session.id)?;
    let at = At { session: &session, runs: &runs, steps: &[], issue: None };
    match at.open_run() {
        Some(run) => {
            visit.post("run_stop", json!({ "run": run.id }))?;
            Ok(Done::at(
                "top",
                Notice::done(format!("Stopped. {} ends its turn.", words::of_run(run))),
            ))
        }
        None => {
            visit.post("session_end", json!({ "session": session.id }))?;
            Ok(Done::at("top", Notice::done("Stopped. The session has ended.")))
        }
    }
}

pub(crate) fn act_on_run(visit: &Visit, form: &Form) -> Result<Done, Error> {
    match form.action() {
        "stop" => {
            visit.post("run_stop", json!({ "run": visit.part("id") }))?;
            Ok(Done::at("top", Notice::done("Stopped. It ends its turn.")))
        }
        _ => {
            let run = title(visit.part("id"))?;
            let session = visit.run::<RunShow>(run_show::Input { run })?.run.session_id;
            match session {
                Some(session) => in_session(visit, form, &session.to_string()),
                None => Err(unknown(form)),
            }
        }
    }
}
