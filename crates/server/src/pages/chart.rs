//! A metric as a chart: its readings over time, its target, and its warning threshold.
//!
//! The chart contains nothing that the text and the table next to it do not contain.

use std::fmt::Write as _;

use maud::{Markup, html};
use punchlist_core::Time;
use punchlist_core::metric::{MetricStatus, Operator};
use punchlist_core::text::counted;
use punchlist_ops::views::metric::{ReadingView, TargetView};

use super::words;

/// The size of the chart in its own units; the stylesheet sets the displayed width.
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 96.0;
/// The right end of the plot, where the labels begin.
const PLOT: f64 = 256.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 88.0;

/// The highest number of points; more readings are thinned out.
const POINTS_MAX: usize = 200;

/// A gap longer than this many typical intervals breaks the line.
const GAP: i64 = 4;

/// A reading as a point of the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    at: i64,
    value: f64,
}

/// The data of a chart.
pub(crate) struct Chart<'a> {
    /// Oldest first.
    pub(crate) readings: &'a [ReadingView],
    pub(crate) target: Option<&'a TargetView>,
    pub(crate) status: MetricStatus,
    /// Formats a value.
    pub(crate) unit: &'a dyn Fn(f64) -> String,
}

/// Keeps the lowest and the highest reading of each column, so that no peak is lost.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else {
        return points;
    };
    if points.len() <= POINTS_MAX {
        return points;
    }
    let columns = i64::try_from(POINTS_MAX / 2).unwrap_or(1);
    let span = (last.at - first.at).max(1);
    let column = |point: &Point| {
        i128::from(point.at - first.at) * i128::from(columns) / i128::from(span + 1)
    };
    let mut kept = Vec::new();
    for of_column in points.chunk_by(|a, b| column(a) == column(b)) {
        let by_value = |a: &&Point, b: &&Point| a.value.total_cmp(&b.value);
        let (low, high) = (of_column.iter().min_by(by_value), of_column.iter().max_by(by_value));
        let mut both: Vec<Point> = low.into_iter().chain(high).copied().collect();
        both.sort_by_key(|point| point.at);
        both.dedup();
        kept.extend(both);
    }
    // Always keep the last reading, because the verdict depends on it.
    if kept.last() != Some(&last) {
        kept.push(last);
    }
    kept
}

/// The points, split at gaps.
fn pieces(points: &[Point]) -> Vec<&[Point]> {
    let mut steps: Vec<i64> = points.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    steps.sort_unstable();
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(0);
    let limit = usual.saturating_mul(GAP);
    points.chunk_by(|a, b| usual == 0 || b.at - a.at <= limit).collect()
}

impl Chart<'_> {
    fn points(&self) -> Vec<Point> {
        let point = |one: &ReadingView| Point { at: one.at.micros(), value: one.value.get() };
        self.readings.iter().map(point).collect()
    }

    /// The lowest and the highest value of the chart, with a margin of 8 %.
    fn range(&self, points: &[Point]) -> (f64, f64) {
        let target = self.target.map(|target| target.value.get());
        let warning = self.target.and_then(|target| target.warning_threshold).map(|one| one.get());
        let values = points.iter().map(|point| point.value).chain(target).chain(warning);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            (low, high) = (low.min(value), high.max(value));
        }
        let span = high - low;
        let room = if span > 0.0 { span * 0.08 } else { low.abs().max(1.0) * 0.08 };
        (low - room, high + room)
    }

    /// The chart with its dates, its legend and its table.
    pub(crate) fn draw(&self, now: Time) -> Markup {
        let points = thinned(self.points());
        let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else {
            return html! {};
        };
        let (low, high) = self.range(&points);
        let y = |value: f64| BOTTOM - (value - low) / (high - low) * (BOTTOM - TOP);
        let span = (last.at - first.at).max(1) as f64;
        let x = |at: i64| match points.len() {
            1 => PLOT - 4.0,
            _ => (at - first.at) as f64 / span * (PLOT - 4.0),
        };
        let dot = match self.status {
            MetricStatus::OnTarget => "green",
            MetricStatus::Warning => "amber",
            MetricStatus::OffTarget => "red",
            MetricStatus::Unknown => "grey",
        };
        let label = (self.unit)(last.value);
        let count = counted(self.readings.len(), "reading", "readings");
        html! {
            figure.chart {
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
                    aria-label=(format!("{count}, the last one is {label}")) {
                    (self.bands(&y))
                    line.axis x1="0" y1=(place(HEIGHT - 2.0)) x2=(place(PLOT)) y2=(place(HEIGHT - 2.0)) {}
                    @for piece in pieces(&points) {
                        @if piece.len() > 1 { path.readings d=(path(piece, &x, &y)) {} }
                        @else if let Some(alone) = piece.first() {
                            circle.lone cx=(place(x(alone.at))) cy=(place(y(alone.value))) r="1.5" {}
                        }
                    }
                    circle class={"dot " (dot)} cx=(place(x(last.at))) cy=(place(y(last.value))) r="3.5" {}
                }
                p.chart-dates aria-hidden="true" {
                    span { (words::date(Time::from_micros(first.at), now)) }
                    @if points.len() > 1 { span { (words::date(Time::from_micros(last.at), now)) } }
                }
                figcaption { (self.legend()) }
                (self.table(now))
            }
        }
    }

    /// The target line and the warning band, each with its value at the right edge.
    fn bands(&self, y: &dyn Fn(f64) -> f64) -> Markup {
        let Some(target) = self.target else { return html! {} };
        let at = y(target.value.get());
        let warning = target.warning_threshold.map(|one| (one.get(), y(one.get())));
        // If the two labels are close, they are moved apart vertically.
        let apart = warning.map_or(0.0, |(_, edge)| {
            let missing = (13.0 - (edge - at).abs()).max(0.0) / 2.0;
            if edge < at { missing } else { -missing }
        });
        html! {
            @if let Some((value, edge)) = warning {
                rect.band x="0" y=(place(at.min(edge))) width=(place(PLOT)) height=(place((at - edge).abs())) {}
                line.band-edge x1="0" y1=(place(edge)) x2=(place(PLOT)) y2=(place(edge)) {}
                text.amber x=(place(PLOT + 8.0)) y=(place(edge - apart + 4.0)) { ((self.unit)(value)) }
            }
            line.target x1="0" y1=(place(at)) x2=(place(PLOT)) y2=(place(at)) {}
            text.green x=(place(PLOT + 8.0)) y=(place(at + apart + 4.0)) { ((self.unit)(target.value.get())) }
        }
    }

    fn legend(&self) -> Markup {
        let Some(target) = self.target else { return html! { "No target" } };
        let (of, to) = match target.operator {
            Operator::Below => ("under", "up to"),
            Operator::AtMost => ("at most", "up to"),
            Operator::Above => ("over", "down to"),
            Operator::AtLeast => ("at least", "down to"),
            Operator::Equal => ("exactly", "up to"),
        };
        html! {
            span.key {
                svg.key-line viewBox="0 0 16 8" width="16" height="8" aria-hidden="true" {
                    line.target x1="0" y1="4" x2="16" y2="4" {}
                }
                "Target: " (of) " " ((self.unit)(target.value.get()))
            }
            @if let Some(warning) = target.warning_threshold {
                span.key {
                    svg.key-line viewBox="0 0 16 8" width="16" height="8" aria-hidden="true" {
                        rect.band x="0" y="0" width="16" height="8" {} line.band-edge x1="0" y1="1" x2="16" y2="1" {}
                    }
                    "Warning: " (to) " " ((self.unit)(warning.get()))
                }
            }
        }
    }

    /// The newest readings as a table.
    fn table(&self, now: Time) -> Markup {
        html! {
            details.readings-table {
                summary { "Readings" }
                table {
                    thead { tr { th scope="col" { "When" } th scope="col" { "Value" } th scope="col" { "Read by" } } }
                    tbody {
                        @for one in self.readings.iter().rev().take(POINTS_MAX) {
                            tr {
                                td { (words::ago(one.at, now)) }
                                td { ((self.unit)(one.value.get())) }
                                td { (words::name(&one.source)) }
                            }
                        }
                    }
                }
                @if self.readings.len() > POINTS_MAX { p.hint { "The newest " (POINTS_MAX) " are listed." } }
            }
        }
    }
}

/// A coordinate, in short form.
fn place(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn path(piece: &[Point], x: &dyn Fn(i64) -> f64, y: &dyn Fn(f64) -> f64) -> String {
    let mut path = String::new();
    for (n, point) in piece.iter().enumerate() {
        let letter = if n == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{} {}", place(x(point.at)), place(y(point.value)));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: i64, of: impl Fn(i64) -> f64) -> Vec<Point> {
        (0..count).map(|n| Point { at: n * 1_000, value: of(n) }).collect()
    }

    #[test]
    fn many_readings_are_thinned_and_no_peak_is_lost() {
        let mut many = points(10_000, |n| (n % 7) as f64);
        many[5_003].value = 900.0;
        many[7_001].value = -900.0;
        let kept = thinned(many);
        assert!(kept.len() <= POINTS_MAX + 1, "{}", kept.len());
        assert!(kept.iter().any(|point| point.value == 900.0));
        assert!(kept.iter().any(|point| point.value == -900.0));
        assert_eq!(kept.last().map(|point| point.at), Some(9_999_000));
        assert!(kept.is_sorted_by_key(|point| point.at));
    }

    #[test]
    fn few_readings_stay_as_they_are() {
        let few = points(200, |n| n as f64);
        assert_eq!(thinned(few.clone()), few);
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let mut readings = points(10, |_| 1.0);
        for point in &mut readings[6..] {
            point.at += 60_000;
        }
        let sizes: Vec<usize> = pieces(&readings).iter().map(|piece| piece.len()).collect();
        assert_eq!(sizes, [6, 4]);
    }
}
