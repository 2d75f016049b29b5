//! `punch config`: the effective settings and their sources, and the errors in files.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Place, Punch};

fn place(project: &str, user: Option<&str>) -> Place {
    let place = Place::sqlite();
    fs::write(place.home().join("punchlist.toml"), project).unwrap();
    if let Some(user) = user {
        let folder = place.home().join(".config/punchlist");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("punchlist.toml"), user).unwrap();
    }
    place
}

fn show(place: &Place, words: &[&str]) -> Punch {
    place.bare(["config", "show"]).words(words.iter().copied())
}

/// S-5, F-13: each source can switch on and off, and the answer says which one counts.
#[test]
fn effective_settings_are_shown_with_their_source() {
    let project = "[agents.coder]\nmodel = \"ollama:x\"\ntodo_driven_execution = true\n";
    let place = place(project, None);
    let switched = |punch: Punch| {
        let shown = punch.words(["--origin", "--json"]).answer();
        let key = "agents.coder.todo_driven_execution";
        let on = shown["agents"]["coder"]["todo_driven_execution"].clone();
        (on, shown["origins"][key].as_str().unwrap().to_owned())
    };
    let ours = "PUNCHLIST_AUTO_COMPLETE_TODOS";
    let seeds = "SUPEROPENCODE_AUTO_COMPLETE_TODOS";
    let by = |name: &str| format!("environment {name}");
    assert_eq!(switched(show(&place, &[])), (json!(true), "project".to_owned()));
    assert_eq!(switched(show(&place, &[]).env(ours, "false")), (json!(false), by(ours)));
    assert_eq!(switched(show(&place, &[]).env(seeds, "off")), (json!(false), by(seeds)));
    let both = show(&place, &[]).env(seeds, "false").env(ours, "1");
    assert_eq!(switched(both), (json!(true), by(ours)));
    let flag = show(&place, &["--auto-complete-todos=false"]).env(ours, "true");
    assert_eq!(switched(flag), (json!(false), "flag".to_owned()));
    let flag = show(&place, &["--auto-complete-todos"]).env(ours, "false");
    assert_eq!(switched(flag), (json!(true), "flag".to_owned()));
    let max = |punch: Punch| {
        let shown = punch.words(["--json"]).answer();
        shown["agents"]["coder"]["max_todo_continuations"].clone()
    };
    assert_eq!(max(show(&place, &[])), 10);
    assert_eq!(max(show(&place, &[]).env("SUPEROPENCODE_MAX_TODO_CONTINUATIONS", "15")), 15);
    assert_eq!(max(show(&place, &["--max-todo-continuations", "0"])), 0, "0 is none");
}

/// S-8: an invalid flag is refused; an invalid variable is ignored with a warning. Both name the
/// expected value.
#[test]
fn invalid_values_are_reported() {
    let place = place("", None);
    for words in [
        ["--max-todo-continuations", "-1"],
        ["--max-todo-continuations", "many"],
        ["--max-todo-continuations", "1001"],
    ] {
        let refused = show(&place, &words).words(["--json"]).refusal(2);
        assert_eq!(refused["code"], "usage");
        assert!(refused["message"].as_str().unwrap().contains("0 to 1000"), "{refused}");
    }
    let refused = show(&place, &["--auto-complete-todos=maybe", "--json"]).refusal(2);
    assert!(refused["message"].as_str().unwrap().contains("true or false"), "{refused}");
    let name = "PUNCHLIST_MAX_TODO_CONTINUATIONS";
    let ran = show(&place, &["--json"]).env(name, "-3").run();
    assert_eq!(ran.exit, Some(0));
    assert_eq!(ran.json()["agents"]["primary"]["max_todo_continuations"], 10);
    let note = ran.stderr.lines().find(|line| line.contains(name)).unwrap();
    assert!(note.contains("`-3`") && note.contains("0 to 1000"), "{note}");
    // It is said once, not for each agent.
    let project = "[agents.a]\nmodel = \"ollama:x\"\n[agents.b]\nmodel = \"ollama:x\"\n";
    let place = self::place(project, None);
    let ran = show(&place, &["--json"]).env(name, "-3").run();
    assert_eq!(ran.stderr.matches(name).count(), 1, "{}", ran.stderr);
}

#[test]
fn both_files_are_shown_merged() {
    let user = "[agents.coder]\nmodel = \"ollama:a\"\n[tools.lint]\ncommand = [\"lint\"]\n\
                description = \"Look.\"\npermission = \"allow\"\n";
    let project = "project = \"pp\"\nsession_lists = false\n\
                   [agents.coder]\nmodel = \"ollama:b\"\ntools = [\"lintt\"]\n\
                   [prices.\"ollama:b\"]\ninput_per_mtok = 0\noutput_per_mtok = 0.5\n";
    let place = place(project, Some(user));
    let ran = show(&place, &["--json", "--origin"]).run();
    assert!(ran.stderr.contains("lists `lintt`, but there is no such tool, did you mean `lint`?"));
    let mut shown = ran.json();
    let files = shown["files"].take();
    let origins: Vec<&Value> = files.as_array().unwrap().iter().map(|f| &f["origin"]).collect();
    assert_eq!(origins, ["user", "project"]);
    let drive = json!({
        "todo_driven_execution": false, "max_todo_continuations": 10,
        "todo_check_interval_ms": 0, "max_iterations": 50,
    });
    let mut coder = json!({ "model": "ollama:b", "tools": ["lintt"] });
    for (key, value) in drive.as_object().unwrap() {
        coder[key] = value.clone();
    }
    assert_eq!(shown["agents"], json!({ "coder": coder, "primary": drive }));
    assert_eq!((&shown["project"], &shown["session_lists"]), (&json!("pp"), &json!(false)));
    let origins = &shown["origins"];
    assert_eq!(
        (&origins["project"], &origins["session_lists"]),
        (&json!("project"), &json!("project"))
    );
    assert_eq!(shown["tools"]["lint"]["permission"], "allow");
    assert_eq!(shown["origins"]["tools.lint.permission"], "user");
    assert_eq!(shown["origins"]["agents.coder.model"], "project");
    assert_eq!(shown["origins"]["agents.primary.max_iterations"], "default");
    let ran = show(&place, &["--origin"]).run();
    for line in [
        "project = \"pp\"  # project",
        "session_lists = false  # project",
        "[agents.coder]",
        "model = \"ollama:b\"  # project",
        "command = [\"lint\"]  # user",
        "schema = { type = \"object\" }  # user",
        "[prices.\"ollama:b\"]",
        "todo_driven_execution = false  # default",
    ] {
        assert!(ran.stdout.lines().any(|found| found == line), "{line}: {}", ran.stdout);
    }
    // It does not open a store.
    assert!(!place.home().join("data").exists());
}

/// Q-S2: the printed sample is a file that can be used unchanged.
#[test]
fn the_sample_is_a_file_to_begin_with() {
    let begun = place("", None);
    let sample = begun.bare(["config", "sample"]).run();
    assert_eq!(sample.exit, Some(0));
    let used = place(&sample.stdout, None);
    let shown = show(&used, &["--json"]).answer();
    assert_eq!(shown["agents"]["coder"]["todo_driven_execution"], true);
    assert_eq!(shown["agents"]["primary"]["todo_driven_execution"], false);
}

/// S-8, K-22: an error in a file stops every command, with its position, and changes nothing.
#[test]
fn a_wrong_file_is_refused_with_its_place() {
    for (text, code, line, says) in [
        ("[agents.coder]\nmax_todo_continuations = -1\n", "bad_value", 2, "max_todo_continuations"),
        ("[agents.coder]\n\nmax_tokens = \"x\"\n", "wrong_type", 3, "agents.coder.max_tokens"),
        ("[agents.coder]\nmodle = \"x\"\n", "unknown_field", 2, "agents.coder.modle"),
        ("[agents.w]\nrole = \"worker\"\ntools = [\"issue\"]\n", "bad_value", 3, "agents.w.tools"),
        (
            "[tools.x]\ncommand = [\"x\"]\ndescription = \"x\"\npermission = \"allow\"\n",
            "bad_value",
            4,
            "tools.x.permission",
        ),
    ] {
        let place = place(text, None);
        for words in [&["config", "show"][..], &["status"]] {
            let refused = place.punch(words.iter().copied()).words(["--json"]).refusal(2);
            assert_eq!(
                (&refused["code"], &refused["line"]),
                (&json!(code), &json!(line)),
                "{text}"
            );
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains("punchlist.toml:") && message.contains(says), "{message}");
            assert!(refused["hint"].is_string(), "{refused}");
        }
        assert!(!place.file().exists());
    }
}
