//! The digest and the audit, for people.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::{aligned, cut};
use super::times::relative;
use super::{list, number, text};
use crate::output::{BOLD, DIM, YELLOW, line, width};

fn ago(value: &Value, field: &str, now: Time) -> String {
    let at = value[field].as_str().and_then(Time::parse);
    at.map_or(String::new(), |at| relative(at, now))
}

/// `3 completed, 1 held`: only what there is.
fn counts(counts: &Value) -> String {
    let said = counts.as_object().into_iter().flatten();
    let said: Vec<String> = said
        .filter(|(_, count)| count.as_u64().unwrap_or_default() > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    if said.is_empty() { "nothing".to_owned() } else { said.join(", ") }
}

pub(super) fn digest(answer: &Value, now: Time) -> String {
    let (project, since) = (text(answer, "project"), text(answer, "since"));
    let all = counts(&answer["total"]);
    let mut shown = format!("{BOLD}{project}{BOLD:#}  {DIM}since {since}:{DIM:#} {all}\n");
    for actor in list(answer, "actors") {
        let (name, all) = (text(actor, "actor"), counts(&actor["counts"]));
        shown.push_str(&format!("\n{BOLD}{name}{BOLD:#}  {all}\n"));
        let rows = list(actor, "deeds").iter().map(|deed| {
            let mut what = text(deed, "title").into_owned();
            if let Some(said) = deed["said"].as_str() {
                what = format!("{what} → {}", line(said));
            }
            if deed["setClock"] == true {
                what.push_str(" (clock set)");
            }
            vec![format!("  {}", text(deed, "deed")), ago(deed, "at", now), what]
        });
        shown.push_str(&aligned(rows.collect(), width()));
        if actor["more"] == true {
            shown.push_str(&format!("  {DIM}… and older ones{DIM:#}\n"));
        }
    }
    shown
}

pub(super) fn audit(answer: &Value, now: Time) -> String {
    let (project, since) = (text(answer, "project"), text(answer, "since"));
    let completions = number(answer, "completions");
    let mut shown =
        format!("{BOLD}{project}{BOLD:#}  {DIM}since {since}:{DIM:#} {completions} completed\n");
    let closes = list(answer, "closes");
    if closes.is_empty() {
        shown.push_str("None of them asks for a second look.\n");
        return shown;
    }
    let counts = &answer["counts"];
    shown.push_str(&format!(
        "{YELLOW}{} without evidence, {} by whoever made the item, {} self-accepted, {} in a \
         burst{YELLOW:#}\n",
        number(counts, "noEvidence"),
        number(counts, "ownWork"),
        number(counts, "selfAccepted"),
        number(counts, "burst")
    ));
    let rows = closes.iter().map(|close| {
        let reasons: Vec<&str> = list(close, "reasons").iter().filter_map(Value::as_str).collect();
        let title = cut(&text(close, "title"), 60);
        let actor = text(close, "actor").into_owned();
        let mut why = reasons.join(", ").replace('_', " ");
        if close["setClock"] == true {
            why.push_str(", clock set");
        }
        vec![ago(close, "at", now), actor, why, title]
    });
    shown.push_str(&aligned(rows.collect(), width()));
    if answer["more"] == true {
        shown.push_str(&format!("{DIM}… and older ones{DIM:#}\n"));
    }
    shown
}
