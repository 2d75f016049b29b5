//! Metrics for people: the figure, the target, a line of blocks, and the state of the collection.

use anstyle::Style;
use punchlist_core::Time;
use punchlist_core::metric::MetricStatus;
use punchlist_ops::operations::metric_history::Output;
use punchlist_ops::operations::metric_record;
use punchlist_ops::views::MetricView;
use punchlist_ops::views::metric::CollectionView;
use unicode_width::UnicodeWidthStr;

use super::columns::{aligned, cut, hanging};
use super::times::day_or_time;
use super::{ago, did};
use crate::output::{BOLD, DIM, GREEN, RED, YELLOW, line, width};

/// From the lowest to the highest.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) fn recorded(output: &metric_record::Output, now: Time) -> String {
    let (metric, reading) = (&output.metric, &output.reading);
    let headline = headline(metric, now, usize::MAX);
    let is_newest = metric.current_at.is_none_or(|newest| newest <= reading.at);
    match is_newest {
        true => format!("Recorded {headline}\n"),
        // An earlier reading: the figure that counts is still a later one.
        false => {
            let (value, at) = (&reading.value, day_or_time(reading.at));
            format!("Recorded {value} for {at}; the newest reading: {headline}\n")
        }
    }
}

pub(super) fn queued(slugs: &[String]) -> String {
    if slugs.is_empty() {
        return "Nothing to collect: no metric has a collector, or all are paused.\n".to_owned();
    }
    did("Queued", &format!("{}; `punch worker` reads them", line(&slugs.join(", "))))
}

pub(super) fn history(output: &Output, now: Time) -> String {
    let width = width();
    let mut said = format!("{}\n", headline(&output.metric, now, width));
    let readings = &output.readings;
    // As many as fit, the newest at the right.
    let figures: Vec<f64> = readings
        .iter()
        .take(width.saturating_sub(2))
        .rev()
        .map(|reading| reading.value.get())
        .collect();
    if figures.len() > 1 {
        let (low, high) = bounds(&figures);
        said.push_str(&format!("  {}\n", sparkline(&figures)));
        let range = format!("  {low} to {high}, the newest at the right");
        said.push_str(&format!("{DIM}{}{DIM:#}\n", cut(&range, width)));
    }
    said.push_str(&collection(output.collection.as_ref(), now));
    let rows = readings.iter().map(|reading| {
        let value = reading.value.to_string();
        vec![String::new(), value, ago(reading.at, now), line(&reading.source)]
    });
    said.push_str(&aligned(rows.collect(), width));
    if let Some(cursor) = output.next_cursor {
        said.push_str(&format!("{DIM}older: --cursor {cursor}{DIM:#}\n"));
    }
    said
}

/// Name, figure, target, status and trend: on one line, or below each other if there is little
/// room.
fn headline(metric: &MetricView, now: Time, width: usize) -> String {
    let current = match &metric.shown {
        Some(shown) => format!("{} {}", line(shown), ago(metric.current_at, now)),
        None => "never read".to_owned(),
    };
    let current = current.trim_end();
    let target = metric.target.as_ref().map(|target| line(&target.shown));
    let target = target.map_or(String::new(), |shown| format!(" (target {shown})"));
    let (status, trend) = (metric.status.name(), metric.trend.name());
    let known: Vec<&str> = [status, trend].into_iter().filter(|w| *w != "unknown").collect();
    let (verdict, style) = (known.join(", "), colour(metric.status));
    let name = line(&metric.name);
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

const fn colour(status: MetricStatus) -> Style {
    match status {
        MetricStatus::OnTarget => GREEN,
        MetricStatus::Warning => YELLOW,
        MetricStatus::OffTarget => RED,
        MetricStatus::Unknown => DIM,
    }
}

pub(super) fn collection(collection: Option<&CollectionView>, now: Time) -> String {
    let Some(collection) = collection else { return String::new() };
    let mut said = String::new();
    if let Some(error) = &collection.last_error {
        let failures = collection.failures;
        let when = ago(collection.last_error_at, now);
        let lead = format!("  failed {failures}×: ");
        let shown = format!("{RED}{lead}{RED:#}");
        said.push_str(&hanging(&lead, &shown, &format!("{} (last {when})", line(error)), width()));
    }
    if let Some(next) = collection.next_at {
        let cron = line(collection.cron.as_deref().unwrap_or_default());
        let next = ago(next, now);
        said.push_str(&format!("  {DIM}collected by `{cron}`, next {next}{DIM:#}\n"));
    }
    said
}

fn bounds(figures: &[f64]) -> (f64, f64) {
    let fold = |pick: fn(f64, f64) -> f64, start| figures.iter().copied().fold(start, pick);
    (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY))
}

/// One block for each figure; if all figures are equal, blocks of middle height.
pub(super) fn sparkline(figures: &[f64]) -> String {
    let (low, high) = bounds(figures);
    let steps = BLOCKS.len() - 1;
    let block = |figure: &f64| {
        // Halved first, because the whole range may overflow.
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
