//! The folder of the demo: its scripts, its configuration and the files that are worked on.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub(super) const MISSION: &str = include_str!("../../demo/mission.json");

const CONFIG: &str = include_str!("../../demo/punchlist.toml");

const FILES: [(&str, &str); 6] = [
    ("mission.json", MISSION),
    ("lead.toml", include_str!("../../demo/lead.toml")),
    ("owner.toml", include_str!("../../demo/owner.toml")),
    ("coder.toml", include_str!("../../demo/coder.toml")),
    ("primary.toml", include_str!("../../demo/primary.toml")),
    ("ONBOARDING.md", include_str!("../../demo/ONBOARDING.md")),
];

/// How many modules there are; each is in the list three times, once in another case.
pub(super) const MODULES: usize = 40;

/// The folder; it stays when the demo is over.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn make() -> std::io::Result<Self> {
        let path = tempfile::Builder::new().prefix("punchlist-demo-").tempdir()?.keep();
        let folder = Self(path);
        for (name, text) in FILES {
            std::fs::write(folder.0.join(name), text)?;
        }
        std::fs::write(folder.0.join("punchlist.toml"), folder.config())?;
        std::fs::write(folder.0.join("build.list"), build_list())?;
        Ok(folder)
    }

    /// Another script, beside the others; returns it as a model's name.
    pub(super) fn script(&self, name: &str, text: &str) -> std::io::Result<String> {
        let path = self.0.join(format!("{name}.toml"));
        std::fs::write(&path, text)?;
        Ok(format!("scripted:{}", path.display()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The configuration, with the scripts where they are.
    pub(super) fn config(&self) -> String {
        // Escaped for a TOML string.
        let folder = self.0.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        CONFIG.replace("{folder}", &folder)
    }
}

fn build_list() -> String {
    let mut list = String::new();
    for _ in 0..2 {
        for module in 0..MODULES {
            let _ = writeln!(list, "core/module-{module:02}");
        }
    }
    for module in 0..MODULES {
        let _ = writeln!(list, "Core/Module-{module:02}");
    }
    list
}
