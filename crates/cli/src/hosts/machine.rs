//! This machine: where programs are found, and where each host keeps the user's own files.

use std::env;
use std::path::{Path, PathBuf};

use punchlist_core::host::Host;

/// The variables and the search path that were read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR` and `CODEX_HOME`, if they are set.
    pub(crate) claude: Option<PathBuf>,
    pub(crate) codex: Option<PathBuf>,
    /// Where programs keep their settings: `XDG_CONFIG_HOME`, else `.config` in the home folder.
    pub(crate) config: Option<PathBuf>,
    pub(crate) paths: Vec<PathBuf>,
}

impl Machine {
    pub(crate) fn here() -> Self {
        let var = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let folder = |name: &str| var(name).map(PathBuf::from);
        let home = folder("HOME");
        let config = folder("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
        Self {
            config: config.or_else(|| Some(home.as_ref()?.join(".config"))),
            home,
            claude: folder("CLAUDE_CONFIG_DIR"),
            codex: folder("CODEX_HOME"),
            paths: env::split_paths(&var("PATH").unwrap_or_default()).collect(),
        }
    }

    /// The folder of the user's own files of a host.
    pub(crate) fn folder_of(&self, host: Host) -> Option<PathBuf> {
        let (set, folder) = match host {
            Host::Claude => (&self.claude, ".claude"),
            Host::Codex => (&self.codex, ".codex"),
            Host::Opencode => return Some(self.config.as_ref()?.join("opencode")),
            Host::Gemini => (&None, ".gemini"),
            Host::Cursor => (&None, ".cursor"),
            Host::Copilot => (&None, ".copilot"),
            Host::Goose => return Some(self.config.as_ref()?.join("goose")),
        };
        set.clone().or_else(|| Some(self.home.as_ref()?.join(folder)))
    }

    /// The user's own file that would contain our hooks.
    pub(crate) fn hooks_of(&self, host: Host) -> Option<PathBuf> {
        let file = match host {
            Host::Claude | Host::Gemini => "settings.json",
            Host::Codex | Host::Cursor => "hooks.json",
            Host::Opencode => "plugins/punchlist.js",
            Host::Copilot => "hooks/punchlist.json",
            // Goose looks for plugins outside its own folder.
            Host::Goose => {
                let plugin = ".agents/plugins/punchlist/hooks/hooks.json";
                return Some(self.home.as_ref()?.join(plugin));
            }
        };
        Some(self.folder_of(host)?.join(file))
    }

    /// The file in which Claude Code keeps, among other things, the folders that it trusts.
    pub(crate) fn claude_state(&self) -> Option<PathBuf> {
        Some(self.claude.as_ref().or(self.home.as_ref())?.join(".claude.json"))
    }

    /// Is the host on this machine? Yes if its program or its folder is found. VS Code runs the
    /// agents and reads the files of Copilot, so its program and its folder in a project count.
    pub(crate) fn has(&self, host: Host, project: &Path) -> bool {
        let programs: &[&str] = match host {
            Host::Claude => &["claude"],
            Host::Codex => &["codex"],
            Host::Opencode => &["opencode"],
            Host::Gemini => &["gemini", "agy"],
            Host::Cursor => &["cursor", "cursor-agent"],
            Host::Copilot => &["copilot", "code", "code-insiders"],
            Host::Goose => &["goose"],
        };
        let is_there = |program: &&str| self.paths.iter().any(|path| path.join(program).is_file());
        programs.iter().any(is_there)
            || self.folder_of(host).is_some_and(|folder| folder.is_dir())
            || (host == Host::Copilot && has_vscode(project))
    }
}

/// The file that `punch init` writes for VS Code.
const OUR_VSCODE_FILE: &str = "mcp.json";

/// Is there a folder of VS Code in the project? One that only holds our own file is ours.
fn has_vscode(project: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(project.join(".vscode")) else { return false };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.is_empty() || names.iter().any(|name| name != OUR_VSCODE_FILE)
}
