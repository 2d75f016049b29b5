//! Missions: how full, how the metrics stand, what waits for whom.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::{aligned, cut, hanging};
use super::{ago, list, number, text};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, clean, line, width};

/// What making or updating one answers.
pub(super) fn initialised(answer: &Value) -> String {
    let mission = &answer["mission"];
    let slug = text(mission, "slug");
    let changes = list(answer, "changes");
    if changes.is_empty() {
        return format!("Mission {BOLD}{slug}{BOLD:#} is as its file says; nothing changed.\n");
    }
    let mut shown = format!("Mission {BOLD}{slug}{BOLD:#}:\n");
    for change in changes.iter().filter_map(Value::as_str) {
        shown.push_str(&format!("  {}\n", line(change)));
    }
    let next = format!("See it with `punch mission status {slug}`.");
    shown.push_str(&format!("{DIM}{next}{DIM:#}\n"));
    shown
}

pub(super) fn listed(answer: &Value, now: Time) -> String {
    let missions = list(answer, "missions");
    if missions.is_empty() {
        return "No missions here; `punch mission new` makes one.\n".to_owned();
    }
    let rows = missions.iter().map(|mission| {
        let counts = &mission["counts"];
        let next = match ago(&mission["nextCycleAt"], now) {
            next if next.is_empty() => "no cycle due".to_owned(),
            next => format!("plans {next}"),
        };
        vec![
            text(mission, "slug").into_owned(),
            text(mission, "status").into_owned(),
            format!("{}/{}", number(counts, "active"), number(counts, "activeLimit")),
            next,
            text(mission, "name").into_owned(),
        ]
    });
    aligned(rows.collect(), width())
}

/// What pausing and resuming answer.
pub(super) fn standing(answer: &Value) -> String {
    let mission = &answer["mission"];
    let mut shown = format!(
        "Mission {BOLD}{}{BOLD:#} is {}.\n",
        text(mission, "slug"),
        text(mission, "status")
    );
    for pillar in list(mission, "pillars") {
        shown.push_str(&format!("  {}: {}\n", text(pillar, "slug"), text(pillar, "status")));
    }
    shown
}

/// One item, with how full its mission is now.
pub(super) fn todo(answer: &Value) -> String {
    let todo = &answer["todo"];
    let mut shown = String::new();
    if answer["recommended"] == Value::Bool(true) {
        shown.push_str(&format!("{YELLOW}Recommended to the lead{YELLOW:#}; nothing changed.\n"));
    }
    shown.push_str(&todo_line(todo));
    if let Some(warning) = answer["warning"].as_str() {
        shown.push_str(&hanging("  ", "  ", &clean(warning), width()));
    }
    for warning in list(answer, "warnings").iter().filter_map(Value::as_str) {
        shown.push_str(&hanging("  ", "  ", &clean(warning), width()));
    }
    let queued: Vec<String> =
        list(answer, "metricsQueued").iter().filter_map(Value::as_str).map(line).collect();
    if !queued.is_empty() {
        shown.push_str(&format!("  measured again: {}\n", queued.join(", ")));
    }
    shown.push_str(&format!("  {DIM}{}{DIM:#}\n", fullness(&answer["counts"])));
    shown
}

pub(super) fn todos(answer: &Value) -> String {
    let todos = list(answer, "todos");
    let mut shown = String::new();
    if todos.is_empty() {
        shown.push_str("No todos to show.\n");
    }
    for todo in todos {
        shown.push_str(&todo_line(todo));
    }
    shown.push_str(&format!("{DIM}{}{DIM:#}\n", fullness(&answer["counts"])));
    if let Some(cursor) = answer["nextCursor"].as_str() {
        shown.push_str(&format!("{DIM}… more: the same with --cursor {cursor}{DIM:#}\n"));
    }
    shown
}

/// What a cycle did.
pub(super) fn cycled(answer: &Value, now: Time) -> String {
    if answer["ran"] != Value::Bool(true) {
        return "Nothing ran: the mission rests, or is not due.\n".to_owned();
    }
    let mut shown = String::from("A cycle ran.\n");
    for (field, words) in [
        ("escalated", "asked about"),
        ("demoted", "put back"),
        ("cancelled", "cancelled"),
        ("reviewQueue", "waits for review"),
        ("planned", "asked to plan"),
    ] {
        for title in list(answer, field).iter().filter_map(Value::as_str) {
            shown.push_str(&format!("  {words}: {}\n", line(title)));
        }
    }
    if number(answer, "archived") > 0 {
        shown.push_str(&format!("  put away: {} settled todos\n", number(answer, "archived")));
    }
    let next = ago(&answer["nextCycleAt"], now);
    if !next.is_empty() {
        shown.push_str(&format!("{DIM}the next one is due {next}{DIM:#}\n"));
    }
    shown
}

/// The dashboard.
pub(super) fn status(answer: &Value, now: Time) -> String {
    let mission = &answer["mission"];
    let (name, standing) = (text(mission, "name"), text(mission, "status"));
    let mut shown = format!("{BOLD}{name}{BOLD:#}  {CYAN}{standing}{CYAN:#}");
    let next = ago(&answer["nextCycleAt"], now);
    if !next.is_empty() {
        shown.push_str(&format!("  {DIM}plans {next}{DIM:#}"));
    }
    shown.push('\n');
    shown.push_str(&gauges(&answer["counts"]));
    for pillar in list(answer, "pillars") {
        let counts = &pillar["counts"];
        let (active, backlog) = (number(counts, "active"), number(counts, "backlog"));
        let rests = match pillar["status"].as_str() {
            Some("paused") => format!("  {YELLOW}paused{YELLOW:#}"),
            _ => String::new(),
        };
        let name = text(pillar, "name");
        shown.push_str(&format!(
            "\n{BOLD}{name}{BOLD:#}{rests}  {DIM}{active} active, {backlog} in backlog{DIM:#}\n"
        ));
        for metric in list(pillar, "metrics") {
            shown.push_str(&metric_line(metric));
        }
    }
    block(&mut shown, "Overdue", list(answer, "overdue"));
    block(&mut shown, "Waits for review", list(answer, "reviewQueue"));
    let wishes = list(answer, "recommendations");
    if !wishes.is_empty() {
        shown.push_str(&format!("\n{BOLD}Recommended{BOLD:#}\n"));
    }
    for wish in wishes {
        let why = wish["reason"].as_str().map(|why| format!(": {}", line(why)));
        let (action, title) = (text(wish, "action"), text(wish, "title"));
        let said =
            format!("{action} {title}{} [{}]", why.unwrap_or_default(), text(wish, "todoId"));
        shown.push_str(&hanging("  ", "  ", &said, width()));
    }
    shown
}

fn block(shown: &mut String, heading: &str, todos: &[Value]) {
    if todos.is_empty() {
        return;
    }
    shown.push_str(&format!("\n{BOLD}{heading}{BOLD:#}\n"));
    for todo in todos {
        shown.push_str(&todo_line(todo));
    }
}

/// How full, as two bars.
fn gauges(counts: &Value) -> String {
    let bar = |name: &str, count: i64, limit: i64| {
        const CELLS: i64 = 20;
        let full = if limit > 0 { (count * CELLS / limit).clamp(0, CELLS) } else { 0 };
        let filled = "█".repeat(usize::try_from(full).unwrap_or_default());
        let empty = "░".repeat(usize::try_from(CELLS - full).unwrap_or_default());
        let colour = if count >= limit { YELLOW } else { GREEN };
        format!("  {name:8}{colour}{filled}{colour:#}{empty} {count}/{limit}\n")
    };
    let active = bar("active", number(counts, "active"), number(counts, "activeLimit"));
    active + &bar("backlog", number(counts, "backlog"), number(counts, "backlogLimit"))
}

fn fullness(counts: &Value) -> String {
    format!(
        "{}/{} active, {}/{} in backlog",
        number(counts, "active"),
        number(counts, "activeLimit"),
        number(counts, "backlog"),
        number(counts, "backlogLimit")
    )
}

fn metric_line(metric: &Value) -> String {
    let unit = metric["unit"].as_str().unwrap_or_default();
    let figure = |value: &Value| match value.as_f64() {
        Some(figure) => format!("{figure}{unit}"),
        None => "–".to_owned(),
    };
    let target = &metric["target"];
    let target = match target["operator"].as_str() {
        Some(operator) => format!("target {operator} {}", figure(&target["value"])),
        None => "no target".to_owned(),
    };
    let (mark, colour) = match metric["status"].as_str() {
        Some("on_target") => ("●", GREEN),
        Some("warning") => ("●", YELLOW),
        Some("off_target") => ("●", RED),
        _ => ("○", DIM),
    };
    let arrow = match metric["trend"].as_str() {
        Some("improving") => "improving",
        Some("degrading") => "degrading",
        Some("stable") => "stable",
        _ => "",
    };
    let readings: Vec<f64> = list(metric, "readings").iter().filter_map(Value::as_f64).collect();
    let line = format!(
        "{} {}  {} {target}  {arrow}",
        text(metric, "name"),
        sparkline(&readings),
        figure(&metric["current"]),
    );
    let mut shown = format!("  {colour}{mark}{colour:#} {}\n", cut(line.trim_end(), width() - 4));
    if let Some(error) = metric["lastError"].as_str() {
        shown.push_str(&hanging(
            "    ",
            "    ",
            &format!("not collected: {}", clean(error)),
            width(),
        ));
    }
    shown
}

/// The figures as a line of blocks, the lowest the smallest.
pub(super) fn sparkline(figures: &[f64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let high = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let block = |figure: &f64| {
        if high <= low {
            return BLOCKS[3];
        }
        let share = (figure - low) / (high - low) * 7.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 7"
        )]
        BLOCKS[(share.round() as usize).min(7)]
    };
    figures.iter().map(block).collect()
}

fn todo_line(todo: &Value) -> String {
    let (mark, colour) = match todo["status"].as_str() {
        Some("completed") => ("✓", GREEN),
        Some("cancelled") => ("✗", DIM),
        Some("in_progress") => ("▶", CYAN),
        Some("pending") => ("○", CYAN),
        _ => ("·", DIM),
    };
    let mut facts = vec![text(todo, "status").into_owned(), text(todo, "priority").into_owned()];
    if let Some(deadline) = todo["deadline"].as_str() {
        facts.push(format!("due {}", line(deadline)));
    }
    if todo["overdue"] == Value::Bool(true) {
        facts.push("OVERDUE".to_owned());
    }
    if todo["claim"].is_object() {
        facts.push(format!("claimed by {}", text(&todo["claim"], "by")));
    }
    let said = format!(
        "{} ({}) {} [{}]",
        text(todo, "title"),
        facts.join(", "),
        text(todo, "pillarSlug"),
        text(todo, "id")
    );
    hanging("  ", &format!("{colour}{mark}{colour:#} "), &said, width())
}
