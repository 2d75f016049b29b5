//! What the doctor found, one line per check, and what to do under those that failed.

use serde_json::Value;

use super::text;
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, line};

pub(crate) fn render(answer: &Value) -> String {
    let store = &answer["store"];
    let (target, dialect) = (text(store, "target"), text(store, "dialect"));
    let mut shown = format!("{BOLD}{target}{BOLD:#}  {DIM}{dialect}{DIM:#}\n");
    let checks = store["checks"].as_array().map(Vec::as_slice).unwrap_or_default();
    for check in checks {
        let (name, detail) = (text(check, "name"), text(check, "detail"));
        if check["ok"] == true {
            shown.push_str(&format!("{GREEN}ok{GREEN:#}   {name:<12} {detail}\n"));
        } else {
            shown.push_str(&format!("{RED}bad{RED:#}  {name:<12} {detail}\n"));
            if let Some(hint) = check["hint"].as_str() {
                shown.push_str(&format!("     {CYAN}next{CYAN:#}: {}\n", line(hint)));
            }
        }
    }
    let failed = checks.iter().filter(|check| check["ok"] != true).count();
    shown.push_str(&match failed {
        0 => format!("{GREEN}Nothing is wrong.{GREEN:#}\n"),
        1 => format!("{RED}1 check failed; nothing was changed.{RED:#}\n"),
        n => format!("{RED}{n} checks failed; nothing was changed.{RED:#}\n"),
    });
    for host in answer["hosts"].as_array().map(Vec::as_slice).unwrap_or_default() {
        shown.push_str(&host_line(host));
    }
    shown
}

/// A host; those that are not on this machine are not worth a line.
fn host_line(host: &Value) -> String {
    let (name, verdict) = (text(host, "host"), text(host, "verdict"));
    if verdict == "absent" {
        return String::new();
    }
    let fired = host["lastFiredAt"].as_str().map(|at| format!("last hook {}", line(at)));
    let said = host["hint"].as_str().map(line).or(fired).unwrap_or_default();
    format!("{name:<9} {verdict:<11} {DIM}{said}{DIM:#}\n")
}
