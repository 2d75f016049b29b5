//! A person's editor, on a file that nobody else can read.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use punchlist_ops::dispatch::INPUT_MAX;
use punchlist_store::outside;
use tempfile::TempDir;

use crate::failure::Failure;

/// A text being edited. Its file is deleted on drop, unless it is kept.
#[derive(Debug)]
pub(super) struct Draft {
    folder: TempDir,
    file: PathBuf,
}

impl Draft {
    /// A file of that name in a folder that only its owner can read.
    pub(super) fn new(name: &str, text: &str) -> Result<Self, Failure> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("punch-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = builder.tempdir()?;
        let file = folder.path().join(name);
        fs::write(&file, text)?;
        Ok(Self { folder, file })
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// The current text.
    pub(super) fn text(&self) -> Result<Vec<u8>, Failure> {
        outside::read(&self.file, INPUT_MAX)
            .map_err(|error| Failure::Io(format!("{}: {error}", self.file.display())))
    }

    /// Keeps the file, and returns its path.
    pub(super) fn keep(self) -> String {
        drop(self.folder.keep());
        self.file.display().to_string()
    }

    /// Lets the person edit it, and waits.
    pub(super) fn edit(&self) -> Result<ExitStatus, Failure> {
        let Words { program, arguments } = command()?;
        let status = Command::new(&program).args(arguments).arg(&self.file).status();
        status.map_err(|error| Failure::Usage {
            message: format!("the editor `{program}` does not start: {error}"),
            hint: Some("name another in VISUAL or EDITOR".to_owned()),
        })
    }
}

struct Words {
    program: String,
    arguments: Vec<String>,
}

/// The command in VISUAL or EDITOR, split into words as a shell would; no shell runs it.
fn command() -> Result<Words, Failure> {
    for name in ["VISUAL", "EDITOR"] {
        let Some(value) = env::var_os(name) else { continue };
        let Some(words) = value.to_str().and_then(shlex::split) else {
            let shown = value.to_string_lossy();
            return Err(Failure::usage(format!("{name} is `{shown}`, which is not a command")));
        };
        let mut words = words.into_iter();
        if let Some(program) = words.next() {
            return Ok(Words { program, arguments: words.collect() });
        }
    }
    Ok(Words { program: "vi".to_owned(), arguments: Vec::new() })
}
