//! The actions of a mission's forms: one operation each.

use punchlist_ops::Error;
use serde_json::json;

use super::status;
use crate::pages::forms::{Done, Form, unknown};
use crate::pages::gates;
use crate::pages::notice::Notice;
use crate::pages::visit::Visit;

pub(crate) fn act(visit: &Visit, form: &Form) -> Result<Done, Error> {
    let mission = visit.part("slug");
    let pillar = form.given("pillar");
    match form.action() {
        "pause" => {
            visit.post("mission_pause", json!({ "mission": mission, "pillar": pillar }))?;
            Ok(Done::at("top", Notice::done("Paused.").undo("resume", &undo(pillar))))
        }
        "resume" => {
            visit.post("mission_resume", json!({ "mission": mission, "pillar": pillar }))?;
            Ok(Done::at("top", Notice::done("Resumed.").undo("pause", &undo(pillar))))
        }
        "accept" | "return" if form.given("gate").is_some() => {
            let notice = gates::answer(visit, form)?;
            // The next claim gets the focus, or the heading if there is none.
            let left = status(visit)?.review_queue;
            let next = left.iter().filter(|todo| todo.id != form.text("gate"));
            let oldest = next.min_by_key(|todo| todo.claim.as_ref().map(|claim| claim.at));
            let anchor =
                oldest.map_or("review-title".to_owned(), |todo| format!("gate-{}", todo.id));
            Ok(Done::at(&anchor, notice))
        }
        _ => Err(unknown(form)),
    }
}

fn undo(pillar: Option<&str>) -> Vec<(&str, &str)> {
    pillar.map(|pillar| ("pillar", pillar)).into_iter().collect()
}
