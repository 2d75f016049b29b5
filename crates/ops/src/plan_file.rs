//! The file of a plan: located below the project's folder, and read once, before any transaction. Only
//! its stored name is found inside one, which looks at the folders on its path.
//!
//! A path that leads outside the project is refused, whether by its own parts or through a symbolic
//! link.

use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use punchlist_core::Refusal;
use punchlist_core::plan::{BYTES_MAX, Plan, PlanFault, parse, text};
use punchlist_core::text::Title;
use punchlist_store::outside;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::explain::Fault;
use crate::{Envelope, Error, Operation};

/// The text of a plan, if the request contains it; otherwise its file is read.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Markdown {
    given: Option<String>,
    /// The plan that was read. A request is checked before its transaction, which may run more than
    /// once. The file may change in between, so the text that was checked is kept and used.
    #[serde(skip)]
    read: OnceLock<Plan>,
}

impl Markdown {
    /// The plan: read and parsed on the first call, then kept.
    pub(crate) fn plan(&self, envelope: &Envelope, plan_file: &Title) -> Result<&Plan, Error> {
        if let Some(plan) = self.read.get() {
            return Ok(plan);
        }
        let plan = self.read(envelope, Path::new(plan_file.as_str()))?;
        Ok(self.read.get_or_init(|| plan))
    }

    fn read(&self, envelope: &Envelope, file: &Path) -> Result<Plan, Error> {
        let Some(stored) = below_root(envelope, file) else { return Err(outside(file)) };
        let file = Path::new(&stored);
        let bad = |fault: PlanFault| Error::from(Refusal::BadPlan { fault: fault.to_string() });
        let stem = file.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        match &self.given {
            Some(given) => parse(given, &stem).map_err(bad),
            // The file is on the caller's machine, so the caller must send its text.
            None if envelope.context.is_remote => {
                Err(Fault::MissingField { path: "markdown".to_owned() }.into())
            }
            None => {
                let bytes = bytes(&root(envelope), file)?;
                text(&bytes).and_then(|text| parse(text, &stem)).map_err(bad)
            }
        }
    }
}

/// The plan's name: its path relative to the project's folder, normalised. `None` if it leads
/// outside the project.
pub(crate) fn below_root(envelope: &Envelope, file: &Path) -> Option<String> {
    if envelope.context.is_remote {
        return without_detours(file);
    }
    let folder = Path::new(envelope.context.directory.as_deref().unwrap_or_default());
    let root = root(envelope);
    let inside = folder.strip_prefix(&root).unwrap_or(Path::new(""));
    let below = if file.is_absolute() {
        file.strip_prefix(&root).map(Path::to_owned).ok().or_else(|| {
            // The path may be the same place under another name, such as /tmp and /private/tmp.
            let (file, root) = (real(file)?, root.canonicalize().ok()?);
            file.strip_prefix(root).map(Path::to_owned).ok()
        })?
    } else if is_from_here(&root, inside, file) {
        inside.join(file)
    } else {
        file.to_owned()
    };
    without_detours(&below)
}

/// Removes `.` and `..` from a relative path. `None` if the path is absolute or leads outside.
fn without_detours(below: &Path) -> Option<String> {
    let mut parts: Vec<&std::ffi::OsStr> = Vec::new();
    for part in below.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part),
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let stored = parts.iter().collect::<PathBuf>();
    (!parts.is_empty()).then(|| stored.to_string_lossy().into_owned())
}

/// Prepares an input for a server on another machine: replaces the path of a plan file by its name
/// in the project, and adds the file's text if the operation imports it.
pub(crate) fn bring_along(
    operation: &Operation,
    envelope: &Envelope,
    input: &mut Value,
) -> Result<(), Error> {
    let Some(named) = input.get("planFile").and_then(Value::as_str).map(str::to_owned) else {
        return Ok(());
    };
    let Some(stored) = below_root(envelope, Path::new(named.trim())) else { return Ok(()) };
    let imports = operation.name == "plan_import"
        || (operation.name == "plan" && input.get("action").is_some_and(|a| a == "import"));
    if imports && input.get("markdown").is_none_or(Value::is_null) {
        let bad = |fault: PlanFault| Error::from(Refusal::BadPlan { fault: fault.to_string() });
        let bytes = bytes(&root(envelope), Path::new(&stored))?;
        input["markdown"] = text(&bytes).map_err(bad)?.into();
    }
    input["planFile"] = stored.into();
    Ok(())
}

/// Is a relative path relative to the caller's folder? Yes if it says so (`./`), or if such a file
/// exists there; otherwise it is relative to the project's folder.
fn is_from_here(root: &Path, inside: &Path, file: &Path) -> bool {
    let first = file.components().next();
    inside.components().next().is_some()
        && (matches!(first, Some(Component::CurDir | Component::ParentDir))
            || root.join(inside).join(file).exists())
}

/// Resolves a path; its last part need not exist.
fn real(file: &Path) -> Option<PathBuf> {
    let known = file.canonicalize().ok();
    known.or_else(|| Some(file.parent()?.canonicalize().ok()?.join(file.file_name()?)))
}

/// The project's folder: the root of the repository, otherwise the caller's folder.
fn root(envelope: &Envelope) -> PathBuf {
    let folder = Path::new(envelope.context.directory.as_deref().unwrap_or("."));
    let kept = folder.ancestors().find(|path| path.join(".git").exists());
    kept.unwrap_or(folder).to_owned()
}

/// Reads a file below a folder, up to just over the largest size of a plan.
fn bytes(root: &Path, file: &Path) -> Result<Vec<u8>, Error> {
    let unread = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::InvalidInput => bad(file, "which is not a regular file"),
        _ => Error::Unreadable { file: file.display().to_string(), why: error.to_string() },
    };
    let meant = root.join(file).canonicalize().map_err(unread)?;
    if !meant.starts_with(root.canonicalize().map_err(unread)?) {
        return Err(outside(file));
    }
    outside::beginning(&meant, BYTES_MAX + 1).map_err(unread)
}

fn outside(file: &Path) -> Error {
    bad(file, "which leads outside of it")
}

fn bad(file: &Path, why: &str) -> Error {
    let (path, found) = ("planFile".to_owned(), format!("`{}`, {why}", file.display()));
    Fault::BadValue { path, found, expected: "a file below the project's folder".to_owned() }.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use punchlist_core::{Actor, AgentPath, Role, Time};

    use super::*;
    use crate::{Context, Proof};

    /// The text that was checked is imported, even if the file changes in between.
    #[test]
    fn a_file_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let envelope = Envelope {
            actor: Actor::new(Role::Root, AgentPath::primary()),
            proof: Proof::Nothing,
            project: "test".to_owned(),
            context: Context {
                directory: Some(folder.path().display().to_string()),
                ..Context::default()
            },
            idempotency_key: None,
            agents: Arc::default(),
            now: Time::from_micros(0),
        };
        let (file, markdown) = (Title::new("plan.md").unwrap(), Markdown::default());
        assert!(markdown.plan(&envelope, &file).is_err());
        std::fs::write(folder.path().join("plan.md"), "# First\n").unwrap();
        let title = |markdown: &Markdown| {
            markdown.plan(&envelope, &file).unwrap().root.content.as_str().to_owned()
        };
        assert_eq!(title(&markdown), "First");
        std::fs::write(folder.path().join("plan.md"), "# Second\n").unwrap();
        assert_eq!((title(&markdown), title(&markdown.clone())), ("First".into(), "First".into()));
        assert_eq!(title(&Markdown::default()), "Second");
    }
}
