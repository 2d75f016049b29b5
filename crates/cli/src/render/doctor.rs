//! The findings of the doctor, one line per check, and what to do below those that failed or could not
//! see everything.

use punchlist_store::care::Report;

use crate::hosts::inspect::{Standing, Verdict};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, line};

pub(crate) fn render(store: &Report) -> String {
    let (target, dialect) = (line(&store.target), store.dialect);
    let mut shown = format!("{BOLD}{target}{BOLD:#}  {DIM}{dialect}{DIM:#}\n");
    for check in &store.checks {
        let (name, detail) = (check.name, line(&check.detail));
        if check.ok && check.hint.is_some() {
            shown.push_str(&format!("{YELLOW}part{YELLOW:#} {name:<12} {detail}\n"));
        } else if check.ok {
            shown.push_str(&format!("{GREEN}ok{GREEN:#}   {name:<12} {detail}\n"));
        } else {
            shown.push_str(&format!("{RED}bad{RED:#}  {name:<12} {detail}\n"));
        }
        if let Some(hint) = &check.hint {
            shown.push_str(&format!("     {CYAN}next{CYAN:#}: {}\n", line(hint)));
        }
    }
    let failed = store.checks.iter().filter(|check| !check.ok).count();
    shown.push_str(&match failed {
        0 => format!("{GREEN}Nothing is wrong with the store.{GREEN:#}\n"),
        1 => format!("{RED}1 check failed; nothing was changed.{RED:#}\n"),
        n => format!("{RED}{n} checks failed; nothing was changed.{RED:#}\n"),
    });
    shown
}

/// The hosts: each that is here with its facts and what to do next, and the others in one line.
pub(crate) fn hosts(hosts: &[Standing]) -> String {
    let is_absent = |host: &&Standing| host.verdict == Verdict::Absent;
    let mut shown: String = hosts.iter().filter(|host| !is_absent(host)).map(host).collect();
    let absent: Vec<&str> = hosts.iter().filter(is_absent).map(|host| host.host).collect();
    if !absent.is_empty() {
        shown.push_str(&format!("{:<9} {DIM}{}{DIM:#}\n", "absent", absent.join(", ")));
    }
    shown
}

fn host(host: &Standing) -> String {
    let said = |is_so: bool, yes: &'static str, no: &'static str| if is_so { yes } else { no };
    let fired = host.last_fired_at.as_ref().map(|at| format!("last hook {at}"));
    let version = host.version.as_ref().map(|version| format!("version {version}"));
    let facts = [
        said(host.installed, "installed", "not found on this machine").to_owned(),
        said(host.configured, "set up here", "not set up here").to_owned(),
        said(host.trusted, "hooks trusted", "hooks not trusted").to_owned(),
        fired.unwrap_or_else(|| "no hook has fired".to_owned()),
        said(host.doubled, "delivered twice", "delivered once").to_owned(),
        version.unwrap_or_else(|| "version unknown".to_owned()),
    ];
    // Without hooks or their host nothing is trusted, and without a hook nothing was delivered.
    let has_fired = host.last_fired_at.is_some();
    let is_trustable = host.configured && (host.installed || has_fired || !host.trusted);
    let is_said = [true, true, is_trustable, true, has_fired || host.doubled, true];
    let facts = facts.iter().zip(is_said).filter(|(_, is_said)| *is_said);
    let facts: Vec<String> = facts.map(|(fact, _)| line(fact)).collect();
    let color = if host.verdict == Verdict::Governed { GREEN } else { RED };
    let (name, verdict, facts) = (host.host, host.verdict.name(), facts.join(", "));
    let mut shown = format!("{name:<9} {color}{verdict:<11}{color:#} {DIM}{facts}{DIM:#}\n");
    if let Some(hint) = &host.hint {
        shown.push_str(&format!("{:<9} {CYAN}next{CYAN:#}: {}\n", "", line(hint)));
    }
    shown
}
