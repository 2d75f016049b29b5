//! Completions in real shells: bash and zsh on a terminal, set up as the help says, where somebody
//! types and presses Tab.
//!
//! Both shells must be installed; `cargo xtask test` does it.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{PUNCH, Place};

/// How long a shell may take for one line.
const PATIENCE: Duration = Duration::from_secs(60);

/// Typed in two parts, so that its echo is not taken for the prompt.
const PROMPT: &str = "ready> ";
const SET_PROMPT: &str = "PS1='re''ady> '";

/// A shell on a terminal, and what is on its screen since the last line.
struct Shell {
    child: Child,
    keys: ChildStdin,
    output: Receiver<Vec<u8>>,
    screen: String,
}

impl Shell {
    /// Starts the shell in the home of this place, with `punch` on its path, and types the setup.
    fn start(place: &Place, shell: &str, setup: &str) -> Self {
        let bin = place.home().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink(PUNCH, bin.join("punch")).unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("script");
        let line = format!("stty cols 100 rows 50; exec {shell}");
        command.args(["-qec", &line, "/dev/null"]).env_clear().current_dir(place.home());
        command.env("PATH", format!("{}:{path}", bin.display())).env("HOME", place.home());
        command.env("TERM", "xterm").env("PUNCHLIST_DB", place.db());
        command.env("PUNCHLIST_PROJECT", "test");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (keys, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut shell = Self { child, keys, output, screen: String::new() };
        shell.type_in(&format!("{setup}; {SET_PROMPT}\n"));
        shell.wait_for(&[PROMPT]);
        shell
    }

    fn type_in(&mut self, keys: &str) {
        self.screen.clear();
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn wait_for(&mut self, words: &[&str]) {
        let deadline = Instant::now() + PATIENCE;
        while !words.iter().all(|word| self.screen.contains(word)) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.output.recv_timeout(left) else {
                panic!("{words:?} is not on the screen: {}", self.screen.escape_debug());
            };
            self.screen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    /// Clears the line, types the beginning of another and Tab once, and sees these words offered.
    fn offers(&mut self, line: &str, words: &[&str]) {
        const CTRL_U: char = '\u{15}';
        self.type_in(&format!("{CTRL_U}{line}\t"));
        self.wait_for(words);
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A store with more than one of everything, so that a shell lists what there is.
fn furnished() -> Place {
    let place = Place::sqlite();
    let operator = place.operator();
    for number in 1..=11 {
        let criteria: &[&str] = if number == 1 { &["It is fast", "It is small"] } else { &[] };
        let title = format!("Topic{number} alone{number}");
        place.call("issue_create", &json!({ "title": title, "criteria": criteria })).answer();
    }
    for agent in ["coach", "coder"] {
        place.call("agent_register", &json!({ "agent": agent })).answer();
    }
    for name in ["dx one", "dx two"] {
        let mission = json!({ "name": name, "pillars": [{ "name": "Build" }] });
        place.call("mission_init", &mission).with(&operator).answer();
    }
    place
}

/// The short ids of the criteria, as any shell gets them.
fn short_ids(place: &Place) -> Vec<String> {
    let words = ["--", "punch", "todo", "done", "--issue", "1", ""];
    let ran = place.bare(words).env("PUNCH_COMPLETE", "fish").env("PUNCHLIST_DB", place.db());
    let ran = ran.env("PUNCHLIST_PROJECT", "test").run();
    let lines = ran.stdout.lines().filter_map(|line| line.split_once('\t'));
    let ids: Vec<String> =
        lines.filter(|(_, of)| of.starts_with("#1 ")).map(|(id, _)| id.to_owned()).collect();
    assert_eq!(ids.len(), 2, "{ran:?}");
    ids
}

fn what_is_in_the_store_is_offered(shell: &mut Shell, ids: &[String]) {
    // The first Tab of a new shell answers, too.
    shell.offers("punch issue show 1", &["10", "11"]);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    shell.offers("punch todo done --issue 1 ", &ids);
    shell.offers("punch mission status dx-", &["dx-one", "dx-two"]);
    shell.offers("punch run x --with co", &["coach", "coder"]);
    shell.offers("punch se", &["serve", "session"]);
}

#[test]
fn bash_offers_what_is_in_the_store() {
    let place = furnished();
    let folder = place.home().join(".local/share/bash-completion/completions");
    std::fs::create_dir_all(&folder).unwrap();
    let script = place.bare(["completions", "bash"]).run().stdout;
    std::fs::write(folder.join("punch"), script).unwrap();
    // Debian's bash-completion loads the file by itself; here nothing but bash is there.
    let setup = "bind 'set show-all-if-ambiguous on'; \
                 source ~/.local/share/bash-completion/completions/punch";
    let mut shell = Shell::start(&place, "bash --norc --noprofile -i", setup);
    what_is_in_the_store_is_offered(&mut shell, &short_ids(&place));
}

#[test]
fn zsh_offers_what_is_in_the_store() {
    let place = furnished();
    let folder = place.home().join(".zfunc");
    std::fs::create_dir_all(&folder).unwrap();
    let script = place.bare(["completions", "zsh"]).run().stdout;
    std::fs::write(folder.join("_punch"), script).unwrap();
    let setup = "fpath=(~/.zfunc $fpath); autoload -U compinit; compinit -u -D";
    let mut shell = Shell::start(&place, "zsh -f -i", setup);
    what_is_in_the_store_is_offered(&mut shell, &short_ids(&place));
    // It also says what each is.
    shell.offers("punch issue show 1", &["Topic10 alone10"]);
}
