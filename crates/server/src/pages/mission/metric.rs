//! One metric of a pillar: its value, its verdict, its trend and its chart.

use maud::{Markup, html};
use punchlist_core::Time;
use punchlist_core::metric::{MetricKind, MetricStatus, Trend};
use punchlist_ops::Error;
use punchlist_ops::input::{Cursor, Limit};
use punchlist_ops::operations::metric_history::{self, MetricHistory};
use punchlist_ops::operations::mission_status::PillarStanding;
use punchlist_ops::views::metric::{MetricView, ReadingView};
use punchlist_ops::views::mission::MetricStanding;

use crate::pages::asking::title;
use crate::pages::chart::Chart;
use crate::pages::marks::{self, State};
use crate::pages::visit::Visit;
use crate::pages::words;

/// How many readings are drawn.
const READINGS: i64 = 1_000;

/// How many metrics of one pillar are drawn.
const METRICS: usize = 12;

const WEEK: i64 = 7 * 86_400;

/// A metric with its readings, oldest first.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) metric: MetricView,
    readings: Vec<ReadingView>,
    last_error: Option<String>,
}

/// How bad a verdict is. The worst is listed first.
pub(super) const fn rank(status: MetricStatus) -> u8 {
    match status {
        MetricStatus::OffTarget => 0,
        MetricStatus::Warning => 1,
        MetricStatus::Unknown => 2,
        MetricStatus::OnTarget => 3,
    }
}

/// The metrics of a pillar, worst first.
pub(super) fn all(
    visit: &Visit,
    mission: &str,
    pillar: &PillarStanding,
) -> Result<Vec<Measured>, Error> {
    let mut standings: Vec<&MetricStanding> = pillar.metrics.iter().collect();
    standings.sort_by_key(|metric| rank(metric.status));
    let mut found = Vec::new();
    for standing in standings.into_iter().take(METRICS) {
        let shown = visit.run::<MetricHistory>(metric_history::Input {
            mission: title(mission)?,
            metric: title(&standing.slug)?,
            limit: Limit::of(READINGS),
            cursor: Cursor::FIRST,
        })?;
        let mut readings = shown.readings;
        readings.sort_by_key(|reading| reading.at);
        let last_error = standing.last_error.clone();
        found.push(Measured { metric: shown.metric, readings, last_error });
    }
    Ok(found)
}

pub(super) fn verdict(status: MetricStatus) -> State {
    match status {
        MetricStatus::OnTarget => State::new(marks::on_target(), "On target", "green"),
        MetricStatus::Warning => State::new(marks::warning(), "Warning", "amber"),
        MetricStatus::OffTarget => State::new(marks::off_target(), "Off target", "red"),
        MetricStatus::Unknown => {
            State::new(marks::pending(marks::Shape::Round), "No verdict", "grey")
        }
    }
}

/// A value with its unit: "72 s", "61 %", "yes".
pub(crate) fn figure(kind: MetricKind, unit: Option<&str>, value: f64) -> String {
    match (kind, unit.filter(|unit| !unit.is_empty())) {
        (MetricKind::Boolean, _) => if value == 0.0 { "no" } else { "yes" }.to_owned(),
        (MetricKind::Percentage, None) => format!("{} %", number(value)),
        (MetricKind::Duration, None) => format!("{} s", number(value)),
        (_, Some(unit)) => format!("{} {unit}", number(value)),
        (_, None) => number(value),
    }
}

/// Whole numbers with thousands separators, others with the significant decimals.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return words::grouped(value as i64);
    }
    let places = if value.abs() >= 100.0 { 1 } else { 2 };
    let text = format!("{value:.places$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(super) fn draw(visit: &Visit, mission: &str, measured: &Measured) -> Markup {
    let metric = &measured.metric;
    let state = verdict(metric.status);
    let unit = |value: f64| figure(metric.kind, metric.unit.as_deref(), value);
    let chart = Chart {
        readings: &measured.readings,
        target: metric.target.as_ref(),
        status: metric.status,
        unit: &unit,
    };
    html! {
        article.card.metric id={"metric-" (metric.slug)} {
            header.metric-head {
                h3 { (metric.name) }
                span.verdict { (state.mark) " " (state.shown()) }
            }
            @match metric.current {
                Some(current) => {
                    p.figure-line {
                        span.figure { (unit(current.get())) } " " span.hint { (change(measured, visit.now())) }
                    }
                    (chart.draw(visit.now()))
                }
                None => {
                    p.figure-line { span.hint { "No reading yet" } }
                    p.command { code { (format!("punch metric record {mission} {} 42", metric.slug)) } }
                }
            }
            @if let Some(error) = &measured.last_error {
                p.fault { (marks::failed()) span { "The last reading failed: " (error) } }
            }
        }
    }
}

/// "up 6 s in 7 days", and whether that is good.
fn change(measured: &Measured, now: Time) -> String {
    let trend = match measured.metric.trend {
        Trend::Improving => ", improving",
        Trend::Degrading => ", degrading",
        Trend::Stable | Trend::Unknown => "",
    };
    let readings = &measured.readings;
    let Some(last) = readings.last().filter(|_| readings.len() > 1) else { return String::new() };
    let since = last.at.plus_seconds(-WEEK);
    let before = readings.iter().rev().find(|one| one.at <= since).or(readings.first());
    let Some(before) = before else { return String::new() };
    if measured.metric.kind == MetricKind::Boolean {
        return words::date(last.at, now);
    }
    let difference = last.value.get() - before.value.get();
    let span = words::span(before.at, last.at);
    let MetricView { kind, unit, .. } = &measured.metric;
    let size = figure(*kind, unit.as_deref(), difference.abs());
    match difference {
        up if up > 0.0 => format!("up {size} in {span}{trend}"),
        down if down < 0.0 => format!("down {size} in {span}{trend}"),
        _ => format!("unchanged in {span}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_in_short_form() {
        assert_eq!(number(72.0), "72");
        assert_eq!(number(6.4), "6.4");
        assert_eq!(number(0.125), "0.12");
        assert_eq!(number(12_345.0), "12,345");
        assert_eq!(number(123.456), "123.5");
    }
}
