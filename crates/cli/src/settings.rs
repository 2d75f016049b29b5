//! The settings files: finds them, merges them, and names the file in errors.

use std::env;
use std::path::{Path, PathBuf};

use punchlist_ops::config::{Config, FILE_MAX, Origin};
use punchlist_store::outside;

use crate::caller;
use crate::failure::Failure;

/// The settings file, in a project's git root and in the user's config directory.
const FILE: &str = "punchlist.toml";

/// The merged settings, and the files they come from.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    /// Only the user's file.
    user: Config,
    pub(crate) files: Vec<(Origin, PathBuf)>,
}

/// Reads the user's file and the project's file; the project's values win.
pub(crate) fn read() -> Result<Settings, Failure> {
    let mut settings = Settings::default();
    let user = user_file().map(|path| (Origin::User, path));
    let project = (Origin::Project, caller::folder().join(FILE));
    for (origin, path) in user.into_iter().chain([project]) {
        let text = match outside::text(&path, FILE_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Failure::usage(format!("{}: {error}", path.display()))),
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        settings.config = settings
            .config
            .read(&text, origin, folder)
            .map_err(|fault| Failure::InFile { fault, file: path.display().to_string() })?;
        if origin == Origin::User {
            settings.user = settings.config.clone();
        }
        settings.files.push((origin, path));
    }
    Ok(settings)
}

impl Settings {
    /// The configuration of a process that works for every project of a store: the project's file
    /// counts only for the project itself.
    pub(crate) fn for_all_projects(self, project: &str) -> Config {
        if self.files.iter().any(|(origin, _)| *origin == Origin::Project) {
            return self.config.only_for(project, self.user);
        }
        self.config
    }
}

/// The path of the user's own file, if there is a config directory.
pub(crate) fn user_file() -> Option<PathBuf> {
    user_folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("punchlist").join(FILE))
}

/// A folder of the user: the one that the variable names, otherwise this one in the home folder.
pub(crate) fn user_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(in_home)))
}
