//! The messages of a mission in its chats: the planning prompt, orders, warnings, escalations.
//!
//! The wording is that of the mission design (M-49, M-66…M-68, M-76). Texts by others are put on
//! one line each, so that no title can fake a section.

use std::fmt::Write as _;

use super::{Mission, Pillar, StrategyStatus};
use crate::metric::{Figure, Metric, MetricStatus, Trend};
use crate::text::{Body, normalised};
use crate::{Status, Time, Todo};

/// A metric with its status and trend.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    pub metric: &'a Metric,
    pub current: Option<Figure>,
    pub status: MetricStatus,
    pub trend: Trend,
}

/// An item of another pillar that concerns this one (Q-M3).
#[derive(Clone, Copy, Debug)]
pub struct Shared<'a> {
    pub todo: &'a Todo,
    /// The name of the pillar that owns it.
    pub owner: &'a str,
}

/// The message for the lead when a pillar has planned: how full the mission is, and which items the
/// pillar has to choose from (M-84).
#[must_use]
pub fn planned<'a>(
    mission: &Mission,
    pillar: &str,
    counts: (i64, i64),
    own: impl Iterator<Item = &'a Todo>,
) -> String {
    let name = mission.pillar(pillar).map_or(pillar, |pillar| &pillar.name);
    let limits = mission.todo.limits;
    let mut text = format!("The {} pillar of {} has planned. ", normalised(name), mission.slug);
    let _ = writeln!(
        text,
        "Active {}/{}, backlog {}/{}.",
        counts.0, limits.active, counts.1, limits.backlog
    );
    for todo in own.filter(|todo| !todo.status.is_settled()) {
        let claimed = if todo.claim.is_some() { ", waits for your review" } else { "" };
        let wishes = if todo.wishes.is_empty() { "" } else { ", its owner recommends a change" };
        let _ = writeln!(
            text,
            "- {} (id {}, {}, {}{claimed}{wishes})",
            normalised(&todo.title),
            todo.id,
            todo.status.name(),
            todo.priority.name()
        );
    }
    text.push_str("Start what matters most, then delegate it.");
    text
}

/// The planning prompt of a pillar (M-66…M-68).
#[must_use]
pub fn planning(
    mission: &Mission,
    pillar: &Pillar,
    metrics: &[Measured<'_>],
    own: &[&Todo],
    shared: &[Shared<'_>],
    counts: (u64, u64),
    now: Time,
) -> String {
    let limits = mission.todo.limits;
    let mut text = String::from("## TODO Planning Cycle\n\n");
    let _ = writeln!(text, "Review the current state of the {} pillar:\n", pillar.name);
    let goals = Some(pillar.description.trim()).filter(|goals| !goals.is_empty());
    let _ = writeln!(text, "### Goals\n{}\n", goals.unwrap_or("(none written down)"));
    text.push_str("### Current Metrics\n");
    section(&mut text, metrics.iter().map(metric_line));
    text.push_str("### Active Strategies\n");
    let going = |status| matches!(status, StrategyStatus::Active | StrategyStatus::Planned);
    let strategies = pillar.strategies.iter().filter(|strategy| going(strategy.status));
    let strategy =
        |description: &str, status: &str| format!("- {} ({status})", normalised(description));
    section(&mut text, strategies.map(|s| strategy(&s.description, s.status.name())));
    let _ = writeln!(text, "### Active TODOs ({}/{})", counts.0, limits.active);
    let active = own.iter().filter(|todo| todo.status.is_active());
    let elsewhere = shared.iter().filter(|shared| shared.todo.status.is_active());
    let lines = active.map(|todo| active_line(todo, now));
    section(&mut text, lines.chain(elsewhere.map(|shared| shared_line(shared, now))));
    let _ = writeln!(text, "### Backlog ({}/{})", counts.1, limits.backlog);
    let waiting = own.iter().filter(|todo| todo.status == Status::Backlog);
    let elsewhere = shared.iter().filter(|shared| shared.todo.status == Status::Backlog);
    let stale_days = mission.todo.backlog_stale_days;
    let lines = waiting.map(|todo| backlog_line(todo, stale_days, now));
    section(&mut text, lines.chain(elsewhere.map(|shared| shared_line(shared, now))));
    text.push_str(INSTRUCTIONS);
    text
}

const INSTRUCTIONS: &str = "### Instructions
1. Review whether active TODOs are still the right priorities given current metrics
2. Cancel any TODOs that are no longer relevant
3. Promote backlog items that are now higher priority
4. Create new TODOs if there are open slots and unaddressed metric gaps
5. Ensure each TODO has clear justification and completion criteria
6. Consider metric trends — are strategies working? Do we need new ones?
";

fn section(text: &mut String, lines: impl Iterator<Item = String>) {
    let before = text.len();
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    if text.len() == before {
        text.push_str("(none)\n");
    }
    text.push('\n');
}

fn metric_line(measured: &Measured<'_>) -> String {
    let Measured { metric, current, status, trend } = measured;
    let current = current.map_or_else(|| "no reading".to_owned(), |figure| metric.shown(figure));
    let target = metric.target.map_or_else(
        || "none".to_owned(),
        |target| format!("{} {}", target.operator.sign(), metric.shown(target.value)),
    );
    format!(
        "- {}: {current}, target {target}, status {}, trend {}",
        normalised(&metric.name),
        status.name(),
        trend.name()
    )
}

fn active_line(todo: &Todo, now: Time) -> String {
    let agent = todo.agent_type.as_deref().map_or_else(|| "unassigned".to_owned(), normalised);
    let claimed = if todo.claim.is_some() { ", waits for review" } else { "" };
    let deadline = todo.deadline.map(|deadline| format!(", due {deadline}")).unwrap_or_default();
    format!(
        "- {} ({}, {}, {agent}, {}{deadline}{claimed}) [{}]",
        normalised(&todo.title),
        todo.status,
        todo.priority.name(),
        age(todo, now),
        todo.id
    )
}

fn backlog_line(todo: &Todo, stale_days: u32, now: Time) -> String {
    let stale = if todo.is_stale(stale_days, now) { " STALE" } else { "" };
    let (title, priority) = (normalised(&todo.title), todo.priority.name());
    format!("- {title} ({priority}, {}){stale} [{}]", age(todo, now), todo.id)
}

fn shared_line(shared: &Shared<'_>, now: Time) -> String {
    let Shared { todo, owner } = shared;
    let (priority, age) = (todo.priority.name(), age(todo, now));
    let (title, status) = (normalised(&todo.title), todo.status);
    format!("- {title} ({status}, {priority}, {age}) (shared, owned by {owner}) [{}]", todo.id)
}

/// The age of an item, in words.
fn age(todo: &Todo, now: Time) -> String {
    let seconds = (now.micros() - todo.created_at.micros()).max(0) / 1_000_000;
    match seconds / 86_400 {
        0 => "today".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

/// The order from the lead to the owner (M-49).
#[must_use]
pub fn order(todo: &Todo) -> String {
    let mut text = format!("Execute this task: {}.", todo.title.trim_end_matches('.'));
    if !todo.description.is_empty() {
        let _ = write!(text, " {}", sentence(&todo.description));
    }
    if !todo.completion_criteria.is_empty() {
        let _ = write!(text, " Completion criteria: {}", sentence(&todo.completion_criteria));
    }
    text.push_str(" Use the tools available to you. Report back when done.");
    text
}

/// The order for an item, then the caller's text, unless that contains the order already.
#[must_use]
pub fn order_with(todo: &Todo, words: &Body) -> Body {
    let order = order(todo);
    if words.as_str().contains(order.as_str()) {
        return words.clone();
    }
    // If both together are too long, the caller's text is used alone.
    Body::new(&format!("{order}\n\n{}", words.as_str())).unwrap_or_else(|_| words.clone())
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// The question to the person about an overdue item (M-76).
#[must_use]
pub fn escalation(todo: &Todo) -> String {
    format!("{} Please advise: extend deadline or cancel?", overdue(todo))
}

/// The message to the person about an overdue item that the mission's rules have cancelled: the
/// question of every overdue item (M-76), and what the rules have answered.
#[must_use]
pub fn called_off(todo: &Todo) -> String {
    format!(
        "{} It was never started and is cancelled now by the mission's rules; create it anew to \
         keep it.",
        escalation(todo)
    )
}

/// The late item, its status, and since when it is late.
fn overdue(todo: &Todo) -> String {
    let since = match todo.status {
        Status::InProgress => todo.started_at.unwrap_or(todo.created_at),
        _ => todo.created_at,
    };
    let since = since.to_string();
    let date = since.split('T').next().unwrap_or_default();
    let title = todo.title.trim_end_matches('.');
    format!("TODO overdue: {title}. Status: {} since {date}.", todo.status)
}

/// The warning to the agent that works on an overdue item (M-74).
#[must_use]
pub fn warning(todo: &Todo) -> String {
    let deadline = todo.deadline.map(|deadline| deadline.to_string()).unwrap_or_default();
    format!(
        "TODO overdue: {} was due {deadline}. Finish it and report, or say what is in the way; the \
         deadline may be extended or the TODO cancelled.",
        todo.title.trim_end_matches('.')
    )
}
