//! What commits changed, as it is shown to those who judge work: files, counts and lines. The engine
//! reads it with git, the pages show it.

/// The change of some commits together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// How many of the commits were read.
    pub commits: usize,
    /// How many are not in the repository, or too many to be read.
    pub missing: usize,
    /// In the order of their paths.
    pub files: Vec<File>,
    /// Is the change larger than what was read?
    pub is_cut: bool,
}

/// The change of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    pub path: String,
    /// Its path before it was renamed.
    pub from: Option<String>,
    pub added: u64,
    pub removed: u64,
    pub is_binary: bool,
    /// The lines, by commit.
    pub parts: Vec<Part>,
}

/// The change of a file in one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The whole id of the commit.
    pub commit: String,
    /// The lines as git writes them: the first character says what happened to a line.
    pub lines: Vec<String>,
    /// How many more lines there are.
    pub left: usize,
}

impl Change {
    #[must_use]
    pub fn added(&self) -> u64 {
        self.files.iter().map(|file| file.added).sum()
    }

    #[must_use]
    pub fn removed(&self) -> u64 {
        self.files.iter().map(|file| file.removed).sum()
    }
}

/// Why a change cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The folder is not on this machine.
    NoFolder,
    /// What git said.
    Git(String),
}
