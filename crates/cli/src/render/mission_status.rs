//! `punch mission status`: the dashboard of a mission.

use punchlist_core::Time;
use punchlist_core::metric::{Figure, MetricStatus, Trend};
use punchlist_core::mission::{LimitScope, Standing, StrategyStatus};
use punchlist_ops::call::Counts;
use punchlist_ops::operations::mission_status::{Escalation, Output, PillarStanding};
use punchlist_ops::views::mission::{MetricStanding, Recommendation};
use punchlist_ops::views::{MissionTodoView, MissionView};
use unicode_width::UnicodeWidthStr;

use super::columns::{cut, hanging};
use super::metrics::sparkline;
use super::missions::todo_line;
use super::{ago, short};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, clean, line, width};

/// The dashboard.
pub(crate) fn status(output: &Output, now: Time) -> String {
    board(output, now, width())
}

/// The dashboard with this many columns.
fn board(output: &Output, now: Time, wide: usize) -> String {
    let mission = &output.mission;
    let mut shown = heading(mission, output.next_cycle_at, now, wide);
    let each = mission.todo.limit_scope == LimitScope::Pillar;
    if !each {
        shown.push_str(&gauges(&output.counts, wide));
    }
    for pillar in &output.pillars {
        shown.push_str(&pillar_block(pillar, each, wide));
    }
    todos(&mut shown, "Overdue", &output.overdue, wide);
    todos(&mut shown, "Waiting for review", &output.review_queue, wide);
    recommended(&mut shown, &output.recommendations, wide);
    escalated(&mut shown, &output.escalations, now, wide);
    shown
}

/// Its name, its status, and its next cycle.
fn heading(mission: &MissionView, next: Option<Time>, now: Time, wide: usize) -> String {
    let standing = mission.status.name();
    let colour = if mission.status == Standing::Active { CYAN } else { YELLOW };
    let next = match ago(next, now) {
        next if next.is_empty() => String::new(),
        next => format!("  next cycle {next}"),
    };
    let rest = standing.width() + 2 + next.width();
    let name = line(&mission.name);
    if name.width() + rest + 2 <= wide {
        return format!("{BOLD}{name}{BOLD:#}  {colour}{standing}{colour:#}{DIM}{next}{DIM:#}\n");
    }
    let name = cut(&name, wide);
    format!("{BOLD}{name}{BOLD:#}\n  {colour}{standing}{colour:#}{DIM}{next}{DIM:#}\n")
}

fn pillar_block(pillar: &PillarStanding, with_gauges: bool, wide: usize) -> String {
    let counts = &pillar.counts;
    let (active, backlog) = (counts.active, counts.backlog);
    let rests = match pillar.status {
        Standing::Paused => "  paused",
        _ => "",
    };
    let held = format!("  {active} active, {backlog} in backlog");
    let room = wide.saturating_sub(rests.width() + held.width());
    let name = line(&pillar.name);
    let mut shown = String::from("\n");
    if name.width() <= room {
        shown.push_str(&format!(
            "{BOLD}{name}{BOLD:#}{YELLOW}{rests}{YELLOW:#}{DIM}{held}{DIM:#}\n"
        ));
    } else {
        let name = cut(&name, wide.saturating_sub(rests.width()));
        shown.push_str(&format!(
            "{BOLD}{name}{BOLD:#}{YELLOW}{rests}{YELLOW:#}\n{DIM}{held}{DIM:#}\n"
        ));
    }
    if with_gauges {
        shown.push_str(&gauges(counts, wide));
    }
    shown.push_str(&metrics(&pillar.metrics, wide));
    let strategies = pillar.strategies.iter();
    for strategy in strategies.filter(|strategy| strategy.status != StrategyStatus::Abandoned) {
        let said = clean(&strategy.description);
        let said = format!("strategy ({}): {said}", strategy.status.name());
        shown.push_str(&hanging("  → ", &format!("  {DIM}→{DIM:#} "), &said, wide));
    }
    shown
}

/// How full the mission is, as two bars.
fn gauges(counts: &Counts, wide: usize) -> String {
    // As long as fits, with the name before and the numbers after.
    let cells = wide.saturating_sub(26).clamp(8, 20);
    let bar = |name: &str, count: i64, limit: u32| {
        let limit = i64::from(limit);
        let (count_u, limit_u) = (
            usize::try_from(count).unwrap_or_default(),
            usize::try_from(limit).unwrap_or_default(),
        );
        let full = match limit_u {
            0 => cells,
            // At least one cell if there is anything; all cells only when it is full.
            _ if count_u == 0 => 0,
            _ => (count_u * cells / limit_u).clamp(1, cells),
        };
        let (colour, said) = match count.cmp(&limit) {
            std::cmp::Ordering::Less => (GREEN, ""),
            std::cmp::Ordering::Equal => (YELLOW, " full"),
            std::cmp::Ordering::Greater => (RED, " over"),
        };
        let (filled, empty) = ("█".repeat(full), "░".repeat(cells - full));
        let said = format!("{colour}{said}{colour:#}");
        format!("  {name:8}{colour}{filled}{colour:#}{DIM}{empty}{DIM:#} {count}/{limit}{said}\n")
    };
    let active = bar("active", counts.active, counts.active_limit);
    active + &bar("backlog", counts.backlog, counts.backlog_limit)
}

/// The shown parts of one metric.
struct Shown {
    name: String,
    parts: [String; 4],
    mark: &'static str,
    colour: anstyle::Style,
    error: Option<String>,
}

/// The metrics of a pillar: in columns if they fit, else each on two lines.
fn metrics(metrics: &[MetricStanding], wide: usize) -> String {
    let rows: Vec<Shown> = metrics.iter().map(metric).collect();
    let widest = |of: &dyn Fn(&Shown) -> usize| rows.iter().map(of).max().unwrap_or_default();
    let name = widest(&|row| row.name.width());
    let columns: [usize; 4] = std::array::from_fn(|n| widest(&|row| row.parts[n].width()));
    let parts: usize = columns.iter().filter(|wide| **wide > 0).map(|wide| wide + 2).sum();
    let in_columns = 4 + name + parts <= wide;
    let mut shown = String::new();
    for row in &rows {
        let (mark, colour) = (row.mark, row.colour);
        let padded: String = row
            .parts
            .iter()
            .zip(columns)
            .filter(|(_, wide)| *wide > 0)
            .map(|(part, wide)| format!("  {part}{}", " ".repeat(wide - part.width())))
            .collect();
        if in_columns {
            let gap = " ".repeat(name - row.name.width());
            let line = format!("{}{gap}{padded}", row.name);
            shown.push_str(&format!("  {colour}{mark}{colour:#} {}\n", line.trim_end()));
        } else {
            let name = cut(&row.name, wide.saturating_sub(4));
            shown.push_str(&format!("  {colour}{mark}{colour:#} {name}\n"));
            let told: Vec<&str> =
                row.parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
            shown.push_str(&hanging("    ", "    ", &told.join(" "), wide));
        }
        if let Some(error) = &row.error {
            let said = format!("not collected: {error}");
            let lead = format!("    {RED}!{RED:#} ");
            shown.push_str(&hanging("      ", &lead, &said, wide));
        }
    }
    shown
}

fn metric(metric: &MetricStanding) -> Shown {
    let unit = metric.unit.as_deref().map(line).unwrap_or_default();
    let figure = |value: Option<Figure>| match value {
        Some(figure) if unit.is_empty() || unit == "%" || unit.width() == 1 => {
            format!("{figure}{unit}")
        }
        Some(figure) => format!("{figure} {unit}"),
        None => "no reading".to_owned(),
    };
    let target = match &metric.target {
        Some(target) => {
            format!("target {} {}", target.operator.sign(), figure(Some(target.value)))
        }
        None => String::new(),
    };
    let (mark, colour, standing) = match metric.status {
        MetricStatus::OnTarget => ("●", GREEN, "on target"),
        MetricStatus::Warning => ("◐", YELLOW, "warning"),
        MetricStatus::OffTarget => ("✗", RED, "off target"),
        MetricStatus::Unknown => ("○", DIM, ""),
    };
    let trend = if metric.trend == Trend::Unknown { "" } else { metric.trend.name() };
    let judged: Vec<&str> = [standing, trend].into_iter().filter(|word| !word.is_empty()).collect();
    let readings: Vec<f64> = metric.readings.iter().map(|figure| figure.get()).collect();
    let parts = [sparkline(&readings), figure(metric.current), target, judged.join(", ")];
    let error = metric.last_error.as_deref().map(clean);
    Shown { name: line(&metric.name), parts, mark, colour, error }
}

fn todos(shown: &mut String, heading: &str, todos: &[MissionTodoView], wide: usize) {
    if todos.is_empty() {
        return;
    }
    shown.push_str(&format!("\n{BOLD}{heading}{BOLD:#}\n"));
    shown.extend(todos.iter().map(|todo| todo_line(todo, "  ", wide)));
}

fn recommended(shown: &mut String, wishes: &[Recommendation], wide: usize) {
    if wishes.is_empty() {
        return;
    }
    shown.push_str(&format!("\n{BOLD}Recommended to the lead{BOLD:#}\n"));
    for wish in wishes {
        let why = wish.reason.as_deref().map(|why| format!(": {}", line(why)));
        let to = wish.deadline.map(|to| to.to_string());
        let to = to.or_else(|| wish.priority.map(|to| to.name().to_owned()));
        let to = to.map(|to| format!(" to {to}"));
        let said = format!(
            "{} “{}”{}{}, by {} [{}]",
            line(&wish.action),
            line(&wish.title),
            to.unwrap_or_default(),
            why.unwrap_or_default(),
            line(&wish.by),
            short(&wish.todo_id),
        );
        shown.push_str(&hanging("    ", &format!("  {CYAN}?{CYAN:#} "), &said, wide));
    }
}

/// The open questions to a person, and how to answer them.
fn escalated(shown: &mut String, questions: &[Escalation], now: Time, wide: usize) {
    if questions.is_empty() {
        return;
    }
    shown.push_str(&format!("\n{BOLD}Waiting for your answer{BOLD:#}\n"));
    for question in questions {
        let said = format!("{} (asked {})", clean(&question.text), ago(question.created_at, now));
        shown.push_str(&hanging("    ", &format!("  {YELLOW}?{YELLOW:#} "), &said, wide));
        let how = format!("punch inbox answer {}", short(&question.gate_id));
        shown.push_str(&hanging("    ", &format!("    {DIM}"), &how, wide));
        shown.push_str(&format!("{DIM:#}"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const MISSION: &str = "01JCQ0000000000000000000AD";

    /// A mission with something of everything.
    fn everything() -> Output {
        let at = "1970-01-01T00:00:00Z";
        let todo = |title: &str, more: Value| {
            let mut todo = json!({ "id": "01JCQ0000000000000000000AA", "title": title,
                "missionId": MISSION, "pillarId": "p", "missionSlug": "dx", "pillarSlug": "build",
                "description": "", "justification": "", "completionCriteria": "",
                "status": "in_progress", "priority": "high", "createdAt": at, "overdue": false,
                "relatedPillars": [] });
            for (name, value) in more.as_object().into_iter().flatten() {
                todo[name] = value.clone();
            }
            todo
        };
        let late = json!({ "overdue": true, "deadline": "1969-12-24" });
        let claim = json!({ "by": "owner:build", "at": at, "evidence": [] });
        let full = json!({ "active": 10, "activeLimit": 10, "backlog": 51, "backlogLimit": 50 });
        let empty = json!({ "active": 0, "activeLimit": 10, "backlog": 0, "backlogLimit": 50 });
        let strategy = |text: &str, status: &str| {
            let id = "01JCQ0000000000000000000AC";
            json!({ "id": id, "description": text, "status": status })
        };
        let settings = punchlist_core::mission::Settings::default();
        let output = json!({
            "mission": { "id": MISSION, "slug": "dx", "name": "Developer Experience",
                "description": "", "status": "active", "todo": settings, "conversationId": "01JCQ0000000000000000000AE",
                "pillars": [], "createdAt": at, "updatedAt": at },
            "nextCycleAt": "1970-01-02T01:00:00Z",
            "counts": full,
            "pillars": [
                { "slug": "build", "name": "Build Performance", "status": "active", "counts": full,
                  "metrics": [
                    { "slug": "a", "name": "Local build time", "unit": "s", "current": 72,
                      "status": "warning", "trend": "improving", "readings": [120, 95.5, 80, 72],
                      "target": { "operator": "<", "value": 60 } },
                    { "slug": "b", "name": "ビルドの成功率", "unit": "%", "current": 99.5,
                      "trend": "stable", "status": "on_target", "readings": [99.5, 99.5, 99.5],
                      "target": { "operator": ">=", "value": 99 } },
                    { "slug": "c", "name": "Flaky tests", "current": null, "status": "unknown",
                      "trend": "unknown", "readings": [], "lastError": "exit status 1\n\u{1b}[2J" },
                  ],
                  "strategies": [
                    strategy("Cache what does not change", "active"),
                    strategy("Split the longest target", "completed"),
                    strategy("Buy machines", "abandoned"),
                  ] },
                { "slug": "docs", "name": "ドキュメントをだれにでも読めるようにする",
                  "status": "paused", "counts": empty, "metrics": [], "strategies": [] },
            ],
            "overdue": [todo("Profile webpack", late)],
            "reviewQueue": [todo("Audit CI", json!({ "claim": claim }))],
            "recommendations": [{ "action": "extend", "title": "Split the bundle",
                "by": "owner:build", "deadline": "1970-02-01", "reason": "waits for the vendor", "pillarSlug": "build",
                "at": at, "todoId": "01JCQ0000000000000000000AB" }],
            "escalations": [{ "text": "TODO overdue: Profile webpack.", "gateId":
                "01JCQ0000000000000000000AC", "todoId": "t", "createdAt": at }],
        });
        serde_json::from_value(output).unwrap()
    }

    fn plain(wide: usize) -> String {
        let now = Time::from_micros(7_200_000_000);
        anstream::adapter::strip_str(&board(&everything(), now, wide)).to_string()
    }

    #[test]
    fn the_dashboard_shows_everything_in_its_place() {
        insta::assert_snapshot!(plain(100));
    }

    #[test]
    fn the_dashboard_fits_a_narrow_terminal() {
        let narrow = plain(44);
        for line in narrow.lines() {
            assert!(line.width() <= 44, "{line}\n{narrow}");
        }
        insta::assert_snapshot!(narrow);
    }

    #[test]
    fn limits_for_each_pillar_are_shown_at_each() {
        let mut output = everything();
        output.mission.todo.limit_scope = LimitScope::Pillar;
        output.pillars[0].counts =
            Counts { active: 1, active_limit: 30, backlog: 0, backlog_limit: 0 };
        let shown = board(&output, Time::from_micros(0), 100);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(shown.matches("active  ").count(), 3, "{shown}");
        assert!(shown.contains("active  █░░░░░░░░░░░░░░░░░░░ 1/30\n"), "{shown}");
        assert!(shown.contains("backlog ████████████████████ 0/0 full\n"), "{shown}");
    }
}
