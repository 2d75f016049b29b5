//! Completions: every shell gets the whole tree, and a shell at hand can read it.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::Place;

#[test]
fn every_shell_gets_the_whole_tree_and_no_store_is_made() {
    let place = Place::sqlite();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = place.bare(["completions", shell]).run();
        assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""), "{shell}");
        for word in ["call", "mcp", "authority", "idempotency-key", "visibility"] {
            assert!(ran.stdout.contains(word), "{shell}: no {word}");
        }
    }
    assert!(!place.home().join("data").exists());
    let error = place.bare(["completions", "tcsh", "--json"]).refusal(2);
    assert_eq!(error["code"], "usage");
    assert!(error["message"].as_str().unwrap().contains("powershell"), "{error}");
}

#[test]
fn bash_reads_its_completions() {
    let place = Place::sqlite();
    let script = place.bare(["completions", "bash"]).run().stdout;
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
}
