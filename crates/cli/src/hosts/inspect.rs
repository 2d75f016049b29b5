//! The state of each host on this machine: is it set up, does it trust us, do its hooks fire?
//!
//! Only a hook that has fired proves that a host works. The host's own files about trust explain
//! why none has.

use std::path::{Path, PathBuf};

use punchlist_core::Time;
use punchlist_core::host::Host;
use punchlist_store::outside;
use punchlist_store::rows::hosts::HostRecord;
use serde::Serialize;

use super::install::{self, Setup, Style};
use super::machine::Machine;
use super::trust::{self, FILE_MAX, json};

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
    /// Is its program or its folder on this machine?
    #[serde(skip)]
    pub(crate) installed: bool,
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

/// What is known about the hosts: the project, and this machine.
pub(crate) struct Inspection<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) machine: &'a Machine,
}

/// What a host's files say about our hooks.
#[derive(Default)]
struct Trust {
    /// Why it does not run them.
    refuses: Option<String>,
    /// What it does not run although a hook has fired.
    warns: Option<String>,
    /// Hooks that fired before this prove nothing, with the file that has changed since.
    since: Option<(Time, PathBuf)>,
}

impl Inspection<'_> {
    /// Every host, with the newest hooks of this project.
    pub(crate) fn standings(&self, records: &[HostRecord], now: Time) -> Vec<Standing> {
        Host::ALL.iter().map(|host| self.standing(*host, records, now)).collect()
    }

    fn standing(&self, host: Host, records: &[HostRecord], now: Time) -> Standing {
        let own: Vec<&HostRecord> = records.iter().filter(|record| record.host == host).collect();
        let newest = own.first();
        let (in_project, in_home) = (self.in_project(host), self.in_home(host));
        let configured = in_project || in_home;
        let trust = if configured { self.trust(host, in_project) } else { Trust::default() };
        let installed = self.machine.has(host, &self.setup.folder);
        let is_proof =
            |record: &HostRecord| trust.since.as_ref().is_none_or(|(since, _)| record.at >= *since);
        let (verdict, hint) = match (configured, &trust.refuses, newest) {
            (false, _, None) if !installed => (Verdict::Absent, None),
            (false, _, _) => {
                (Verdict::Ungoverned, Some(format!("run `punch init --host {}`", host.name())))
            }
            (true, Some(why), _) => (Verdict::Ungoverned, Some(why.clone())),
            (true, None, Some(record)) if is_proof(record) => {
                (Verdict::Governed, trust.warns.clone())
            }
            (true, None, old) => {
                let since = trust.since.as_ref().filter(|_| old.is_some());
                let since = since.map(|(_, file)| format!(" since {} changed", file.display()));
                let hint = match (since, trust.warns.clone()) {
                    (Some(since), _) => {
                        format!("no hook has fired{since}; start {} in this folder", host.label())
                    }
                    (None, Some(warning)) => warning,
                    (None, None) if !installed => {
                        let host = host.label();
                        format!("no hook has fired here yet; install {host} and start it here")
                    }
                    (None, None) => {
                        format!("no hook has fired here yet; start {} in this folder", host.label())
                    }
                };
                (Verdict::Ungoverned, Some(hint))
            }
        };
        let is_new = |at: Time| now.micros().saturating_sub(at.micros()) <= DOUBLED_US;
        let was_doubled = own.iter().any(|record| record.doubled_at.is_some_and(is_new));
        let twice = (in_project && in_home).then_some(
            "its hooks are in the project's files and in your own, so they fire twice; remove one",
        );
        let twice = twice.or(was_doubled.then_some(
            "each stop arrives twice and counts once: another host or file runs our hooks, too",
        ));
        Standing {
            host: host.name(),
            installed,
            configured,
            trusted: configured && trust.refuses.is_none() && trust.warns.is_none(),
            last_fired_at: newest.map(|record| record.at.to_string()),
            doubled: twice.is_some(),
            version: newest.and_then(|record| record.version.clone()),
            verdict,
            hint: hint.or_else(|| twice.map(str::to_owned)),
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
        let is_home = self.machine.home.as_deref() == Some(&self.setup.folder);
        let Some(file) = self.machine.hooks_of(host).filter(|_| !is_home) else { return false };
        let text = outside::text(&file, FILE_MAX).unwrap_or_default();
        install::has_hook(host, &text)
    }

    /// What the host's files say about our hooks. `in_project`: they are in the project's files, not
    /// only in the user's own.
    fn trust(&self, host: Host, in_project: bool) -> Trust {
        let folder = self.setup.folder.as_path();
        let refuses = match host {
            Host::Claude => return self.trust_of_claude(folder),
            Host::Codex => return self.trust_of_codex(folder, in_project),
            Host::Gemini => {
                let file = self.machine.folder_of(host).map(|own| own.join("trustedFolders.json"));
                let trusted = file.map(|file| json(&file)).unwrap_or_default();
                let is_refused = trusted[folder.to_string_lossy().as_ref()] == "DO_NOT_TRUST";
                is_refused.then(|| "Gemini CLI does not trust this folder; run /permissions".into())
            }
            Host::Opencode | Host::Cursor | Host::Copilot | Host::Goose => None,
        };
        Trust { refuses, ..Trust::default() }
    }

    fn trust_of_claude(&self, folder: &Path) -> Trust {
        let user = self.machine.folder_of(Host::Claude);
        let settings = trust::claude_settings(folder, user.as_deref());
        let state = self.machine.claude_state().map(|path| json(&path)).unwrap_or_default();
        let off = trust::claude_is_off(&settings);
        if self.setup.claude == Style::Plugin {
            let refuses = off.or_else(|| trust::claude_plugin(&state, &settings, folder));
            return Trust { refuses, ..Trust::default() };
        }
        // `claude -p` runs the hooks of any folder, so a hook that has fired does not prove that
        // sessions in the terminal have them.
        let warning = "Claude Code does not trust this folder yet, so only `claude -p` runs its \
                       hooks; start claude here and accept";
        let is_unknown = state["projects"].is_null() || trust::claude_trusts(&state, folder);
        Trust { refuses: off, warns: (!is_unknown).then(|| warning.to_owned()), since: None }
    }

    fn trust_of_codex(&self, folder: &Path, in_project: bool) -> Trust {
        let user = self.machine.folder_of(Host::Codex).unwrap_or_default();
        let (project, file) = match in_project {
            true => (Some(folder), folder.join(".codex/hooks.json")),
            false => (None, user.join("hooks.json")),
        };
        let text = |path: &Path| outside::text(path, FILE_MAX).unwrap_or_default();
        let config = text(&user.join("config.toml"));
        let refuses = trust::codex(&config, project, &file, &text(&file));
        let since = modified_at(&file).map(|at| (at, file));
        Trust { refuses, since, ..Trust::default() }
    }
}

fn modified_at(path: &Path) -> Option<Time> {
    let modified = path.metadata().ok()?.modified().ok()?;
    let age = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Time::from_micros(i64::try_from(age.as_micros()).ok()?))
}
