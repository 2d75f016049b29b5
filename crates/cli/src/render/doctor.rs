//! The findings of the doctor, one line per check, and what to do below those that failed.

use punchlist_store::care::Report;

use crate::hosts::inspect::{Standing, Verdict};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, line};

pub(crate) fn render(store: &Report) -> String {
    let (target, dialect) = (line(&store.target), store.dialect);
    let mut shown = format!("{BOLD}{target}{BOLD:#}  {DIM}{dialect}{DIM:#}\n");
    for check in &store.checks {
        let (name, detail) = (check.name, line(&check.detail));
        if check.ok {
            shown.push_str(&format!("{GREEN}ok{GREEN:#}   {name:<12} {detail}\n"));
        } else {
            shown.push_str(&format!("{RED}bad{RED:#}  {name:<12} {detail}\n"));
            if let Some(hint) = &check.hint {
                shown.push_str(&format!("     {CYAN}next{CYAN:#}: {}\n", line(hint)));
            }
        }
    }
    let failed = store.checks.iter().filter(|check| !check.ok).count();
    shown.push_str(&match failed {
        0 => format!("{GREEN}Nothing is wrong.{GREEN:#}\n"),
        1 => format!("{RED}1 check failed; nothing was changed.{RED:#}\n"),
        n => format!("{RED}{n} checks failed; nothing was changed.{RED:#}\n"),
    });
    shown
}

/// The hosts that are on this machine.
pub(crate) fn hosts(hosts: &[Standing]) -> String {
    let here = hosts.iter().filter(|host| host.verdict != Verdict::Absent);
    here.map(|host| {
        let fired = host.last_fired_at.as_ref().map(|at| format!("last hook {at}"));
        let said = host.hint.clone().or(fired).unwrap_or_default();
        format!("{:<9} {:<11} {DIM}{}{DIM:#}\n", host.host, host.verdict.name(), line(&said))
    })
    .collect()
}
