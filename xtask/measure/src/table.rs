//! One line of the table: the measurement, its reference, and whether the target is met.

/// Which side of the target is good.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) ours: String,
    pub(crate) reference: String,
    pub(crate) value: f64,
    pub(crate) target: Target,
}

impl Line {
    pub(crate) fn holds(&self) -> bool {
        match self.target {
            Target::AtMost(limit) => self.value <= limit,
            Target::AtLeast(limit) => self.value >= limit,
        }
    }
}

pub(crate) const HEAD: &str =
    "| measured | ours | reference | ratio or value | target | |\n|---|---|---|---|---|---|\n";

pub(crate) fn row(line: &Line) -> String {
    let target = match line.target {
        Target::AtMost(limit) => format!("≤ {limit}"),
        Target::AtLeast(limit) => format!("≥ {limit}"),
    };
    let verdict = if line.holds() { "holds" } else { "MISSED" };
    let Line { what, ours, reference, value, .. } = line;
    format!("| {what} | {ours} | {reference} | {value:.2} | {target} | {verdict} |\n")
}

/// The median of some durations, in microseconds.
pub(crate) fn median(mut micros: Vec<f64>) -> f64 {
    micros.sort_by(f64::total_cmp);
    micros.get(micros.len() / 2).copied().unwrap_or_default()
}

pub(crate) fn shown(micros: f64) -> String {
    if micros < 1_000.0 {
        format!("{micros:.1} µs")
    } else {
        format!("{:.2} ms", micros / 1_000.0)
    }
}
