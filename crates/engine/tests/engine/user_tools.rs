//! The user's tools: real programs, and each way in which a call can end.

use std::path::Path;
use std::time::{Duration, Instant};

use punchlist_engine::model::Cancel;
use punchlist_engine::tools::{ANSWER_MAX, About, AgentTools, ToolAnswer};
use punchlist_ops::config::{Config, Origin, Permission};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::collectors::lives;

/// The tools of a user's file, for an agent that may use all of them.
pub(crate) fn toolbox(text: &str, folder: &Path) -> AgentTools {
    let config = Config::default().read(text, Origin::User, folder).unwrap();
    AgentTools::new(&config, config.agents.get("a"), folder)
}

/// A tool `t` with this command and these additional lines.
fn tool(command: &[&str], more: &str) -> String {
    format!("[tools.t]\ncommand = {}\ndescription = \"A tool.\"\n{more}\n", json!(command))
}

fn called(folder: &TempDir, command: &[&str], more: &str, input: &Value) -> ToolAnswer {
    toolbox(&tool(command, more), folder.path()).call("t", input, &Cancel::default())
}

fn shell(folder: &TempDir, script: &str, more: &str) -> ToolAnswer {
    called(folder, &["sh", "-c", script], more, &json!({}))
}

fn place() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_program_gets_its_input_and_its_output_is_the_answer() {
    let folder = place();
    let input = json!({ "path": "a; b", "deep": { "n": [1, 2] } });
    let answer = called(&folder, &["cat"], "", &input);
    assert_eq!((answer.text, answer.is_error), (input.to_string(), false));
    let answer = shell(&folder, "echo; echo 'all is well'; echo", "");
    let expected = ToolAnswer { text: "\nall is well".to_owned(), ..ToolAnswer::default() };
    assert_eq!(answer, expected);
    // A program need not read its input, however long that is.
    let long = json!({ "text": "x".repeat(1 << 20) });
    let answer = called(&folder, &["echo", "done"], "", &long);
    assert_eq!((answer.text.as_str(), answer.is_error), ("done", false));
}

#[test]
fn a_program_runs_without_a_shell() {
    let folder = place();
    let answer =
        called(&folder, &["printf", "%s", "$(touch made); `touch made` | cat"], "", &json!({}));
    assert_eq!(answer.text, "$(touch made); `touch made` | cat");
    assert!(!folder.path().join("made").exists());
}

/// Input that does not match the schema never reaches the program.
#[test]
fn a_wrong_input_runs_nothing() {
    let folder = place();
    let more = "schema = { type = \"object\", additionalProperties = false, required = [\"path\"], \
                properties = { path = { type = \"string\" }, n = { type = \"integer\", minimum = 1 } } }";
    let call = |input: Value| called(&folder, &["touch", "made"], more, &input);
    for (input, says) in [
        (json!({}), "path"),
        (json!({ "path": 3 }), "`/path`"),
        (json!({ "path": "x", "n": 0 }), "`/n`"),
        (json!({ "path": "x", "more": 1 }), "more"),
        (json!("text"), "object"),
        (json!([]), "object"),
        (Value::Null, "object"),
    ] {
        let answer = call(input.clone());
        assert!(answer.is_error && answer.text.contains("does not fit"), "{input}: {answer:?}");
        assert!(answer.text.contains(says), "{input}: {answer:?}");
        assert!(!folder.path().join("made").exists(), "{input}");
    }
    assert!(!call(json!({ "path": "x", "n": 1 })).is_error);
    assert!(folder.path().join("made").exists());
}

#[test]
fn a_program_sees_little_of_our_environment() {
    let folder = place();
    let known = ["PATH", "HOME", "LANG", "TERM", "PUNCH_STARTED_BY", "CARGO_MANIFEST_DIR"];
    let named =
        called(&folder, &["env"], "env = [\"CARGO_MANIFEST_DIR\", \"NOT_THERE\"]", &json!({}));
    let names: Vec<&str> =
        named.text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    assert!(names.contains(&"PATH") && names.contains(&"CARGO_MANIFEST_DIR"), "{names:?}");
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "there is something to keep from it");
    let plain = called(&folder, &["env"], "", &json!({}));
    assert!(!plain.text.contains("CARGO_"), "{}", plain.text);
}

#[test]
fn a_program_runs_in_its_configured_folder() {
    let folder = place();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    let at = |more: &str| called(&folder, &["pwd"], more, &json!({}));
    let root = folder.path().canonicalize().unwrap();
    assert_eq!(Path::new(&at("").text).canonicalize().unwrap(), root);
    assert_eq!(
        Path::new(&at("directory = \"below\"").text).canonicalize().unwrap(),
        root.join("below")
    );
    let gone = at("directory = \"gone\"");
    assert!(gone.is_error && gone.text.contains("has no folder"), "{gone:?}");
}

#[test]
fn a_failure_is_reported_with_its_status_and_reason() {
    let folder = place();
    let answer = shell(&folder, "echo one; echo first >&2; echo 'no such branch' >&2; exit 3", "");
    assert!(answer.is_error);
    assert_eq!(answer.text, "t ended with exit code 3: no such branch\none");
    let answer = shell(&folder, "kill -KILL $$", "");
    assert!(answer.is_error && answer.text.contains("signal: 9"), "{answer:?}");
    let answer = called(&folder, &["no-such-program"], "", &json!({}));
    assert_eq!(answer, ToolAnswer::error("t there is no program `no-such-program`"));
}

#[test]
fn all_that_a_program_started_ends_when_its_time_is_over() {
    let folder = place();
    let begun = Instant::now();
    let answer = shell(&folder, "sleep 600 & echo $! > pid; wait", "timeout = \"4s\"");
    assert_eq!(answer, ToolAnswer::error("t took longer than 4s and was stopped"));
    assert!(begun.elapsed() < Duration::from_secs(60));
    gone(&std::fs::read_to_string(folder.path().join("pid")).unwrap());
}

#[test]
fn a_cancelled_call_ends() {
    let folder = place();
    let boxed = toolbox(
        &tool(&["sh", "-c", "sleep 600 & echo $! > pid.new; mv pid.new pid; wait"], ""),
        folder.path(),
    );
    let (cancel, pid) = (Cancel::default(), folder.path().join("pid"));
    let answer = std::thread::scope(|scope| {
        let call = scope.spawn(|| boxed.call("t", &json!({}), &cancel));
        let until = Instant::now() + Duration::from_secs(30);
        while !pid.exists() && Instant::now() < until {
            std::thread::yield_now();
        }
        cancel.cancel();
        call.join().unwrap()
    });
    assert_eq!(answer, ToolAnswer::error("t was stopped"));
    gone(&std::fs::read_to_string(&pid).unwrap());
}

/// Waits, for a limited time, until a process has ended.
pub(crate) fn gone(pid: &str) {
    let until = Instant::now() + Duration::from_secs(20);
    while lives(pid) {
        assert!(Instant::now() < until, "{pid} still lives");
        std::thread::yield_now();
    }
}

#[test]
fn a_long_answer_is_cut_between_characters() {
    let folder = place();
    let answer = shell(&folder, "printf a; yes é | tr -d '\\n' | head -c 3000000", "");
    let (text, note) = answer.text.split_once('\n').unwrap();
    assert!(!answer.is_error);
    assert_eq!(text.len(), ANSWER_MAX - 1, "the last é does not fit");
    assert!(text.ends_with('é') && note.contains("cut here"), "{note}");
    // A program with too much output that fails is cut, too.
    let answer = shell(&folder, "yes | head -c 3000000; exit 1", "");
    assert!(answer.is_error && answer.text.len() < ANSWER_MAX + 200);
}

#[test]
fn output_that_is_not_utf8_is_not_a_failure() {
    let folder = place();
    let answer = shell(&folder, "printf 'a\\377b'", "");
    assert_eq!((answer.text.as_str(), answer.is_error), ("a\u{fffd}b", false));
}

/// F-6: an agent has the tools in its list, by full names and prefixes, and no others.
#[test]
fn an_agent_has_the_tools_that_its_file_lists() {
    let folder = place();
    let tools = "[tools.lint]\ncommand = [\"echo\", \"lint\"]\ndescription = \"x\"\n\
                 [tools.lint_all]\ncommand = [\"echo\", \"all\"]\ndescription = \"x\"\nmutates = false\n\
                 [tools.drop]\ncommand = [\"echo\"]\ndescription = \"x\"\npermission = \"deny\"\n";
    for (line, expected) in [
        ("", &["lint", "lint_all"][..]),
        ("tools = [\"lint\"]", &["lint"]),
        ("tools = [\"lint*\"]", &["lint", "lint_all"]),
        ("tools = [\"lin\", \"drop\"]", &[]),
        ("tools = []", &[]),
    ] {
        let boxed = toolbox(&format!("[agents.a]\n{line}\n{tools}"), folder.path());
        let listed = boxed.list(&Cancel::default(), &|_, _| true);
        let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, expected, "{line}");
        for name in ["lint", "lint_all", "nothing"] {
            let answer = boxed.call(name, &json!({}), &Cancel::default());
            assert_eq!(!answer.is_error, expected.contains(&name), "{line} {name}");
            assert_eq!(boxed.about(name).is_some(), expected.contains(&name), "{line} {name}");
        }
    }
    let boxed = toolbox(tools, folder.path());
    // A person who permits a call sees where it runs.
    let definition = json!({ "command": ["echo", "all"], "directory": folder.path() });
    let expected = About { permission: Permission::Ask, definition, mutates: false };
    assert_eq!(boxed.about("lint_all"), Some(expected));
}

/// Processes that a tool leaves behind are killed, even if they have their own session, no parent,
/// or no mark of ours.
#[test]
fn what_leaves_its_process_group_ends_too() {
    let ways = [
        ("setsid sleep 600 & echo $! > pid; wait", "still its child"),
        ("setsid sh -c 'sleep 600 & echo $! > pid'", "an orphan with our mark"),
        ("setsid sh -c 'echo $$ > pid; exec env -i sleep 600' & wait", "a child without our mark"),
    ];
    for (script, what) in ways {
        let folder = place();
        let answer = shell(&folder, script, "timeout = \"4s\"");
        let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
        assert!(!pid.trim().is_empty(), "{what}: {answer:?}");
        gone(&pid);
    }
}

/// In a cgroup, an orphan that shows no sign of its origin is killed with the program that started it.
/// Where we may make no cgroup, it is left here: only the process that executes agents adopts it (the
/// next test).
#[test]
fn an_orphan_that_hides_ends_with_its_program_in_a_cgroup() {
    let folder = place();
    let script = "setsid sh -c 'env -i sleep 600 & echo $! > pid.new; mv pid.new pid' & \
                  while ! test -e pid; do sleep 0.01; done; cat /proc/$(cat pid)/cgroup";
    let answer = shell(&folder, script, "");
    assert!(!answer.is_error, "{answer:?}");
    let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    let is_caged = punchlist_engine::strays::are_caged();
    assert_eq!(answer.text.contains("/punch-"), is_caged, "{answer:?}");
    if is_caged {
        println!("each program has a cgroup of its own");
        gone(&pid);
        let left = answer.text.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let at = mounts.lines().find(|line| line.contains(" - cgroup2 ")).unwrap();
        let at = Path::new(at.split(' ').nth(4).unwrap());
        assert!(!at.join(left.trim_start_matches('/')).exists(), "the cgroup is removed");
    } else {
        println!("no cgroup can be made here: only the processes that are adopted are ended");
        let id = nix::unistd::Pid::from_raw(pid.trim().parse().unwrap());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL).unwrap();
    }
}

/// The process that executes agents adopts all orphans. An orphan that shows no sign of its origin
/// is killed when the last running program ends.
#[test]
fn an_orphan_that_hides_ends_with_the_last_program() {
    punchlist_engine::strays::take_charge();
    let folder = place();
    let script = "setsid sh -c 'env -i sleep 600 & echo $! > pid.new; mv pid.new pid' & \
                  while ! test -e pid; do sleep 0.01; done";
    assert!(!shell(&folder, script, "").is_error);
    gone(&std::fs::read_to_string(folder.path().join("pid")).unwrap());
}
