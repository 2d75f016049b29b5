//! Why a host does not run our hooks, as far as its own files say.
//!
//! Codex runs a hook only while its definition has the hash that a person has reviewed. The hash is
//! computed here as Codex does it; the test with the real client compares the two.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use punchlist_store::outside;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use toml_edit::{DocumentMut, Item};

use super::install;

/// The longest file of a host's settings that is read.
pub(super) const FILE_MAX: usize = 16 << 20;

pub(super) fn json(path: &Path) -> Value {
    let text = outside::text(path, FILE_MAX).unwrap_or_default();
    let parsed = jsonc_parser::parse_to_serde_value(&text, &ParseOptions::default());
    parsed.unwrap_or_default()
}

/// The settings of Claude Code that apply in a folder, with their files. `user` is the folder of the
/// user's own settings.
pub(super) fn claude_settings(folder: &Path, user: Option<&Path>) -> Vec<(PathBuf, Value)> {
    let own = [".claude/settings.json", ".claude/settings.local.json"];
    let own = own.map(|file| folder.join(file)).into_iter();
    let all = own.chain(user.map(|user| user.join("settings.json")));
    all.map(|path| (path.clone(), json(&path))).collect()
}

/// A setting that switches all hooks of Claude Code off.
pub(super) fn claude_is_off(settings: &[(PathBuf, Value)]) -> Option<String> {
    let off = settings.iter().find(|(_, file)| file["disableAllHooks"] == true);
    off.map(|(path, _)| format!("`disableAllHooks` is set in {}; remove it", path.display()))
}

/// Does Claude Code trust the folder? `state` is its own file.
pub(super) fn claude_trusts(state: &Value, folder: &Path) -> bool {
    let projects = &state["projects"];
    folder
        .ancestors()
        .any(|folder| projects[folder.to_string_lossy().as_ref()]["hasTrustDialogAccepted"] == true)
}

/// Claude Code loads a plugin of a folder if it trusts the folder and nobody has disabled the plugin.
pub(super) fn claude_plugin(
    state: &Value,
    settings: &[(PathBuf, Value)],
    folder: &Path,
) -> Option<String> {
    let name = install::claude::PLUGIN_NAME;
    if settings.iter().any(|(_, file)| file["enabledPlugins"][name] == false) {
        return Some(format!("the plugin is disabled; run `claude plugin enable {name}`"));
    }
    let advice = "Claude Code loads the plugin of a folder only after you trust the folder; start \
                  claude here and accept";
    (!claude_trusts(state, folder)).then(|| advice.to_owned())
}

/// Codex runs hooks of trusted projects only, and each only after it was reviewed. `config` is the
/// user's configuration, and `hooks` the text of the file with our hooks. `project` is absent if
/// that file is the user's own.
pub(super) fn codex(
    config: &str,
    project: Option<&Path>,
    file: &Path,
    hooks: &str,
) -> Option<String> {
    let config = config.parse::<DocumentMut>().unwrap_or_default();
    if config.get("features").and_then(|features| features.get("hooks")?.as_bool()) == Some(false) {
        return Some("hooks are switched off in Codex's `[features]`; remove it".to_owned());
    }
    let trusts = |folder: &Path| {
        let level = config.get("projects").and_then(|projects| {
            projects.get(folder.to_string_lossy().as_ref())?.get("trust_level")?.as_str()
        });
        level == Some("trusted")
    };
    if project.is_some_and(|project| !trusts(project)) {
        let advice = "Codex does not trust this project, and skips its hooks silently; start codex \
                      here and trust the folder";
        return Some(advice.to_owned());
    }
    let unreviewed = || {
        let advice =
            "Codex skips hooks that nobody has reviewed; type /hooks in codex and trust them";
        Some(advice.to_owned())
    };
    let hooks = jsonc_parser::parse_to_serde_value::<Value>(hooks, &ParseOptions::default());
    let Some((group, handler, hash)) = stop_hook(&hooks.unwrap_or_default()) else {
        return Some("there is no stop hook; run `punch init --host codex`".to_owned());
    };
    let key = format!("{}:stop:{group}:{handler}", file.display());
    let state = config.get("hooks").and_then(|hooks| hooks.get("state")?.get(&key));
    let Some(state) = state else { return unreviewed() };
    if state.get("enabled").and_then(Item::as_bool) == Some(false) {
        return Some("the stop hook is disabled in Codex; type /hooks in codex".to_owned());
    }
    let Some(trusted) = state.get("trusted_hash").and_then(Item::as_str) else {
        return unreviewed();
    };
    let changed = "the stop hook has changed since it was reviewed, and Codex skips it silently; \
                   type /hooks in codex and trust it again";
    hash.filter(|hash| hash != trusted).map(|_| changed.to_owned())
}

/// Our stop hook in the hooks of Codex: the number of its group and its own, and its hash. `None`
/// for the hash if the hook has fields that we do not write.
fn stop_hook(hooks: &Value) -> Option<(usize, usize, Option<String>)> {
    let groups = hooks["hooks"]["Stop"].as_array()?.iter().enumerate();
    let all = groups.flat_map(|(at, group)| {
        let handlers = group["hooks"].as_array().into_iter().flatten().enumerate();
        handlers.map(move |(below, handler)| (at, below, group, handler))
    });
    let is_ours = |handler: &Value| {
        handler["command"].as_str().is_some_and(|command| command.contains("hook codex stop"))
    };
    let (at, below, group, handler) = { all }.find(|(_, _, _, handler)| is_ours(handler))?;
    Some((at, below, hash(group, handler)))
}

/// The hash that Codex keeps of a reviewed hook: of its definition as JSON with sorted names.
fn hash(group: &Value, handler: &Value) -> Option<String> {
    const KNOWN: [&str; 4] = ["type", "command", "timeout", "async"];
    let fields = handler.as_object()?;
    if fields.keys().any(|name| !KNOWN.contains(&name.as_str())) {
        return None;
    }
    let timeout = handler["timeout"].as_u64()?;
    let command = handler["command"].as_str()?;
    let is_async = handler["async"] == true;
    let handler: BTreeMap<&str, Value> = BTreeMap::from([
        ("async", json!(is_async)),
        ("command", json!(command)),
        ("timeout", json!(timeout)),
        ("type", json!("command")),
    ]);
    let mut definition: BTreeMap<&str, Value> =
        BTreeMap::from([("event_name", json!("stop")), ("hooks", json!([handler]))]);
    if let Some(matcher) = group.get("matcher") {
        definition.insert("matcher", matcher.clone());
    }
    let digest = Sha256::digest(serde_json::to_vec(&definition).ok()?);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("sha256:{hex}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_needs_a_trusted_folder_and_is_not_disabled() {
        let folder = Path::new("/work/api");
        let why = |state: &Value, settings: &[(PathBuf, Value)]| {
            claude_plugin(state, settings, folder).unwrap_or_default()
        };
        assert!(why(&Value::Null, &[]).starts_with("Claude Code loads the plugin"));
        let trusted =
            |folder: &str| json!({ "projects": { folder: { "hasTrustDialogAccepted": true } } });
        assert_eq!(why(&trusted("/work/api"), &[]), "");
        assert_eq!(why(&trusted("/work"), &[]), "");
        assert!(why(&trusted("/work/other"), &[]).starts_with("Claude Code loads the plugin"));
        let off = json!({ "enabledPlugins": { "punchlist@skills-dir": false } });
        let off = [(PathBuf::new(), off)];
        assert!(why(&trusted("/work/api"), &off).starts_with("the plugin is disabled"));
    }

    const FILE: &str = "/work/api/.codex/hooks.json";

    fn hooks(command: &str) -> String {
        let own = json!({ "hooks": [{ "type": "command", "command": "lint" }] });
        let ours = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 20 }] });
        json!({ "hooks": { "Stop": [own, ours] } }).to_string()
    }

    fn why(config: &str, hooks: &str) -> String {
        codex(config, Some(Path::new("/work/api")), Path::new(FILE), hooks).unwrap_or_default()
    }

    /// The hash was computed by Codex 0.166.0 (`hooks/list` of its app server).
    #[test]
    fn codex_wants_the_project_trusted_and_the_stop_hook_reviewed_as_it_is() {
        let ours = hooks("punch hook codex stop");
        assert!(why("", &ours).starts_with("Codex does not trust this project"));
        let trusted = "[projects.\"/work/api\"]\ntrust_level = \"trusted\"\n";
        assert!(why(trusted, &ours).starts_with("Codex skips hooks that nobody"));
        let state = |key: &str, fields: &str| {
            format!("{trusted}[hooks.state.\"{FILE}:{key}\"]\n{fields}\n")
        };
        let hash = "trusted_hash = \"sha256:\
                    de3a9f0c0b678ca52f0502ad14dcf962904b38e77d5d6cbdc005294ba2c9f926\"";
        assert_eq!(why(&state("stop:1:0", hash), &ours), "");
        // Another hook was reviewed, but not the one for the stop.
        for key in ["session_start:0:0", "stop:0:0"] {
            assert!(why(&state(key, hash), &ours).starts_with("Codex skips hooks that nobody"));
        }
        let old = state("stop:1:0", "trusted_hash = \"sha256:00\"");
        assert!(why(&old, &ours).starts_with("the stop hook has changed"));
        let updated = hooks("punch --db x hook codex stop");
        assert!(why(&state("stop:1:0", hash), &updated).starts_with("the stop hook has changed"));
        let disabled = state("stop:1:0", &format!("{hash}\nenabled = false"));
        assert!(why(&disabled, &ours).starts_with("the stop hook is disabled"));
        let off = format!("{}\n[features]\nhooks = false\n", state("stop:1:0", hash));
        assert!(why(&off, &ours).starts_with("hooks are switched off"));
        assert!(why(&state("stop:1:0", hash), "{}").starts_with("there is no stop hook"));
    }

    /// The user's own hooks do not depend on a project.
    #[test]
    fn codex_runs_the_users_own_hooks_in_every_project() {
        let ours = hooks("punch hook codex stop");
        let why = codex("", None, Path::new(FILE), &ours).unwrap_or_default();
        assert!(why.starts_with("Codex skips hooks that nobody"), "{why}");
    }
}
