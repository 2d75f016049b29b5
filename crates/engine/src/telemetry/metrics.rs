//! The metrics: histograms with delta temporality.
//!
//! Delta, not cumulative: a `punch run` lives for one run, so a cumulative sum would be a new series for
//! each process.

use std::collections::BTreeMap;

use super::span::wall;

/// The bucket boundaries are those of the conventions.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
const SECONDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Measure {
    Tokens,
    Duration,
    FirstChunk,
}

impl Measure {
    pub(super) const ALL: [Self; 3] = [Self::Tokens, Self::Duration, Self::FirstChunk];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "gen_ai.client.token.usage",
            Self::Duration => "gen_ai.client.operation.duration",
            Self::FirstChunk => "gen_ai.client.operation.time_to_first_chunk",
        }
    }

    pub(super) const fn unit(self) -> &'static str {
        match self {
            Self::Tokens => "{token}",
            Self::Duration | Self::FirstChunk => "s",
        }
    }

    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Tokens => "Number of input and output tokens used.",
            Self::Duration => "GenAI operation duration.",
            Self::FirstChunk => "Time from the request to the first chunk of the response.",
        }
    }

    pub(super) const fn bounds(self) -> &'static [f64; 14] {
        match self {
            Self::Tokens => &TOKENS,
            Self::Duration | Self::FirstChunk => &SECONDS,
        }
    }
}

/// The attributes that identify a series.
pub(super) type Labels = Vec<(&'static str, String)>;

#[derive(Clone, Debug)]
pub(super) struct Histogram {
    pub(super) count: u64,
    pub(super) sum: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// One more than there are boundaries; each counts the values up to its boundary.
    pub(super) buckets: [u64; 15],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY, buckets: [0; 15] }
    }
}

impl Histogram {
    fn record(&mut self, value: f64, bounds: &[f64; 14]) {
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.buckets[bounds.partition_point(|bound| *bound < value)] += 1;
    }
}

/// What was measured since the last `take`.
#[derive(Clone, Debug)]
pub(super) struct Metrics {
    pub(super) since: u64,
    pub(super) series: BTreeMap<(Measure, Labels), Histogram>,
}

impl Metrics {
    pub(super) fn new() -> Self {
        Self { since: wall(), series: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    pub(super) fn record(&mut self, measure: Measure, labels: Labels, value: f64) {
        self.series.entry((measure, labels)).or_default().record(value, measure.bounds());
    }

    /// Takes everything and starts again from zero.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value on a boundary is in the bucket below it, as the protocol says.
    #[test]
    fn values_fall_into_their_buckets() {
        let mut metrics = Metrics::new();
        for value in [0.0, 1.0, 1.5, 4.0, 5.0, 67_108_864.0, 67_108_865.0] {
            metrics.record(Measure::Tokens, Vec::new(), value);
        }
        let taken = metrics.take();
        let histogram = &taken.series[&(Measure::Tokens, Vec::new())];
        assert_eq!(histogram.buckets, [2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!((histogram.count, histogram.min, histogram.max), (7, 0.0, 67_108_865.0));
        assert!(metrics.is_empty());
    }

    #[test]
    fn boundaries_rise() {
        for measure in Measure::ALL {
            assert!(measure.bounds().is_sorted_by(|a, b| a < b), "{measure:?}");
        }
    }
}
