//! P-16: `punch init` writes exactly what it shows, and `--remove` restores the original bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Place, Punch};

const HOSTS: [&str; 7] = ["claude", "codex", "opencode", "gemini", "cursor", "copilot", "goose"];

/// Every file of a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

pub(super) fn init(place: &Place, project: &Path, words: &[&str]) -> Punch {
    place.punch(["init"]).words(words.iter().copied()).at(project)
}

pub(super) fn project(place: &Place) -> PathBuf {
    let folder = place.home().join("project");
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    folder
}

#[test]
fn every_host_is_set_up_once_and_removed_without_a_trace() {
    for host in HOSTS {
        let place = Place::sqlite();
        let folder = project(&place);
        let before = files(&folder);
        let dry = init(&place, &folder, &["--host", host, "--dry-run"]).run();
        assert_eq!(dry.exit, Some(0), "{dry:?}");
        assert!(dry.stdout.contains("+++ AGENTS.md"), "{}", dry.stdout);
        assert_eq!(files(&folder), before, "{host}: a dry run writes nothing");
        let wrote = init(&place, &folder, &["--host", host]).run();
        assert_eq!(wrote.exit, Some(0), "{wrote:?}");
        let with = files(&folder);
        assert!(with.len() > before.len() + 1, "{host}");
        let steps = wrote.stdout.split("what to do next\n").nth(1).unwrap();
        assert_eq!(steps.lines().count(), 3, "{steps}");
        let again = init(&place, &folder, &["--host", host]).run();
        assert!(again.stdout.starts_with("Everything is in place.\n"), "{host}: {}", again.stdout);
        assert_eq!(files(&folder), with, "{host}: a second time changes nothing");
        let removed = init(&place, &folder, &["--host", host, "--remove"]).run();
        assert_eq!(removed.exit, Some(0), "{removed:?}");
        assert_eq!(files(&folder), before, "{host}");
    }
}

/// Claude Code is set up by its settings or by a plugin. The last choice stays, and nothing of the
/// other one is left.
#[test]
fn claude_code_can_have_a_plugin_instead_of_settings() {
    let place = Place::sqlite();
    let folder = project(&place);
    let before = files(&folder);
    let run = |words: &[&str]| {
        let ran = init(&place, &folder, &[&["--host", "claude"], words].concat()).run();
        assert_eq!(ran.exit, Some(0), "{ran:?}");
        let names = files(&folder).into_keys();
        let names = names.map(|path| path.strip_prefix(&folder).unwrap().to_owned());
        (names.map(|path| path.display().to_string()).collect::<Vec<_>>(), ran.stdout)
    };
    let in_settings = [
        ".claude/commands/punch-bind.md",
        ".claude/settings.json",
        ".claude/skills/punchlist/SKILL.md",
        ".mcp.json",
        "AGENTS.md",
    ];
    let in_plugin = [
        ".claude/skills/punchlist/.claude-plugin/plugin.json",
        ".claude/skills/punchlist/.mcp.json",
        ".claude/skills/punchlist/SKILL.md",
        ".claude/skills/punchlist/commands/bind.md",
        ".claude/skills/punchlist/hooks/hooks.json",
        "AGENTS.md",
    ];
    assert_eq!(run(&[]).0, in_settings);
    let (names, said) = run(&["--plugin"]);
    assert_eq!(names, in_plugin);
    assert!(said.contains("/punchlist:bind 1"), "{said}");
    let plugin = files(&folder);
    // Without a word it stays as it is.
    assert!(run(&[]).1.starts_with("Everything is in place.\n"));
    assert_eq!(files(&folder), plugin);
    let doctor = place.punch(["doctor", "--json"]).at(&folder).answer();
    let claude = &doctor["hosts"][0];
    let standing = (&claude["host"], &claude["configured"], &claude["trusted"]);
    assert_eq!(standing, (&json!("claude"), &json!(true), &json!(false)), "{claude}");
    assert_eq!(run(&["--settings"]).0, in_settings);
    run(&["--plugin"]);
    run(&["--remove"]);
    assert_eq!(files(&folder), before);
    let both = init(&place, &folder, &["--plugin", "--settings"]).run();
    assert_eq!(both.exit, Some(2), "{both:?}");
}

/// Existing files keep their comments and their order, and are identical after `--remove`.
#[test]
fn files_of_others_keep_their_comments_and_come_back_byte_for_byte() {
    let place = Place::sqlite();
    let folder = project(&place);
    let own = [
        (
            ".claude/settings.json",
            "{\n\t// ours\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": [ {\"hooks\": \
             [{\"type\": \"command\", \"command\": \"lint\"}]} ]\n\t}\n}",
        ),
        (".mcp.json", "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}}\n"),
        (
            ".codex/config.toml",
            "# mine\nmodel = \"gpt\"  # best\n\n[mcp_servers.other]\ncommand = \"x\"\n",
        ),
        ("opencode.jsonc", "{\n  // theme\n  \"theme\": \"dark\",\n}\n"),
        ("AGENTS.md", "# Rules\n\nBe kind."),
    ];
    for (path, text) in own {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let before = files(&folder);
    let hosts = ["--host", "claude", "--host", "codex", "--host", "opencode"];
    assert_eq!(init(&place, &folder, &hosts).run().exit, Some(0));
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    let settings = read(".claude/settings.json");
    assert!(settings.contains("// ours") && settings.contains("\"lint\""), "{settings}");
    assert!(read(".codex/config.toml").starts_with(own[2].1));
    assert!(read("opencode.jsonc").contains("// theme"));
    assert!(read("AGENTS.md").starts_with("# Rules\n\nBe kind.\n\n<!-- punchlist:begin -->\n"));
    let mut remove = hosts.to_vec();
    remove.push("--remove");
    assert_eq!(init(&place, &folder, &remove).run().exit, Some(0));
    assert_eq!(files(&folder), before);
}

/// The hooks of others live in folders with the names of hosts (`.claude/hooks/lint.sh`). They are
/// not taken for ours: they stay when ours come, and when ours go.
#[test]
fn the_hooks_of_others_stay() {
    let place = Place::sqlite();
    let folder = project(&place);
    let lint = |host: &str| format!("./.{host}/hooks/lint.sh");
    let group = |host: &str| json!([{ "hooks": [{ "type": "command", "command": lint(host) }] }]);
    let own = [
        (".claude/settings.json", json!({ "hooks": { "Stop": group("claude") } })),
        (".codex/hooks.json", json!({ "hooks": { "Stop": group("codex") } })),
        (".gemini/settings.json", json!({ "hooks": { "AfterAgent": group("gemini") } })),
        (
            ".cursor/hooks.json",
            json!({ "version": 1, "hooks": {
            "stop": [{ "command": lint("cursor") }] } }),
        ),
    ];
    for (path, value) in &own {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, value.to_string()).unwrap();
    }
    let hosts = ["--host", "claude", "--host", "codex", "--host", "gemini", "--host", "cursor"];
    assert_eq!(init(&place, &folder, &hosts).run().exit, Some(0));
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    for (path, _) in &own {
        assert!(read(path).contains("hooks/lint.sh"), "{}", read(path));
        // Another change, so that the old bytes are not simply put back.
        std::fs::write(folder.join(path), format!("{} ", read(path))).unwrap();
    }
    assert_eq!(init(&place, &folder, &[&hosts[..], &["--remove"]].concat()).run().exit, Some(0));
    for (path, value) in &own {
        assert_eq!(serde_json::from_str::<Value>(&read(path)).unwrap(), *value);
    }
}

/// Text that others added later stays when ours is removed.
#[test]
fn later_additions_of_others_stay() {
    let place = Place::sqlite();
    let folder = project(&place);
    assert_eq!(init(&place, &folder, &["--host", "claude"]).run().exit, Some(0));
    let path = folder.join(".mcp.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replacen('{', "{\n  \"theirs\": true,", 1);
    std::fs::write(&path, text).unwrap();
    assert_eq!(init(&place, &folder, &["--host", "claude", "--remove"]).run().exit, Some(0));
    let left: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(left, json!({ "theirs": true }));
    assert!(!folder.join(".claude").exists());
}

/// A settings file with a syntax error is reported with its line and not changed. Its host is not
/// set up, now and the second time; the others are.
#[test]
fn a_file_with_a_syntax_error_is_left_alone_and_its_host_is_not_set_up() {
    let place = Place::sqlite();
    let folder = project(&place);
    std::fs::create_dir_all(folder.join(".claude")).unwrap();
    let broken = "{\n  \"model\": ,\n}\n";
    std::fs::write(folder.join(".claude/settings.json"), broken).unwrap();
    let before = files(&folder);
    for _ in 0..2 {
        let ran = init(&place, &folder, &["--host", "claude"]).run();
        assert_eq!((ran.exit, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        let remarks = ran.remarks();
        let mut lines = remarks.lines();
        let first = lines.next().unwrap();
        assert!(first.starts_with("left alone: .claude/settings.json: line 2, column "), "{ran:?}");
        let next = "Claude Code is not set up: fix the file above, then run `punch init --host \
                    claude` again";
        assert_eq!(lines.collect::<Vec<_>>(), [next]);
        assert_eq!(files(&folder), before, "none of its files is written");
    }
    let both = ["--host", "claude", "--host", "codex"];
    let ran = init(&place, &folder, &both).run();
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("Codex: what to do next"), "{ran:?}");
    assert!(!ran.stdout.contains("Claude Code"), "{ran:?}");
    assert!(folder.join(".codex/hooks.json").exists() && !folder.join(".mcp.json").exists());
    let again = init(&place, &folder, &[&both[..], &["--json"]].concat()).run();
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&again["changes"], &again["leftAlone"][0]["host"]), (&json!([]), &json!("claude")));
}

/// A home that cannot be written to keeps no backup, so nothing is written, and the message says why.
#[test]
fn without_a_backup_nothing_is_written() {
    let place = Place::sqlite();
    let folder = project(&place);
    let before = files(&folder);
    let data = place.home().join("data/punchlist");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("init"), "a file where the folder should be").unwrap();
    let ran = init(&place, &folder, &["--host", "claude"]).run();
    assert_eq!(ran.exit, Some(3), "{ran:?}");
    assert!(ran.remarks().contains(": its backup "), "{ran:?}");
    assert_eq!(files(&folder), before);
}

/// The block in AGENTS.md is for every host: the last one that is removed takes it out.
#[test]
fn the_block_in_agents_md_stays_until_the_last_host_is_removed() {
    let place = Place::sqlite();
    let folder = project(&place);
    let before = files(&folder);
    let run = |words: &[&str]| assert_eq!(init(&place, &folder, words).run().exit, Some(0));
    run(&["--host", "claude", "--host", "codex", "--plugin"]);
    run(&["--host", "codex", "--remove"]);
    let text = std::fs::read_to_string(folder.join("AGENTS.md")).unwrap();
    assert!(text.contains("<!-- punchlist:begin -->"), "{text}");
    assert!(!folder.join(".codex").exists());
    run(&["--host", "claude", "--remove"]);
    assert_eq!(files(&folder), before);
}

/// VS Code runs Copilot's agents: its name, its program and its folder in the project stand for them.
#[test]
fn vs_code_is_found_and_gets_the_files_of_copilot() {
    let place = Place::sqlite();
    let folder = project(&place);
    let programs = place.home().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let paths = |words: &[&str]| {
        let found = init(&place, &folder, words).env("PATH", &programs).answer();
        let changed = found["changes"].as_array().unwrap().clone();
        let path = |change: &Value| change["path"].as_str().unwrap().to_owned();
        changed.iter().map(path).collect::<Vec<_>>()
    };
    let named = paths(&["--host", "vscode", "--host", "copilot", "--json", "--dry-run"]);
    assert!(named.iter().any(|path| path.ends_with(".vscode/mcp.json")), "{named:?}");
    assert!(named.iter().any(|path| path.ends_with(".github/hooks/punchlist.json")), "{named:?}");
    let none = init(&place, &folder, &["--json", "--dry-run"]).env("PATH", &programs).refusal(1);
    assert_eq!(none["code"], "no_host");
    std::fs::write(programs.join("code"), "").unwrap();
    assert_eq!(paths(&["--json", "--dry-run"]), named);
    std::fs::remove_file(programs.join("code")).unwrap();
    std::fs::create_dir(folder.join(".vscode")).unwrap();
    assert_eq!(paths(&["--json", "--dry-run"]), named);
}

/// On a terminal it asks, and writes nothing after a no; `--yes` does not ask.
#[test]
fn it_asks_a_person_and_respects_the_answer() {
    let place = Place::sqlite();
    let folder = project(&place);
    let before = files(&folder);
    let no = init(&place, &folder, &["--host", "claude"]).stdin("n\n").on_terminal();
    assert!(no.stdout.contains("files? [y/N]"), "{no:?}");
    assert_eq!(files(&folder), before);
    let yes = init(&place, &folder, &["--host", "claude", "--yes"]).on_terminal();
    assert!(!yes.stdout.contains("[y/N]"), "{yes:?}");
    assert!(folder.join(".claude/settings.json").exists());
}

#[test]
fn without_a_host_on_the_machine_it_reports_that() {
    let place = Place::sqlite();
    let folder = project(&place);
    let path = place.home().join("empty");
    std::fs::create_dir(&path).unwrap();
    let refused = init(&place, &folder, &["--json"]).env("PATH", &path).refusal(1);
    assert_eq!(refused["code"], "no_host");
    std::fs::create_dir(place.home().join(".codex")).unwrap();
    let found = init(&place, &folder, &["--json", "--dry-run"]).env("PATH", &path).answer();
    let changed = found["changes"].as_array().unwrap();
    let paths: Vec<&str> = changed.iter().map(|c| c["path"].as_str().unwrap()).collect();
    assert!(paths.iter().any(|path| path.ends_with(".codex/hooks.json")), "{paths:?}");
}

/// The command names the store and the project, because Codex passes almost no variables to its
/// servers. The command that binds a session is for the host's shell, and finds the same store.
#[test]
fn the_command_names_the_store_and_the_project() {
    let place = Place::sqlite();
    let folder = project(&place);
    let hosts = ["--host", "codex", "--host", "claude", "--host", "gemini", "--host", "cursor"];
    assert_eq!(init(&place, &folder, &hosts).run().exit, Some(0));
    let db = place.file();
    let db = db.to_str().unwrap();
    for file in [".codex/config.toml", ".codex/hooks.json"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(db) && text.contains("test"), "{text}");
    }
    let binds = [
        ".claude/commands/punch-bind.md",
        ".claude/skills/punchlist/SKILL.md",
        ".gemini/commands/punch-bind.toml",
        ".cursor/commands/punch-bind.md",
    ];
    for file in binds {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let (before, _) = text.split_once(" session bind ").unwrap();
        assert!(before.contains(crate::support::PUNCH) && before.contains(db), "{text}");
    }
    let agents = std::fs::read_to_string(folder.join("AGENTS.md")).unwrap();
    assert!(agents.contains("`punch session bind N`") && !agents.contains(db), "{agents}");
}
