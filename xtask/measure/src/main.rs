//! The measurements behind `cargo xtask bench`. Each line is a ratio to a reference from the same
//! run, with its target. Run it through xtask, which builds everything it needs.

#![expect(clippy::print_stdout, reason = "the table is the product of this program")]

mod checklist;
mod hooks;
mod http;
mod issues;
mod limits;
mod mcp;
mod missions;
mod pages;
mod plans;
mod process;
mod reads;
mod runs;
mod table;
mod takers;
mod writers;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::table::Line;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("rss") => process::peak_of(&args.collect::<Vec<_>>()),
        Some("continuations") => runs::continue_a_thousand_times(),
        Some("all") => {
            let programs =
                PathBuf::from(args.next().context("run this through `cargo xtask bench`")?);
            let (is_quick, chosen) = parse(args)?;
            all(&Bench { programs: &programs, is_quick }, &chosen)
        }
        _ => bail!("run this through `cargo xtask bench`"),
    }
}

/// The settings of a benchmark.
struct Bench<'a> {
    /// The folder of the built programs.
    programs: &'a Path,
    is_quick: bool,
}

impl Bench<'_> {
    /// Returns the first value if the benchmark is quick, otherwise the second.
    fn either<T>(&self, quick: T, whole: T) -> T {
        if self.is_quick { quick } else { whole }
    }
}

type Measure = fn(&Bench<'_>) -> Result<Vec<Line>>;

/// The parts, in the order they are measured.
const PARTS: [(&str, Measure); 13] = [
    ("process", |b| process::measure(b.programs, b.either(60, 300))),
    ("issues", |b| issues::measure(b.programs, b.either(60, 300))),
    ("checklist", |b| {
        Ok(vec![
            checklist::over_mcp(b.programs, b.either(200, 1_000))?,
            checklist::markdown(b.either(50, 300))?,
            limits::longest_call()?,
        ])
    }),
    ("mcp", |b| {
        Ok(vec![
            mcp::start(b.programs, b.either(21, 101))?,
            mcp::idle(b.programs)?,
            mcp::over_http(b.programs, b.either(2_000, 10_000))?,
        ])
    }),
    ("hooks", |b| hooks::measure(b.programs, 100_000, b.either(60, 300))),
    ("plans", |b| {
        let mut lines = plans::growth(b.either(7, 15))?;
        lines.extend(plans::position(b.either(60, 300))?);
        Ok(lines)
    }),
    ("missions", |b| {
        Ok(vec![
            missions::at_the_limit(b.either(2_000, 8_000))?,
            missions::cycles(b.either(5, 11))?,
        ])
    }),
    ("runs", |b| {
        Ok(vec![
            runs::iteration(b.either(5, 15))?,
            runs::continuations()?,
            runs::crowd()?,
            runs::decisions(b.either(50, 300)),
        ])
    }),
    ("writers", |b| Ok(vec![writers::measure(b.either(4_000, 20_000))?])),
    ("reads", |b| reads::measure(b.either(100_000, 1_000_000))),
    ("http", |b| {
        let large = b.either(100_000, 1_000_000);
        let mut lines = vec![
            http::crowd(b.programs, b.either(4_000, 20_000))?,
            http::large_store(b.programs, large, b.either(100, 400))?,
        ];
        lines.extend(http::streams(b.programs)?);
        lines.push(http::remote(b.programs, b.either(60, 200))?);
        Ok(lines)
    }),
    ("pages", |b| {
        let mut lines = pages::measure(b.programs, b.either(20_000, 1_000_000), b.either(40, 200))?;
        lines.push(pages::latency()?);
        Ok(lines)
    }),
    ("takers", |b| {
        let mut lines = vec![takers::next_of(b.either(100_000, 1_000_000))?];
        for sslmode in ["disable", "require"] {
            lines.push(takers::on_postgres(b.either(5, 11), sslmode)?);
        }
        Ok(lines)
    }),
];

/// Parses the arguments: whether to be quick, and which parts to measure.
fn parse(mut args: impl Iterator<Item = String>) -> Result<(bool, Vec<Measure>)> {
    let (mut is_quick, mut chosen) = (false, Vec::new());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => is_quick = true,
            "--only" => {
                let names = args.next().context("--only takes the name of a part")?;
                for name in names.split(',') {
                    let Some((_, part)) = PARTS.iter().find(|(known, _)| *known == name) else {
                        bail!("there is no part {name:?}; `cargo xtask help` lists them");
                    };
                    chosen.push(*part);
                }
            }
            other => bail!("unknown argument {other:?}; `cargo xtask help` shows what there is"),
        }
    }
    if chosen.is_empty() {
        chosen = PARTS.iter().map(|(_, measure)| *measure).collect();
    }
    Ok((is_quick, chosen))
}

/// Measures, and prints each part when it is done. If a part fails, the others are still measured.
fn all(bench: &Bench<'_>, chosen: &[Measure]) -> Result<()> {
    print!("{}", table::HEAD);
    let (mut measured, mut missed, mut failed) = (0, 0, Vec::new());
    for measure in chosen {
        match measure(bench) {
            Ok(lines) => {
                lines.iter().for_each(|line| print!("{}", table::row(line)));
                measured += lines.len();
                missed += lines.iter().filter(|line| !line.holds()).count();
            }
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
    if !failed.is_empty() {
        bail!("not measured: {}", failed.join("; "));
    }
    if missed > 0 {
        bail!("{missed} of {measured} targets missed");
    }
    Ok(())
}
