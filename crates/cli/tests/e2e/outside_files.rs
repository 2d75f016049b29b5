//! Hostile files: pipes without a writer, endless devices, and huge files, wherever a command reads
//! a file. Each is refused with a message, quickly, and without reading it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Place, Punch};

/// A command that reads such a file ends before this; one that blocks never does.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Pipe,
    Endless,
    /// 400 MB, of which nothing is on the disk.
    Huge,
}

const KINDS: [Kind; 3] = [Kind::Pipe, Kind::Endless, Kind::Huge];

impl Kind {
    fn put(self, path: &Path) {
        drop(std::fs::remove_file(path));
        match self {
            Self::Pipe => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
            Self::Endless => std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
            Self::Huge => std::fs::File::create(path).unwrap().set_len(400 << 20).unwrap(),
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Pipe => "it is a named pipe, not a regular file",
            Self::Endless => "it is a device, not a regular file",
            Self::Huge => "it is larger than",
        }
    }
}

/// Runs it with little memory, and kills it if it hangs. Returns its exit code and output.
fn bounded(punch: &Punch) -> (Option<i32>, String) {
    let began = Instant::now();
    let script = "ulimit -v 1500000; exec timeout -s KILL 30 \"$@\"";
    let ran = punch.under("sh", ["-c", script, "sh"]);
    assert!(began.elapsed() < PATIENCE, "{} hangs", punch.shown());
    // Output is wrapped at the terminal's width.
    let said: Vec<&str> =
        ran.stdout.split_whitespace().chain(ran.stderr.split_whitespace()).collect();
    (ran.exit, said.join(" "))
}

fn place() -> (Place, String) {
    let place = Place::sqlite();
    let operator = place.operator();
    let title = json!({ "title": "One" }).to_string();
    place.punch(["call", "issue_create", &title, "--json"]).with(&operator).answer();
    (place, operator)
}

/// Every command that takes the name of a file.
#[test]
fn commands_refuse_files_that_are_not_regular_or_too_long() {
    let (place, operator) = place();
    let file: PathBuf = place.home().join("hostile");
    let name = file.to_str().unwrap();
    let commands: [&[&str]; 6] = [
        &["import", "checklist", name, "--issue", "1"],
        &["import", "store", name],
        &["mission", "init", name],
        &["issue", "edit", "1", "--file", name],
        &["plan", "from-todo", "--file", name],
        &["import", "mission-todos", name],
    ];
    for kind in KINDS {
        kind.put(&file);
        for words in commands {
            let (exit, said) = bounded(&place.punch(words.to_vec()).with(&operator));
            let case = format!("{kind:?} {words:?}: {exit:?} {said}");
            assert!(matches!(exit, Some(1..=3)), "{case}");
            if kind != Kind::Huge {
                let is_database = words[1] == "mission-todos";
                assert!(is_database || said.contains(kind.words()), "{case}");
            }
        }
    }
}

/// A plan's file through an operation: its path is relative to the project.
#[test]
fn a_plan_file_is_a_regular_file() {
    let (place, operator) = place();
    for kind in KINDS {
        kind.put(&place.home().join("plan.md"));
        let (exit, said) = bounded(&place.punch(["plan", "import", "plan.md"]).with(&operator));
        assert!(matches!(exit, Some(1..=3)), "{kind:?}: {exit:?} {said}");
    }
}

/// Every command reads the configuration, so a blocking file would block everything.
#[test]
fn configuration_files_are_regular_and_short() {
    let (place, _) = place();
    let project = place.home().join("punchlist.toml");
    let user = place.home().join(".config/punchlist/punchlist.toml");
    std::fs::create_dir_all(user.parent().unwrap()).unwrap();
    for kind in KINDS {
        for file in [&project, &user] {
            kind.put(file);
            let (exit, said) = bounded(&place.punch(["status"]));
            assert_eq!(exit, Some(2), "{kind:?}: {said}");
            assert!(said.contains(kind.words()), "{kind:?}: {said}");
            assert!(said.contains(file.to_str().unwrap()), "{said}");
            std::fs::remove_file(file).unwrap();
        }
        kind.put(&place.home().join("schema.json"));
        let tool = "[tools.look]\ndescription = \"Looks.\"\ncommand = [\"true\"]\n\
                    schema_file = \"schema.json\"\n";
        std::fs::write(&project, tool).unwrap();
        let (exit, said) = bounded(&place.punch(["status"]));
        assert_eq!(exit, Some(2), "{kind:?}: {said}");
        assert!(said.contains(kind.words()), "{kind:?}: {said}");
        std::fs::remove_file(&project).unwrap();
    }
}

/// Git's own files name the branch; without them the command continues.
#[test]
fn unreadable_git_files_are_ignored() {
    let (place, operator) = place();
    let git = place.home().join(".git");
    std::fs::create_dir(&git).unwrap();
    std::fs::write(place.home().join("plan.md"), "# A plan\n- [ ] one\n").unwrap();
    for kind in KINDS {
        kind.put(&git.join("HEAD"));
        let (exit, said) = bounded(&place.punch(["plan", "import", "plan.md"]).with(&operator));
        assert_eq!(exit, Some(0), "{kind:?}: {said}");
    }
}

/// An endless script is an error of the run, and uses no memory.
#[test]
fn a_scripted_model_is_a_regular_file() {
    let (place, operator) = place();
    for kind in KINDS {
        let file = place.home().join("script.toml");
        kind.put(&file);
        let model = format!("scripted:{}", file.display());
        let run = place.punch(["run", "Go", "--model", &model, "--json"]).with(&operator);
        let (exit, said) = bounded(&run);
        assert!(matches!(exit, Some(1 | 2)), "{kind:?}: {exit:?} {said}");
    }
    let model = ["run", "Go", "--model", "scripted:/dev/zero"];
    let (exit, said) = bounded(&place.punch(model).with(&operator));
    assert!(matches!(exit, Some(1 | 2)), "{exit:?} {said}");
    assert!(said.contains("it is a device, not a regular file"), "{said}");
}

/// An editor that leaves a pipe, or an endless file.
#[test]
fn the_file_of_an_editor_must_be_regular() {
    let (place, operator) = place();
    let cases = [
        ("rm \"$1\"; mkfifo \"$1\"", "it is a named pipe"),
        ("rm \"$1\"; ln -s /dev/zero \"$1\"", "it is a device"),
        ("truncate -s 400M \"$1\"", "it is larger than"),
    ];
    for (script, words) in cases {
        let editor = place.home().join("editor.sh");
        std::fs::write(&editor, script).unwrap();
        let edit = place.punch(["issue", "edit", "1"]).with(&operator);
        let ran = edit.env("EDITOR", format!("sh {}", editor.display())).on_terminal();
        assert_eq!(ran.exit, Some(3), "{script}: {ran:?}");
        let said: Vec<&str> = ran.stdout.split_whitespace().collect();
        assert!(said.join(" ").contains(words), "{script}: {ran:?}");
    }
}

/// Files that are given as a store or a backup.
#[test]
fn stores_and_backups_are_regular_files() {
    let (place, operator) = place();
    let file = place.home().join("hostile.db");
    let name = file.to_str().unwrap();
    for kind in KINDS {
        kind.put(&file);
        for words in [vec!["status", "--db", name], vec!["doctor", "--db", name]] {
            let (exit, said) = bounded(&place.bare(words.clone()));
            assert!(matches!(exit, Some(1..=4)), "{kind:?} {words:?}: {exit:?} {said}");
        }
        let (exit, said) = bounded(&place.punch(["restore", name, "--yes"]).with(&operator));
        assert!(matches!(exit, Some(1..=4)), "{kind:?}: {exit:?} {said}");
    }
}
