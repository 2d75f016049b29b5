//! `punch mission status`: the dashboard of a mission.

use punchlist_core::Time;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::columns::{cut, hanging};
use super::missions::todo_line;
use super::{ago, list, number, text};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, clean, line, width};

/// The dashboard.
pub(super) fn status(answer: &Value, now: Time) -> String {
    board(answer, now, width())
}

/// The same, so many columns wide.
fn board(answer: &Value, now: Time, wide: usize) -> String {
    let mission = &answer["mission"];
    let mut shown = heading(mission, &answer["nextCycleAt"], now, wide);
    let each = mission["todo"]["limitScope"] == "pillar";
    if !each {
        shown.push_str(&gauges(&answer["counts"], wide));
    }
    for pillar in list(answer, "pillars") {
        shown.push_str(&pillar_block(pillar, each, wide));
    }
    todos(&mut shown, "Overdue", list(answer, "overdue"), wide);
    todos(&mut shown, "Waits for review", list(answer, "reviewQueue"), wide);
    recommended(&mut shown, list(answer, "recommendations"), wide);
    escalated(&mut shown, list(answer, "escalations"), now, wide);
    shown
}

/// Its name, how it stands, and when it plans next.
fn heading(mission: &Value, next: &Value, now: Time, wide: usize) -> String {
    let standing = text(mission, "status");
    let colour = if standing == "active" { CYAN } else { YELLOW };
    let next = match ago(next, now) {
        next if next.is_empty() => String::new(),
        next => format!("  plans {next}"),
    };
    let rest = standing.width() + 2 + next.width();
    let name = text(mission, "name");
    if name.width() + rest + 2 <= wide {
        return format!("{BOLD}{name}{BOLD:#}  {colour}{standing}{colour:#}{DIM}{next}{DIM:#}\n");
    }
    let name = cut(&name, wide);
    format!("{BOLD}{name}{BOLD:#}\n  {colour}{standing}{colour:#}{DIM}{next}{DIM:#}\n")
}

fn pillar_block(pillar: &Value, with_gauges: bool, wide: usize) -> String {
    let counts = &pillar["counts"];
    let (active, backlog) = (number(counts, "active"), number(counts, "backlog"));
    let rests = match pillar["status"].as_str() {
        Some("paused") => "  paused",
        _ => "",
    };
    let held = format!("  {active} active, {backlog} in backlog");
    let room = wide.saturating_sub(rests.width() + held.width());
    let name = text(pillar, "name");
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
    shown.push_str(&metrics(list(pillar, "metrics"), wide));
    let strategies = list(pillar, "strategies").iter();
    for strategy in strategies.filter(|strategy| strategy["status"] != "abandoned") {
        let said = clean(strategy["description"].as_str().unwrap_or_default());
        let said = format!("strategy ({}): {said}", text(strategy, "status"));
        shown.push_str(&hanging("  → ", &format!("  {DIM}→{DIM:#} "), &said, wide));
    }
    shown
}

/// How full, as two bars.
fn gauges(counts: &Value, wide: usize) -> String {
    // As long as there is room for, with the name before and the numbers behind.
    let cells = wide.saturating_sub(26).clamp(8, 20);
    let bar = |name: &str, count: i64, limit: i64| {
        let (count_u, limit_u) = (
            usize::try_from(count).unwrap_or_default(),
            usize::try_from(limit).unwrap_or_default(),
        );
        let full = match limit_u {
            0 => cells,
            // One cell as soon as there is anything; all only when it is full.
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
    let active = bar("active", number(counts, "active"), number(counts, "activeLimit"));
    active + &bar("backlog", number(counts, "backlog"), number(counts, "backlogLimit"))
}

/// One metric as it is shown, part by part.
struct Shown {
    name: String,
    parts: [String; 4],
    mark: &'static str,
    colour: anstyle::Style,
    error: Option<String>,
}

/// The metrics of a pillar: in columns where they fit, else each on two lines.
fn metrics(metrics: &[Value], wide: usize) -> String {
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

fn metric(metric: &Value) -> Shown {
    let unit = metric["unit"].as_str().map(line).unwrap_or_default();
    let figure = |value: &Value| match value.as_f64() {
        Some(figure) if unit.is_empty() || unit == "%" || unit.width() == 1 => {
            format!("{figure}{unit}")
        }
        Some(figure) => format!("{figure} {unit}"),
        None => "no reading".to_owned(),
    };
    let target = &metric["target"];
    let target = match target["operator"].as_str() {
        Some(operator) => format!("target {} {}", line(operator), figure(&target["value"])),
        None => String::new(),
    };
    let (mark, colour, standing) = match metric["status"].as_str() {
        Some("on_target") => ("●", GREEN, "on target"),
        Some("warning") => ("◐", YELLOW, "warning"),
        Some("off_target") => ("✗", RED, "off target"),
        _ => ("○", DIM, ""),
    };
    let trend = metric["trend"].as_str().filter(|trend| *trend != "unknown").unwrap_or_default();
    let trend = line(trend);
    let judged: Vec<&str> =
        [standing, &trend].into_iter().filter(|word| !word.is_empty()).collect();
    let readings: Vec<f64> = list(metric, "readings").iter().filter_map(Value::as_f64).collect();
    let parts = [sparkline(&readings), figure(&metric["current"]), target, judged.join(", ")];
    let error = metric["lastError"].as_str().map(clean);
    Shown { name: text(metric, "name").into_owned(), parts, mark, colour, error }
}

/// The figures as a line of blocks, the lowest the smallest; all alike are all in the middle.
fn sparkline(figures: &[f64]) -> String {
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

fn todos(shown: &mut String, heading: &str, todos: &[Value], wide: usize) {
    if todos.is_empty() {
        return;
    }
    shown.push_str(&format!("\n{BOLD}{heading}{BOLD:#}\n"));
    shown.extend(todos.iter().map(|todo| todo_line(todo, "  ", wide)));
}

fn recommended(shown: &mut String, wishes: &[Value], wide: usize) {
    if wishes.is_empty() {
        return;
    }
    shown.push_str(&format!("\n{BOLD}Recommended to the lead{BOLD:#}\n"));
    for wish in wishes {
        let why = wish["reason"].as_str().map(|why| format!(": {}", line(why)));
        let to = wish["deadline"].as_str().or_else(|| wish["priority"].as_str());
        let to = to.map(|to| format!(" to {}", line(to)));
        let said = format!(
            "{} “{}”{}{}, by {} [{}]",
            text(wish, "action"),
            text(wish, "title"),
            to.unwrap_or_default(),
            why.unwrap_or_default(),
            text(wish, "by"),
            text(wish, "todoId"),
        );
        shown.push_str(&hanging("    ", &format!("  {CYAN}?{CYAN:#} "), &said, wide));
    }
}

/// What a person was asked, and how to answer.
fn escalated(shown: &mut String, questions: &[Value], now: Time, wide: usize) {
    if questions.is_empty() {
        return;
    }
    shown.push_str(&format!("\n{BOLD}Waits for your answer{BOLD:#}\n"));
    for question in questions {
        let asked = clean(question["text"].as_str().unwrap_or_default());
        let said = format!("{asked} (asked {})", ago(&question["createdAt"], now));
        shown.push_str(&hanging("    ", &format!("  {YELLOW}?{YELLOW:#} "), &said, wide));
        let how = format!("punch inbox answer {}", text(question, "gateId"));
        shown.push_str(&hanging("    ", &format!("    {DIM}"), &how, wide));
        shown.push_str(&format!("{DIM:#}"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A mission with something of everything.
    fn everything() -> Value {
        let todo = |title: &str, more: Value| {
            let mut todo = json!({ "id": "01JCQ0000000000000000000AA", "title": title,
                "pillarSlug": "build", "status": "in_progress", "priority": "high" });
            for (name, value) in more.as_object().into_iter().flatten() {
                todo[name] = value.clone();
            }
            todo
        };
        json!({
            "mission": { "name": "Developer Experience", "status": "active",
                "todo": { "limitScope": "mission" } },
            "nextCycleAt": "1970-01-02T01:00:00Z",
            "counts": { "active": 10, "activeLimit": 10, "backlog": 51, "backlogLimit": 50 },
            "pillars": [
                { "name": "Build Performance", "status": "active",
                  "counts": { "active": 10, "backlog": 51 },
                  "metrics": [
                    { "name": "Local build time", "unit": "s", "current": 72, "status": "warning",
                      "trend": "improving", "readings": [120, 95.5, 80, 72],
                      "target": { "operator": "<", "value": 60 } },
                    { "name": "ビルドの成功率", "unit": "%", "current": 99.5, "trend": "stable",
                      "status": "on_target", "readings": [99.5, 99.5, 99.5],
                      "target": { "operator": ">=", "value": 99 } },
                    { "name": "Flaky tests", "current": null, "status": "unknown",
                      "trend": "unknown", "readings": [], "lastError": "exit status 1\n\u{1b}[2J" },
                  ],
                  "strategies": [
                    { "description": "Cache what does not change", "status": "active" },
                    { "description": "Split the longest target", "status": "completed" },
                    { "description": "Buy machines", "status": "abandoned" },
                  ] },
                { "name": "ドキュメントをだれにでも読めるようにする", "status": "paused",
                  "counts": { "active": 0, "backlog": 0 }, "metrics": [], "strategies": [] },
            ],
            "overdue": [todo("Profile webpack", json!({ "overdue": true, "deadline": "1969-12-24" }))],
            "reviewQueue": [todo("Audit CI", json!({ "claim": { "by": "owner:build" } }))],
            "recommendations": [{ "action": "extend", "title": "Split the bundle", "by": "owner:build",
                "deadline": "1970-02-01", "reason": "waits for the vendor",
                "todoId": "01JCQ0000000000000000000AB" }],
            "escalations": [{ "text": "TODO overdue: Profile webpack.", "gateId":
                "01JCQ0000000000000000000AC", "createdAt": "1970-01-01T00:00:00Z" }],
        })
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
        let mut answer = everything();
        answer["mission"]["todo"]["limitScope"] = "pillar".into();
        answer["pillars"][0]["counts"] =
            json!({ "active": 1, "activeLimit": 30, "backlog": 0, "backlogLimit": 0 });
        let shown = board(&answer, Time::from_micros(0), 100);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(shown.matches("active  ").count(), 3, "{shown}");
        assert!(shown.contains("active  █░░░░░░░░░░░░░░░░░░░ 1/30\n"), "{shown}");
        assert!(shown.contains("backlog ████████████████████ 0/0 full\n"), "{shown}");
    }

    #[test]
    fn a_sparkline_has_a_block_for_each_figure() {
        assert_eq!(sparkline(&[]), "");
        assert_eq!(sparkline(&[5.0]), "▄");
        assert_eq!(sparkline(&[1.0, 1.0]), "▄▄");
        assert_eq!(sparkline(&[0.0, 7.0, 3.4, -0.0]), "▁█▄▁");
    }
}
