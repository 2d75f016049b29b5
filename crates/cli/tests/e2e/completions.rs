//! Completions: every shell gets the whole command tree, and an installed shell can load it.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::Place;

#[test]
fn every_shell_gets_a_script_that_asks_punch_and_no_store_is_made() {
    let place = Place::sqlite();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = place.bare(["completions", shell]).run();
        assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""), "{shell}");
        assert!(ran.stdout.contains("PUNCH_COMPLETE"), "{shell}: {}", ran.stdout);
    }
    // The words of the command tree, with an empty store.
    let words = asked(&place.bare(["--", "punch", "iss"]).env("PUNCH_COMPLETE", "fish"));
    assert!(words.starts_with("issue\t"), "{words}");
    let values =
        asked(&place.bare(["--", "punch", "issue", "show", ""]).env("PUNCH_COMPLETE", "fish"));
    assert!(!values.contains(char::is_numeric), "{values}");
    assert!(!place.home().join("data").exists());
    let error = place.bare(["completions", "tcsh", "--json"]).refusal(2);
    assert_eq!(error["code"], "usage");
    assert!(error["message"].as_str().unwrap().contains("powershell"), "{error}");
}

/// The completions that a shell gets; there is never an error.
fn asked(punch: &crate::support::Punch) -> String {
    let ran = punch.run();
    assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""));
    ran.stdout
}

/// Issues, items, tasks, plans and agents are offered as people type them, each with a description.
#[test]
fn completions_include_the_contents_of_the_store() {
    let place = Place::sqlite();
    assert_eq!(
        place
            .punch(["issue", "new", "Checkout fails", "--criteria", "A test covers it"])
            .run()
            .exit,
        Some(0)
    );
    for (verb, text) in [("add", "Ask everybody"), ("drop", "Ask everybody")] {
        let ran = place.punch(["todo", verb, text, "--issue", "1"]).run();
        assert_eq!(ran.exit, Some(0), "{ran:?}");
    }
    assert_eq!(place.punch(["agent", "register", "coder"]).run().exit, Some(0));
    std::fs::write(place.home().join("plan.md"), "# T\n- [ ] build\n- [x] old\n").unwrap();
    assert_eq!(place.punch(["plan", "import", "plan.md"]).run().exit, Some(0));
    let db = place.db();
    let offered = |words: &[&str]| {
        let words = ["--", "punch", "--db", &db, "--project", "test"]
            .into_iter()
            .chain(words.iter().copied());
        asked(&place.bare(words).env("PUNCH_COMPLETE", "fish"))
    };
    assert!(offered(&["issue", "show", ""]).contains("1\tCheckout fails"));
    let items = offered(&["todo", "done", "--issue", "1", ""]);
    assert!(items.contains("#1 A test covers it") && !items.contains("Ask everybody"), "{items}");
    let tasks = offered(&["plan", "complete", "t"]);
    assert!(tasks.contains("t2\tbuild") && !tasks.contains("old"), "{tasks}");
    assert!(offered(&["plan", "tree", "pl"]).contains("plan.md"));
    assert!(offered(&["run", "x", "--with", ""]).contains("coder"));
    // If anything is wrong, there is no output.
    let broken =
        place.bare(["--", "punch", "--db", "postgres://nowhere.invalid/x", "issue", "show", ""]);
    assert_eq!(asked(&broken.env("PUNCH_COMPLETE", "fish")).trim(), "--help\tPrint help");
    assert_eq!(asked(&place.bare(["--", "punch", ""]).env("PUNCH_COMPLETE", "no-shell")), "");
}

#[test]
fn every_command_has_a_man_page() {
    let place = Place::sqlite();
    let folder = place.home().join("man");
    let ran = place.bare(["man", folder.to_str().unwrap()]).run();
    assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""));
    for (page, words) in
        [("punch.1", "durable"), ("punch\\-plan\\-sync.1", "boxes"), ("punch-issue-new.1", "issue")]
    {
        let page = folder.join(page.replace("\\-", "-"));
        let text = std::fs::read_to_string(&page).unwrap_or_else(|_| panic!("{}", page.display()));
        assert!(text.contains(words), "{}", page.display());
    }
    assert!(!place.home().join("data").exists());
}

#[test]
fn bash_reads_its_completions() {
    let place = Place::sqlite();
    let script = place.bare(["completions", "bash"]).run().stdout;
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
}
