//! The repository of a folder, read from git's own files: the facts that identify a project, and
//! the branch that is checked out.
//!
//! `git` itself is run only for what its files do not show directly: the first commit (unless it is
//! remembered), the branches that contain a commit, and what changed since a time. Nothing is written
//! to the repository (P-16).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use punchlist_core::Time;
use punchlist_ops::Place;
use punchlist_store::outside;

use crate::first_commits::{is_id, recall, remember};

/// The size limit for git's files: a path, the name of a branch, a configuration.
const GIT_FILE_MAX: usize = 1 << 20;

/// The size limit for git's index, which has a line for every file of the project.
const INDEX_MAX: usize = 256 << 20;

fn read(path: &Path) -> Option<String> {
    outside::text(path, GIT_FILE_MAX).ok()
}

/// The root of the working tree that a folder is in.
pub(crate) fn root(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|path| path.join(".git").exists())
}

/// A working tree.
struct Tree {
    root: PathBuf,
    /// Its own git directory, which has its HEAD.
    git: PathBuf,
    /// The git directory that all worktrees share.
    common: PathBuf,
}

impl Tree {
    fn of(folder: &Path) -> Option<Self> {
        let root = root(folder)?.to_owned();
        let mut git = root.join(".git");
        if git.is_file() {
            // In a worktree or a submodule, the file names the directory.
            let named = PathBuf::from(read(&git)?.strip_prefix("gitdir:")?.trim());
            git = if named.is_absolute() { named } else { root.join(named) };
        }
        let common = match read(&git.join("commondir")) {
            Some(named) => git.join(named.trim()),
            None => git.clone(),
        };
        let common = common.canonicalize().unwrap_or(common);
        Some(Self { root, git, common })
    }

    /// The folder of the main working tree; for a bare repository, its own folder.
    fn main(&self) -> PathBuf {
        let is_worktree = self.git.join("commondir").exists();
        match self.common.parent() {
            Some(parent) if is_worktree && self.common.ends_with(".git") => parent.to_owned(),
            _ if is_worktree => self.common.with_extension(""),
            _ => self.root.clone(),
        }
    }

    /// The first commit. A merged history may have several; the oldest is listed last. A shallow
    /// clone does not have it.
    fn root_commit(&self) -> Option<String> {
        if self.common.join("shallow").exists() {
            return None;
        }
        let commit = match self.head() {
            Head::Unborn => return None,
            Head::Commit(commit) => Some(commit),
            Head::Unclear => None,
        };
        if let Some(first) = commit.as_deref().and_then(recall) {
            return Some(first);
        }
        // `git replace` may change the history in this clone only, so it is ignored.
        let from = commit.as_deref().unwrap_or("HEAD");
        let all = self.ask(&["--no-replace-objects", "rev-list", "--max-parents=0", from]);
        let first = all?.lines().last().map(str::to_owned)?;
        if let Some(commit) = commit {
            remember(&commit, &first);
        }
        Some(first)
    }

    /// The commit that is checked out.
    fn head(&self) -> Head {
        let Some(head) = read(&self.git.join("HEAD")) else { return Head::Unclear };
        let Some(branch) = head.trim().strip_prefix("ref: ") else { return Head::of(&head) };
        // Other references may belong to one worktree, and are kept elsewhere.
        if !branch.starts_with("refs/heads/") || branch.contains("..") {
            return Head::Unclear;
        }
        let loose = self.common.join(branch);
        if loose.exists() {
            return read(&loose).map_or(Head::Unclear, |text| Head::of(&text));
        }
        let packed = self.common.join("packed-refs");
        match read(&packed) {
            Some(packed) => {
                let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
                let found = lines.find(|(_, name)| *name == branch);
                found.map_or(Head::Unborn, |(commit, _)| Head::of(commit))
            }
            // Branches may also be kept in another format, which only git can read.
            None if packed.exists() || self.common.join("reftable").exists() => Head::Unclear,
            None => Head::Unborn,
        }
    }

    fn ask(&self, words: &[&str]) -> Option<String> {
        self.ask_with(None, words)
    }

    /// Runs git, with this file as its index. The repository's configuration can name commands that
    /// git runs to fetch missing objects, so no protocol is allowed, and git gets only three
    /// variables of our environment.
    fn ask_with(&self, index: Option<&Path>, words: &[&str]) -> Option<String> {
        let mut git = Command::new("git");
        git.env_clear();
        for name in ["PATH", "HOME", "XDG_CONFIG_HOME"] {
            git.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        git.env("GIT_ALLOW_PROTOCOL", "none").env("GIT_NO_LAZY_FETCH", "1");
        // Without this git would write its index, and then run a hook.
        git.env("GIT_OPTIONAL_LOCKS", "0").envs(index.map(|index| ("GIT_INDEX_FILE", index)));
        git.args(["--no-pager", "-c", "core.sshCommand=false", "-c", "core.fsmonitor=false"]);
        git.arg("-C").arg(&self.root).args(words).stdin(Stdio::null()).stderr(Stdio::null());
        let said = git.output().ok().filter(|said| said.status.success())?;
        String::from_utf8(said.stdout).ok()
    }

    /// The files that differ from the last commit. git compares them by size and time only, because
    /// to compare contents it runs the filters that the repository's configuration names. It would
    /// do so for a file as young as the index, therefore it gets a copy of the index without an age.
    fn uncommitted(&self) -> Option<Vec<String>> {
        let index = outside::read(&self.git.join("index"), INDEX_MAX).ok()?;
        let mut copy = tempfile::NamedTempFile::new().ok()?;
        copy.write_all(&index).ok()?;
        copy.as_file().set_modified(SystemTime::UNIX_EPOCH).ok()?;
        let plain = ["-c", "core.quotePath=false", "-c", "core.trustctime=false"];
        let by_time = ["-c", "core.checkStat=minimal"];
        let mut files = Vec::new();
        for words in [
            &["diff-index", "--cached", "--name-only", "--ignore-submodules=all", "HEAD"][..],
            &["diff-files", "--name-only", "--ignore-submodules=all"],
            &["ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory"],
        ] {
            let words: Vec<&str> = plain.iter().chain(&by_time).chain(words).copied().collect();
            files.extend(lines(self.ask_with(Some(copy.path()), &words)));
        }
        Some(files)
    }
}

/// What is checked out, as far as git's files show it.
enum Head {
    /// The full id of a commit.
    Commit(String),
    /// A branch without commits.
    Unborn,
    /// Only git can tell.
    Unclear,
}

impl Head {
    fn of(text: &str) -> Self {
        let text = text.trim();
        if is_id(text) { Self::Commit(text.to_owned()) } else { Self::Unclear }
    }
}

fn lines(said: Option<String>) -> Vec<String> {
    let said = said.unwrap_or_default();
    said.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

/// The commits since a time, and the files that changed in them or since; empty without git.
pub(crate) fn changed(folder: &Path, since: Time) -> (Vec<String>, Vec<String>) {
    let Some(tree) = Tree::of(folder) else { return (Vec::new(), Vec::new()) };
    let since = format!("--since={since}");
    // A signature would be checked by the program that the repository names.
    let log = ["-c", "core.quotePath=false", "log", "--no-show-signature", &since];
    let ask = |words: &[&str]| lines(tree.ask(&[&log, words].concat()));
    let commits = ask(&["--pretty=format:%h %s"]);
    let mut files = ask(&["--name-only", "--pretty=format:"]);
    files.extend(tree.uncommitted().unwrap_or_default());
    files.sort_unstable();
    files.dedup();
    (commits, files)
}

/// The facts that identify a folder's project, and its possible names, the best first. The root
/// commit is read only if there is no origin.
pub(crate) fn place(folder: &Path) -> (Place, Vec<String>) {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(tree) = Tree::of(folder) else {
        let folder = real(folder);
        let place = Place { folder: folder.to_string_lossy().into_owned(), ..Place::default() };
        return (place, names(&folder));
    };
    let origin = read(&tree.common.join("config"));
    let origin = origin.as_deref().and_then(origin_of).and_then(host_and_path);
    let root_commit = if origin.is_some() { None } else { tree.root_commit() };
    let folder = tree.common.to_string_lossy().into_owned();
    let place = Place { origin, root_commit, folder, ..Place::default() };
    (place, names(&real(&tree.main())))
}

/// The first commit of the repository that a folder is in.
pub(crate) fn root_commit(folder: &Path) -> Option<String> {
    Tree::of(folder)?.root_commit()
}

/// The folder's name, then with more and more parent folders in front.
fn names(folder: &Path) -> Vec<String> {
    let parts: Vec<String> = folder
        .components()
        .filter(|part| matches!(part, std::path::Component::Normal(_)))
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    if parts.is_empty() {
        return vec!["default".to_owned()];
    }
    (1..=parts.len()).map(|count| parts[parts.len() - count..].join(".")).collect()
}

/// The URL of `origin` in a git config.
fn origin_of(config: &str) -> Option<&str> {
    let mut is_origin = false;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            is_origin = line.replace(' ', "") == "[remote\"origin\"]";
        } else if is_origin
            && let Some((name, value)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case("url")
        {
            return Some(value.trim().trim_matches('"'));
        }
    }
    None
}

/// Host and path of a URL, without scheme, user, password, port and `.git`.
fn host_and_path(url: &str) -> Option<String> {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, url),
    };
    let (host, path) = match scheme {
        Some("file") => ("", rest),
        Some(_) => rest.split_once('/')?,
        // git@host:path; without a colon it is a folder.
        None => match rest.split_once(':') {
            Some((host, path)) if !host.contains('/') => (host, path),
            _ => ("", rest),
        },
    };
    let host = host.rsplit('@').next()?.split(':').next()?.to_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (!path.is_empty()).then(|| format!("{host}/{path}"))
}

/// The branch checked out in a folder, and whether it is a repository without one.
pub(crate) fn branch(folder: &Path) -> (Option<String>, bool) {
    let Some(tree) = Tree::of(folder) else { return (None, false) };
    let Some(head) = read(&tree.git.join("HEAD")) else { return (None, false) };
    if let Some(branch) = head.trim().strip_prefix("ref: refs/heads/") {
        return (Some(branch.to_owned()), false);
    }
    // If exactly one branch contains the commit, that branch is used.
    let ask = ["for-each-ref", "--contains", "HEAD", "--format=%(refname:short)", "refs/heads"];
    let found = tree.ask(&ask).unwrap_or_default();
    let mut branches = found.lines();
    match (branches.next(), branches.next()) {
        (Some(only), None) => (Some(only.to_owned()), false),
        _ => (None, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_its_host_and_its_path() {
        for (url, expected) in [
            ("https://user:secret@example.com:8443/team/api.git", Some("example.com/team/api")),
            ("git@Example.com:team/api.git", Some("example.com/team/api")),
            ("ssh://git@example.com/team/api", Some("example.com/team/api")),
            ("/srv/git/api.git", Some("/srv/git/api")),
            ("file:///srv/git/api.git", Some("/srv/git/api")),
            ("", None),
        ] {
            assert_eq!(host_and_path(url).as_deref(), expected, "{url}");
        }
        let config = "[core]\n\turl = no\n[remote \"origin\"]\n\turl = git@h:a/b\n";
        assert_eq!(origin_of(config), Some("git@h:a/b"));
        assert_eq!(origin_of("[remote \"other\"]\nurl = x\n"), None);
    }

    #[test]
    fn further_names_have_more_of_the_path_in_front() {
        assert_eq!(names(Path::new("/home/ada/clients/api"))[..2], ["api", "clients.api"]);
        assert_eq!(names(Path::new("/")), ["default"]);
    }
}
