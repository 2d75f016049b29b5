//! How projects and plans are identified: a repository by its properties and not by its folder's
//! name, and a plan by its file, however the path is written.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Place, Punch};

fn git(folder: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["-c", "user.name=t", "-c", "user.email=t@example.com"]);
    let ran = git.args(words).env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// A repository with one commit that contains its path.
fn repository(place: &Place, path: &str) -> PathBuf {
    let folder = place.home().join(path);
    fs::create_dir_all(&folder).unwrap();
    git(&folder, &["init", "-q", "-b", "main"]);
    fs::write(folder.join("README"), path).unwrap();
    fs::write(folder.join("plan.md"), "# Plan\n- [ ] a\n- [ ] b\n").unwrap();
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-q", "-m", path]);
    folder
}

/// A command in a folder, on the store of the place, with no project named.
fn at(place: &Place, folder: &Path, words: &[&str]) -> Punch {
    place.bare(words.iter().copied()).words(["--db", &place.db()]).at(folder)
}

fn issues(place: &Place, folder: &Path) -> Vec<Value> {
    let list = at(place, folder, &["issue", "list", "--json"]).answer();
    list["issues"].as_array().unwrap().iter().map(|issue| issue["title"].clone()).collect()
}

fn project(place: &Place, folder: &Path) -> Value {
    at(place, folder, &["status", "--json"]).answer()["project"].clone()
}

/// Both repositories have chosen the same free name before one of them wrote.
#[test]
fn a_name_that_was_taken_meanwhile_does_not_mix_two_repositories() {
    let place = Place::sqlite();
    let (one, other) = (repository(&place, "work/api"), repository(&place, "clients/api"));
    let mut server = at(&place, &other, &["mcp"]).spawn();
    let mut input = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ask = |id: i64, method: &str, params: Value| {
        let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(input, "{asked}").unwrap();
        let messages = lines.by_ref().map(|line| line.unwrap().parse::<Value>().unwrap());
        messages
            .filter(|message| message["id"] == id)
            .map(|it| it["result"].clone())
            .next()
            .unwrap()
    };
    let client = json!({ "name": "test", "version": "0" });
    let version = "2025-11-25";
    let hello = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
    ask(1, "initialize", hello);
    at(&place, &one, &["issue", "new", "Of work"]).said();
    let list = json!({ "name": "issue_list", "arguments": {} });
    assert_eq!(ask(2, "tools/call", list)["structuredContent"], json!({ "issues": [] }));
    let create = json!({ "name": "issue_create", "arguments": { "title": "Of clients" } });
    assert_eq!(ask(3, "tools/call", create)["structuredContent"]["issue"]["number"], 1);
    drop(input);
    server.wait().unwrap();
    assert_eq!(issues(&place, &one), ["Of work"]);
    assert_eq!(issues(&place, &other), ["Of clients"]);
    assert_eq!(project(&place, &other), "clients.api");
}

#[test]
fn repositories_of_one_name_that_write_for_the_first_time_at_once_stay_apart() {
    let place = Place::sqlite();
    let folders: Vec<PathBuf> =
        (0..6).map(|n| repository(&place, &format!("owner{n}/api"))).collect();
    let writers: Vec<_> = folders
        .iter()
        .map(|folder| at(&place, folder, &["issue", "new", &folder.to_string_lossy()]).spawn())
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    for folder in &folders {
        assert_eq!(issues(&place, folder), [json!(folder)]);
    }
}

#[test]
fn a_folder_that_becomes_a_repository_keeps_its_project() {
    let place = Place::sqlite();
    let folder = place.home().join("notes");
    fs::create_dir(&folder).unwrap();
    at(&place, &folder, &["issue", "new", "Before git"]).said();
    git(&folder, &["init", "-q", "-b", "main"]);
    assert_eq!(issues(&place, &folder), ["Before git"]);
    at(&place, &folder, &["issue", "new", "After it"]).said();
    git(&folder, &["commit", "-q", "--allow-empty", "-m", "first"]);
    assert_eq!(project(&place, &folder), "notes");
    assert_eq!(issues(&place, &folder).len(), 2);
}

#[test]
fn a_repository_is_a_project_whatever_its_folder_is_called() {
    let place = Place::sqlite();
    let (one, other) = (repository(&place, "work/api"), repository(&place, "clients/api"));
    at(&place, &one, &["issue", "new", "Of work"]).said();
    at(&place, &other, &["issue", "new", "Of clients"]).said();
    assert_eq!(issues(&place, &one), ["Of work"]);
    assert_eq!(issues(&place, &other), ["Of clients"]);
    assert_eq!(project(&place, &one), "api");
    assert_eq!(project(&place, &other), "clients.api");
    // A worktree and a subfolder belong to the same project, even after the repository is moved.
    let tree = place.home().join("somewhere");
    git(&one, &["worktree", "add", "-q", "-b", "topic", tree.to_str().unwrap()]);
    fs::create_dir(tree.join("below")).unwrap();
    assert_eq!(issues(&place, &tree.join("below")), ["Of work"]);
    let moved = place.home().join("moved");
    fs::rename(place.home().join("clients/api"), &moved).unwrap();
    assert_eq!(issues(&place, &moved), ["Of clients"]);
    // The project's file names it, and a flag takes precedence.
    fs::write(moved.join("punchlist.toml"), "project = \"api\"\n").unwrap();
    assert_eq!(issues(&place, &moved), ["Of work"]);
    let flagged = at(&place, &moved, &["issue", "list", "--json", "--project", "clients.api"]);
    assert_eq!(flagged.answer()["issues"][0]["title"], "Of clients");
}

/// Contract, Context: origin, else root commit, else git directory: the first that both sides have.
/// A project that began without a remote stays the same one when it gets one and is cloned or moved.
#[test]
fn a_repository_that_gets_an_origin_later_stays_its_project() {
    let place = Place::sqlite();
    let one = repository(&place, "one/api");
    at(&place, &one, &["issue", "new", "First"]).said();
    let (two, three) = (place.home().join("two/api"), place.home().join("three"));
    let clone = |to: &Path| {
        git(place.home(), &["clone", "-q", one.to_str().unwrap(), to.to_str().unwrap()]);
    };
    clone(&two);
    assert_eq!(project(&place, &two), "api", "the clone has an origin and the same root commit");
    at(&place, &two, &["issue", "new", "From the clone"]).said();
    git(&one, &["remote", "add", "origin", "https://example.com/me/api"]);
    at(&place, &one, &["issue", "new", "With an origin"]).said();
    let all = ["With an origin", "From the clone", "First"];
    assert_eq!(issues(&place, &one), all);
    assert_eq!(issues(&place, &two), all, "the clone still has the folder as its origin");
    let moved = place.home().join("new/renamed");
    fs::create_dir(place.home().join("new")).unwrap();
    fs::rename(&one, &moved).unwrap();
    assert_eq!(issues(&place, &moved), all);
    // A shallow clone does not know the first commit; the origin decides.
    let from = format!("file://{}", moved.display());
    git(place.home(), &["clone", "-q", "--depth", "1", &from, three.to_str().unwrap()]);
    git(&three, &["remote", "set-url", "origin", "git@example.com:me/api.git"]);
    assert_eq!(issues(&place, &three), all);
    // Another repository with an origin is another project, and so is one with another first commit.
    let other = repository(&place, "other/api");
    git(&other, &["remote", "add", "origin", "https://example.com/you/api"]);
    at(&place, &other, &["issue", "new", "Another"]).said();
    assert_eq!(project(&place, &other), "other.api");
    // Without its origin it is known by its root commit, which is recorded all the same.
    git(&other, &["remote", "remove", "origin"]);
    let copied = place.home().join("copied");
    fs::rename(&other, &copied).unwrap();
    assert_eq!(issues(&place, &copied), ["Another"]);
}

/// A repository without an origin is known by its first commit. git searches the history for it once
/// per commit that is checked out, and not before the first commit.
#[test]
fn git_is_asked_for_the_first_commit_once_per_commit() {
    let place = Place::sqlite();
    let (folder, programs) = (place.home().join("api"), place.home().join("programs"));
    let asked = place.home().join("asked");
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir_all(&programs).unwrap();
    let path = std::env::var("PATH").unwrap();
    let count = format!("case \"$*\" in *rev-list*) echo x >>{} ;; esac", asked.display());
    let script = format!("#!/bin/sh\n{count}\nPATH='{path}' exec git \"$@\"\n");
    fs::write(programs.join("git"), script).unwrap();
    fs::set_permissions(programs.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let counted = |folder: &Path| {
        fs::write(&asked, "").unwrap();
        let words = ["status", "--json"];
        let name = at(&place, folder, &words).env("PATH", programs.as_os_str()).answer();
        assert_eq!(name["project"], "api");
        fs::read_to_string(&asked).unwrap().lines().count()
    };
    git(&folder, &["init", "-q", "-b", "main"]);
    assert_eq!(counted(&folder), 0, "there is no commit yet");
    let commit = |name: &str| git(&folder, &["commit", "-q", "--allow-empty", "-m", name]);
    commit("first");
    at(&place, &folder, &["issue", "new", "One"]).said();
    for step in ["second", "third"] {
        commit(step);
        assert_eq!((counted(&folder), counted(&folder)), (1, 0), "{step}");
    }
    // The same commit in other forms.
    git(&folder, &["pack-refs", "--all"]);
    assert_eq!(counted(&folder), 0, "packed");
    let tree = place.home().join("tree");
    git(&folder, &["worktree", "add", "-q", "-b", "topic/a", tree.to_str().unwrap()]);
    assert_eq!(counted(&tree), 0, "a worktree");
    git(&folder, &["checkout", "-q", "--detach"]);
    assert_eq!(counted(&folder), 0, "detached");
    // What the file says is checked, and without the file git is asked again.
    let kept = place.home().join(".cache/punchlist/first-commits");
    let text = fs::read_to_string(&kept).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    fs::write(&kept, text.replace(' ', " not-a-commit")).unwrap();
    assert_eq!((counted(&folder), counted(&folder)), (1, 0), "useless lines");
    fs::remove_file(&kept).unwrap();
    assert_eq!((counted(&folder), counted(&folder)), (1, 0), "removed");
}

#[test]
fn two_folders_of_one_name_outside_git_are_two_projects() {
    let place = Place::sqlite();
    let (one, other) = (place.home().join("a/notes"), place.home().join("b/notes"));
    for folder in [&one, &other] {
        fs::create_dir_all(folder).unwrap();
        at(&place, folder, &["issue", "new", folder.to_str().unwrap()]).said();
    }
    for folder in [&one, &other] {
        assert_eq!(issues(&place, folder), [json!(folder.to_str().unwrap())]);
    }
    assert_eq!(project(&place, &one), "notes");
    assert_eq!(project(&place, &other), "b.notes");
}

/// In a store of an older version, the first repository that writes to a project keeps its name.
#[test]
fn an_older_project_belongs_to_the_first_repository_that_writes_to_it() {
    let place = Place::sqlite();
    let (one, other) = (repository(&place, "work/api"), repository(&place, "clients/api"));
    let db = place.db();
    place.bare(["issue", "new", "From before", "--db", &db, "--project", "api"]).said();
    assert_eq!(issues(&place, &other), ["From before"]);
    at(&place, &one, &["issue", "new", "Mine now"]).said();
    assert_eq!(issues(&place, &one), ["Mine now", "From before"]);
    assert_eq!(issues(&place, &other), Vec::<Value>::new());
}

#[test]
fn a_detached_head_uses_its_branch_or_needs_a_named_one() {
    let place = Place::sqlite();
    let folder = repository(&place, "api");
    git(&folder, &["checkout", "-q", "--detach"]);
    at(&place, &folder, &["plan", "import", "plan.md"]).said();
    git(&folder, &["checkout", "-q", "main"]);
    let tree = at(&place, &folder, &["plan", "tree", "plan.md", "--json"]).answer();
    assert_eq!(tree["tasks"][0]["content"], "Plan", "one branch has the commit: that one");
    git(&folder, &["branch", "topic"]);
    git(&folder, &["checkout", "-q", "--detach"]);
    for words in [["plan", "import", "plan.md", "--json"], ["plan", "tree", "plan.md", "--json"]] {
        let refused = at(&place, &folder, &words).refusal(1);
        assert_eq!(refused["code"], "no_branch", "{words:?}");
        assert!(refused["hint"].as_str().unwrap().contains("--branch"));
    }
    at(&place, &folder, &["plan", "import", "plan.md", "--branch", "topic"]).said();
}

#[test]
fn a_plan_is_one_plan_however_its_path_is_written() {
    let place = Place::sqlite();
    let folder = repository(&place, "api");
    let below = folder.join("below");
    fs::create_dir(&below).unwrap();
    at(&place, &folder, &["plan", "import", "plan.md"]).said();
    let absolute = folder.join("plan.md");
    let absolute = absolute.to_str().unwrap();
    for (from, path) in [
        (&folder, "./plan.md"),
        (&folder, ".//plan.md"),
        (&folder, "below/../plan.md"),
        (&folder, absolute),
        (&below, "../plan.md"),
        (&below, "plan.md"),
        (&below, absolute),
    ] {
        let again = at(&place, from, &["plan", "import", path, "--json"]).answer();
        assert_eq!(again["changes"]["added"], 0, "{path}");
        let tree = at(&place, from, &["plan", "tree", path, "--json"]).answer();
        assert!(tree["markdown"].as_str().unwrap().contains("(plan: plan.md)"), "{path}: {tree}");
    }
    // A file in the current folder takes precedence over one at the root.
    fs::write(below.join("plan.md"), "# Below\n").unwrap();
    at(&place, &below, &["plan", "import", "plan.md"]).said();
    let tree = at(&place, &folder, &["plan", "tree", "below/plan.md", "--json"]).answer();
    assert_eq!(tree["tasks"][0]["content"], "Below");
    let outside = at(&place, &folder, &["plan", "import", "../plan.md", "--json"]).refusal(2);
    assert_eq!(outside["code"], "bad_value");
}

#[test]
fn a_missing_plan_is_reported_with_the_branches_that_have_it() {
    let place = Place::sqlite();
    let folder = repository(&place, "api");
    at(&place, &folder, &["plan", "import", "plan.md"]).said();
    git(&folder, &["checkout", "-q", "-b", "topic"]);
    for command in ["tree", "current", "render"] {
        let words = ["plan", command, "plan.md", "--json"];
        let refused = at(&place, &folder, &words).refusal(1);
        assert_eq!(refused["code"], "unknown_plan", "{command}");
        assert_eq!(refused["branches"], json!(["main"]));
        assert_eq!(refused["hint"], "name its branch: --branch main");
        let nowhere = at(&place, &folder, &["plan", command, "no.md", "--json"]).refusal(1);
        assert_eq!(nowhere["code"], "unknown_plan", "{command}");
    }
    let next =
        at(&place, &folder, &["todo", "next", "--plan-file", "plan.md", "--json"]).refusal(1);
    assert_eq!(next["code"], "unknown_plan");
    // An unreadable file is an I/O error, not a refusal by a rule.
    let unread = at(&place, &folder, &["plan", "import", "no.md", "--json"]).refusal(3);
    assert_eq!(unread["code"], "io");
}

/// Three agents and a person in one repository with two worktrees: each write goes where it was
/// addressed.
#[test]
fn each_write_goes_where_it_was_addressed() {
    let place = Place::sqlite();
    let secret = place.operator();
    let main = repository(&place, "api");
    let tree = place.home().join("tree");
    git(&main, &["worktree", "add", "-q", "-b", "topic", tree.to_str().unwrap()]);
    let person = |words: &[&str]| at(&place, &main, words).with(&secret);
    for title in ["One", "Two", "Three"] {
        person(&["issue", "new", title]).said();
    }
    let agents = [("a1", &main, "1"), ("a2", &tree, "2"), ("a3", &tree, "3")];
    for (session, folder, number) in agents {
        at(&place, folder, &["session", "start", session, "--external-id", session]).said();
        at(&place, folder, &["session", "bind", number, "--session", session]).said();
    }
    for (session, folder, _) in agents {
        let mine = at(&place, folder, &["todo", "add", session]).env("PUNCHLIST_SESSION", session);
        mine.said();
    }
    at(&place, &tree, &["todo", "add", "by number", "--issue", "1"])
        .env("PUNCHLIST_SESSION", "a3")
        .said();
    person(&["todo", "add", "by a person", "--issue", "2"]).said();
    assert_eq!(person(&["todo", "add", "nowhere", "--json"]).refusal(1)["code"], "unbound");
    let steps = |number: &str| -> Vec<Value> {
        let shown = person(&["issue", "show", number, "--json"]).answer();
        shown["steps"].as_array().unwrap().iter().map(|step| step["content"].clone()).collect()
    };
    assert_eq!(steps("1"), ["a1", "by number"]);
    assert_eq!(steps("2"), ["a2", "by a person"]);
    assert_eq!(steps("3"), ["a3"]);
}

/// git runs commands that a repository's configuration names when it fetches a missing object. An
/// agent that can write `.git/config` must not get a command run with the operator's token.
#[test]
fn a_hostile_git_configuration_runs_nothing() {
    let place = Place::sqlite();
    let operator = place.operator();
    let folder = place.home().join("hostile");
    fs::create_dir(&folder).unwrap();
    git(&folder, &["init", "-q", "-b", "main"]);
    let trap = place.home().join("trap");
    let config = format!(
        "[core]\n\trepositoryformatversion = 1\n\tsshCommand = \"sh -c 'env > {}'\"\n\
         [extensions]\n\tpartialClone = evil\n\
         [protocol \"ssh\"]\n\tallow = always\n\
         [remote \"evil\"]\n\turl = ssh://127.0.0.1/x\n\tpromisor = true\n",
        trap.display()
    );
    fs::write(folder.join(".git/config"), config).unwrap();
    fs::write(folder.join(".git/refs/heads/main"), format!("{}\n", "1".repeat(40))).unwrap();
    let shown = at(&place, &folder, &["status", "--json"]).with(&operator).answer();
    assert_eq!(shown["project"], "hostile");
    // A detached HEAD is searched among the branches.
    fs::write(folder.join(".git/HEAD"), format!("{}\n", "1".repeat(40))).unwrap();
    fs::write(folder.join("plan.md"), "# Plan\n- [ ] a\n").unwrap();
    let imported =
        at(&place, &folder, &["plan", "import", "plan.md", "--json"]).with(&operator).run();
    assert_ne!(imported.exit, Some(101), "{}", imported.remarks());
    assert!(!trap.exists(), "{}", fs::read_to_string(&trap).unwrap_or_default());
}

/// Before a sign-off the person sees what changed, and git tells it. The configuration of the
/// repository names programs for that, too: none is run, and the changes are shown all the same.
#[cfg(unix)]
#[test]
fn a_hostile_git_configuration_runs_nothing_at_a_sign_off() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::sqlite();
    let operator = place.operator();
    let folder = repository(&place, "hostile");
    let (trap, mark) = (place.home().join("trap.sh"), place.home().join("was-run"));
    fs::write(&trap, format!("#!/bin/sh\nenv >> {}\ncat\n", mark.display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    // git's commits have real times.
    let here = |words: &[&str]| at(&place, &folder, words).without_env("PUNCHLIST_NOW");
    let by_agent = |words: &[&str]| here(words).env("PUNCHLIST_SESSION", "s");
    here(&["issue", "new", "Log in fails", "--criteria", "It works"]).with(&operator).said();
    here(&["session", "start", "Fix it", "--external-id", "s"]).said();
    by_agent(&["session", "bind", "1"]).said();
    by_agent(&["call", "todo", r#"{"action":"done","content":"It works"}"#]).said();
    let asked = r#"{"reason":"criteria met, requesting sign-off"}"#;
    by_agent(&["call", "checkpoint", asked]).said();
    let added = folder.join("added");
    fs::write(&added, "new").unwrap();
    git(&folder, &["add", "added"]);
    // With a signed commit, and a file as young as the index, whose content would be compared.
    git(
        &folder,
        &["-c", &format!("gpg.program={}", signer(&place)), "commit", "-q", "-S", "-m", "Signed"],
    );
    let young = std::time::SystemTime::now() + std::time::Duration::from_secs(1_000_000);
    fs::File::options().write(true).open(&added).unwrap().set_modified(young).unwrap();
    git(&folder, &["add", "--renormalize", "added"]);
    git(&folder, &["update-index", "--refresh"]);
    fs::write(folder.join("README"), "changed").unwrap();
    fs::write(folder.join("loose"), "new").unwrap();
    fs::write(folder.join(".git/info/attributes"), "* filter=own diff=own\n").unwrap();
    let trap = trap.display().to_string();
    let names = ["core.fsmonitor", "filter.own.clean", "filter.own.process", "gpg.program"];
    for name in names.iter().chain(&["diff.own.command", "diff.own.textconv", "core.pager"]) {
        git(&folder, &["config", name, &trap]);
    }
    git(&folder, &["config", "log.showSignature", "true"]);
    let answered = here(&["inbox", "answer", "--no-color"]).with(&operator);
    let shown = answered.stdin("\n").on_terminal();
    assert_eq!(shown.exit, Some(0), "{shown:?}");
    for part in ["Signed", "README", "added", "loose"] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap_or_default());
}

/// A program that signs everything.
#[cfg(unix)]
fn signer(place: &Place) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = place.home().join("signer.sh");
    let words = "#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\n\
                 echo '-----BEGIN PGP SIGNATURE-----'\necho x\necho '-----END PGP SIGNATURE-----'\n";
    fs::write(&path, words).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}
