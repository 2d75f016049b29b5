//! Invalid plan files and unknown agents: each gives a clear error, and nothing is half done.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use punchlist_core::Role;
use punchlist_ops::config::{Origin, Roster};
use punchlist_ops::{Envelope, Error};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

const FILE: &str = "plan.md";

/// A caller in this folder, which is a git repository.
fn stands_in(world: &World, folder: &Path) -> Envelope {
    fs::create_dir_all(folder.join(".git")).unwrap();
    let mut envelope = world.envelope(Role::Root);
    envelope.context.directory = Some(folder.display().to_string());
    envelope
}

fn import(world: &World, me: &Envelope, file: &str) -> Result<Value, Error> {
    world.call_in(me, "plan_import", json!({ "planFile": file }))
}

fn lines(count: usize) -> String {
    let line = |n: usize| match n % 500 {
        0 => format!("- [ ] task {n}\n"),
        _ => "  words about it\n".to_owned(),
    };
    (0..count).map(line).collect()
}

/// Each file is refused before anything is written, with the problem and its position. This holds
/// for the operation and for the tool.
fn an_invalid_plan_file_changes_nothing(backend: Backend) {
    let world = World::new(backend);
    let folder = tempfile::tempdir().unwrap();
    let me = stands_in(&world, folder.path());
    let too_large = "x".repeat(punchlist_core::plan::BYTES_MAX + 1);
    let too_many = lines(punchlist_core::plan::LINES_MAX + 1);
    let too_deep: String = (0..50).map(|n| format!("{}- [ ] t{n}\n", "  ".repeat(n))).collect();
    for (bytes, words) in [
        (&b""[..], &["no task"][..]),
        (b"\n  \n\n", &["no task"]),
        (b"- [ ] a\n- [ ] b\0c\n", &["line 2", "NUL"]),
        (b"- [ ] a\n- [ ] \xff\xfe\n", &["line 2", "not UTF-8"]),
        (b"\x7fELF\x02\x01\x01\0\0\0", &["line 1", "not text"]),
        (b"- [ ] a\n- [ ] b\n- [ ]  a\n", &["line 3", "line 1", "`a`"]),
        (too_deep.as_bytes(), &["line 50", "50 levels"]),
        (too_many.as_bytes(), &["100001 lines", "limit is 100000"]),
        (too_large.as_bytes(), &["limit is 4194304"]),
    ] {
        fs::write(folder.path().join(FILE), bytes).unwrap();
        let tool = json!({ "action": "import", "planFile": FILE });
        for error in [import(&world, &me, FILE), world.call_in(&me, "plan", tool)] {
            let error = error.unwrap_err();
            assert_eq!((error.code(), error.meaning().exit), ("bad_plan", 2), "{error}");
            let said = error.to_string();
            assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
        }
    }
    assert_eq!(world.log().len(), 0, "not even a list was opened");
}

/// A path can lead outside the project by its parts or by a link; a missing file or a non-file is
/// an error.
fn a_path_out_of_the_project_is_refused(backend: Backend) {
    let world = World::new(backend);
    let both = tempfile::tempdir().unwrap();
    let (inside, elsewhere) = (both.path().join("project"), both.path().join("elsewhere"));
    let me = stands_in(&world, &inside);
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join(FILE), "# Secret\n- [ ] a\n").unwrap();
    std::os::unix::fs::symlink(elsewhere.join(FILE), inside.join("link.md")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, inside.join("folder")).unwrap();
    std::os::unix::fs::symlink(inside.join("gone"), inside.join("dangling.md")).unwrap();
    fs::create_dir(inside.join("docs")).unwrap();
    let absolute = elsewhere.join(FILE).display().to_string();
    let (outside, unread) = (("bad_value", 2), ("io", 3));
    for (path, code, word) in [
        ("../elsewhere/plan.md", outside, "outside"),
        ("docs/../../elsewhere/plan.md", outside, "outside"),
        (&absolute, outside, "outside"),
        ("link.md", outside, "outside"),
        ("folder/plan.md", outside, "outside"),
        // An unreadable file is an I/O error, not a malformed request.
        ("dangling.md", unread, "cannot read"),
        ("vanished.md", unread, "cannot read"),
        ("docs", outside, "not a regular file"),
    ] {
        let error = import(&world, &me, path).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), code, "{path}: {error}");
        assert!(error.to_string().contains(word), "{path}: {error}");
        assert!(!error.to_string().contains("Secret"), "{error}");
    }
    assert_eq!(world.log().len(), 0);
    // A link that stays inside the project works like the file itself. A worker learns nothing
    // about either.
    fs::write(inside.join("docs/real.md"), "# Real\n- [ ] a\n").unwrap();
    std::os::unix::fs::symlink("docs/real.md", inside.join("near.md")).unwrap();
    assert_eq!(import(&world, &me, "near.md").unwrap()["tasks"][0]["content"], "Real");
    let mut worker = world.envelope(Role::Worker);
    worker.context = me.context;
    let tool = json!({ "action": "import", "planFile": "vanished.md" });
    assert_eq!(world.call_in(&worker, "plan", tool).unwrap_err().code(), "not_permitted");
}

/// A plan of the greatest depth and length is accepted.
fn a_plan_at_its_limits_is_accepted(backend: Backend) {
    let world = World::new(backend);
    let folder = tempfile::tempdir().unwrap();
    let me = stands_in(&world, folder.path());
    // The root is the first of fifty levels.
    let deep: String = (0..49).map(|n| format!("{}- [ ] t{n}\n", "  ".repeat(n))).collect();
    fs::write(folder.path().join("deep.md"), deep).unwrap();
    let made = import(&world, &me, "deep.md").unwrap();
    assert_eq!(made["changes"]["added"], 50);
    assert_eq!(made["current"]["content"], "t48");
    fs::write(folder.path().join("long.md"), lines(punchlist_core::plan::LINES_MAX)).unwrap();
    assert_eq!(import(&world, &me, "long.md").unwrap()["changes"]["added"], 201);
}

/// Work can be assigned to a registered or configured agent, or to the caller itself; a misspelt
/// name is refused.
fn work_for_an_unknown_agent_is_refused(backend: Backend) {
    let world = World::new(backend);
    let task = world.plan(&["a"])[0].clone();
    let before = world.log().len();
    assert_eq!(before, 5);
    let mut me = world.envelope(Role::Root);
    let assign = |me: &Envelope, agent: &str| {
        world.call_in(me, "task_assign", json!({ "taskId": task, "agent": agent }))
    };
    let error = assign(&me, "bakcend").unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("unknown_agent", 1));
    assert!(error.hint().unwrap().contains("agent_register"), "{error}");
    assert_eq!(assign(&me, "two words").unwrap_err().code(), "bad_value");
    let tree = world.call("plan_tree", json!({ "planFile": "docs/plans/auth.md" })).unwrap();
    assert_eq!((&tree["tasks"][0]["agent"], world.log().len()), (&Value::Null, before));
    assign(&me, "primary").unwrap();
    let file = "[agents.coder]\nmodel = \"scripted:x\"\n";
    me.agents = Arc::new(Roster::default().read(file, Origin::Project).unwrap());
    assign(&me, "primary.subagents.coder").unwrap();
    world.call("agent_register", json!({ "agent": "backend" })).unwrap();
    assert_eq!(assign(&me, "backend").unwrap()["tasks"][0]["agent"], "backend");
}

on_every_store!(
    an_invalid_plan_file_changes_nothing,
    a_path_out_of_the_project_is_refused,
    a_plan_at_its_limits_is_accepted,
    work_for_an_unknown_agent_is_refused,
);
