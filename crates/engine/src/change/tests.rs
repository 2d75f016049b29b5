//! Changes of a real repository, also of one whose files and configuration are hostile.

use std::fs;
use std::path::Path;
use std::process::Command;

use punchlist_core::change::{Change, File, Unread};

use super::read;

fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false"]);
    let said = git.arg("-C").arg(folder).args(words).output().unwrap();
    assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

/// Commits everything in the folder, and gives the id.
fn commit(folder: &Path, words: &str) -> String {
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "-m", words]);
    git(folder, &["rev-parse", "HEAD"])
}

fn repository() -> (tempfile::TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    git(at, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(at.join("a.txt"), "a\nb\nc\n".repeat(30)).unwrap();
    fs::write(at.join("picture"), [0, 1, 2]).unwrap();
    let first = commit(at, "One");
    git(at, &["mv", "a.txt", "b.txt"]);
    let more = "a\nb\nc\n".repeat(30) + "\ndiff --git a/x b/x\n";
    fs::write(at.join("b.txt"), more).unwrap();
    fs::write(at.join("<b>bold & \"odd\""), "0123456789012345678901234567890123456789\n").unwrap();
    let second = commit(at, "Two");
    (folder, vec![first, second])
}

fn of<'a>(change: &'a Change, path: &str) -> &'a File {
    change.files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{change:#?}"))
}

#[test]
fn commits_are_read_together_file_by_file_and_line_by_line() {
    let (folder, ids) = repository();
    // As claims cite them: in any order, short, twice, and one that is not here.
    let cited = [&ids[1], &ids[0][..7], "abcdef0"].map(str::to_owned);
    let change = read(folder.path(), &cited).unwrap();
    assert_eq!((change.commits, change.missing, change.is_cut), (2, 1, false));
    assert_eq!((change.added(), change.removed(), change.files.len()), (93, 0, 4));
    let renamed = of(&change, "b.txt");
    assert_eq!((renamed.from.as_deref(), renamed.added), (Some("a.txt"), 2));
    let lines = &renamed.parts[0].lines;
    assert_eq!(lines[1..], [" a", " b", " c", "+", "+diff --git a/x b/x"], "{lines:?}");
    assert_eq!(renamed.parts[0].commit, ids[1]);
    let odd = of(&change, "<b>bold & \"odd\"");
    assert_eq!(odd.parts[0].lines[1], "+0123456789012345678901234567890123456789");
    let picture = of(&change, "picture");
    assert!(picture.is_binary && picture.parts[0].lines.is_empty(), "{picture:?}");
}

#[test]
fn the_shared_git_directory_and_a_worktree_show_the_same() {
    let (folder, ids) = repository();
    let whole = read(folder.path(), &ids).unwrap();
    assert_eq!(read(&folder.path().join(".git"), &ids).unwrap(), whole);
}

#[cfg(unix)]
#[test]
fn files_after_one_that_became_a_link_keep_their_own_lines() {
    let (folder, _) = repository();
    let at = folder.path();
    fs::remove_file(at.join("b.txt")).unwrap();
    std::os::unix::fs::symlink("picture", at.join("b.txt")).unwrap();
    fs::write(at.join("c.txt"), "mine\n").unwrap();
    fs::write(at.join("new\nline"), "here\n").unwrap();
    let change = read(at, &[commit(at, "Three")]).unwrap();
    assert_eq!(of(&change, "c.txt").parts[0].lines[1..], ["+mine"]);
    assert_eq!(of(&change, "new\nline").parts[0].lines[1..], ["+here"]);
    assert!(of(&change, "b.txt").parts[0].lines.iter().any(|line| line == "+picture"));
}

#[test]
fn a_merge_shows_what_it_brought_in() {
    let (folder, ids) = repository();
    let at = folder.path();
    git(at, &["checkout", "--quiet", "-b", "side", &ids[0]]);
    fs::write(at.join("side.txt"), "side\n").unwrap();
    commit(at, "Side");
    git(at, &["checkout", "--quiet", "main"]);
    git(at, &["merge", "--quiet", "--no-ff", "-m", "Merge", "side"]);
    let change = read(at, &[git(at, &["rev-parse", "HEAD"])]).unwrap();
    assert_eq!((change.files.len(), of(&change, "side.txt").added), (1, 1));
}

#[test]
fn only_the_ids_of_commits_reach_git() {
    let (folder, _) = repository();
    for id in ["--output=stolen", "-h", "HEAD", "main", "", "HEAD\nHEAD", "$(touch stolen)"] {
        let change = read(folder.path(), &[id.to_owned()]).unwrap();
        assert_eq!((change.commits, change.missing, change.files.len()), (0, 1, 0), "{id}");
    }
    assert!(!folder.path().join("stolen").exists());
}

#[test]
fn large_changes_are_cut_and_say_so() {
    let (folder, _) = repository();
    let at = folder.path();
    fs::write(at.join("long.txt"), "line\n".repeat(1_000)).unwrap();
    fs::write(at.join("wide.txt"), "x".repeat(100_000)).unwrap();
    let change = read(at, &[commit(at, "Long")]).unwrap();
    let long = of(&change, "long.txt");
    assert_eq!((long.added, long.parts[0].lines.len(), long.parts[0].left), (1_000, 400, 601));
    assert!(of(&change, "wide.txt").parts[0].lines[1].len() < 500);
    assert!(!change.is_cut);
    for n in 0..2_100 {
        fs::write(at.join(format!("file-{n}")), "x\n").unwrap();
    }
    let change = read(at, &[commit(at, "Many")]).unwrap();
    assert_eq!((change.files.len(), change.is_cut), (2_000, true));
}

#[cfg(unix)]
#[test]
fn no_program_that_the_repository_names_is_run() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, ids) = repository();
    let at = folder.path();
    let program = at.join("program.sh");
    let mark = at.join("was-run");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat \"$1\"\n", mark.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.display().to_string();
    let names = ["diff.external", "core.fsmonitor", "core.sshCommand", "core.pager", "gpg.program"];
    for name in names.iter().chain(&["diff.own.textconv", "diff.own.command", "pager.diff-tree"]) {
        git(at, &["config", name, &program]);
    }
    git(at, &["config", "log.showSignature", "true"]);
    fs::create_dir_all(at.join(".git/info")).unwrap();
    fs::write(at.join(".git/info/attributes"), "* diff=own\n").unwrap();
    let change = read(at, &ids).unwrap();
    assert_eq!(of(&change, "b.txt").added, 2);
    assert!(!mark.exists(), "a program of the repository was run");
}

#[test]
fn a_folder_that_is_not_here_or_has_no_repository_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let ids = ["abcdef0".to_owned()];
    assert_eq!(read(&folder.path().join("none"), &ids), Err(Unread::NoFolder));
    assert_eq!(read(Path::new("relative"), &ids), Err(Unread::NoFolder));
    let error = read(folder.path(), &ids).unwrap_err();
    assert!(
        matches!(&error, Unread::Git(words) if words.contains("not a git repository")),
        "{error:?}"
    );
}
