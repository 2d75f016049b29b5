//! `punch doctor` about hosts: a host is governed only if its hooks fire as they are now.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::init::{init, project};
use super::{answer, bound, hook};
use crate::support::Place;

/// Noon of the tests' day, 2026-11-15.
const NOON_S: u64 = 1_794_744_000;

fn standing(place: &Place, folder: &Path, variables: &[(&str, &Path)], host: &str) -> Value {
    let mut doctor = place.punch(["doctor", "--json"]).env("PATH", place.home()).at(folder);
    for (name, value) in variables {
        doctor = doctor.env(name, value);
    }
    let hosts = doctor.answer()["hosts"].as_array().unwrap().clone();
    hosts.into_iter().find(|found| found["host"] == host).unwrap()
}

fn hint(standing: &Value) -> &str {
    standing["hint"].as_str().unwrap_or_default()
}

/// The doctor's states of a host: absent, not set up, not trusted, governed.
#[test]
fn the_doctor_reports_the_state_of_each_host() {
    let place = Place::sqlite();
    let folder = project(&place);
    let standing = |host: &str| standing(&place, &folder, &[], host);
    assert_eq!(standing("claude")["verdict"], "absent");
    assert_eq!(init(&place, &folder, &["--host", "claude", "--host", "codex"]).run().exit, Some(0));
    let new = standing("claude");
    assert_eq!((&new["configured"], &new["verdict"]), (&json!(true), &json!("ungoverned")));
    assert!(new["hint"].as_str().unwrap().contains("no hook has fired"), "{new}");
    bound(&place, "claude", "s1", &["One"]);
    let fired = standing("claude");
    assert_eq!((&fired["verdict"], &fired["trusted"]), (&json!("governed"), &json!(true)));
    assert_eq!((&fired["doubled"], fired["lastFiredAt"].is_string()), (&json!(false), true));
    let stop = super::stop("s1", "p", "x", false);
    for _ in 0..2 {
        answer(&hook(&place, "claude", "stop", &stop).run());
    }
    assert_eq!(standing("claude")["doubled"], true);
    let codex = standing("codex");
    assert_eq!((&codex["trusted"], &codex["verdict"]), (&json!(false), &json!("ungoverned")));
    assert!(codex["hint"].as_str().unwrap().contains("does not trust"), "{codex}");
    let off = r#"{"disableAllHooks": true}"#;
    std::fs::write(folder.join(".claude/settings.local.json"), off).unwrap();
    let off = standing("claude");
    assert!(off["hint"].as_str().unwrap().contains("disableAllHooks"), "{off}");
    assert_eq!(off["verdict"], "ungoverned");
    let said = place.punch(["doctor"]).env("PATH", place.home()).at(&folder).said();
    let hosts = said.split("Nothing is wrong with the store.\n").nth(1).unwrap();
    let settings = folder.join(".claude/settings.local.json");
    let expected = format!(
        "claude    ungoverned  not found on this machine, set up here, hooks not trusted, last hook \
         2026-11-15T08:00:00.000000Z, delivered twice, version unknown\n          \
         next: `disableAllHooks` is set in {}; remove it\n\
         codex     ungoverned  not found on this machine, set up here, hooks not trusted, no hook \
         has fired, version unknown\n          \
         next: Codex does not trust this project, and skips its hooks silently; start codex here \
         and trust the folder\n\
         absent    opencode, gemini, cursor, copilot, goose\n",
        settings.display()
    );
    assert_eq!(hosts, expected);
}

/// Codex skips hooks without a word if they are not reviewed or have changed since. A hook that
/// fired before that proves nothing.
#[test]
fn dead_hooks_of_codex_are_not_governed() {
    let place = Place::sqlite();
    let folder = project(&place).canonicalize().unwrap();
    let own = place.home().join("own-codex");
    std::fs::create_dir(&own).unwrap();
    assert_eq!(init(&place, &folder, &["--host", "codex"]).run().exit, Some(0));
    bound(&place, "codex", "x1", &["One"]);
    let file = folder.join(".codex/hooks.json");
    let stop = format!("{}:stop:0:0", file.display());
    let config = |key: &str, hash: &str| {
        let (project, state) = (folder.display(), format!("[hooks.state.\"{key}\"]"));
        let trusted = format!("[projects.\"{project}\"]\ntrust_level = \"trusted\"\n");
        let text = format!("{trusted}{state}\ntrusted_hash = \"{hash}\"\n");
        std::fs::write(own.join("config.toml"), text).unwrap();
    };
    // The tests live at eight o'clock.
    let modified_at = |hours: u64| {
        let time = UNIX_EPOCH + Duration::from_secs(NOON_S - (12 - hours) * 3600);
        let file = std::fs::File::options().write(true).open(&file).unwrap();
        file.set_modified(time).unwrap();
    };
    let now = || standing(&place, &folder, &[("CODEX_HOME", &own)], "codex");
    modified_at(7);
    config(&stop, "sha256:00");
    let wrong = now();
    assert_eq!((&wrong["verdict"], &wrong["trusted"]), (&json!("ungoverned"), &json!(false)));
    assert!(hint(&wrong).starts_with("the stop hook has changed since it was reviewed"), "{wrong}");
    config(&stop.replace(":stop:", ":session_start:"), "sha256:00");
    assert!(hint(&now()).starts_with("Codex skips hooks that nobody has reviewed"));
    config(&stop, &stop_hash(&file));
    let right = now();
    assert_eq!((&right["verdict"], hint(&right)), (&json!("governed"), ""));
    // The same trust in the default folder is not what Codex reads.
    let elsewhere = standing(&place, &folder, &[], "codex");
    assert!(hint(&elsewhere).starts_with("Codex does not trust this project"), "{elsewhere}");
    modified_at(9);
    let since = now();
    assert_eq!(since["verdict"], "ungoverned");
    let expected = format!("no hook has fired since {} changed", file.display());
    assert!(hint(&since).starts_with(&expected), "{since}");
}

/// The hash of the stop hook, which is the definition with sorted names.
fn stop_hash(file: &Path) -> String {
    use sha2::{Digest, Sha256};
    let hooks: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let hook = &hooks["hooks"]["Stop"][0]["hooks"][0];
    let text = format!(
        r#"{{"event_name":"stop","hooks":[{{"async":false,"command":{},"timeout":{},"type":"command"}}]}}"#,
        hook["command"], hook["timeout"]
    );
    let digest = Sha256::digest(text.as_bytes());
    format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// The user's own settings are where `CLAUDE_CONFIG_DIR` says; a folder that Claude Code does not
/// trust is named, although `claude -p` runs its hooks.
#[test]
fn the_doctor_reads_the_settings_of_claude_code_where_they_are() {
    let place = Place::sqlite();
    let folder = project(&place).canonicalize().unwrap();
    let own = place.home().join("own-claude");
    std::fs::create_dir(&own).unwrap();
    assert_eq!(init(&place, &folder, &["--host", "claude"]).run().exit, Some(0));
    let now = || standing(&place, &folder, &[("CLAUDE_CONFIG_DIR", &own)], "claude");
    let state = |accepted: bool| {
        let trust = json!({ "hasTrustDialogAccepted": accepted });
        let state = json!({ "projects": { folder.to_str().unwrap(): trust } });
        std::fs::write(own.join(".claude.json"), state.to_string()).unwrap();
    };
    state(false);
    assert!(hint(&now()).starts_with("Claude Code does not trust this folder yet"), "{}", now());
    bound(&place, "claude", "s1", &["One"]);
    let fired = now();
    assert_eq!(fired["verdict"], "governed", "`claude -p` is: {fired}");
    assert_eq!(fired["trusted"], false, "{fired}");
    assert!(hint(&fired).contains("only `claude -p` runs its hooks"), "{fired}");
    state(true);
    assert_eq!((&now()["verdict"], hint(&now())), (&json!("governed"), ""));
    assert_eq!(now()["trusted"], true);
    std::fs::write(own.join("settings.json"), r#"{"disableAllHooks": true}"#).unwrap();
    let off = now();
    assert_eq!(off["verdict"], "ungoverned");
    assert!(hint(&off).starts_with("`disableAllHooks` is set in "), "{off}");
}
