//! The measurements behind `cargo xtask bench`: each line a ratio against a reference measured
//! in the same run, with its target. Run it through xtask, which builds what it needs.

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

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("rss") => process::peak_of(&args.collect::<Vec<_>>()),
        Some("continuations") => runs::continue_a_thousand_times(),
        Some("all") => {
            let folder =
                args.next().context("usage: measure all FOLDER [--quick] [--only NAME]")?;
            let rest: Vec<String> = args.collect();
            let only = rest.iter().position(|word| word == "--only").map(|at| at + 1);
            let only = only.map(|at| rest.get(at).cloned().unwrap_or_default());
            all(&PathBuf::from(folder), rest.iter().any(|word| word == "--quick"), only.as_deref())
        }
        _ => bail!("run this through `cargo xtask bench`"),
    }
}

fn all(programs: &Path, quick: bool, only: Option<&str>) -> Result<()> {
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let mut lines = Vec::new();
    if wanted("process") {
        lines.extend(process::measure(programs, if quick { 60 } else { 300 })?);
    }
    if wanted("issues") {
        lines.extend(issues::measure(programs, if quick { 60 } else { 300 })?);
    }
    if wanted("checklist") {
        lines.push(checklist::over_mcp(programs, if quick { 200 } else { 1_000 })?);
        lines.push(checklist::markdown(if quick { 50 } else { 300 })?);
        lines.push(limits::longest_call()?);
    }
    if wanted("mcp") {
        lines.push(mcp::start(programs, if quick { 21 } else { 101 })?);
        lines.push(mcp::idle(programs)?);
        lines.push(mcp::over_http(programs, if quick { 2_000 } else { 10_000 })?);
    }
    if wanted("hooks") {
        lines.extend(hooks::measure(programs, 100_000, if quick { 60 } else { 300 })?);
    }
    if wanted("plans") {
        lines.extend(plans::growth(if quick { 7 } else { 15 })?);
        lines.extend(plans::position(if quick { 60 } else { 300 })?);
    }
    if wanted("missions") {
        lines.push(missions::at_the_limit(if quick { 2_000 } else { 8_000 })?);
        lines.push(missions::cycles(if quick { 5 } else { 11 })?);
    }
    if wanted("runs") {
        lines.push(runs::iteration(if quick { 5 } else { 15 })?);
        lines.push(runs::continuations()?);
        lines.push(runs::crowd()?);
        lines.push(runs::decisions(if quick { 50 } else { 300 }));
    }
    if wanted("writers") {
        lines.push(writers::measure(if quick { 4_000 } else { 20_000 })?);
    }
    if wanted("reads") {
        lines.extend(reads::measure(if quick { 100_000 } else { 1_000_000 })?);
    }
    if wanted("http") {
        lines.push(http::crowd(programs, if quick { 4_000 } else { 20_000 })?);
        let large = if quick { 100_000 } else { 1_000_000 };
        lines.push(http::large_store(programs, large, if quick { 100 } else { 400 })?);
        lines.extend(http::streams(programs)?);
        lines.push(http::remote(programs, if quick { 60 } else { 200 })?);
    }
    if wanted("pages") {
        let large = if quick { 20_000 } else { 1_000_000 };
        lines.extend(pages::measure(programs, large, if quick { 40 } else { 200 })?);
        lines.push(pages::latency()?);
    }
    if wanted("takers") {
        lines.push(takers::next_of(if quick { 100_000 } else { 1_000_000 })?);
        for sslmode in ["disable", "require"] {
            lines.push(takers::on_postgres(if quick { 5 } else { 11 }, sslmode)?);
        }
    }
    print!("{}", table::render(&lines));
    let missed = lines.iter().filter(|line| !line.holds()).count();
    if missed > 0 {
        bail!("{missed} of {} targets missed", lines.len());
    }
    Ok(())
}
