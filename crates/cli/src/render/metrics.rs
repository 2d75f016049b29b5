//! Metrics for people: the figure, the target, a line of blocks, and how the collection goes.

use anstyle::Style;
use punchlist_core::Time;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::columns::{aligned, cut, hanging};
use super::{ago, list, number, text};
use crate::output::{BOLD, DIM, GREEN, RED, YELLOW, line, width};

/// From the lowest to the highest.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) fn recorded(answer: &Value, now: Time) -> String {
    format!("Recorded {}\n", headline(&answer["metric"], now, usize::MAX))
}

pub(super) fn queued(answer: &Value) -> String {
    let slugs: Vec<_> = list(answer, "queued").iter().filter_map(Value::as_str).collect();
    if slugs.is_empty() {
        return "Nothing to collect: no metric has a collector, or all rest.\n".to_owned();
    }
    format!("Queued {}\n{DIM}punch worker reads them.{DIM:#}\n", slugs.join(", "))
}

pub(super) fn failed(answer: &Value, now: Time) -> String {
    collection(&answer["collection"], now)
}

pub(super) fn history(answer: &Value, now: Time) -> String {
    let width = width();
    let mut said = format!("{}\n", headline(answer, now, width));
    let readings = list(answer, "readings");
    // As many as fit, the newest at the right.
    let shown: Vec<&Value> = readings.iter().take(width.saturating_sub(2)).rev().collect();
    let figures: Vec<f64> = shown.iter().filter_map(|reading| reading["value"].as_f64()).collect();
    if figures.len() > 1 {
        let (low, high) = bounds(&figures);
        said.push_str(&format!("  {}\n", sparkline(&figures)));
        let range = format!("  {low} to {high}, the newest at the right");
        said.push_str(&format!("{DIM}{}{DIM:#}\n", cut(&range, width)));
    }
    said.push_str(&collection(&answer["collection"], now));
    let rows = readings.iter().map(|reading| {
        let value = reading["value"].to_string();
        vec![String::new(), value, ago(&reading["at"], now), text(reading, "source").into_owned()]
    });
    said.push_str(&aligned(rows.collect(), width));
    if let Some(cursor) = answer["nextCursor"].as_i64() {
        said.push_str(&format!("{DIM}older: --cursor {cursor}{DIM:#}\n"));
    }
    said
}

/// Name, figure, target, status and trend: on one line, or one below the other where there is
/// little room.
fn headline(metric: &Value, now: Time, width: usize) -> String {
    let current = match metric["shown"].as_str() {
        Some(shown) => format!("{} {}", line(shown), ago(&metric["currentAt"], now)),
        None => "never read".to_owned(),
    };
    let current = current.trim_end();
    let target = metric["target"]["shown"].as_str();
    let target = target.map_or(String::new(), |shown| format!(" (target {})", line(shown)));
    let (status, trend) = (text(metric, "status"), text(metric, "trend"));
    let known: Vec<&str> = [&*status, &*trend].into_iter().filter(|w| *w != "unknown").collect();
    let (verdict, style) = (known.join(", "), colour(&status));
    let name = text(metric, "name");
    let plain = format!("{name}: {current}{target}  {verdict}");
    if plain.trim_end().width() <= width {
        let lead = format!("{BOLD}{name}{BOLD:#}: {current}{target}");
        return if known.is_empty() { lead } else { format!("{lead}  {style}{verdict}{style:#}") };
    }
    let mut said = format!("{BOLD}{}{BOLD:#}\n  {}", cut(&name, width), cut(current, width - 2));
    if !target.is_empty() {
        said.push_str(&format!("\n {}", cut(&target, width - 1)));
    }
    if !known.is_empty() {
        said.push_str(&format!("\n  {style}{}{style:#}", cut(&verdict, width - 2)));
    }
    said
}

fn colour(status: &str) -> Style {
    match status {
        "on_target" => GREEN,
        "warning" => YELLOW,
        "off_target" => RED,
        _ => DIM,
    }
}

fn collection(collection: &Value, now: Time) -> String {
    let mut said = String::new();
    if let Some(error) = collection["lastError"].as_str() {
        let failures = number(collection, "failures");
        let when = ago(&collection["lastErrorAt"], now);
        let lead = format!("  failed {failures}×: ");
        let shown = format!("{RED}{lead}{RED:#}");
        said.push_str(&hanging(&lead, &shown, &format!("{} (last {when})", line(error)), width()));
    }
    if collection["nextAt"].is_string() {
        let (cron, next) = (text(collection, "cron"), ago(&collection["nextAt"], now));
        said.push_str(&format!("  {DIM}collected by `{cron}`, next {next}{DIM:#}\n"));
    }
    said
}

fn bounds(figures: &[f64]) -> (f64, f64) {
    let fold = |pick: fn(f64, f64) -> f64, start| figures.iter().copied().fold(start, pick);
    (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY))
}

/// One block for each figure; figures that are all the same stand in the middle.
pub(super) fn sparkline(figures: &[f64]) -> String {
    let (low, high) = bounds(figures);
    let steps = BLOCKS.len() - 1;
    let block = |figure: &f64| {
        // Halves first: the whole range may be beyond all numbers.
        let share = (figure / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        let step = if share.is_finite() { (share * steps as f64).round() } else { 3.0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7")]
        let step = step.clamp(0.0, steps as f64) as usize;
        BLOCKS[step]
    };
    figures.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_blocks_spans_from_the_lowest_to_the_highest() {
        assert_eq!(sparkline(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[90.0, 60.0, 75.0]), "█▁▅");
        assert_eq!(sparkline(&[5.0, 5.0]), "▄▄");
        assert_eq!(sparkline(&[f64::MIN, 0.0, f64::MAX]), "▁▅█");
        assert_eq!(sparkline(&[]), "");
    }
}
