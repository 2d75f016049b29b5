//! The state of each host on this machine: is it set up, does it trust us, do its hooks fire?
//!
//! Only a hook that has fired proves that a host works. The host's own files about trust explain
//! why none has.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use punchlist_core::Time;
use punchlist_core::host::Host;
use punchlist_store::outside;
use punchlist_store::rows::hosts::HostRecord;
use serde::Serialize;
use serde_json::Value;

use super::install::{self, Setup};

/// The longest file of a host's settings that is read.
const FILE_MAX: usize = 16 << 20;

/// Double deliveries are reported for a week.
const DOUBLED_US: i64 = 7 * 86_400 * 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Governed,
    Ungoverned,
    Absent,
}

impl Verdict {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Governed => "governed",
            Self::Ungoverned => "ungoverned",
            Self::Absent => "absent",
        }
    }
}

/// One host.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Standing {
    pub(crate) host: &'static str,
    pub(crate) configured: bool,
    pub(crate) trusted: bool,
    pub(crate) last_fired_at: Option<String>,
    pub(crate) doubled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    pub(crate) verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

/// Where the hosts' files are.
pub(crate) struct Machine<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) home: Option<PathBuf>,
    pub(crate) paths: Vec<PathBuf>,
}

impl Machine<'_> {
    /// Every host, with the newest hooks of this project.
    pub(crate) fn standings(&self, records: &[HostRecord], now: Time) -> Vec<Standing> {
        Host::ALL.iter().map(|host| self.standing(*host, records, now)).collect()
    }

    fn standing(&self, host: Host, records: &[HostRecord], now: Time) -> Standing {
        let own: Vec<&HostRecord> = records.iter().filter(|record| record.host == host).collect();
        let newest = own.first();
        let (in_project, in_home) = (self.in_project(host), self.in_home(host));
        let configured = in_project || in_home;
        let distrust = self.distrust(host);
        let is_new = |at: Time| now.micros().saturating_sub(at.micros()) <= DOUBLED_US;
        let was_doubled = own.iter().any(|record| record.doubled_at.is_some_and(is_new));
        let installed = install::is_installed(host, self.home.as_deref(), &self.paths);
        let (verdict, hint) = match (configured, &distrust, newest) {
            (false, _, None) if !installed => (Verdict::Absent, None),
            (false, _, _) => {
                let hint = format!("ungoverned: run `punch init --host {}`", host.name());
                (Verdict::Ungoverned, Some(hint))
            }
            (true, Some(why), _) => (Verdict::Ungoverned, Some(format!("ungoverned: {why}"))),
            (true, None, None) => {
                let hint = format!(
                    "ungoverned: no hook has fired here yet; start {} in this folder",
                    host.label()
                );
                (Verdict::Ungoverned, Some(hint))
            }
            (true, None, Some(_)) => (Verdict::Governed, None),
        };
        let doubled = was_doubled || (in_project && in_home);
        let hint = hint.or_else(|| {
            let advice = "its hooks fire twice: they are in the project's files and in yours";
            doubled.then(|| advice.to_owned())
        });
        Standing {
            host: host.name(),
            configured,
            trusted: configured && distrust.is_none(),
            last_fired_at: newest.map(|record| record.at.to_string()),
            doubled,
            version: newest.and_then(|record| record.version.clone()),
            verdict,
            hint,
        }
    }

    /// Are our hooks in the project's files?
    fn in_project(&self, host: Host) -> bool {
        let targets = install::plan(host, self.setup).into_iter();
        targets
            .chain(install::replaced(host, self.setup))
            .filter(|target| target.has_hooks())
            .any(|target| target.remove().is_ok_and(|change| change.is_needed()))
    }

    /// Are our hooks in the user's own files?
    fn in_home(&self, host: Host) -> bool {
        let file = match host {
            Host::Claude => ".claude/settings.json",
            Host::Codex => ".codex/hooks.json",
            Host::Gemini => ".gemini/settings.json",
            Host::Cursor => ".cursor/hooks.json",
            Host::Opencode => ".config/opencode/plugins/punchlist.js",
            Host::Copilot => ".copilot/hooks/punchlist.json",
            Host::Goose => ".agents/plugins/punchlist/hooks/hooks.json",
        };
        let Some(home) = self.home.as_deref().filter(|home| *home != self.setup.folder) else {
            return false;
        };
        let text = outside::text(&home.join(file), FILE_MAX).unwrap_or_default();
        text.contains("punch") && text.contains("hook") && text.contains(host.name())
    }

    /// Why the host does not run our hooks, as far as its files say.
    fn distrust(&self, host: Host) -> Option<String> {
        let home = self.home.as_deref();
        match host {
            Host::Claude => {
                let files = [".claude/settings.json", ".claude/settings.local.json"];
                let own = files.map(|file| self.setup.folder.join(file));
                let users = home.map(|home| home.join(".claude/settings.json"));
                let is_off = |path: &PathBuf| json(path)["disableAllHooks"] == true;
                let off = own.iter().chain(&users).find(|path| is_off(path));
                if let Some(path) = off {
                    let path = path.display();
                    return Some(format!("`disableAllHooks` is set in {path}; take it out"));
                }
                let is_plugin = self.setup.claude == install::Style::Plugin;
                let state = home.map(|home| json(&home.join(".claude.json"))).unwrap_or_default();
                let files: Vec<Value> = own.iter().chain(&users).map(|path| json(path)).collect();
                is_plugin.then(|| plugin_distrust(&state, &files, &self.setup.folder)).flatten()
            }
            Host::Codex => {
                let text = home.map(|home| home.join(".codex/config.toml"));
                let text = text.and_then(|path| outside::text(&path, FILE_MAX).ok());
                codex_distrust(&text.unwrap_or_default(), &self.setup.folder)
            }
            Host::Gemini => {
                let trusted = json(&home?.join(".gemini/trustedFolders.json"));
                let folder = self.setup.folder.to_string_lossy();
                let is_refused = trusted[folder.as_ref()] == "DO_NOT_TRUST";
                is_refused.then(|| "Gemini CLI does not trust this folder; run /permissions".into())
            }
            Host::Opencode | Host::Cursor | Host::Copilot | Host::Goose => None,
        }
    }
}

/// Claude Code loads a plugin of a folder if it trusts the folder and nobody has disabled the plugin.
/// `state` is its own file, `settings` are the files of settings.
fn plugin_distrust(state: &Value, settings: &[Value], folder: &Path) -> Option<String> {
    let name = install::claude::PLUGIN_NAME;
    if settings.iter().any(|file| file["enabledPlugins"][name] == false) {
        return Some(format!("the plugin is disabled; run `claude plugin enable {name}`"));
    }
    let projects = &state["projects"];
    let is_trusted = |folder: &Path| {
        projects[folder.to_string_lossy().as_ref()]["hasTrustDialogAccepted"] == true
    };
    let advice = "Claude Code loads the plugin of a folder only after you trust the folder; start \
                  claude here and accept";
    (!folder.ancestors().any(is_trusted)).then(|| advice.to_owned())
}

/// Codex runs hooks of trusted projects only, and each only after it was reviewed.
fn codex_distrust(config: &str, folder: &Path) -> Option<String> {
    let config = config.parse::<toml_edit::DocumentMut>().unwrap_or_default();
    let project = config.get("projects").and_then(|projects| {
        projects.get(folder.to_string_lossy().as_ref())?.get("trust_level")?.as_str()
    });
    if project != Some("trusted") {
        return Some(
            "Codex does not trust this project, and skips its hooks without a word; start codex \
             here and trust the folder"
                .to_owned(),
        );
    }
    let file = folder.join(".codex/hooks.json").to_string_lossy().into_owned();
    let state = config.get("hooks").and_then(|hooks| hooks.get("state")?.as_table_like());
    let reviewed = state.is_some_and(|state| state.iter().any(|(key, _)| key.starts_with(&file)));
    let advice = "Codex skips hooks that nobody has reviewed; type /hooks in codex and trust them";
    (!reviewed).then(|| advice.to_owned())
}

fn json(path: &Path) -> Value {
    let text = outside::text(path, FILE_MAX).unwrap_or_default();
    let parsed = jsonc_parser::parse_to_serde_value(&text, &ParseOptions::default());
    parsed.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_needs_a_trusted_folder_and_is_not_disabled() {
        let folder = Path::new("/work/api");
        let why = |state: &Value, settings: &[Value]| {
            plugin_distrust(state, settings, folder).unwrap_or_default()
        };
        assert!(why(&Value::Null, &[]).starts_with("Claude Code loads the plugin"));
        let trusted = |folder: &str| serde_json::json!({ "projects": { folder: { "hasTrustDialogAccepted": true } } });
        assert_eq!(why(&trusted("/work/api"), &[]), "");
        assert_eq!(why(&trusted("/work"), &[]), "");
        assert!(why(&trusted("/work/other"), &[]).starts_with("Claude Code loads the plugin"));
        let off = serde_json::json!({ "enabledPlugins": { "punchlist@skills-dir": false } });
        assert!(why(&trusted("/work/api"), &[off]).starts_with("the plugin is disabled"));
    }

    #[test]
    fn codex_wants_the_project_trusted_and_the_hooks_reviewed() {
        let folder = Path::new("/work/api");
        let why = |config: &str| codex_distrust(config, folder).unwrap_or_default();
        assert!(why("").starts_with("Codex does not trust this project"));
        let trusted = "[projects.\"/work/api\"]\ntrust_level = \"trusted\"\n";
        assert!(why(trusted).starts_with("Codex skips hooks that nobody"));
        let state =
            "[hooks.state.\"/work/api/.codex/hooks.json:stop:0:0\"]\ntrusted_hash = \"x\"\n";
        assert_eq!(why(&format!("{trusted}{state}")), "");
    }
}
